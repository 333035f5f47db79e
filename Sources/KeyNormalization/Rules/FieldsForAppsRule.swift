import ExposureKeys

extension BeliefRule {
  static let fieldsForApps = BeliefRule(
    documentation: RuleDocumentation(
      name: "fields-for-apps",
      rule: "Report type, risk level and onset can each be kept from apps. A revocation keeps its report type.",
      why:
        "Some back ends never wrote these fields, and their apps set for themselves what an absent one means. A revoked "
        + "key without its type would be a case.",
      source: "DP-3T, NHS and Immuni back ends: what their bundles hold",
      outcome: "note: field-withheld"),
    value: { policy in
      let fields = PublishingPolicy.AppField.allCases.filter(policy.withheldFromApps.contains).map(\.rawValue)
      return fields.isEmpty ? "all are told" : "not told: \(fields.joined(separator: ", "))"
    },
    isNeeded: { !$0.withheldFromApps.isEmpty },
    apply: { belief, context in
      let withheld = context.policy.withheldFromApps
      guard !withheld.isEmpty else { return .goOn }
      belief.notes.insert(.fieldWithheld)
      if withheld.contains(.reportType), !belief.isRevoked { belief.said.reportType = nil }
      if withheld.contains(.onset) { belief.said.daysSinceOnset = nil }
      if withheld.contains(.risk) { belief.said.transmissionRisk = nil }
      return .goOn
    })
}
