/// How far times reach from 1970: a million years of the Gregorian calendar either way. A number beyond is taken as the
/// last one. So each unit's values are exactly those of the others, none of their conversions overflows, and neither does
/// a sum or a difference of a few of them.
@usableFromInline
enum TimeBound {
  @inlinable static var days: Int64 { 365_242_500 }
  @inlinable static var intervals: Int64 { days * 144 }
  @inlinable static var seconds: Int64 { days * 86_400 }
}

/// A ten-minute interval, counted from 1970-01-01T00:00:00Z: the unit of rolling starts.
///
/// It lies within a million years of 1970; a number beyond is taken as the last one.
///
/// Source: Exposure Notification Cryptography Specification 1.2, `ENIntervalNumber`.
@frozen
public struct IntervalNumber: Hashable, Comparable, Sendable, BitwiseCopyable {
  public let rawValue: Int64

  public static let secondsPerInterval: Int64 = 600
  public static let intervalsPerDay: Int64 = 144

  @inlinable
  public init(_ rawValue: Int64) {
    self.rawValue = max(-TimeBound.intervals, min(rawValue, TimeBound.intervals))
  }

  /// The interval that contains this instant.
  public init(containing instant: Instant) {
    self.init(floorDivide(instant.secondsSince1970, Self.secondsPerInterval))
  }

  /// The instant at which the interval begins.
  public var start: Instant { Instant(secondsSince1970: rawValue * Self.secondsPerInterval) }

  public var day: Day { Day(daysSince1970: floorDivide(rawValue, Self.intervalsPerDay)) }

  @inlinable
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A UTC calendar day, counted from 1970-01-01.
///
/// It lies within a million years of 1970; a number beyond is taken as the last one.
@frozen
public struct Day: Hashable, Comparable, Sendable, BitwiseCopyable {
  public let daysSince1970: Int64

  @inlinable
  public init(daysSince1970: Int64) {
    self.daysSince1970 = max(-TimeBound.days, min(daysSince1970, TimeBound.days))
  }

  /// `nil` unless `text` is a calendar date, `yyyy-MM-dd`.
  public init?(_ text: some StringProtocol) {
    let parts = Array(text.utf8).split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].count == 4, parts[1].count == 2, parts[2].count == 2,
      let year = decimal(parts[0]), let month = decimal(parts[1]), let day = decimal(parts[2])
    else { return nil }
    self.init(year: year, month: month, day: day)
  }

  /// `nil` unless the date exists in the Gregorian calendar, within a million years of 1970.
  public init?(year: Int64, month: Int64, day: Int64) {
    guard (-1_000_000...1_010_000).contains(year), (1...12).contains(month), (1...31).contains(day) else { return nil }
    // Days from civil: the year begins in March, so that the leap day is its last.
    let shifted = month <= 2 ? year - 1 : year
    let era = floorDivide(shifted, 400)
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    self.init(daysSince1970: era * 146_097 + dayOfEra - 719_468)
    guard civil == (year, month, day) else { return nil }
  }

  /// The interval that begins at this day's midnight.
  public var firstInterval: IntervalNumber { IntervalNumber(daysSince1970 * IntervalNumber.intervalsPerDay) }

  public var start: Instant { Instant(secondsSince1970: daysSince1970 * 86_400) }

  var civil: (year: Int64, month: Int64, day: Int64) {
    let shifted = daysSince1970 + 719_468
    let era = floorDivide(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
  }

  @inlinable
  public static func < (left: Self, right: Self) -> Bool { left.daysSince1970 < right.daysSince1970 }
}

extension Day: CustomStringConvertible {
  /// `yyyy-MM-dd`.
  public var description: String {
    let parts = civil
    return "\(padded(parts.year, 4))-\(padded(parts.month, 2))-\(padded(parts.day, 2))"
  }
}

/// An instant in whole seconds since 1970-01-01T00:00:00Z, leap seconds not counted.
///
/// It lies within a million years of 1970; a number beyond is taken as the last one.
@frozen
public struct Instant: Hashable, Comparable, Sendable, BitwiseCopyable {
  public let secondsSince1970: Int64

  @inlinable
  public init(secondsSince1970: Int64) {
    self.secondsSince1970 = max(-TimeBound.seconds, min(secondsSince1970, TimeBound.seconds))
  }

  /// `nil` unless `text` is an RFC 3339 instant in UTC (`2020-06-01T00:00:00Z`, with optional fraction, which is
  /// dropped), a date (`2020-06-01`: its midnight), or a whole number of seconds since 1970.
  public init?(_ text: some StringProtocol) {
    let bytes = Array(text.utf8)
    if let seconds = Int64(text), bytes.first != UInt8(ascii: "+") {
      guard seconds.magnitude <= 253_402_300_799 else { return nil }
      self.init(secondsSince1970: seconds)
      return
    }
    guard bytes.count >= 10, let day = Day(String(decoding: bytes[..<10], as: UTF8.self)) else { return nil }
    if bytes.count == 10 {
      self = day.start
      return
    }
    guard bytes.count >= 20, bytes[10] | 0x20 == UInt8(ascii: "t") || bytes[10] == UInt8(ascii: " "),
      bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
      let hour = decimal(bytes[11..<13]), let minute = decimal(bytes[14..<16]), let second = decimal(bytes[17..<19]),
      hour < 24, minute < 60, second < 60
    else { return nil }
    var rest = bytes[19...]
    if rest.first == UInt8(ascii: ".") {
      let digits = rest.dropFirst().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      guard !digits.isEmpty else { return nil }
      rest = rest.dropFirst(1 + digits.count)
    }
    guard rest.count == 1, let zone = rest.first, zone | 0x20 == UInt8(ascii: "z") else { return nil }
    self.init(secondsSince1970: day.start.secondsSince1970 + hour * 3600 + minute * 60 + second)
  }

  public var day: Day { Day(daysSince1970: floorDivide(secondsSince1970, 86_400)) }

  @inlinable
  public static func < (left: Self, right: Self) -> Bool { left.secondsSince1970 < right.secondsSince1970 }
}

extension Instant: Codable {
  /// One whole number: seconds since 1970.
  public init(from decoder: any Decoder) throws {
    self.init(secondsSince1970: try decoder.singleValueContainer().decode(Int64.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(secondsSince1970)
  }
}

extension Instant: CustomStringConvertible {
  /// RFC 3339 in UTC: `2020-06-01T00:00:00Z`.
  public var description: String {
    let day = day
    let second = secondsSince1970 - day.start.secondsSince1970
    return "\(day)T\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))Z"
  }
}

func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
  let quotient = value / divisor
  return value % divisor < 0 ? quotient - 1 : quotient
}

private func decimal(_ digits: ArraySlice<UInt8>) -> Int64? {
  guard !digits.isEmpty, digits.count <= 18 else { return nil }
  var value: Int64 = 0
  for digit in digits {
    guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
    value = value * 10 + Int64(digit - UInt8(ascii: "0"))
  }
  return value
}

private func padded(_ value: Int64, _ width: Int) -> String {
  let digits = String(value.magnitude)
  let zeros = String(repeating: "0", count: max(0, width - digits.utf8.count))
  return (value < 0 ? "-" : "") + zeros + digits
}

extension Instant {
  package func adding(seconds: Int64) -> Instant { Instant(secondsSince1970: secondsSince1970 + seconds) }
  package func adding(days: Int64) -> Instant { adding(seconds: days * 86_400) }
}
