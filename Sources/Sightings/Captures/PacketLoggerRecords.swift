internal import KeyDevice
internal import KeyFormats

/// Packets of Apple's PacketLogger. The file begins with its first packet, so it is recognised by a plausible one.
final class PacketLoggerRecords: SightingRecords {
  private var input: CaptureInput
  private let isBig: Bool
  /// Of seconds, microseconds and kind, which the stated length includes.
  private static let headerBytes = 9
  /// Commands, events, data, and what the logger notes itself.
  private static let kinds: Set<UInt8> = [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14]

  /// Whether the numbers are big-endian; `nil` unless the file can begin with a packet.
  static func byteOrder(of front: [UInt8], byteCount: Int) -> Bool? {
    front.withUnsafeBytes { bytes in
      [true, false].first { isBig in
        var packet = PacketBytes(bytes)
        guard let length = packet.number(UInt32.self, isBig: isBig), (9...(64 << 10)).contains(length),
          Int(length) + 4 <= byteCount, let seconds = packet.number(UInt32.self, isBig: isBig),
          // From 2012 on, when Bluetooth began to be what it is.
          seconds > 1_325_376_000, let micro = packet.number(UInt32.self, isBig: isBig), micro < 1_000_000,
          let kind = packet.byte()
        else { return false }
        return kinds.contains(kind) || kind >= 0xF0
      }
    }
  }

  init(_ window: InputWindow, _ isBig: Bool, _ limits: ReadLimits) {
    input = CaptureInput(window, limits)
    self.isBig = isBig
  }

  func advance(into chunk: inout [Sighting], _ tally: inout SightingTally) throws -> Bool {
    guard try !input.isAtEnd else { return false }
    guard var header = try input.peek(4 + Self.headerBytes), let length = header.number(UInt32.self, isBig: isBig),
      let seconds = header.number(UInt32.self, isBig: isBig), let micro = header.number(UInt32.self, isBig: isBig),
      let kind = header.byte()
    else {
      try input.endWithin("the header of a packet", &tally)
      return true
    }
    try input.beginPacket(Int(length) - Self.headerBytes, &tally)
    guard var record = try input.peek(4 + Int(length)), record.skip(4 + Self.headerBytes) else {
      try input.endWithin("a packet", &tally)
      return true
    }
    if kind == 1 {
      input.packet(at: Int64(seconds) * 1000 + Int64(micro) / 1000).read(record, as: .event, into: &chunk, &tally)
    }
    input.window.skip(4 + Int(length))
    return true
  }
}
