package import KeyInspection
internal import KeyIntake

extension InspectionText {
  /// What a client would do with the file, rule by rule; rules without consequence only when `all` asks for them.
  static func render(_ report: ProfileReport, all: Bool = false, options: Options = Options()) -> String {
    var lines = ["profile \(report.profile.rawValue): \(report.summary)"]
    for outcome in ProfileReport.Outcome.allCases.reversed() where all || outcome.isRemarkable {
      for row in report.rules where row.outcome == outcome {
        lines += wrapped(
          row.text, label: pad("\(outcome.rawValue):", 13), hanging: "\(row.rule.rawValue): ", options.width)
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }
}

extension ProfileReport {
  /// `reads the file but skips 3 keys`.
  package var summary: String {
    switch verdict {
    case .accepts: "accepts the file"
    case .acceptsWithWarnings: "accepts the file, with warnings"
    case .skipsKeys: "reads the file but skips \(counted(skippedKeys, "key"))"
    case .refusesFile: "refuses the file"
    case .refusesCall: "refuses the file, and every other file of the same call"
    }
  }
}
