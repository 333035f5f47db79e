internal import KeyDevice
internal import KeyFormats

/// Packets of a pcap file, in either byte order, with microseconds or nanoseconds.
final class PcapRecords: SightingRecords {
  private var input: CaptureInput
  private let isBig: Bool
  private let unitsPerMillisecond: Int64
  private let link: LinkType

  private static let microseconds: UInt32 = 0xA1B2_C3D4
  private static let nanoseconds: UInt32 = 0xA1B2_3C4D

  static func recognises(_ front: [UInt8]) -> Bool { kind(front) != nil }

  private static func kind(_ front: some Collection<UInt8>) -> (isBig: Bool, unitsPerMillisecond: Int64)? {
    guard front.count >= 4 else { return nil }
    let mark = front.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    return switch mark {
    case microseconds: (true, 1000)
    case nanoseconds: (true, 1_000_000)
    case microseconds.byteSwapped: (false, 1000)
    case nanoseconds.byteSwapped: (false, 1_000_000)
    default: nil
    }
  }

  init(_ window: InputWindow, _ limits: ReadLimits) throws {
    input = CaptureInput(window, limits)
    guard var header = try input.peek(24), let kind = Self.kind(header.rest), header.skip(20),
      let number = header.number(UInt32.self, isBig: kind.isBig)
    else { throw FormatError(.truncated, place: "pcap", "the file ends within its header of 24 bytes") }
    guard let link = LinkType(pcap: number) else {
      throw FormatError(
        .unsupported, place: "pcap", byteOffset: 20,
        "link type \(number & 0xFFFF), which is not read; expected one of Bluetooth: \(LinkType.pcapNumbers)")
    }
    (isBig, unitsPerMillisecond) = kind
    self.link = link
    window.skip(24)
  }

  func advance(into chunk: inout [Sighting], _ tally: inout SightingTally) throws -> Bool {
    guard try !input.isAtEnd else { return false }
    guard var header = try input.peek(16), let seconds = header.number(UInt32.self, isBig: isBig),
      let fraction = header.number(UInt32.self, isBig: isBig), let length = header.number(UInt32.self, isBig: isBig)
    else {
      try input.endWithin("the header of a packet", &tally)
      return true
    }
    try input.beginPacket(Int(length), &tally)
    guard var record = try input.peek(16 + Int(length)), record.skip(16) else {
      try input.endWithin("a packet", &tally)
      return true
    }
    let milliseconds = Int64(seconds) * 1000 + Int64(fraction) / unitsPerMillisecond
    input.packet(at: milliseconds).read(record, as: link, into: &chunk, &tally)
    input.window.skip(16 + Int(length))
    return true
  }
}
