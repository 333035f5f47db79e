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
      outcome: "note: risk-derived, risk-defaulted, risk-capped; leave out: risk-not-published"),
    value: { $0.risk.summary },
    apply: { belief, context in
      let policy = context.policy.risk
      switch policy.derived(from: belief) {
      case .leaveOut? where !belief.isRevoked: return .leaveOut(.riskNotPublished)
      case .level(let level)?:
        if level != belief.said.transmissionRisk { belief.notes.insert(.riskDerived) }
        belief.said.transmissionRisk = level
      default: break
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
  /// `nil` keeps what was sent.
  fileprivate func derived(from belief: Belief) -> SymptomTable.Entry? {
    switch derivation {
    case .asSent: return nil
    case .fromSymptoms(let table): return table[belief.said.symptomStatus]
    case .fromReportType(let levels, let replacement):
      let isReplaced =
        switch replacement {
        case .always: true
        case .absent: belief.said.transmissionRisk == nil
        case .absentOrZero: belief.said.transmissionRisk ?? 0 == 0
        }
      return isReplaced ? levels[belief.reportType].map(SymptomTable.Entry.level) : nil
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
      case .fromSymptoms: "from symptoms"
      }
    return how + (fallback.map { "; default \($0)" } ?? "") + (cap.map { "; cap \($0)" } ?? "")
      + (minimum.map { "; minimum \($0)" } ?? "")
  }
}
