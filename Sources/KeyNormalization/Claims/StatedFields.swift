package import ExposureKeys

/// What a claim says about a key, without the key data: whoever is given this cannot judge one key otherwise than
/// another about which the same is said.
///
/// The words are those of a ``ClaimedKey``: meaningful where `fields` says so. 32 bytes, trivially copyable.
@frozen
package struct StatedFields: Hashable, Sendable, BitwiseCopyable {
  package var rollingStartWord: Int32
  package var rollingPeriodWord: Int32
  package var transmissionRiskWord: Int32
  package var reportTypeWord: Int32
  package var daysSinceOnsetWord: Int32
  package var fields: KeyFields
  package var regions: RegionClaim.ID
  /// Whether there were fields that this version does not know: 1 or 0.
  private var unknown: UInt32

  @inline(__always)
  package init(_ key: ClaimedKey) {
    rollingStartWord = key.rollingStartWord
    rollingPeriodWord = key.rollingPeriodWord
    transmissionRiskWord = key.transmissionRiskWord
    reportTypeWord = key.reportTypeWord
    daysSinceOnsetWord = key.daysSinceOnsetWord
    fields = key.fields
    regions = key.regions
    unknown = key.unknownFields == 0 ? 0 : 1
  }

  /// The words of a statement; those that are not stated are zero.
  @inline(__always)
  init(
    rollingStart: Int32, rollingPeriod: Int32, transmissionRisk: Int32, reportType: Int32, daysSinceOnset: Int32,
    fields: KeyFields, regions: RegionClaim.ID
  ) {
    rollingStartWord = rollingStart
    rollingPeriodWord = rollingPeriod
    transmissionRiskWord = transmissionRisk
    reportTypeWord = reportType
    daysSinceOnsetWord = daysSinceOnset
    self.fields = fields
    self.regions = regions
    unknown = 0
  }

  /// The same said about this key. Unknown fields have their place in a document, so they are not in it.
  @inline(__always)
  package func claim(about key: TemporaryExposureKey) -> ClaimedKey {
    ClaimedKey(
      key: key, rollingStartWord: rollingStartWord, rollingPeriodWord: rollingPeriodWord,
      transmissionRiskWord: transmissionRiskWord, reportTypeWord: reportTypeWord,
      daysSinceOnsetWord: daysSinceOnsetWord, fields: fields, regions: regions)
  }

  var hasUnknownFields: Bool { unknown != 0 }

  /// The same with zero in every word that is not stated, and without what this version does not know.
  var tidied: StatedFields {
    var said = self
    said.unknown = 0
    let absent = KeyFields.numbers.subtracting(fields)
    if absent.isEmpty { return said }
    if absent.contains(.rollingStart) { said.rollingStartWord = 0 }
    if absent.contains(.rollingPeriod) { said.rollingPeriodWord = 0 }
    if absent.contains(.transmissionRisk) { said.transmissionRiskWord = 0 }
    if absent.contains(.reportType) { said.reportTypeWord = 0 }
    if absent.contains(.daysSinceOnset) { said.daysSinceOnsetWord = 0 }
    return said
  }
}

extension StatedFields {
  /// Start of validity in ten-minute intervals since 1970.
  package var rollingStart: Int32? {
    get { fields.contains(.rollingStart) ? rollingStartWord : nil }
    set {
      rollingStartWord = newValue ?? 0
      fields.set(.rollingStart, newValue != nil)
    }
  }

  /// Length of validity in ten-minute intervals.
  package var rollingPeriod: Int32? {
    get { fields.contains(.rollingPeriod) ? rollingPeriodWord : nil }
    set {
      rollingPeriodWord = newValue ?? 0
      fields.set(.rollingPeriod, newValue != nil)
    }
  }

  package var transmissionRisk: Int32? {
    get { fields.contains(.transmissionRisk) ? transmissionRiskWord : nil }
    set {
      transmissionRiskWord = newValue ?? 0
      fields.set(.transmissionRisk, newValue != nil)
    }
  }

  /// The number of the report type, also one without a meaning; see ``reportTypeClaim``.
  package var reportType: Int32? {
    get { fields.contains(.reportType) ? reportTypeWord : nil }
    set {
      reportTypeWord = newValue ?? 0
      fields.set(.reportType, newValue != nil)
    }
  }

  package var reportTypeClaim: Claim<ReportType> {
    guard let number = reportType else { return .absent }
    return ReportType(rawValue: number).map(Claim.stated) ?? .unrecognized(number)
  }

  /// Days since onset, or another of the federation's codes; see ``symptomStatus``.
  package var daysSinceOnset: Int32? {
    get { fields.contains(.daysSinceOnset) ? daysSinceOnsetWord : nil }
    set {
      daysSinceOnsetWord = newValue ?? 0
      fields.set(.daysSinceOnset, newValue != nil)
    }
  }

  /// The stated days since onset as a federation code; `nil` where absent.
  package var symptomStatus: SymptomStatus? { daysSinceOnset.map(SymptomStatus.init(federationCode:)) }

  /// Whether the key stood among the revised keys of its export.
  package var isRevised: Bool {
    get { fields.contains(.revised) }
    set { fields.set(.revised, newValue) }
  }

  /// The report type is a revocation.
  var isRevocation: Bool { reportType == ReportType.revoked.rawValue }
}

extension KeyFields {
  @inline(__always)
  fileprivate mutating func set(_ field: KeyFields, _ isStated: Bool) {
    if isStated { formUnion(field) } else { subtract(field) }
  }
}
