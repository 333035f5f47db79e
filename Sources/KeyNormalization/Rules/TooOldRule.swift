import ExposureKeys

extension BeliefRule {
  static let tooOld = BeliefRule(
    documentation: RuleDocumentation(
      name: "too-old",
      rule: "A key is left out once the latest expiry that anybody states is too many days ago.",
      why: "Devices keep sightings for 14 days. The age counts from the expiry: a key may have been in use until then. "
        + "Whoever delays a key by a later expiry does not make it too old.",
      source: "Google key server, publish validation",
      outcome: "leave out: too-old"),
    value: { "\($0.maximumAgeDays) days after expiry" },
    apply: { belief, context in
      let age = context.now.secondsSince1970 - belief.expiry.secondsSince1970
      return age > Int64(context.policy.maximumAgeDays) * 86_400 ? .leaveOut(.tooOld) : .goOn
    })
}
