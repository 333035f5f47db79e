package import ExposureKeys

extension AdmissionReason {
  package static let reportTypeUnrecognized = AdmissionReason("report-type-unrecognized") {
    "report type\($0), allowed \(ReportType.numbers)"
  }
  package static let reportTypeNotAccepted = AdmissionReason("report-type-not-accepted") {
    "report type\($0) is not accepted by the policy"
  }
}

extension AdmissionRule {
  static let reportType = AdmissionRule(
    documentation: RuleDocumentation(
      name: "report-type",
      rule: "The report type is one that the source may send. An absent one counts as unknown.",
      why: "Many back ends accept confirmed tests alone. Recursive reports match on no device. A number without a "
        + "meaning is never read as a report type.",
      source: "Export schema, report types; national back ends"),
    allows: [.reportTypeUnrecognized],
    rejects: [.reportTypeUnrecognized, .reportTypeNotAccepted],
    settings: [
      ReadingSetting(
        path: "report-types.accepted",
        meaning: "The report types that are admitted; unknown stands for an absent one too.", form: .reportTypes
      ) {
        .reportTypes($0.reportTypes)
      } put: { value, policy in
        if case .reportTypes(let types) = value { policy.reportTypes = types }
      },
      .words("report-types.unrecognized", \.unrecognizedReportType, "A number that is no report type."),
    ],
    value: { policy in
      let accepted = ReportType.allCases.filter(policy.reportTypes.contains).map(\.code).joined(separator: ", ")
      return "\(accepted); unrecognized: \(policy.unrecognizedReportType.rawValue)"
    },
    apply: .toStatements { reading, context in
      let type: ReportType
      switch reading.said.reportTypeClaim {
      case .stated(let stated): type = stated
      case .absent: type = .unknown
      case .unrecognized(let number):
        guard context.policy.unrecognizedReportType == .notGiven else {
          return .reject(.reportTypeUnrecognized, value: number)
        }
        reading.said.reportType = nil
        reading.allowances.insert(.reportTypeUnrecognized)
        type = .unknown
      }
      return context.isAccepted[type] ? .admit : .reject(.reportTypeNotAccepted, value: type.rawValue)
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
