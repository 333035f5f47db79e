internal import ExposureKeys
internal import KeyFormats

/// The keys of one upload that can be taken in, and what is wrong with the others.
///
/// The rules are those of Google's key server (`docs/tek_validation`): a fault of a key drops the key, a fault of the
/// whole refuses the upload.
struct KeyUpload: Sendable {
  static let maximumKeys = 30
  static let maximumKeysOfOneStart = 3
  /// 360 hours.
  static let maximumAge: Int64 = 15 * 86_400

  /// Sorted, so that the same keys are the same upload in whatever order they come.
  private(set) var keys: [ClaimedKey] = []
  /// One line for each key that is dropped.
  private(set) var faults: [String] = []
  /// One line for each key that is dropped without being a fault.
  private(set) var warnings: [String] = []

  /// A JSON array of the sample app's keys, or whatever its relatives send in its place.
  init(sampleApp body: [UInt8], now: Instant) throws(UploadFault) {
    let document: DecodedDocument
    do {
      document = try DecodedDocument(
        body, limits: ReadLimits(documentBytes: 1 << 20, recordBytes: 1 << 16, nesting: 16))
    } catch let error as FormatError {
      throw UploadFault(reason: error.reason)
    } catch {
      throw UploadFault(reason: "the body cannot be read")
    }
    try Self.checkCount(document.keys.count + document.rejections.count)
    faults = document.rejections.map { "key \($0.position.index): \($0.detail)" }
    for (position, key) in document.keys.enumerated() {
      // Of what a sender may claim, this door takes what the sample app sends.
      var claim = ClaimedKey(key: key.key)
      claim.rollingStart = key.rollingStart
      claim.rollingPeriod = key.rollingPeriod
      claim.transmissionRisk = key.transmissionRisk
      add(claim, position: position, now: now)
    }
    try finish()
  }

  init(_ request: PublishRequest, _ certificate: VerificationCertificate?, now: Instant) throws(UploadFault) {
    try Self.checkCount(request.keys.count)
    let onset =
      Self.onset(request.symptomOnsetInterval, now: now)
      ?? Self.onset(certificate?.symptomOnsetInterval, now: now)
    for (position, key) in request.keys.enumerated() {
      guard let bytes = Base64.decode(Array(key.text.utf8)), let data = TemporaryExposureKey(bytes) else {
        faults.append("key \(position): not base64 of 16 bytes")
        continue
      }
      var claim = ClaimedKey(key: data)
      claim.rollingStart = Int32(exactly: key.rollingStart)
      claim.rollingPeriod = Int32(exactly: key.rollingPeriod)
      claim.transmissionRisk = key.transmissionRisk.flatMap { Int32(exactly: $0) }
      claim.reportType = certificate?.reportType.reportType.rawValue
      if let onset {
        let days = IntervalNumber(key.rollingStart).day.daysSince1970 - onset.daysSince1970
        guard (-14...14).contains(days) else {
          warnings.append("key \(position): \(days) days since the onset of symptoms, allowed -14...14")
          continue
        }
        claim.daysSinceOnset = Int32(days)
      }
      add(claim, position: position, now: now)
    }
    try finish()
  }

  private static func checkCount(_ count: Int) throws(UploadFault) {
    guard (1...maximumKeys).contains(count) else {
      throw UploadFault(reason: "\(count) keys, allowed are 1...\(maximumKeys)")
    }
  }

  /// An onset that is not in the future and not more than 28 days ago; another one is as good as none.
  private static func onset(_ interval: Int64?, now: Instant) -> Day? {
    let oldest = Day(daysSince1970: now.day.daysSince1970 - 28).firstInterval
    guard let interval, interval < IntervalNumber(containing: now).rawValue, interval >= oldest.rawValue else {
      return nil
    }
    return IntervalNumber(interval).day
  }

  private mutating func add(_ claim: ClaimedKey, position: Int, now: Instant) {
    if let fault = Self.fault(of: claim, now: now) {
      faults.append("key \(position): \(fault)")
    } else {
      keys.append(claim)
    }
  }

  private static func fault(of claim: ClaimedKey, now: Instant) -> String? {
    guard let start = claim.rollingStart else { return "no rolling start" }
    let current = IntervalNumber(containing: now).rawValue
    let oldest = IntervalNumber(containing: Instant(secondsSince1970: now.secondsSince1970 - maximumAge)).rawValue
    if let period = claim.rollingPeriod, !(1...144).contains(period) {
      return "rolling period \(period), allowed 1...144"
    }
    guard Int64(start) <= current else { return "rolling start \(start) is in the future" }
    guard Int64(start) + Int64(claim.rollingPeriod ?? 144) >= oldest else {
      return "rolling start \(start) is more than 15 days ago"
    }
    if let risk = claim.transmissionRisk, !(0...8).contains(risk) {
      return "transmission risk level \(risk), allowed 0...8"
    }
    return nil
  }

  /// What concerns all keys: one person's keys follow one another, and few share a start.
  private mutating func finish() throws(UploadFault) {
    guard !keys.isEmpty || !warnings.isEmpty else {
      throw UploadFault(reason: "no key can be taken: \(faults.joined(separator: "; "))")
    }
    keys.sort {
      ($0.rollingStart ?? 0, $0.rollingPeriod ?? 0, $0.key) < ($1.rollingStart ?? 0, $1.rollingPeriod ?? 0, $1.key)
    }
    // A repeated key says nothing new.
    keys = keys.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    var end = Int64.min
    var start: Int32?
    var sharing = 0
    for key in keys {
      let (first, period) = (key.rollingStart ?? 0, Int64(key.rollingPeriod ?? 144))
      if first == start {
        sharing += 1
        guard sharing <= Self.maximumKeysOfOneStart else {
          throw UploadFault(reason: "more than \(Self.maximumKeysOfOneStart) keys have the rolling start \(first)")
        }
      } else {
        guard Int64(first) >= end else { throw UploadFault(reason: "keys overlap at rolling start \(first)") }
        start = first
        sharing = 1
      }
      end = max(end, Int64(first) + period)
    }
  }

  /// As it is put into the folder: our lossless JSON, equal for equal keys.
  func document() throws -> [UInt8] {
    try DecodedDocument(keys: keys).bytes(as: .json)
  }
}
