internal import KeyDevice
internal import KeyFormats

/// Packets of a pcapng file: sections, each in a byte order of its own, with interfaces of their own.
final class PcapNGRecords: SightingRecords {
  private struct Interface {
    /// `nil` for a link type that is not read.
    var link: LinkType?
    var clock = Clock.decimal(6)
    /// Seconds that every time of the interface lacks.
    var offset: Int64 = 0
  }

  private var input: CaptureInput
  private var isBig = false
  private var interfaces: [Interface] = []
  private var hasBluetooth = false
  /// The first link type that is not read.
  private var otherLinkType: UInt16?

  private static let sectionHeader: UInt32 = 0x0A0D_0D0A
  private static let byteOrderMark: UInt32 = 0x1A2B_3C4D
  private static let interfaceLimit = 4096

  static func recognises(_ front: [UInt8]) -> Bool {
    front.starts(with: [0x0A, 0x0D, 0x0D, 0x0A]) && front.count >= 12
      && (front[8..<12].elementsEqual([0x1A, 0x2B, 0x3C, 0x4D])
        || front[8..<12].elementsEqual([0x4D, 0x3C, 0x2B, 0x1A]))
  }

  init(_ window: InputWindow, _ limits: ReadLimits) throws { input = CaptureInput(window, limits) }

  func advance(into chunk: inout [Sighting], _ tally: inout SightingTally) throws -> Bool {
    guard try !input.isAtEnd else {
      guard !hasBluetooth, let otherLinkType else { return false }
      throw FormatError(
        .unsupported, place: "pcapng",
        "link type \(otherLinkType), which is not read; expected one of Bluetooth: \(LinkType.pcapNumbers)")
    }
    guard var header = try input.peek(12) else {
      try input.endWithin("the header of a block", &tally)
      return true
    }
    let start = header
    guard let kind = header.number(UInt32.self, isBig: isBig) else { return false }
    if kind == Self.sectionHeader {
      var mark = start
      guard mark.skip(8), let order = mark.number(UInt32.self, isBig: true),
        order == Self.byteOrderMark || order == Self.byteOrderMark.byteSwapped
      else { throw malformed("a section without its mark of byte order") }
      isBig = order == Self.byteOrderMark
      interfaces = []
    }
    guard let stated = header.number(UInt32.self, isBig: isBig), stated >= 12, stated % 4 == 0 else {
      throw malformed("a block whose length is less than 12 or no multiple of four")
    }
    let length = Int(stated)
    switch kind {
    case 1:
      guard let content = try content(length, &tally) else { return true }
      try readInterface(content)
      input.window.skip(length)
      return true
    case 2, 6: return try readPacket(length, isObsolete: kind == 2, into: &chunk, &tally)
    default:
      if kind == 3 {
        tally.records += 1
        tally.reject(.time, "byte \(input.byteOffset)", "a simple packet, which has no time")
      }
      if try !input.skip(length) { try input.endWithin("a block", &tally) }
      return true
    }
  }

  /// What is in a block, until the block is passed over; `nil` if the file ends within it.
  private func content(_ length: Int, _ tally: inout SightingTally) throws -> PacketBytes? {
    guard length <= input.longestPacket + 64 else { throw malformed("a block of \(length) bytes") }
    guard var block = try input.peek(length), block.skip(8), let content = block.take(length - 12) else {
      try input.endWithin("a block", &tally)
      return nil
    }
    return content
  }

  private func readInterface(_ content: PacketBytes) throws {
    var content = content
    guard let number = content.number(UInt16.self, isBig: isBig), content.skip(6) else {
      throw malformed("the description of an interface that is shorter than 8 bytes")
    }
    guard interfaces.count < Self.interfaceLimit else {
      throw malformed("more than \(Self.interfaceLimit) interfaces in a section")
    }
    var interface = Interface(link: LinkType(pcap: UInt32(number)))
    if interface.link == nil { otherLinkType = otherLinkType ?? number } else { hasBluetooth = true }
    while let option = content.number(UInt16.self, isBig: isBig), option != 0,
      let length = content.number(UInt16.self, isBig: isBig), var value = content.take(Int(length))
    {
      switch option {
      case 9: if let unit = value.byte() { interface.clock = Clock(unit) }
      case 14: if let offset = value.number(Int64.self, isBig: isBig) { interface.offset = offset }
      default: break
      }
      if !content.skip((4 - Int(length) % 4) % 4) { break }
    }
    interfaces.append(interface)
  }

  private func readPacket(
    _ length: Int, isObsolete: Bool, into chunk: inout [Sighting], _ tally: inout SightingTally
  ) throws -> Bool {
    try input.beginPacket(length - 12, &tally)
    guard var content = try content(length, &tally) else { return true }
    let index =
      isObsolete
      ? content.number(UInt16.self, isBig: isBig).flatMap { content.skip(2) ? Int($0) : nil }
      : content.number(UInt32.self, isBig: isBig).map(Int.init)
    guard let index, let high = content.number(UInt32.self, isBig: isBig),
      let low = content.number(UInt32.self, isBig: isBig), let captured = content.number(UInt32.self, isBig: isBig),
      content.skip(4), let data = content.take(Int(captured))
    else { throw malformed("a packet that is longer than its block") }
    guard interfaces.indices.contains(index) else {
      throw malformed("a packet of interface \(index), and the section has \(interfaces.count)")
    }
    let interface = interfaces[index]
    let packet = input.packet(
      at: interface.clock.milliseconds(UInt64(high) << 32 | UInt64(low), offset: interface.offset) ?? 0)
    if let link = interface.link {
      packet.read(data, as: link, into: &chunk, &tally)
    } else {
      tally.reject(
        .linkType, "packet \(packet.number): byte \(packet.byteOffset)",
        "a link type that is not read; expected one of Bluetooth: \(LinkType.pcapNumbers)")
    }
    input.window.skip(length)
    return true
  }

  private func malformed(_ what: String) -> FormatError {
    FormatError(.malformed, place: "pcapng", byteOffset: input.byteOffset, "\(what); the file is damaged here")
  }
}

/// The unit of an interface's times.
enum Clock: Hashable {
  /// So many digits behind the second.
  case decimal(UInt8)
  /// So many bits behind it.
  case binary(UInt8)

  init(_ option: UInt8) { self = option & 0x80 == 0 ? .decimal(option) : .binary(option & 0x7F) }

  /// Since 1970; `nil` for a time that is none of any sighting.
  func milliseconds(_ count: UInt64, offset: Int64) -> Int64? {
    let milliseconds: UInt64
    switch self {
    case .decimal(let digits) where digits <= 3:
      let (product, isTooLarge) = count.multipliedReportingOverflow(by: Self.tens[3 - Int(digits)])
      guard !isTooLarge else { return nil }
      milliseconds = product
    case .decimal(let digits):
      guard digits - 3 < UInt8(Self.tens.count) else { return nil }
      milliseconds = count / Self.tens[Int(digits) - 3]
    case .binary(let bits):
      guard bits < 64 else { return nil }
      let seconds = count >> UInt64(bits)
      let fraction = count & (1 << UInt64(bits) - 1)
      // The upper bits of a long fraction are more than milliseconds need.
      let surplus = UInt64(max(0, Int(bits) - 32))
      let (product, isTooLarge) = seconds.multipliedReportingOverflow(by: 1000)
      guard !isTooLarge else { return nil }
      let (sum, isTooLargeAsWell) = product.addingReportingOverflow(
        ((fraction >> surplus) * 1000) >> (UInt64(bits) - surplus))
      guard !isTooLargeAsWell else { return nil }
      milliseconds = sum
    }
    let (shift, isTooFar) = offset.multipliedReportingOverflow(by: 1000)
    guard !isTooFar, let number = Int64(exactly: milliseconds) else { return nil }
    let (sum, isTooLarge) = number.addingReportingOverflow(shift)
    return isTooLarge ? nil : sum
  }

  private static let tens: [UInt64] = (0..<20).map { exponent in (0..<exponent).reduce(1) { power, _ in power * 10 } }
}
