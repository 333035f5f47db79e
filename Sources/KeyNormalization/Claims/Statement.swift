package import ExposureKeys

/// What a claim states beside key data, rolling start and regions, packed into four bytes. Each number has a few bits
/// (see ``Field``), bit 27 tells that the key stood among the revised ones, and 0 bits are no statement.
///
/// Stores keep these bits, so their layout never changes; which values are allowed is said by the fields' own types.
package struct Statement: Hashable, Sendable, BitwiseCopyable {
  package let bits: UInt32

  /// What no statement can say.
  package struct Misfit: Error, Hashable {
    /// What it is about: `report type`.
    package let field: String
    /// `nil` where it is absent and must not be.
    package let value: Int32?
  }

  /// A number of a statement. Its bits hold the distance from the lowest value plus one; 0 is absent.
  package enum Field: CaseIterable, Sendable {
    case rollingPeriod, transmissionRisk, reportType, daysSinceOnset

    @inline(__always)
    package var shift: UInt32 {
      switch self {
      case .rollingPeriod: 0
      case .transmissionRisk: 8
      case .reportType: 12
      case .daysSinceOnset: 15
      }
    }

    /// All bits of the field, at the right.
    @inline(__always)
    package var mask: UInt32 {
      switch self {
      case .rollingPeriod: 255
      case .transmissionRisk: 15
      case .reportType: 7
      case .daysSinceOnset: 4095
      }
    }

    /// The value whose bits are 1.
    @inline(__always)
    package var lowest: Int32 {
      switch self {
      case .rollingPeriod: 1
      case .transmissionRisk, .reportType: 0
      case .daysSinceOnset: -14
      }
    }

    /// What is allowed.
    package var range: ClosedRange<Int32> {
      switch self {
      case .rollingPeriod: RollingPeriod.range
      case .transmissionRisk: TransmissionRisk.range
      case .reportType: ReportType.numbers
      case .daysSinceOnset: DaysSinceOnset.federationCodes
      }
    }

    /// The bits of the highest value that is allowed and has any.
    package var highestNumber: UInt32 {
      UInt32(clamping: min(Int64(range.upperBound) - Int64(lowest) + 1, Int64(mask)))
    }

    /// Whether every statement has it.
    package var isRequired: Bool { self == .rollingPeriod }

    fileprivate var name: String {
      switch self {
      case .rollingPeriod: "rolling period"
      case .transmissionRisk: "transmission risk"
      case .reportType: "report type"
      case .daysSinceOnset: "days since onset"
      }
    }

    /// - Throws: where it is absent and must not be, not allowed, or has no bits here.
    fileprivate func pack(_ value: Int32?) throws(Misfit) -> UInt32 {
      guard let value else {
        if isRequired { throw Misfit(field: name, value: nil) }
        return 0
      }
      let distance = Int64(value) - Int64(lowest) + 1
      guard range.contains(value), (1...Int64(mask)).contains(distance) else { throw Misfit(field: name, value: value) }
      return UInt32(distance) << shift
    }

    /// `nil` where it is absent.
    @inline(__always)
    fileprivate func unpack(_ bits: UInt32) -> Int32? {
      let distance = Int32(bitPattern: bits >> shift & mask)
      return distance == 0 ? nil : distance &+ lowest &- 1
    }
  }

  private static var revised: UInt32 { 1 << 27 }

  /// No statement has a bit beyond this one.
  package static let highest: UInt32 = 1 << 28 - 1

  package init(bits: UInt32) { self.bits = bits }

  /// - Throws: the first field that cannot be said. The rolling start, which stands beside a statement, is one of them.
  package init(_ said: StatedFields) throws(Misfit) {
    guard let start = said.rollingStart, start >= 0 else {
      throw Misfit(field: "rolling start", value: said.rollingStart)
    }
    bits =
      try Field.rollingPeriod.pack(said.rollingPeriod) | Field.transmissionRisk.pack(said.transmissionRisk)
      | Field.reportType.pack(said.reportType) | Field.daysSinceOnset.pack(said.daysSinceOnset)
      | (said.isRevised ? Self.revised : 0)
  }

  package var isRevised: Bool { bits & Self.revised != 0 }

  /// The report type is a revocation. No other field is unpacked.
  @inline(__always)
  var isRevocation: Bool { Field.reportType.unpack(bits) == ReportType.revoked.rawValue }

  /// In ten-minute intervals; 0 of the statement that says nothing.
  package var rollingPeriod: Int32 { Field.rollingPeriod.unpack(bits) ?? 0 }

  /// The bits of what is said about the person, whether the key was revised or not.
  var bitsBeyondRevision: UInt32 { bits & ~Self.revised }

  /// What was stated, with the rolling start and the regions that stand beside it.
  @inline(__always)
  package func fields(rollingStart: Int32, regions: RegionClaim.ID) -> StatedFields {
    let risk = Field.transmissionRisk.unpack(bits)
    let type = Field.reportType.unpack(bits)
    let onset = Field.daysSinceOnset.unpack(bits)
    var fields: KeyFields = [.rollingStart, .rollingPeriod]
    if risk != nil { fields.formUnion(.transmissionRisk) }
    if type != nil { fields.formUnion(.reportType) }
    if onset != nil { fields.formUnion(.daysSinceOnset) }
    if isRevised { fields.formUnion(.revised) }
    return StatedFields(
      rollingStart: rollingStart, rollingPeriod: Field.rollingPeriod.unpack(bits) ?? 0, transmissionRisk: risk ?? 0,
      reportType: type ?? 0, daysSinceOnset: onset ?? 0, fields: fields, regions: regions)
  }

  @inline(__always)
  package func claim(about subject: KeySubject) -> ClaimedKey {
    fields(rollingStart: subject.rollingStart, regions: .none).claim(about: subject.key)
  }
}
