import ExposureKeys

extension BeliefRule {
  static let publishedRisk = BeliefRule(
    documentation: RuleDocumentation(
      name: "published-risk",
      rule:
        "Apps are told the transmission risk level as sent, derived from the report type, or derived from the symptom "
        + "status by a table; then the default, the cap and the minimum apply. A revocation is never left out for its "
        + "risk. Other gateways are told the level as sent.",
      why: "Apps of the first generation warn by this level, and each country gave the numbers its own meaning.",
      source: "Google key server; Corona-Warn-App, Koronavilkku and CoronaMelder back ends; iOS allows 0...7",
      outcome: "note: risk-derived, risk-defaulted, risk-capped, risk-not-named; leave out: risk-not-published"),
    value: { $0.risk.summary },
    apply: { belief, context in
      let policy = context.policy.risk
      let derived = policy.derived(from: belief, context)
      if !derived.isNamed { belief.notes.insert(.riskNotNamed) }
      switch derived.entry {
      case .leaveOut: if !belief.isRevoked { return .leaveOut(.riskNotPublished) }
      case .level(let level):
        if level != belief.said.transmissionRisk { belief.notes.insert(.riskDerived) }
        belief.said.transmissionRisk = level
      case .asSent: break
      }
      if belief.said.transmissionRisk == nil, let fallback = policy.fallback {
        belief.said.transmissionRisk = fallback
        belief.notes.insert(.riskDefaulted)
      }
      if let cap = policy.cap, let level = belief.said.transmissionRisk, level > cap {
        belief.said.transmissionRisk = cap
        belief.notes.insert(.riskCapped)
      }
      if let minimum = policy.minimum, !belief.isRevoked, belief.said.transmissionRisk ?? 0 < minimum {
        return .leaveOut(.riskNotPublished)
      }
      return .goOn
    })
}

extension RiskPolicy {
  /// What the policy says of the level, and whether it names the case.
  fileprivate func derived(from belief: Belief, _ context: BeliefContext) -> (entry: SymptomTable.Entry, isNamed: Bool)
  {
    switch derivation {
    case .asSent: return (.asSent, true)
    case .fromSymptoms(let table):
      let status = belief.said.symptomStatus
      if status?.isGiven != true, let entry = context.notGiven(from: belief.origin) { return (entry, true) }
      return table.entry(for: status)
    case .fromReportType(let levels, let replacement):
      let isReplaced =
        switch replacement {
        case .always: true
        case .absent: belief.said.transmissionRisk == nil
        case .absentOrZero: belief.said.transmissionRisk ?? 0 == 0
        }
      guard isReplaced, let level = levels[belief.reportType] else { return (.asSent, true) }
      return (.level(level), true)
    }
  }

  fileprivate var summary: String {
    let how =
      switch derivation {
      case .asSent: "as sent"
      case .fromReportType(let levels, let replacement):
        "from report type ("
          + ReportType.allCases.compactMap { type in levels[type].map { "\(type.code): \($0)" } }
          .joined(separator: ", ") + "), replacing \(replacement.rawValue)"
      case .fromSymptoms(let table):
        "from symptoms, by " + (table.isByLength ? "tables for each length of span" : "a table")
      }
    return how + (fallback.map { "; default \($0)" } ?? "") + (cap.map { "; cap \($0)" } ?? "")
      + (minimum.map { "; minimum \($0)" } ?? "")
  }
}
