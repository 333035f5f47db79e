internal import KeyNormalization

/// What `policy list`, `policy check` and `policy show` tell, as JSON: `schemas/policy-report.schema.json`.
struct PolicyListDocument: Encodable {
  let reportVersion = 1
  let policies: [Policy]

  struct Policy: Encodable {
    let name: String
    let summary: String
  }

  init(_ policies: [KeyNormalization.Policy]) {
    self.policies = policies.map { Policy(name: $0.name, summary: $0.summary) }
  }
}

struct PolicyCheckDocument: Encodable {
  let reportVersion = 1
  let files: [File]

  struct File: Encodable {
    let file: String
    /// The policy's name; `nil` where there is a fault.
    let policy: String?
    let faults: [Fault]
    /// What an operator should know, though the policy can be used.
    let warnings: [Fault]
  }

  struct Fault: Encodable {
    let place: String
    /// Counted from 1; 0 where it is not known.
    let line: Int
    let column: Int
    let reason: String

    init(_ fault: PolicyFault) {
      place = fault.place
      line = fault.line
      column = fault.column
      reason = fault.reason
    }
  }
}

struct PolicyDocument: Encodable {
  let reportVersion = 1
  let name: String
  let summary: String
  /// In the order in which they are asked.
  let rules: [Rule]
  /// The table of levels by symptom status and day, a line a class.
  let levels: [String]
  /// What decides within an origin, and whose word decides alone, a line each.
  let preferences: [String]
  /// The days on which its rules change; it is told as it holds at the time that was asked for.
  let changes: [String]

  struct Rule: Encodable {
    let stage: String
    let rule: String
    /// What the policy sets it to.
    let value: String
    let does: String
    let outcome: String
    let why: String
    let source: String
  }

  init(_ policy: Policy, _ table: RuleTable, changes: [String]) {
    self.changes = changes
    name = policy.name
    summary = policy.summary
    levels = table.levels
    preferences = table.preferences
    rules = table.rows.map { row in
      Rule(
        stage: row.stage.rawValue, rule: row.rule.name, value: row.value, does: row.rule.rule,
        outcome: row.rule.outcome, why: row.rule.why, source: row.rule.source)
    }
  }
}
