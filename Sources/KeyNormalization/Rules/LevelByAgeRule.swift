import ExposureKeys

extension AdmissionRule {
  static let levelByAge = AdmissionRule(
    documentation: RuleDocumentation(
      name: "level-by-age",
      rule:
        "Where no onset is known exactly, the transmission risk level is one for keys that began some days ago at most, "
        + "and another one for older keys, whatever was sent.",
      why:
        "Back ends that rate keys by the distance to the onset have to rate the others as well, and only their age is "
        + "left. It counts to the day on which the document came, so that no delay in publishing makes a level lower.",
      source: "Norway's and Denmark's back ends"),
    allows: [.riskByAge],
    settings: [
      ReadingSetting(
        path: "risk.without-onset",
        meaning:
          "The level of keys without an exact onset: as sent, or by their age on the day on which the document came.",
        form: .riskByAge(or: "as-sent")
      ) {
        $0.riskByAge.map(ReadingSetting.Value.riskByAge) ?? .word("as-sent")
      } put: { value, policy in
        if case .riskByAge(let levels) = value { policy.riskByAge = levels } else { policy.riskByAge = nil }
      }
    ],
    value: { policy in
      policy.riskByAge.map { "\($0.level) up to \($0.days) days after the start, then \($0.olderLevel)" } ?? "never"
    },
    apply: .toStatements { reading, context in
      guard let levels = context.policy.riskByAge, let start = reading.said.rollingStart else { return .admit }
      if let code = reading.said.daysSinceOnset, case .onset = SymptomStatus(federationCode: code) { return .admit }
      reading.said.transmissionRisk =
        Int64(start) < context.oldestYoungStart ? levels.olderLevel : levels.level
      reading.allowances.insert(.riskByAge)
      return .admit
    })
}
