import ExposureKeys

extension BeliefRule {
  static let stillValid = BeliefRule(
    documentation: RuleDocumentation(
      name: "still-valid",
      rule:
        "A key is held until the latest expiry that anybody states is past and the holding time is over; some policies wait "
        + "for the next full hour or two, when their bundles are made. It is never rejected for being valid.",
      why: "Whoever learns a key in use can send its identifiers himself, and clocks differ by up to two hours. Claims "
        + "that count for nothing else count here: paused, held and recalled ones.",
      source: "Apple and Google, key server guidance: at least two hours after expiry",
      outcome: "hold: still-valid"),
    value: { policy in
      "\(policy.effectiveHoldMinutes) minutes after expiry"
        + (policy.holdToNextMinutes.map { ", then to the next multiple of \($0) minutes" } ?? "")
    },
    apply: { belief, context in
      let release = context.release(after: belief.expiry)
      return context.now < release ? .hold(until: release, .stillValid) : .goOn
    })
}
