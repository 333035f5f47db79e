internal import ExposureKeys

/// The rules of a policy as rows for people: generated from the rules themselves, so that it cannot differ from them.
package struct RuleTable: Hashable, Sendable {
  package struct Row: Hashable, Sendable {
    package enum Stage: String, Hashable, Sendable, CaseIterable { case admission, belief }

    package let stage: Stage
    package let rule: RuleDocumentation
    /// What the policy sets it to.
    package let value: String
  }

  package let rows: [Row]
  /// The table of levels by symptom status and day, a line a class; empty where the policy has none.
  package let levels: [String]
  /// What decides within an origin, and whose word decides alone, a line each.
  package let preferences: [String]
  /// What else holds from a day on: `from 2022-01-13, published-risk: …`.
  package let changes: [String]

  package init(of policy: Policy) {
    rows = Self.rows(policy.reading, policy.publishing)
    levels = Self.levels(policy.publishing)
    preferences = Self.preferences(policy.publishing)
    var (last, lastLevels, lastPreferences) = (rows, levels, preferences)
    changes = policy.changes.flatMap { change in
      let (rows, levels) = (Self.rows(change.reading, change.publishing), Self.levels(change.publishing))
      let preferences = Self.preferences(change.publishing)
      let other = zip(last, rows).filter { $0.value != $1.value }.map { "\($1.rule.name): \($1.value)" }
      let otherLevels = levels == lastLevels ? [] : ["levels: " + levels.joined(separator: "; ")]
      let otherPreferences = zip(lastPreferences, preferences).filter { $0 != $1 }.map(\.1)
      (last, lastLevels, lastPreferences) = (rows, levels, preferences)
      return (other + otherLevels + otherPreferences).map { "from \(change.from), \($0)" }
    }
  }

  private static func rows(_ reading: ReadingPolicy, _ publishing: PublishingPolicy) -> [Row] {
    AdmissionRules.standard.all.map { Row(stage: .admission, rule: $0.documentation, value: $0.value(reading)) }
      + BeliefRules.all.map { Row(stage: .belief, rule: $0.documentation, value: $0.value(publishing)) }
  }

  private static func preferences(_ publishing: PublishingPolicy) -> [String] {
    let named = publishing.precedence.sorted().joined(separator: ", ")
    return [
      "rolling period: \(publishing.rollingPeriodPreference.rawValue)", "risk: \(publishing.riskPreference.rawValue)",
      "symptoms: \(publishing.symptomPreference.rawValue)", "precedence: \(named.isEmpty ? "none" : named)",
    ]
  }

  private static func levels(_ publishing: PublishingPolicy) -> [String] {
    if case .fromSymptoms(let table) = publishing.risk.derivation { table.lines } else { [] }
  }

  /// The table for the documentation, in Markdown.
  package var markdown: String {
    let header = "| stage | rule | what it does | outcome | value |\n|---|---|---|---|---|\n"
    return header
      + rows.map { row in
        let cells = [row.stage.rawValue, "`\(row.rule.name)`", row.rule.rule, row.rule.outcome, row.value]
        return "| " + cells.joined(separator: " | ") + " |\n"
      }.joined() + (levels.isEmpty ? "" : "\nLevels by symptom status and day:\n\n")
      + levels.map { "- \($0)\n" }.joined() + (changes.isEmpty ? "" : "\nLater:\n\n")
      + changes.map { "- \($0)\n" }.joined()
  }
}
