import ExposureKeys
import KeyStorage

/// What a claim states beside its rolling start, in one integer of at most four bytes. Bits 0...7 are the rolling
/// period, 1...144; 8...11 the transmission risk plus 1; 12...14 the report type plus 1; 15...26 the days since onset
/// (a federation code) plus 15; 27 tells that the key stood among the revised ones. 0 is absent throughout.
enum ClaimWords {
  private static let risks: ClosedRange<Int32> = 0...8
  private static let reportTypes: ClosedRange<Int32> = 0...5
  private static let onsets: ClosedRange<Int32> = -14...4014

  /// The same for the schema. `said` of a wrong type is refused by the table itself.
  static let check = """
    said BETWEEN 1 AND 268435455 AND said & 255 BETWEEN 1 AND 144 AND (said >> 8) & 15 <= 9
        AND (said >> 12) & 7 <= 6 AND (said >> 15) & 4095 <= 4029
    """

  /// Admission lets nothing else through, so only a new rule of admission can make this fail.
  static func pack(_ key: ClaimedKey) throws -> Int32 {
    guard key.fields.contains([.rollingStart, .rollingPeriod]), key.rollingStartWord >= 0,
      (1...144).contains(key.rollingPeriodWord)
    else { throw unstorable("rolling start and period", key.rollingPeriodWord) }
    var said = key.rollingPeriodWord
    if let risk = key.transmissionRisk {
      guard risks.contains(risk) else { throw unstorable("transmission risk", risk) }
      said |= (risk + 1) << 8
    }
    if let type = key.reportType {
      guard reportTypes.contains(type) else { throw unstorable("report type", type) }
      said |= (type + 1) << 12
    }
    if let onset = key.daysSinceOnset {
      guard onsets.contains(onset) else { throw unstorable("days since onset", onset) }
      said |= (onset + 15) << 15
    }
    return key.isRevised ? said | 1 << 27 : said
  }

  static func unpack(_ said: Int32, rollingStart: Int32, key: TemporaryExposureKey) -> ClaimedKey {
    var claim = ClaimedKey(
      key: key, rollingStartWord: rollingStart, rollingPeriodWord: said & 255, fields: [.rollingStart, .rollingPeriod])
    let (risk, type, onset) = (said >> 8 & 15, said >> 12 & 7, said >> 15 & 4095)
    if risk != 0 {
      claim.transmissionRiskWord = risk - 1
      claim.fields.formUnion(.transmissionRisk)
    }
    if type != 0 {
      claim.reportTypeWord = type - 1
      claim.fields.formUnion(.reportType)
    }
    if onset != 0 {
      claim.daysSinceOnsetWord = onset - 15
      claim.fields.formUnion(.daysSinceOnset)
    }
    if said & 1 << 27 != 0 { claim.fields.formUnion(.revised) }
    return claim
  }

  private static func unstorable(_ field: String, _ value: Int32) -> StorageFault {
    StorageFault(.incompatible, "the store cannot hold a claim with this \(field): \(value)")
  }
}
