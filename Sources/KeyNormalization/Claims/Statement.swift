package import ExposureKeys

/// What a claim states beside key data, rolling start and regions. Bits 0...7 are the rolling period, 1...144; 8...11 the
/// transmission risk plus 1; 12...14 the report type plus 1; 15...26 the days since onset (a federation code) plus 15;
/// 27 tells that the key stood among the revised ones. 0 is absent throughout, and 0 bits are no statement.
package struct Statement: Hashable, Sendable, BitwiseCopyable {
  package let bits: UInt32

  /// What no statement can say.
  package struct Misfit: Error {
    /// For people.
    package let field: StaticString
    package let value: Int32

    package init(_ field: StaticString, _ value: Int32) {
      self.field = field
      self.value = value
    }
  }

  package init(bits: UInt32) { self.bits = bits }

  /// - Throws: the first field that is absent and must not be, or whose value has no bits here.
  @inline(__always)
  package init(_ key: ClaimedKey) throws(Misfit) {
    func word(
      _ field: KeyFields, _ name: StaticString, _ value: Int32, in allowed: ClosedRange<Int32>, at shift: UInt32
    ) throws(Misfit) -> UInt32 {
      guard key.fields.contains(field) else { return 0 }
      guard allowed.contains(value) else { throw Misfit(name, value) }
      return UInt32(bitPattern: value - allowed.lowerBound + 1) << shift
    }
    guard key.fields.contains(.rollingStart) else { throw Misfit("rolling start", 0) }
    guard key.fields.contains(.rollingPeriod) else { throw Misfit("rolling period", 0) }
    bits =
      try word(.rollingPeriod, "rolling period", key.rollingPeriodWord, in: 1...144, at: 0)
      | word(.transmissionRisk, "transmission risk", key.transmissionRiskWord, in: 0...8, at: 8)
      | word(.reportType, "report type", key.reportTypeWord, in: 0...5, at: 12)
      | word(.daysSinceOnset, "days since onset", key.daysSinceOnsetWord, in: -14...4014, at: 15)
      | (key.isRevised ? 1 << 27 : 0)
  }

  /// Of a claim that was admitted: the rules of admission let nothing else through than what fits.
  @inline(__always)
  init(admitted key: ClaimedKey) {
    do throws(Misfit) {
      try self.init(key)
    } catch {
      preconditionFailure("an admitted claim states what the admission rules allow")
    }
  }

  @inline(__always)
  package func claim(about subject: KeySubject) -> ClaimedKey {
    let (risk, type, onset) = (bits >> 8 & 15, bits >> 12 & 7, bits >> 15 & 4095)
    var fields: KeyFields = [.rollingStart, .rollingPeriod]
    if risk != 0 { fields.formUnion(.transmissionRisk) }
    if type != 0 { fields.formUnion(.reportType) }
    if onset != 0 { fields.formUnion(.daysSinceOnset) }
    if bits & 1 << 27 != 0 { fields.formUnion(.revised) }
    return ClaimedKey(
      key: subject.key, rollingStartWord: subject.rollingStart, rollingPeriodWord: Int32(bits & 255),
      transmissionRiskWord: risk == 0 ? 0 : Int32(risk) - 1, reportTypeWord: type == 0 ? 0 : Int32(type) - 1,
      daysSinceOnsetWord: onset == 0 ? 0 : Int32(onset) - 15, fields: fields)
  }
}
