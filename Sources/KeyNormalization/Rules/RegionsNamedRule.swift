import ExposureKeys

extension AdmissionReason {
  package static let tooManyRegions = AdmissionReason("too-many-regions") {
    "names\($0) regions, allowed at most \(ReadingPolicy.maximumRegions)"
  }
  package static let regionsUnknown = AdmissionReason("regions-unknown") { _ in
    "none of the regions that the key names can be one"
  }
  package static let regionsNotAllowed = AdmissionReason("regions-not-allowed") { _ in
    "the source may name none of the key's regions"
  }
}

extension AdmissionRule {
  static let regionsNamed = AdmissionRule(
    documentation: RuleDocumentation(
      name: "regions-named",
      rule:
        "A claim names at most \(ReadingPolicy.maximumRegions) regions, and such as there are: by ISO 3166, by a mobile "
        + "country code, or declared by the operator. Other names, and those that the source may not name, are dropped; a "
        + "claim of which none is left is rejected, since one that names none may go everywhere.",
      why: "Nobody visits so many. Invented names are room that somebody takes from others, and whoever names a region "
        + "decides whose phones warn.",
      source: "ISO 3166, ITU-T E.212; 1.2 million lists of one origin left no room for those of another"),
    allows: [.regionsUnknown, .regionsNotAllowed],
    rejects: [.tooManyRegions, .regionsUnknown, .regionsNotAllowed],
    settings: [
      .codes(
        "regions.named", \.regions, or: "any",
        "The regions that the source may name. Others are dropped; a key that names no other is rejected."),
      .codes(
        "regions.declared", \.declaredRegions,
        "Regions and origins that neither ISO 3166 nor a mobile country code names."),
    ],
    value: { policy in
      let named = policy.regions.map { $0.sorted().joined(separator: ", ") } ?? "any region"
      let declared = policy.declaredRegions.sorted().joined(separator: ", ")
      return named + (declared.isEmpty ? "" : "; declared: \(declared)")
    },
    apply: .toStatements { reading, _ in
      let regions = reading.regions
      if regions.count > ReadingPolicy.maximumRegions {
        return .reject(.tooManyRegions, value: Int32(clamping: regions.count))
      }
      if regions.areUnknown { return .reject(.regionsUnknown) }
      return regions.areNotAllowed ? .reject(.regionsNotAllowed) : .admit
    })
}
