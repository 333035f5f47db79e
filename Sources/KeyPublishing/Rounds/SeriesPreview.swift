package import ExposureKeys
internal import KeyNormalization

/// What the next bundle of a series would hold, as things stand. Nobody is named: counts only.
package struct SeriesPreview: Hashable, Sendable {
  package let series: String
  package let title: String
  package let now: Instant
  /// The window that is published next, and whether it is over already.
  package let window: ExportWindow
  package var isDue: Bool { window.instant <= now }

  /// What a round looks at, compared with everything; `nil` where nobody asked.
  package internal(set) var comparison: Comparison?

  package struct Comparison: Hashable, Sendable, Encodable {
    /// How many key data have changed; `nil` where a round looks at everything.
    package let lookedAt: Int?
    /// Whether a look at these selects the same keys.
    package let agrees: Bool

    private enum CodingKeys: String, CodingKey {
      case lookedAt, agrees
    }

    package func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: CodingKeys.self)
      try members.encode(lookedAt, forKey: .lookedAt)
      try members.encode(agrees, forKey: .agrees)
    }
  }

  package let believed: Int
  package let new: Int
  package let revised: Int
  package let alreadyReleased: Int
  /// By reason.
  package let holds: [String: Int]
  package let omissions: [String: Int]
  package let paused: Int
  package let recalled: Int
  package let notRevocable: Int
  package let lookalikes: Int
  /// Whether the new keys are too few for a bundle and wait.
  package let isTooSmall: Bool
  /// Believed keys that are due as well, but for which the window has no room: they go out with the next ones. And recalled
  /// ones likewise.
  package let waiting: Int
  package let recalledWaiting: Int
  package let minimumKeys: Int
  /// When the first of the held keys may go out.
  package let nextRelease: Instant?
  /// The new keys by the day on which they were first in use, `2020-12-01`, and by report type, `CONFIRMED_TEST`.
  package let days: [String: Int]
  package let reportTypes: [String: Int]
  package let revisedReportTypes: [String: Int]
  package let warnings: [PublishingWarning]

  init(
    _ settings: SeriesSettings, _ window: ExportWindow, _ selection: KeySelection, lookalikes: Int, now: Instant
  ) throws {
    let counts = selection.counts
    series = settings.name
    title = settings.title
    self.now = now
    self.window = window
    believed = counts.believed
    new = counts.new
    revised = counts.revised
    alreadyReleased = counts.alreadyReleased
    holds = Dictionary(uniqueKeysWithValues: counts.holds.map { ($0.key.rawValue, $0.value) })
    omissions = counts.omissionsByCode
    paused = counts.paused
    recalled = counts.recalled
    notRevocable = counts.notRevocable
    self.lookalikes = lookalikes
    isTooSmall = counts.new > 0 && counts.new + lookalikes < settings.minimumKeys
    minimumKeys = settings.minimumKeys
    nextRelease = selection.nextRelease
    waiting = selection.rest
    recalledWaiting = selection.recalledRest
    days = try tally(selection.new) { "\(IntervalNumber(Int64($0.rollingStartWord)).day)" }
    reportTypes = try tally(selection.new, by: reportTypeName)
    revisedReportTypes = try tally(selection.revised, by: reportTypeName)
    warnings = [
      settings.signingWarning(at: max(now, window.instant)), counts.outvotedWarning, selection.windowFull(settings),
    ]
    .compactMap(\.self)
  }

  package var held: Int { holds.values.reduce(0, +) }
  package var leftOut: Int { omissions.values.reduce(0, +) }
}

private func tally(_ keys: KeyRun, by name: (ClaimedKey) -> String) throws -> [String: Int] {
  var counts: [String: Int] = [:]
  try keys.read { counts[name($0.key), default: 0] += 1 }
  return counts
}

private func reportTypeName(_ key: ClaimedKey) -> String {
  key.reportType.flatMap(ReportType.init(rawValue:))?.name ?? "none"
}

extension SeriesPreview: Encodable {
  private enum CodingKeys: String, CodingKey {
    case series, title, now, window, believed, new, revised, held, holds, omissions, paused, recalled, lookalikes,
      days, warnings, waiting, comparison, alreadyReleased, leftOut, notRevocable, minimumKeys, nextRelease,
      reportTypes, revisedReportTypes
    case isDue = "due"
    case isTooSmall = "too_small"
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(series, forKey: .series)
    try members.encode(title, forKey: .title)
    try members.encode(now.description, forKey: .now)
    try members.encode(window, forKey: .window)
    try members.encode(isDue, forKey: .isDue)
    try members.encodeIfPresent(comparison, forKey: .comparison)
    try members.encode(believed, forKey: .believed)
    try members.encode(new, forKey: .new)
    try members.encode(revised, forKey: .revised)
    try members.encode(alreadyReleased, forKey: .alreadyReleased)
    try members.encode(held, forKey: .held)
    try members.encode(leftOut, forKey: .leftOut)
    try members.encode(paused, forKey: .paused)
    try members.encode(waiting, forKey: .waiting)
    try members.encode(holds, forKey: .holds)
    try members.encode(omissions, forKey: .omissions)
    try members.encode(recalled, forKey: .recalled)
    try members.encode(notRevocable, forKey: .notRevocable)
    try members.encode(lookalikes, forKey: .lookalikes)
    try members.encode(isTooSmall, forKey: .isTooSmall)
    try members.encode(minimumKeys, forKey: .minimumKeys)
    try members.encodeIfPresent(nextRelease?.description, forKey: .nextRelease)
    try members.encode(days, forKey: .days)
    try members.encode(reportTypes, forKey: .reportTypes)
    try members.encode(revisedReportTypes, forKey: .revisedReportTypes)
    try members.encode(warnings, forKey: .warnings)
  }
}
