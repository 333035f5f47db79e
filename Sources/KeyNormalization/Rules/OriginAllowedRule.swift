import ExposureKeys

extension AdmissionReason {
  package static let originUnknown = AdmissionReason("origin-unknown") { _ in
    "there is no origin of the name that the key states"
  }
  package static let originNotAllowed = AdmissionReason("origin-not-allowed") { _ in
    "the source may not speak for the key's origin"
  }
  package static let originExcluded = AdmissionReason("origin-excluded") { _ in
    "the policy's excluded-origins name the key's origin"
  }
}

extension AdmissionRule {
  static let originAllowed = AdmissionRule(
    documentation: RuleDocumentation(
      name: "origin-allowed",
      rule:
        "The source may speak for the key's origin, which there can be, and the policy does not exclude it. A source with "
        + "an origin speaks for that one alone, unless it is said otherwise. A key that names none has the source's origin; "
        + "where there is none either, and for relays, the origin is lost.",
      why: "An origin is what a revocation and a recall rest on, so no peer may speak for another by naming it.",
      source: "Federation gateway, origin bound to the certificate; NHS list of valid origins"),
    allows: [.originAssumed, .originLost],
    rejects: [.originUnknown, .originNotAllowed, .originExcluded],
    settings: [
      ReadingSetting(
        path: "speaks-for",
        meaning:
          "The origins that the source may speak for. Where nothing is stated: its own alone, or any where it has none.",
        form: .codes(or: "any")
      ) {
        switch $0.speaksFor {
        case .any: .word("any")
        case .only(let origins): .codes(origins)
        case nil: nil
        }
      } put: { value, policy in
        if case .codes(let origins) = value { policy.speaksFor = .only(origins) } else { policy.speaksFor = .any }
      },
      .codes(
        "excluded-origins", \.excludedOrigins, "Origins whose keys are not taken, whichever source speaks for them."),
    ],
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
