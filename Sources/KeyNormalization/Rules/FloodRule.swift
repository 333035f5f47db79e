import ExposureKeys

extension AdmissionReason {
  package static let flood = AdmissionReason("flood") { _ in
    "its source brought far more keys of the origin than on a usual day"
  }
  package static let tooManyKeysADay = AdmissionReason("too-many-keys-a-day") { _ in
    "more keys of the origin than are taken a day"
  }
}

extension AdmissionRule {
  static let flood = AdmissionRule(
    documentation: RuleDocumentation(
      name: "flood",
      rule:
        "If a source or upload endpoint brings far more new keys of an origin on a day than usual, those beyond the limit are "
        + "held for an operator; so are those beyond the most that is taken a day. Each source counts by itself, over all its "
        + "documents of the day. Without a history the floor is the limit: the busiest day of the gateway's population, or "
        + "\(BusyDay.keys(of: nil)) keys. keyferry quarantine raise raises the limit of a day. It is asked where there is a "
        + "store, not by normalize.",
      why: "A peer with a lost key or a wrong query can warn a whole country. An operator can admit what was held, and "
        + "what came before can be recalled. A limit for each document is none: 239,800 keys came in documents of 9,990. "
        + "A limit for all sources together would let one leaked token hold back the operator's own keys.",
      source: "Emergency stops of DP-3T and the NHS"),
    holds: [.flood, .tooManyKeysADay],
    settings: [
      .number(
        "flood.factor", \.floodFactor, in: 2...1000, or: "never",
        "An origin is held for an operator beyond this multiple of what a source usually brings of it a day."),
      .number(
        "flood.floor", \.floodFloor, in: 0...1_000_000_000, or: "by-population",
        "Volumes of a day up to this are never a flood. by-population is \(BusyDay.keysPerThousand) keys of each thousand inhabitants "
          + "that gateway.yaml states, at least \(BusyDay.fewestKeys); \(BusyDay.keys(of: nil)) if it states none."),
      .number(
        "flood.most-a-day", \.mostKeysADay, in: 1...1_000_000_000, or: "none",
        "New keys of an origin from a source on a day beyond which they are held in any case."),
    ],
    value: { policy in
      let flood = policy.floodFactor.map {
        "beyond \($0) times the usual volume, and beyond "
          + (policy.floodFloor.map { "\($0) keys a day" } ?? "the busiest day of the population")
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
