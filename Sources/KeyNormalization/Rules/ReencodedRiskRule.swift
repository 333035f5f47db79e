import ExposureKeys

extension AdmissionReason {
  package static let riskEncodingUnreadable = AdmissionReason("risk-encoding-unreadable") {
    "report type and days since onset\($0) encode no risk level as the policy's encoding does"
  }
}

extension AdmissionRule {
  static let reencodedRisk = AdmissionRule(
    documentation: RuleDocumentation(
      name: "reencoded-risk",
      rule: "Where the source hides its risk level in report type and days since onset, the level is read out of them, "
        + "and both count as not given.",
      why: "In a bundle of the Corona-Warn-App these two fields mean neither report type nor onset. "
        + "A key that states one of them alone, or other numbers, is not in this encoding and cannot be read.",
      source: "Corona-Warn-App server, transmission risk encoding"),
    allows: [.reencodedRisk],
    rejects: [.riskEncodingUnreadable],
    settings: [
      .words("risk.encoding", \.riskEncoding, "How the source spells risk levels.")
    ],
    value: { "risk encoding: \($0.riskEncoding.rawValue)" },
    apply: .toStatements { reading, context in
      guard context.policy.riskEncoding == .coronaWarnApp else { return .admit }
      let days = reading.said.daysSinceOnset
      let levels: CoronaWarnAppLevels
      switch reading.said.reportTypeClaim {
      case .absent:
        // Bundles of June to autumn 2020, before the encoding, state the level alone.
        return days == nil ? .admit : .reject(.riskEncodingUnreadable)
      case .stated(.revoked):
        // Outside the encoding: a revocation is what it says.
        return .admit
      case .stated(let type):
        guard let known = type.coronaWarnAppLevels else {
          return .reject(.riskEncodingUnreadable, value: type.rawValue)
        }
        levels = known
      case .unrecognized(let number): return .reject(.riskEncodingUnreadable, value: number)
      }
      guard let level = levels.level(daysSinceOnset: days) else { return .reject(.riskEncodingUnreadable, value: days) }
      reading.said.transmissionRisk = level
      reading.said.reportType = nil
      reading.said.daysSinceOnset = nil
      reading.allowances.insert(.reencodedRisk)
      return .admit
    })

  /// The inverse: report type and days since onset for a level of 1...8.
  static func reencode(risk: Int32) -> (reportType: ReportType, daysSinceOnset: Int32)? {
    for type in ReportType.allCases {
      guard let levels = type.coronaWarnAppLevels else { continue }
      if levels.onDayOne == risk { return (type, 1) }
      if levels.onDayTwo == risk { return (type, 2) }
    }
    return nil
  }
}

/// The two levels that the Corona-Warn-App writes as one report type, apart by the days since onset.
private struct CoronaWarnAppLevels {
  let onDayOne: Int32
  let onDayTwo: Int32

  func level(daysSinceOnset days: Int32?) -> Int32? {
    switch days {
    case 1: onDayOne
    case 2: onDayTwo
    default: nil
    }
  }
}

extension ReportType {
  /// `nil` where the encoding does not use it.
  fileprivate var coronaWarnAppLevels: CoronaWarnAppLevels? {
    switch self {
    case .recursive: CoronaWarnAppLevels(onDayOne: 1, onDayTwo: 2)
    case .selfReport: CoronaWarnAppLevels(onDayOne: 3, onDayTwo: 4)
    case .confirmedClinicalDiagnosis: CoronaWarnAppLevels(onDayOne: 5, onDayTwo: 6)
    case .confirmedTest: CoronaWarnAppLevels(onDayOne: 7, onDayTwo: 8)
    case .unknown, .revoked: nil
    }
  }
}
