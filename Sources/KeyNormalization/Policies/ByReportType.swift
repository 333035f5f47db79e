package import ExposureKeys

/// One value for each report type, found by a `switch`, so that a new type is named by the compiler here.
package struct ByReportType<Value> {
  private var unknown: Value
  private var confirmedTest: Value
  private var confirmedClinicalDiagnosis: Value
  private var selfReport: Value
  private var recursive: Value
  private var revoked: Value

  package init(_ value: (ReportType) -> Value) {
    unknown = value(.unknown)
    confirmedTest = value(.confirmedTest)
    confirmedClinicalDiagnosis = value(.confirmedClinicalDiagnosis)
    selfReport = value(.selfReport)
    recursive = value(.recursive)
    revoked = value(.revoked)
  }

  package subscript(type: ReportType) -> Value {
    switch type {
    case .unknown: unknown
    case .confirmedTest: confirmedTest
    case .confirmedClinicalDiagnosis: confirmedClinicalDiagnosis
    case .selfReport: selfReport
    case .recursive: recursive
    case .revoked: revoked
    }
  }
}

extension ByReportType: Sendable where Value: Sendable {}
