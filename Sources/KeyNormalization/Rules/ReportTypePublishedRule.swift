import ExposureKeys

extension BeliefRule {
  static let reportTypePublished = BeliefRule(
    documentation: RuleDocumentation(
      name: "report-type-published",
      rule:
        "Each report type is published as itself, as another, or not at all; for some origins otherwise than for all. An "
        + "opinion that states none counts as unknown. Other gateways are told the report type as it was said.",
      why: "Apps of the second generation ignore keys without a report type, and recursive ones match on no device.",
      source: "Apple, reportTypeNoneMap; Google's framework",
      outcome: "note: report-type-mapped; leave out: report-type-not-published, revoked"),
    value: { policy in
      let all = ReportType.allCases.map { text($0, policy.reportTypes[$0] ?? .leaveOut) }
      let some = policy.reportTypesByOrigin.sorted { $0.key < $1.key }.map { origin, outcomes in
        let types = ReportType.allCases.compactMap { type in outcomes[type].map { text(type, $0) } }
        return "of \(origin): \(types.joined(separator: ", "))"
      }
      return (all + some).joined(separator: "; ")
    },
    apply: { belief, context in
      let type = belief.reportType
      switch context.outcome(of: type, from: belief.origin) {
      case .leaveOut:
        return .leaveOut(belief.isRevoked ? .revoked : .reportTypeNotPublished)
      case .publish(let published) where published != type:
        belief.reportType = published
        belief.notes.insert(.reportTypeMapped)
      case .publish: break
      }
      return .goOn
    })
}

private func text(_ type: ReportType, _ outcome: PublishingPolicy.ReportTypeOutcome) -> String {
  switch outcome {
  case .leaveOut: "\(type.code): leave out"
  case .publish(let published): published == type ? type.code : "\(type.code): as \(published.code)"
  }
}
