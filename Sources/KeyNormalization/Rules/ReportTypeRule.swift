package import ExposureKeys

extension AdmissionRule {
  static let reportType = AdmissionRule(
    documentation: RuleDocumentation(
      name: "report-type",
      rule: "The report type is one that the source may send. An absent one counts as unknown.",
      why: "Many back ends accept confirmed tests alone. Recursive reports match on no device. A number without a "
        + "meaning is never read as a report type.",
      source: "Export schema, report types; national back ends",
      outcome: "allow: report-type-unrecognized; reject: report-type-unrecognized, report-type-not-accepted"),
    value: { policy in
      let accepted = ReportType.allCases.filter(policy.reportTypes.contains).map(\.code).joined(separator: ", ")
      return "\(accepted); unrecognized: \(policy.unrecognizedReportType.rawValue)"
    },
    apply: { reading, context in
      if case .unrecognized(let number) = reading.key.reportTypeClaim {
        guard context.policy.unrecognizedReportType == .notGiven else {
          return .reject(.reportTypeUnrecognized, value: number)
        }
        reading.key.reportType = nil
        reading.allowances.insert(.reportTypeUnrecognized)
      }
      let number = reading.key.reportType ?? ReportType.unknown.rawValue
      guard context.acceptedReportTypes & 1 << UInt32(number) != 0 else {
        return .reject(.reportTypeNotAccepted, value: number)
      }
      return .admit
    })
}

extension ReportType {
  /// The name in policies and tables: `confirmed-test`.
  package var code: String {
    switch self {
    case .unknown: "unknown"
    case .confirmedTest: "confirmed-test"
    case .confirmedClinicalDiagnosis: "confirmed-clinical-diagnosis"
    case .selfReport: "self-report"
    case .recursive: "recursive"
    case .revoked: "revoked"
    }
  }

  package init?(code: String) {
    guard let match = Self.allCases.first(where: { $0.code == code }) else { return nil }
    self = match
  }
}
