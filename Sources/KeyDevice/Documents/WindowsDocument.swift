package import ExposureKeys

/// Exposure windows in a file, in any of the forms in which apps, their tests and their logs have them.
///
/// Forms: a list of windows (test files of the Corona-Warn-App, exports of Android's testers, the NHS app's events), or an object
/// with such a list (`exposure_windows` of COCOA, `exposureWindows`), or a list of objects that each have one (`payload`,
/// `exposureWindow`).
package struct WindowsDocument: Decodable, Sendable {
  private let entries: [Entry]

  package init(from decoder: any Decoder) throws {
    if let list = try? decoder.singleValueContainer().decode([Entry].self) {
      entries = list
      return
    }
    // For its errors, which name the place.
    if let members = try? SpelledMembers(decoder) {
      if let list = try members.read([Entry].self, "exposureWindows") {
        entries = list
        return
      }
      throw members.fault("exposureWindows", "is missing; expected a list of exposure windows")
    }
    entries = try decoder.singleValueContainer().decode([Entry].self)
  }

  package var count: Int { entries.count }

  /// - Parameter today: the day from which ages are counted.
  package func windows(today: Day) -> [ExposureWindow] {
    entries.map { entry in
      var window = entry.window
      if let age = entry.age { window.day = Day(daysSince1970: today.daysSince1970 - age) }
      return window
    }
  }

  private struct Entry: Decodable {
    var window: ExposureWindow
    /// Days before today, where no date is stated.
    var age: Int64?

    init(from decoder: any Decoder) throws {
      let members = try SpelledMembers(decoder)
      if let inner = try members.read(Entry.self, "payload", "exposureWindow") {
        self = inner
        return
      }
      var day = Day(daysSince1970: 0)
      if let age = try members.number(0...36_500, "ageInDays") {
        self.age = Int64(age)
      } else if let milliseconds = try members.number(0...4_102_444_800_000, "dateMillisSinceEpoch") {
        day = Instant(secondsSince1970: Int64(milliseconds / 1000)).day
      } else if let date = try? members.read(String.self, "date") {
        guard let instant = Instant(date) else { throw members.fault("date", "is no date; expected 2020-06-01") }
        day = instant.day
      } else if let seconds = try members.number(0...4_102_444_800, "date") {
        day = Instant(secondsSince1970: Int64(seconds)).day
      } else {
        throw members.fault("date", "is missing; expected ageInDays, dateMillisSinceEpoch or date")
      }
      window = ExposureWindow(
        day: day, reportType: try members.number(0...5, "reportType") ?? 1,
        infectiousness: try Self.infectiousness(members),
        confidence: try members.number(0...3, "calibrationConfidence") ?? 0,
        scans: try members.need([Scan].self, "scanInstances").map(\.scan))
    }

    private static func infectiousness(_ members: SpelledMembers) throws -> Infectiousness {
      if let word = try? members.read(String.self, "infectiousness") {
        guard let known = Infectiousness.allCases.first(where: { $0.text == word.lowercased() }) else {
          throw members.fault("infectiousness", "must be none, standard or high")
        }
        return known
      }
      return try members.number(0...2, "infectiousness").flatMap(Infectiousness.init) ?? .standard
    }
  }

  private struct Scan: Decodable {
    var scan: ScanInstance

    init(from decoder: any Decoder) throws {
      let members = try SpelledMembers(decoder)
      let minimum = try members.number(-255...255, "minAttenuation", "minAttenuationDb", "minimumAttenuation")
      let typical = try members.number(-255...255, "typicalAttenuation", "typicalAttenuationDb")
      guard let seconds = try members.number(-86_400...86_400, "secondsSinceLastScan"), let any = minimum ?? typical
      else { throw members.fault("secondsSinceLastScan", "a scan needs it, and typicalAttenuation or minAttenuation") }
      scan = ScanInstance(
        typicalAttenuation: typical ?? any, minimumAttenuation: minimum ?? any, secondsSinceLastScan: seconds)
    }
  }
}
