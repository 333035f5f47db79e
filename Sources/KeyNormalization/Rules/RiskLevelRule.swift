import ExposureKeys

extension AdmissionReason {
  package static let riskOutOfRange = AdmissionReason("risk-out-of-range") {
    "transmission risk level\($0), allowed \(TransmissionRisk.range)"
  }
}

extension AdmissionRule {
  static let riskLevel = AdmissionRule(
    documentation: RuleDocumentation(
      name: "risk-level",
      rule: "The transmission risk level is 0...8, or absent; 2147483647 means not given.",
      why:
        "Google's framework fails on a match outside 0...8. The federation's uploaders send 2147483647 for no level.",
      source: "Federation gateway, upload validation; Google's framework; DP-3T and Koronavilkku uploads"),
    allows: [.riskNotGiven, .riskOutOfRange, .riskReadAsZero],
    rejects: [.riskOutOfRange],
    settings: [
      .words(
        "risk.out-of-range", \.riskOutOfRange, "A level outside 0...8; 2147483647 is not given always.")
    ],
    value: { "outside 0...8: \($0.riskOutOfRange.rawValue)" },
    apply: .toStatements { reading, context in
      guard let risk = reading.said.transmissionRisk, !TransmissionRisk.range.contains(risk) else { return .admit }
      guard risk != .max else {
        reading.allowances.insert(.riskNotGiven)
        reading.said.transmissionRisk = nil
        return .admit
      }
      switch context.policy.riskOutOfRange {
      case .reject: return .reject(.riskOutOfRange, value: risk)
      case .notGiven:
        reading.allowances.insert(.riskOutOfRange)
        reading.said.transmissionRisk = nil
      case .zero:
        reading.allowances.insert(.riskReadAsZero)
        reading.said.transmissionRisk = 0
      }
      return .admit
    })
}
