import ExposureKeys

extension BeliefRule {
  static let shortPeriods = BeliefRule(
    documentation: RuleDocumentation(
      name: "short-periods",
      rule: "Apps are told rolling periods below 144 as they are, or as 144.",
      why: "Some iOS versions of mid-2020 were said to refuse short keys. A key published as 144 is held until those "
        + "intervals are over.",
      source: "DP-3T key server",
      outcome: "note: rolling-period-expanded"),
    value: { $0.expandsShortPeriods ? "published as 144" : "as they are" },
    isNeeded: { $0.expandsShortPeriods },
    apply: { belief, context in
      if context.policy.expandsShortPeriods, belief.said.rollingPeriodWord < RollingPeriod.fullDay {
        belief.said.rollingPeriod = RollingPeriod.fullDay
        belief.longestPeriod = max(belief.longestPeriod, RollingPeriod.fullDay)
        belief.notes.insert(.rollingPeriodExpanded)
      }
      return .goOn
    })
}
