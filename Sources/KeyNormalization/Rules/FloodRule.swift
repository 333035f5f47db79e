import ExposureKeys

extension AdmissionRule {
  static let flood = AdmissionRule(
    documentation: RuleDocumentation(
      name: "flood",
      rule:
        "An origin that sends far more new keys on a day than usual is held for an operator from there on; so is one "
        + "beyond the most that is taken a day. All documents, sources and doors of the day count. Keys "
        + "whose origin is lost count for their source, as if it were an origin. One of which nothing is known yet has the "
        + "floor. It is asked where there is a store, not by normalize.",
      why: "A peer with a lost key or a wrong query can warn a whole country. An operator can admit what was held, and "
        + "what came before can be recalled. A limit for each document is none: 239,800 keys came in documents of 9,990.",
      source: "Emergency stops of DP-3T and the NHS",
      outcome: "hold for an operator: flood, too-many-keys-a-day"),
    value: { policy in
      let flood = policy.floodFactor.map {
        "beyond \($0) times the usual volume, and beyond \(policy.floodFloor) keys a day"
      }
      let most = policy.mostKeysADay.map { "beyond \($0) keys a day" }
      let values = [flood, most].compactMap(\.self)
      return values.isEmpty ? "never" : values.joined(separator: "; ")
    },
    apply: .toVolumes { origin, _ in
      guard let limit = origin.limit, origin.admitted >= limit.keys else { return .admit }
      return .holdForOperator(limit.reason)
    })
}
