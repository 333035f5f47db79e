import ExposureKeys

extension AdmissionRule {
  static let flood = AdmissionRule(
    documentation: RuleDocumentation(
      name: "flood",
      rule: "An origin that sends far more than its usual volume is held for an operator from there on.",
      why: "A peer with a lost key or a wrong query can warn a whole country. An operator can admit what was held, and "
        + "what came before can be recalled.",
      source: "Emergency stops of DP-3T and the NHS",
      outcome: "hold for an operator: flood"),
    value: { policy in
      policy.floodFactor.map { "beyond \($0) times the usual volume, and beyond \(policy.floodFloor) keys" } ?? "never"
    },
    apply: .toVolumes { origin, _ in origin.admitted < origin.floodLimit ? .admit : .holdForOperator(.flood) })
}
