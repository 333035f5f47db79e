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

  package init(of policy: Policy) {
    rows =
      AdmissionRules.standard.all.map {
        Row(stage: .admission, rule: $0.documentation, value: $0.value(policy.reading))
      }
      + BeliefRules.all.map { Row(stage: .belief, rule: $0.documentation, value: $0.value(policy.publishing)) }
    if case .fromSymptoms(let table) = policy.publishing.risk.derivation { levels = table.lines } else { levels = [] }
  }

  /// The table for the documentation, in Markdown.
  package var markdown: String {
    let header = "| stage | rule | what it does | outcome | value |\n|---|---|---|---|---|\n"
    return header
      + rows.map { row in
        let cells = [row.stage.rawValue, "`\(row.rule.name)`", row.rule.rule, row.rule.outcome, row.value]
        return "| " + cells.joined(separator: " | ") + " |\n"
      }.joined() + (levels.isEmpty ? "" : "\nLevels by symptom status and day:\n\n")
      + levels.map { "- \($0)\n" }.joined()
  }
}
