internal import PolicyFiles

/// Lengths of time as people write them: `90 s`, `5 min`, `2 hours`, `14 days`.
package enum TimeSpan {
  static let example = "written with a unit: 90 s, 5 min, 2 hours, 14 days"
  private static let units: [(seconds: Int64, names: [String])] = [
    (86_400, ["day", "days", "d"]), (3600, ["hour", "hours", "h"]), (60, ["min", "minute", "minutes"]),
    (1, ["s", "second", "seconds"]),
  ]

  /// Seconds; `nil` where the text is none, or has no unit.
  static func seconds(_ text: String) -> Int64? {
    guard let (number, unit) = split(text), let size = units.first(where: { $0.names.contains(unit) })?.seconds
    else { return nil }
    let (seconds, isTooLong) = number.multipliedReportingOverflow(by: size)
    return isTooLong ? nil : seconds
  }

  /// `5400` is `90 min`.
  package static func text(_ seconds: Int64) -> String {
    for (size, names) in units where seconds >= size && seconds % size == 0 {
      let count = seconds / size
      return "\(count) \(size >= 3600 && count != 1 ? names[1] : names[0])"
    }
    return "\(seconds) s"
  }

  /// A whole number and a word, with or without a space.
  fileprivate static func split(_ text: String) -> (number: Int64, unit: String)? {
    let digits = text.prefix { ("0"..."9").contains($0) }
    let unit = text[digits.endIndex...].drop { $0 == " " }
    guard let number = Int64(digits), !unit.isEmpty else { return nil }
    return (number, String(unit))
  }
}

/// Numbers of bytes: `64 MB` is 64,000,000 and `64 MiB` is 67,108,864.
enum ByteCount {
  static let example = "written with a unit: 500 KB, 64 MB, 64 MiB, 1 GB"
  private static let units: [(name: String, bytes: Int64)] = [
    ("GiB", 1 << 30), ("GB", 1_000_000_000), ("MiB", 1 << 20), ("MB", 1_000_000), ("KiB", 1 << 10), ("KB", 1000),
    ("kB", 1000), ("bytes", 1), ("B", 1),
  ]

  static func bytes(_ text: String) -> Int64? {
    guard let (number, unit) = TimeSpan.split(text), let size = units.first(where: { $0.name == unit })?.bytes
    else { return nil }
    let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: size)
    return isTooLarge ? nil : bytes
  }

  static func text(_ bytes: Int) -> String {
    let unit = units.first { bytes >= $0.bytes && Int64(bytes) % $0.bytes == 0 } ?? ("bytes", 1)
    return "\(Int64(bytes) / unit.bytes) \(unit.name)"
  }
}

extension Setting {
  func duration(_ allowed: ClosedRange<Int64>) -> Int64? {
    guard isText, let text = text(), let seconds = TimeSpan.seconds(text) else {
      return fault("\(shown), allowed \(allowed.durations), \(TimeSpan.example)")
    }
    guard allowed.contains(seconds) else {
      return fault("\(TimeSpan.text(seconds)), allowed \(allowed.durations)")
    }
    return seconds
  }

  func days(_ allowed: ClosedRange<Int64>) -> Int64? {
    guard let seconds = duration(allowed.lowerBound * 86_400...allowed.upperBound * 86_400) else { return nil }
    guard seconds % 86_400 == 0 else { return fault("\(shown), allowed whole days: 14 days") }
    return seconds / 86_400
  }

  func byteCount(_ allowed: ClosedRange<Int>) -> Int? {
    guard isText, let text = text(), let bytes = ByteCount.bytes(text) else {
      return fault("\(shown), allowed \(allowed.byteCounts), \(ByteCount.example)")
    }
    guard let count = Int(exactly: bytes), allowed.contains(count) else {
      return fault("\(shown), allowed \(allowed.byteCounts)")
    }
    return count
  }

  func number(_ allowed: ClosedRange<Int>) -> Int? {
    guard let number = number(Int.self) else { return nil }
    return allowed.contains(number) ? number : fault("\(number), allowed \(allowed.lowerBound)...\(allowed.upperBound)")
  }

  func flag() -> Bool? { choice("true", "false") }
}

extension ClosedRange<Int64> {
  /// For ranges of seconds.
  var durations: String { "\(TimeSpan.text(lowerBound))...\(TimeSpan.text(upperBound))" }
  /// For ranges of days.
  var days: String { "\(lowerBound)...\(upperBound) days" }
}

extension ClosedRange<Int> {
  var byteCounts: String { "\(ByteCount.text(lowerBound))...\(ByteCount.text(upperBound))" }
}
