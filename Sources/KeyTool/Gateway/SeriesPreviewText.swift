internal import ExposureKeys
internal import FileCommands
internal import KeyIntake
internal import KeyPublishing

extension SeriesPreview {
  /// For people, line by line.
  var lines: [String] {
    [heading, sum(new, "new", and: [(paused, "paused")] + (waiting > 0 ? [(waiting, "waiting")] : []))] + fate
      + days.sorted { $0.key < $1.key }.map { "  new, in use on \($0.key): \(grouped($0.value))" }
      + ranked(reportTypes).map { "  new, \($0): \(grouped($1))" }
      + ranked(revisedReportTypes).map { "  revised, now \($0): \(grouped($1))" } + reasons
      + recallLines(recalled, "recalled, to be revoked") + compared + warnings.map { "warning: \($0.reason)" }
  }

  private var heading: String {
    let name = title == series ? series : "\(series) (\(title))"
    let when = isDue ? "is due" : "is not over yet, nothing is due until \(window.instant)"
    return "\(name): the window from \(Instant(secondsSince1970: window.start)) to \(window.instant) \(when)"
  }

  private var compared: [String] {
    guard let comparison else { return [] }
    guard let count = comparison.lookedAt else { return ["  the next round looks at all keys"] }
    return [
      "  a look at the \(counted(count, "key")) with a change since the last round alone "
        + (comparison.agrees
          ? "selects the same as a look at all keys"
          : "does NOT select the same as a look at all keys: keep a copy of the store, and report this")
    ]
  }

  /// What becomes of the new keys, where that is not simply a bundle.
  private var fate: [String] {
    guard !isTooSmall else {
      return ["  too few for a bundle of at least \(grouped(minimumKeys)): they wait for the next window"]
    }
    return lookalikes > 0 ? ["  \(counted(lookalikes, "look-alike")) added"] : []
  }
}
