import ExposureKeys

extension AdmissionRule {
  /// Report type r = 1...4 and days since onset d = 1 or 2 stand for the level 2·(5 − r) − (1 if d = 1, else 0).
  static let reencodedRisk = AdmissionRule(
    documentation: RuleDocumentation(
      name: "reencoded-risk",
      rule: "Where the source hides its risk level in report type and days since onset, the level is read out of them, "
        + "and both count as not given.",
      why: "In a bundle of the Corona-Warn-App these two fields mean neither report type nor onset. "
        + "A key that states one of them alone, or other numbers, is not in this encoding and cannot be read.",
      source: "Corona-Warn-App server, transmission risk encoding",
      outcome: "allow: reencoded-risk; reject: risk-encoding-unreadable"),
    value: { "risk encoding: \($0.riskEncoding.rawValue)" },
    apply: { reading, context in
      guard context.policy.riskEncoding == .coronaWarnApp else { return .admit }
      switch (reading.key.reportType, reading.key.daysSinceOnset) {
      case (nil, nil):
        // Bundles of June to autumn 2020, before the encoding, state the level alone.
        return .admit
      case (ReportType.revoked.rawValue?, _):
        // Outside the encoding: a revocation is what it says.
        return .admit
      case (let type?, let days?) where (1...4).contains(type) && (1...2).contains(days):
        reading.key.transmissionRisk = 2 * (5 - type) - (days == 1 ? 1 : 0)
        reading.key.reportType = nil
        reading.key.daysSinceOnset = nil
        reading.allowances.insert(.reencodedRisk)
        return .admit
      case (let type, let days):
        let isTypeWrong = type.map { !(1...4).contains($0) } ?? true
        return .reject(.riskEncodingUnreadable, value: isTypeWrong ? type : days)
      }
    })

  /// The inverse: report type and days since onset for a level of 1...8.
  static func reencode(risk: Int32) -> (reportType: Int32, daysSinceOnset: Int32)? {
    guard (1...8).contains(risk) else { return nil }
    return (5 - (risk + 1) / 2, risk % 2 == 1 ? 1 : 2)
  }
}
