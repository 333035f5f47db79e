/// Bytes on their way into the store, handed over piece by piece: a large document or archive is never in memory as a whole.
package struct StoredBytes: Sendable, ExpressibleByArrayLiteral {
  package let count: Int
  private let read: @Sendable (_ offset: Int, _ room: UnsafeMutableRawBufferPointer) throws -> Int

  /// Bytes handed over at once.
  package static let pieceSize = 1 << 18

  package init(_ bytes: [UInt8]) {
    self.init(count: bytes.count) { offset, room in
      let count = min(room.count, bytes.count - offset)
      bytes.withUnsafeBytes { room.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count])) }
      return count
    }
  }

  package init(arrayLiteral elements: UInt8...) { self.init(elements) }

  /// - Parameter read: fills the room from an offset on, and says how many bytes it wrote; the same ones each time, from any
  ///   thread.
  package init(
    count: Int, read: @escaping @Sendable (_ offset: Int, _ room: UnsafeMutableRawBufferPointer) throws -> Int
  ) {
    self.count = count
    self.read = read
  }

  /// Hands the bytes over in their order.
  ///
  /// - Throws: what `read` or `body` throws; ``StorageFault`` `inputOutput` where there are fewer than were promised.
  package func forEachPiece(_ body: (_ offset: Int, UnsafeRawBufferPointer) throws -> Void) throws {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, min(count, Self.pieceSize)), alignment: 16)
    defer { room.deallocate() }
    var offset = 0
    while offset < count {
      let length = try read(offset, UnsafeMutableRawBufferPointer(rebasing: room[..<min(room.count, count - offset)]))
      guard length > 0 else {
        throw StorageFault(.inputOutput, "\(count) bytes were to be stored, and there are \(offset)")
      }
      try body(offset, UnsafeRawBufferPointer(rebasing: room[..<length]))
      offset += length
    }
  }

  /// All of them in memory.
  package func bytes() throws -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    try forEachPiece { bytes.append(contentsOf: $1) }
    return bytes
  }
}
