import ExposureKeys

extension BeliefRule {
  static let stillValid = BeliefRule(
    documentation: RuleDocumentation(
      name: "still-valid",
      rule:
        "A key is held until the latest expiry that anybody states is past and the holding time is over. It is never "
        + "rejected for being valid.",
      why: "Whoever learns a key in use can send its identifiers himself, and clocks differ by up to two hours. Claims "
        + "that count for nothing else count here: paused, held and recalled ones.",
      source: "Apple and Google, key server guidance: at least two hours after expiry",
      outcome: "hold: still-valid"),
    value: { "\($0.effectiveHoldMinutes) minutes after expiry" },
    apply: { belief, context in
      let release = Instant(
        secondsSince1970: belief.expiry.secondsSince1970 + Int64(context.policy.effectiveHoldMinutes) * 60)
      return context.now < release ? .hold(until: release, .stillValid) : .goOn
    })
}
