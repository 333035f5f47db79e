extension BeliefRule {
  static let tooManyRegions = BeliefRule(
    documentation: RuleDocumentation(
      name: "too-many-regions",
      rule: "One origin names at most 1000 regions for a key. The united regions of several origins have no limit.",
      why: "Nobody visits so many. A limit on what several origins say together would let one of them push out "
        + "another's key.",
      source: "ISO 3166 has 249 countries",
      outcome: "leave out: too-many-regions"),
    value: { _ in "at most \(RegionRouter.maximumRegions)" },
    apply: { belief, _ in belief.hasTooManyRegions ? .leaveOut(.tooManyRegions) : .goOn })
}
