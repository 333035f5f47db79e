internal import ExposureKeys
internal import KeyDevice

/// How the fields of a sighting are spelled in rows, and between which bounds they are believed.
enum SightingFields {
  /// Seconds since 1970 whose ten-minute interval is a number of 32 bits with room to spare: to February 2106.
  private static let seconds: ClosedRange<Int64> = 1...Int64(UInt32.max)
  /// What a Bluetooth receiver can report; 127 means that it has not measured.
  private static let strengths: ClosedRange<Int64> = -127...20

  static let expectedTime = "expected seconds since 1970, or a date and time in UTC, from 1970 to 2106"

  /// `nil` unless the time lies where times of sightings can lie.
  static func time(milliseconds: Int64) -> Int64? {
    seconds.contains(milliseconds / 1000) ? milliseconds : nil
  }

  static func time(seconds: Int64) -> Int64? { Self.seconds.contains(seconds) ? seconds * 1000 : nil }

  /// Milliseconds since 1970 of a whole number or fraction of seconds, of milliseconds (which are more than any seconds), or of a
  /// date and time, which is UTC unless it states an offset of zero in words of its own.
  static func time(_ text: ArraySlice<UInt8>) -> Int64? {
    let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    if let whole = number(parts[0]) {
      guard whole <= seconds.upperBound else { return parts.count == 1 ? time(milliseconds: whole) : nil }
      guard parts.count == 2 else { return time(seconds: whole) }
      guard let fraction = thousandths(parts[1]) else { return nil }
      return time(seconds: whole).map { $0 + fraction }
    }
    guard (10...40).contains(text.count) else { return nil }
    var spelled = String(decoding: text, as: UTF8.self)
    for zone in ["+00:00", "+00"] where spelled.hasSuffix(zone) { spelled.removeLast(zone.utf8.count) }
    if !spelled.hasSuffix("Z"), !spelled.hasSuffix("z"), spelled.utf8.count > 10 { spelled += "Z" }
    return Instant(spelled).flatMap { time(seconds: $0.secondsSince1970) }
  }

  /// A whole number with an optional sign.
  static func number(_ text: ArraySlice<UInt8>) -> Int64? {
    guard (1...19).contains(text.count) else { return nil }
    let digits = text.first == UInt8(ascii: "-") ? text.dropFirst() : text
    guard !digits.isEmpty else { return nil }
    var value: Int64 = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
      let (sum, isTooLargeAsWell) = product.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
      guard !isTooLarge, !isTooLargeAsWell else { return nil }
      value = sum
    }
    return digits.count == text.count ? value : -value
  }

  /// The first three digits of a fraction.
  private static func thousandths(_ digits: ArraySlice<UInt8>) -> Int64? {
    guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    let first = digits.prefix(3).reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    return first * [1000, 100, 10, 1][min(digits.count, 3)]
  }

  /// Bytes from hexadecimal digits, with blanks or colons between bytes and PostgreSQL's `\x` or `0x` in front.
  static func bytes(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    guard text.count <= 256 else { return nil }
    let prefixed = text.starts(with: #"\x"#.utf8) || text.starts(with: "0x".utf8)
    let values = Hexadecimal.values
    var bytes: [UInt8] = []
    bytes.reserveCapacity(20)
    var high: UInt8?
    for digit in prefixed ? text.dropFirst(2) : text where digit != UInt8(ascii: " ") && digit != UInt8(ascii: ":") {
      let value = values[Int(digit)]
      guard value != 255 else { return nil }
      if let first = high { bytes.append(first << 4 | value) }
      high = high == nil ? value : nil
    }
    return high == nil ? bytes : nil
  }

  /// `nil` unless there are sixteen bytes. It is this target's own, so that it is compiled for what it reads from.
  static func identifier(_ bytes: UnsafeRawBufferPointer) -> ProximityIdentifier? {
    guard bytes.count == ProximityIdentifier.byteCount else { return nil }
    return ProximityIdentifier(
      high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
      low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
  }

  static func identifier(_ bytes: [UInt8]) -> ProximityIdentifier? { bytes.withUnsafeBytes { identifier($0) } }

  /// `nil` unless there are four bytes.
  static func metadata(_ bytes: some Collection<UInt8>) -> UInt32? {
    guard bytes.count == 4 else { return nil }
    return bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// What is believed of a stated signal strength; one that no receiver measures is counted and left out.
  static func strength(_ stated: Int64?, _ tally: inout SightingTally) -> Int8? {
    guard let stated else { return nil }
    guard strengths.contains(stated) else {
      if stated != 127 { tally.impossibleRSSI += 1 }
      return nil
    }
    return Int8(exactly: stated)
  }

  /// How long a row's broadcasts lasted: nothing if its end is before its begin or absent.
  static func duration(from begin: Int64, until end: Int64?) -> UInt32 {
    guard let end, end > begin else { return 0 }
    return UInt32(clamping: end - begin)
  }

  /// How long before `time` the scan before was; `nil` if it is not before.
  static func scan(before time: Int64, at previous: Int64?) -> UInt32? {
    guard let previous, previous < time else { return nil }
    return UInt32(exactly: (time - previous) / 1000)
  }
}
