/// The dates of HTTP (RFC 9110, 5.6.7), in whole seconds.
package enum HTTPDate {
  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// `Sun, 06 Nov 1994 08:49:37 GMT`; for instants of the years 1...9999.
  package static func text(_ instant: Instant) -> String {
    let parts = instant.day.description.split(separator: "-")
    // 1970-01-01 was a Thursday.
    let weekday = weekdays[Int(((instant.day.daysSince1970 + 4) % 7 + 7) % 7)]
    guard parts.count == 3, let month = Int(parts[1]), months.indices.contains(month - 1) else { return "" }
    let time = instant.description.dropFirst(11).dropLast()
    return "\(weekday), \(parts[2]) \(months[month - 1]) \(parts[0]) \(time) GMT"
  }

  /// Reads the three forms that a recipient must know; `nil` for anything else.
  package static func instant(_ text: String) -> Instant? {
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
    let clock = time.compactMap { number($0, digits: 2...2) }
    guard let month = months.firstIndex(of: month),
      let number = Self.number(year, digits: year.utf8.count == 2 ? 2...2 : 4...4),
      let day = Self.number(day, digits: 1...2), clock.count == 3, clock[0] < 24, clock[1] < 60, clock[2] <= 60
    else { return nil }
    // Two digits are those of a year not more than fifty years ahead of when the form was in use.
    let full = year.utf8.count == 2 ? number + (number < 70 ? 2000 : 1900) : number
    guard full >= 1, let date = Day(year: full, month: Int64(month) + 1, day: day) else { return nil }
    let seconds = clock[0] * 3600 + clock[1] * 60 + clock[2]
    return Instant(secondsSince1970: date.start.secondsSince1970 + seconds)
  }

  /// A number without a sign, of so many digits.
  private static func number(_ text: String, digits: ClosedRange<Int>) -> Int64? {
    guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text)
  }
}
