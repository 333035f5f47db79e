import ExposureKeys

extension AdmissionRule {
  static let originAllowed = AdmissionRule(
    documentation: RuleDocumentation(
      name: "origin-allowed",
      rule:
        "The source may speak for the key's origin, which there can be, and the policy does not exclude it. A source with "
        + "an origin speaks for that one alone, unless it is said otherwise. A key that names none has the source's origin; "
        + "where there is none either, and for relays, the origin is lost.",
      why: "An origin is what a revocation and a recall rest on, so no peer may speak for another by naming it.",
      source: "Federation gateway, origin bound to the certificate; NHS list of valid origins",
      outcome: "allow: origin-assumed, origin-lost; reject: origin-unknown, origin-not-allowed, "
        + "origin-excluded"),
    value: { policy in
      let taken =
        switch policy.speaksFor {
        case .any: "any origin"
        case .only(let origins): "origins: " + origins.sorted().joined(separator: ", ")
        case nil: "the source's own origin"
        }
      let excluded = policy.excludedOrigins.sorted().joined(separator: ", ")
      return taken + (excluded.isEmpty ? "" : "; but \(excluded)")
    },
    apply: .toStatements { reading, _ in
      guard reading.origin.isKnown else { return .reject(.originUnknown) }
      if reading.origin.isExcluded { return .reject(.originExcluded) }
      return reading.origin.isAllowed ? .admit : .reject(.originNotAllowed)
    })
}
