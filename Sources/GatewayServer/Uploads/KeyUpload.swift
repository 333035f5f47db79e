internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake

/// The keys of one upload, as they were sent. Which of them are taken is for who records them.
struct KeyUpload: Sendable {
  static let countAllowed = 1...30
  /// Phones keep their keys for fourteen days; another one is for a phone whose clock is wrong.
  private static let plausibleDays = 15

  /// With the keys that were no keys, or have no place beside the certificate.
  private(set) var keys = DecodedDocument()
  /// Why keys were dropped without that being a fault, by their positions.
  private(set) var warnings: [Int: String] = [:]
  var audience = UploadAudience.regionsOfDoor
  /// What its sender shows to say something new about known keys; `nil` where nothing is asked for.
  var proof: RevisionProof?
  /// What let it in, where that lets in once.
  var token: OneTimeToken?
  /// What its sender is given for a later request.
  var reply: String?

  init(_ keys: DecodedDocument) { self.keys = keys }

  /// A JSON array of the sample app's keys, or whatever its relatives send in its place.
  ///
  /// Of all three generations: `rollingPeriod` came with the second. An array without keys is an upload of none.
  init(sampleApp body: [UInt8]) throws(UploadFault) {
    if JSONValue.parse(body)?.array?.isEmpty == true { return }
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
    keys.rejections = document.rejections
    // Of what a sender may claim, this door takes what the sample app sends.
    keys.keys = document.keys.map { key in
      var claim = ClaimedKey(key: key.key)
      claim.rollingStart = key.rollingStart
      claim.rollingPeriod = key.rollingPeriod
      claim.transmissionRisk = key.transmissionRisk
      return claim
    }
  }

  init(_ request: PublishRequest, _ certificate: VerificationCertificate?, now: Instant) throws(UploadFault) {
    try Self.checkCount(request.keys.count)
    // Google's server takes four days before the upload where nothing that is said can be.
    let onset =
      Self.onset(request.symptomOnsetInterval, now: now) ?? Self.onset(certificate?.symptomOnsetInterval, now: now)
      ?? Day(daysSince1970: now.day.daysSince1970 - 4)
    for (position, key) in request.keys.enumerated() {
      guard let bytes = Base64.decode(Array(key.text.utf8)), let data = TemporaryExposureKey(bytes) else {
        drop(position, .keyDataSpelling, "not base64 of 16 bytes")
        continue
      }
      var claim = ClaimedKey(key: data)
      claim.rollingStart = Int32(exactly: key.rollingStart)
      claim.rollingPeriod = Int32(exactly: key.rollingPeriod)
      claim.transmissionRisk = key.transmissionRisk.flatMap { Int32(exactly: $0) }
      claim.reportType = certificate?.reportType?.reportType.rawValue
      let days = IntervalNumber(key.rollingStart).day.daysSince1970 - onset.daysSince1970
      // A key that can be no phone's any more, or not yet, is a fault and no warning: who records it says which.
      guard abs(now.day.daysSince1970 - IntervalNumber(key.rollingStart).day.daysSince1970) <= Self.plausibleDays else {
        keys.keys.append(claim)
        continue
      }
      guard (-14...14).contains(days) else {
        let warning = "\(days) days since the onset of symptoms, allowed -14...14"
        drop(position, .valueNotAllowed, warning)
        warnings[position] = warning
        continue
      }
      claim.daysSinceOnset = Int32(days)
      keys.keys.append(claim)
    }
  }

  /// Takes a key, or drops it without that being a fault.
  ///
  /// - Parameter reason: why it is dropped; `nil` takes it.
  mutating func take(_ key: ClaimedKey, at position: Int, unless reason: String?) {
    guard let reason else { return keys.keys.append(key) }
    drop(position, .valueNotAllowed, reason)
    warnings[position] = reason
  }

  private mutating func drop(_ position: Int, _ reason: RejectionReason, _ detail: String) {
    keys.rejections.append(
      Rejection(position: KeyPosition(index: position, byteOffset: -1), reason: reason, detail: detail))
  }

  private static func checkCount(_ count: Int) throws(UploadFault) {
    guard countAllowed.contains(count) else {
      throw UploadFault(
        reason: "\(count) keys, allowed are \(countAllowed.lowerBound)...\(countAllowed.upperBound)")
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
}
