import ExposureKeys

extension BeliefRule {
  static let onsetForApps = BeliefRule(
    documentation: RuleDocumentation(
      name: "onset-for-apps",
      rule: "Apps are given an exact onset of -14...14. For every other symptom status they are given the default, or "
        + "none.",
      why: "A device fails on a match with any other number, and no other class is an onset. Apps of the second "
        + "generation may ignore a key without one.",
      source: "Apple and Google frameworks; federation interoperability specification",
      outcome: "note: onset-defaulted, onset-withheld"),
    value: { policy in policy.defaultDaysSinceOnset.map { "default \($0.days)" } ?? "no default" },
    apply: { belief, context in
      let status = belief.said.symptomStatus
      if let days = status?.daysSinceOnsetForApps {
        belief.said.daysSinceOnset = days
      } else if let days = context.policy.defaultDaysSinceOnset {
        belief.said.daysSinceOnset = Int32(days.days)
        belief.notes.insert(.onsetDefaulted)
      } else if status != nil {
        belief.said.daysSinceOnset = nil
        belief.notes.insert(.onsetWithheld)
      }
      return .goOn
    })
}
