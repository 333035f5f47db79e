package import ExposureKeys
package import KeyFormats
internal import KeyIntake

/// What a federation gateway asks of each key at its door. One key that breaks a rule refuses its batch: the signature
/// covers all of them, so that none can be left out.
///
/// Source: the EU federation gateway's observed behaviour; it did not look at report types and countries.
package enum FederationKeyRules {
  /// How long before today a key may begin, in days.
  static let days: Int64 = 15

  /// - Throws: ``FederationRefusal`` with the first key, its value, and what is allowed.
  package static func check(_ batch: DecodedDocument, at now: Instant) throws(FederationRefusal) {
    if let rejection = batch.rejections.min(by: { $0.position.index < $1.position.index }) {
      throw broken(rejection.position.index, rejection.reason.rawValue, rejection.detail)
    }
    for (index, key) in batch.keys.enumerated() {
      if let (code, detail) = fault(of: key, at: now) { throw broken(index, code, detail) }
    }
  }

  /// Other lists of countries have the same canonical bytes, or peers disagree about these.
  ///
  /// - Throws: ``FederationRefusal`` with the first key.
  package static func check(_ rows: SignedRows) throws(FederationRefusal) {
    guard let ambiguity = rows.ambiguities.min(by: { $0.key < $1.key }) else { return }
    throw FederationRefusal(
      .malformed, "ambiguous-country", "Validation of diagnosis key failed: \(ambiguity)", key: ambiguity.key)
  }

  package static func broken(_ index: Int, _ code: String, _ detail: String) -> FederationRefusal {
    FederationRefusal(
      .malformed, code, "Validation of diagnosis key failed: key \(index): \(detail)", key: index)
  }

  private static func fault(of key: ClaimedKey, at now: Instant) -> (code: String, detail: String)? {
    let earliest = Day(daysSince1970: now.day.daysSince1970 - days).firstInterval.rawValue
    let latest = now.secondsSince1970 / 600 + 1
    let start = Int64(key.rollingStart ?? 0)
    guard start >= earliest, start <= latest else {
      return (
        start < earliest ? "rolling-start-too-early" : "rolling-start-in-future",
        "rolling start interval number \(start), allowed \(earliest)...\(latest)"
      )
    }
    let period = key.rollingPeriod ?? 0
    guard (1...144).contains(period) else {
      return ("rolling-period-out-of-range", "rolling period \(period), allowed 1...144")
    }
    if let risk = key.transmissionRisk, !(0...8).contains(risk) {
      return (
        "risk-out-of-range", "transmission risk level \(risk), allowed 0...8, and 2147483647 where there is none"
      )
    }
    let type = key.reportType ?? 0
    guard ReportType(rawValue: type) != nil else {
      return ("report-type-unrecognized", "report type \(type), allowed \(ReportType.numbers)")
    }
    return nil
  }
}
