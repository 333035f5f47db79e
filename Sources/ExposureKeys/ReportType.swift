/// How a diagnosis was established. The numbers are those of the export file and of the federation batch alike.
@frozen
public enum ReportType: Int32, Sendable, Hashable, CaseIterable {
  case unknown = 0
  case confirmedTest = 1
  case confirmedClinicalDiagnosis = 2
  case selfReport = 3
  case recursive = 4
  case revoked = 5

  /// The name in the schemas: `CONFIRMED_TEST`.
  public var name: String {
    switch self {
    case .unknown: "UNKNOWN"
    case .confirmedTest: "CONFIRMED_TEST"
    case .confirmedClinicalDiagnosis: "CONFIRMED_CLINICAL_DIAGNOSIS"
    case .selfReport: "SELF_REPORT"
    case .recursive: "RECURSIVE"
    case .revoked: "REVOKED"
    }
  }

  /// Whether devices accept this change, which they do once per key; key servers accept the same revisions.
  ///
  /// Source: the states of an exposure in Google's framework.
  package func mayBeRevised(to other: ReportType) -> Bool {
    switch self {
    case .selfReport: [.confirmedTest, .confirmedClinicalDiagnosis, .revoked].contains(other)
    case .confirmedClinicalDiagnosis: [.confirmedTest, .revoked].contains(other)
    case .unknown, .confirmedTest, .recursive, .revoked: false
    }
  }

  /// Accepts the schema's name in any case.
  public init?(name: some StringProtocol) {
    let wanted = name.uppercased()
    guard let match = Self.allCases.first(where: { $0.name == wanted }) else { return nil }
    self = match
  }
}

/// What a sender said about one field.
@frozen
public enum Claim<Value: Sendable & Hashable>: Sendable, Hashable {
  case stated(Value)
  case absent
  /// A number to which the field's definition gives no meaning, kept as it was sent.
  case unrecognized(Int32)
}
