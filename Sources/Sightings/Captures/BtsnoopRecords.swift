internal import KeyDevice
internal import KeyFormats

/// Packets of btsnoop: what Android's developer option and Linux' monitor write. All numbers are big-endian.
final class BtsnoopRecords: SightingRecords {
  private enum Content {
    case h4
    /// Packets without the byte that states their kind; the record's flags state it.
    case flagged
    /// Linux' monitor, whose kind is in the lower half of the flags.
    case monitor
  }

  private var input: CaptureInput
  private let content: Content
  /// Microseconds from the year 0 to 1970.
  private static let year1970: Int64 = 0x00DC_DDB3_0F2F_8000

  static func recognises(_ front: [UInt8]) -> Bool { front.starts(with: "btsnoop\0".utf8) }

  init(_ window: InputWindow, _ limits: ReadLimits) throws {
    input = CaptureInput(window, limits)
    guard var header = try input.peek(16), header.skip(12), let kind = header.number(UInt32.self, isBig: true) else {
      throw FormatError(.truncated, place: "btsnoop", "the file ends within its header of 16 bytes")
    }
    switch kind {
    case 1001: content = .flagged
    case 1002: content = .h4
    case 2001: content = .monitor
    default:
      throw FormatError(
        .unsupported, place: "btsnoop", byteOffset: 12,
        "packets of kind \(kind), which are not read; expected 1001, 1002 or 2001")
    }
    window.skip(16)
  }

  func advance(into chunk: inout [Sighting], _ tally: inout SightingTally) throws -> Bool {
    guard try !input.isAtEnd else { return false }
    guard var header = try input.peek(24), header.skip(4), let length = header.number(UInt32.self, isBig: true),
      let flags = header.number(UInt32.self, isBig: true), header.skip(4),
      let time = header.number(Int64.self, isBig: true)
    else {
      try input.endWithin("the header of a packet", &tally)
      return true
    }
    try input.beginPacket(Int(length), &tally)
    guard var record = try input.peek(24 + Int(length)), record.skip(24) else {
      try input.endWithin("a packet", &tally)
      return true
    }
    let link: LinkType? =
      switch content {
      case .h4: .h4
      // Received, and a command or event.
      case .flagged: flags & 0x03 == 0x03 ? .event : nil
      case .monitor: flags & 0xFFFF == 3 ? .event : nil
      }
    if let link {
      let (microseconds, isTooFar) = time.subtractingReportingOverflow(Self.year1970)
      input.packet(at: isTooFar ? 0 : microseconds / 1000).read(record, as: link, into: &chunk, &tally)
    }
    input.window.skip(24 + Int(length))
    return true
  }
}
