internal import ExposureKeys
internal import KeyInspection

/// The dates of HTTP (RFC 9110, 5.6.7), in whole seconds.
enum HTTPDate {
  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// `Sun, 06 Nov 1994 08:49:37 GMT`; for instants of the years 1...9999.
  static func text(_ instant: Instant) -> String {
    let parts = instant.day.description.split(separator: "-")
    // 1970-01-01 was a Thursday.
    let weekday = weekdays[Int(((instant.day.daysSince1970 + 4) % 7 + 7) % 7)]
    guard parts.count == 3, let month = Int(parts[1]), months.indices.contains(month - 1) else { return "" }
    let time = instant.description.dropFirst(11).dropLast()
    return "\(weekday), \(parts[2]) \(months[month - 1]) \(parts[0]) \(time) GMT"
  }

  /// Reads the three forms that a recipient must know; `nil` for anything else.
  static func instant(_ text: String) -> Instant? {
    guard text.utf8.count <= 40 else { return nil }
    let parts = text.split { $0 == " " || $0 == "," || $0 == ":" || $0 == "-" }.map(String.init)
    // asctime has no zone and the year last; the other two differ in the digits of the year.
    switch parts.count {
    case 8 where parts[7] == "GMT":
      return instant(year: parts[3], month: parts[2], day: parts[1], time: parts[4...6])
    case 7: return instant(year: parts[6], month: parts[1], day: parts[2], time: parts[3...5])
    default: return nil
    }
  }

  private static func instant(
    year: String, month: String, day: String, time: ArraySlice<String>
  ) -> Instant? {
    let clock = time.compactMap { $0.utf8.count == 2 ? Int64($0) : nil }
    guard let month = months.firstIndex(of: month), let number = Int64(year), let day = Int64(day),
      clock.count == 3, (0..<24).contains(clock[0]), (0..<60).contains(clock[1]), (0...60).contains(clock[2])
    else { return nil }
    // Two digits are those of a year not more than fifty years ahead of when the form was in use.
    let full = year.utf8.count == 2 ? number + (number < 70 ? 2000 : 1900) : number
    guard (1...9999).contains(full), let date = Day(year: full, month: Int64(month) + 1, day: day) else { return nil }
    let seconds = clock[0] * 3600 + clock[1] * 60 + clock[2]
    return Instant(secondsSince1970: date.start.secondsSince1970 + seconds)
  }
}
