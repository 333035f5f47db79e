import ExposureKeys

extension AdmissionReason {
  package static let daysSinceOnsetUndefined = AdmissionReason("days-since-onset-undefined") {
    "days since onset\($0) have no meaning by the policy"
  }
}

extension AdmissionRule {
  static let daysSinceOnset = AdmissionRule(
    documentation: RuleDocumentation(
      name: "days-since-onset",
      rule:
        "The days since onset are a defined code, or absent. From a source that does not use the federation's codes "
        + "they are -14...14.",
      why:
        "The federation packs exact days, spans, unknown onset, no symptoms and unknown status into one number. Back "
        + "ends that clamped it or took it modulo 100 turned people without symptoms into days since onset.",
      source: "Federation interoperability specification; Google key server, publish validation"),
    allows: [.onsetNotProvided, .onsetUndefined],
    rejects: [.daysSinceOnsetUndefined],
    settings: [
      .words("onset.codes", \.onsetCodes, "Which numbers have a meaning."),
      .words("onset.undefined", \.undefinedOnset, "A number without a meaning."),
      .number(
        "onset.highest-code", \.highestOnsetCode, in: ReadingPolicy.highestOnsetCodeAllowed, or: "none",
        "A higher number is rejected, whatever it means."),
    ],
    value: {
      "codes: \($0.onsetCodes.rawValue)" + ($0.highestOnsetCode.map { " up to \($0)" } ?? "")
        + "; undefined: \($0.undefinedOnset.rawValue)"
    },
    apply: .toStatements { reading, context in
      guard let code = reading.said.daysSinceOnset, !DaysSinceOnset.range.contains(code) else { return .admit }
      let policy = context.policy
      if let highest = policy.highestOnsetCode, code > highest { return .reject(.daysSinceOnsetUndefined, value: code) }
      switch SymptomStatus(federationCode: code) {
      case .notProvided where policy.onsetCodes == .federation:
        reading.allowances.insert(.onsetNotProvided)
      case .onset, .onsetInRange, .onsetUnknown, .asymptomatic, .statusUnknown:
        if policy.onsetCodes == .federation { return .admit }
        fallthrough
      case .notProvided, .undefined:
        guard policy.undefinedOnset == .notGiven else { return .reject(.daysSinceOnsetUndefined, value: code) }
        reading.allowances.insert(.onsetUndefined)
      }
      reading.said.daysSinceOnset = nil
      return .admit
    })
}
