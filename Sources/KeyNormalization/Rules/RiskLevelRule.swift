import ExposureKeys

extension AdmissionRule {
  static let riskLevel = AdmissionRule(
    documentation: RuleDocumentation(
      name: "risk-level",
      rule: "The transmission risk level is 0...8, or absent; 2147483647 means not given.",
      why:
        "Google's framework fails on a match outside 0...8. The federation's uploaders send 2147483647 for no level.",
      source: "Federation gateway, upload validation; Google's framework; DP-3T and Koronavilkku uploads",
      outcome: "allow: risk-not-given, risk-out-of-range; reject: risk-out-of-range"),
    value: { "outside 0...8: \($0.riskOutOfRange.rawValue)" },
    apply: .toStatements { reading, context in
      guard let risk = reading.said.transmissionRisk, !TransmissionRisk.range.contains(risk) else { return .admit }
      if risk == .max {
        reading.allowances.insert(.riskNotGiven)
      } else if context.policy.riskOutOfRange == .notGiven {
        reading.allowances.insert(.riskOutOfRange)
      } else {
        return .reject(.riskOutOfRange, value: risk)
      }
      reading.said.transmissionRisk = nil
      return .admit
    })
}
