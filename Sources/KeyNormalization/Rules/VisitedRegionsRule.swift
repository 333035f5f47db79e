import ExposureKeys

extension BeliefRule {
  static let visitedRegions = BeliefRule(
    documentation: RuleDocumentation(
      name: "visited-regions",
      rule: "A key goes to the regions that the person visited, and to its origin where the policy says so. Naming no "
        + "region means all, none or the origin alone. Where the policy ignores the names, every key goes to all regions.",
      why:
        "An empty list means all regions to some readers and none to others. One origin's claims are read one by one "
        + "and then united.",
      source: "Federation, visitedCountries",
      outcome: "leave out: other-region"),
    value: {
      ($0.ignoresVisited ? "names ignored; " : "")
        + "none named: \($0.emptyVisited.rawValue); origin included: \($0.includesOrigin ? "yes" : "no")"
    },
    apply: { belief, _ in belief.reachesTarget ? .goOn : .leaveOut(.otherRegion) })
}
