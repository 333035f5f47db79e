/// Bytes of a packet, read from front to back; nothing is read behind their end.
struct PacketBytes {
  private(set) var rest: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

  var count: Int { rest.count }

  /// `nil` unless there are so many.
  mutating func take(_ count: Int) -> PacketBytes? {
    guard count >= 0, count <= rest.count else { return nil }
    defer { rest = UnsafeRawBufferPointer(rebasing: rest[count...]) }
    return PacketBytes(UnsafeRawBufferPointer(rebasing: rest[..<count]))
  }

  mutating func skip(_ count: Int) -> Bool { take(count) != nil }

  mutating func byte() -> UInt8? { take(1)?.rest[0] }

  mutating func number<Number: FixedWidthInteger>(_: Number.Type, isBig: Bool) -> Number? {
    guard let bytes = take(MemoryLayout<Number>.size) else { return nil }
    let number = bytes.rest.loadUnaligned(as: Number.self)
    return isBig ? Number(bigEndian: number) : Number(littleEndian: number)
  }
}
