import ExposureKeys

extension BeliefRule {
  static let riskForApps = BeliefRule(
    documentation: RuleDocumentation(
      name: "risk-for-apps",
      rule: "For the Corona-Warn-App the risk level is written into report type and days since onset; what both said "
        + "is not told to apps then. A revocation stays what it is.",
      why: "The app reads its risk level from these two fields and takes them for nothing else.",
      source: "Corona-Warn-App server, transmission risk encoding",
      outcome: "note: risk-reencoded; leave out: risk-not-published"),
    value: { $0.riskEncoding.rawValue },
    isNeeded: { $0.riskEncoding == .coronaWarnApp },
    apply: { belief, context in
      guard context.policy.riskEncoding == .coronaWarnApp, !belief.isRevoked else { return .goOn }
      guard let risk = belief.said.transmissionRisk, AdmissionRule.reencode(risk: risk) != nil else {
        return .leaveOut(.riskNotPublished)
      }
      // It is written when all published opinions are known: the highest level of theirs.
      belief.notes.insert(.riskReencoded)
      return .goOn
    })
}
