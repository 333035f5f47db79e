import ExposureKeys

extension BeliefRule {
  static let onsetForApps = BeliefRule(
    documentation: RuleDocumentation(
      name: "onset-for-apps",
      rule:
        "Apps are given an exact onset of -14...14. For every other symptom status they are given the default of its "
        + "class, the default of all, or none; some policies give one for exact onsets as well.",
      why: "A device fails on a match with any other number, and no other class is an onset. Apps of the second "
        + "generation may ignore a key without one.",
      source: "Apple and Google frameworks; federation interoperability specification",
      outcome: "note: onset-defaulted, onset-withheld, onset-replaced"),
    value: { policy in
      let classes = SymptomClass.allCases.compactMap { name in
        policy.daysSinceOnsetByClass[name].map { "\(name.rawValue): \($0.text)" }
      }
      let other = policy.defaultDaysSinceOnset.map { "default \($0.days)" } ?? "no default"
      return (classes + [other]).joined(separator: "; ")
    },
    apply: { belief, context in
      let status = belief.said.symptomStatus
      let exact = status?.daysSinceOnsetForApps
      let days = context.policy.daysSinceOnsetForApps(status)
      belief.said.daysSinceOnset = days
      if exact != nil {
        if days != exact { belief.notes.insert(.onsetReplaced) }
      } else if days != nil {
        belief.notes.insert(.onsetDefaulted)
      } else if status != nil {
        belief.notes.insert(.onsetWithheld)
      }
      return .goOn
    })
}

extension PublishingPolicy.OnsetForApps {
  package var text: String {
    switch self {
    case .asSent: "as sent"
    case .days(let offset): "\(offset.days)"
    case .none: "none"
    }
  }
}
