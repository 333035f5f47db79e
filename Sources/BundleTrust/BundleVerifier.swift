internal import Crypto
public import ExposureKeys

/// Judges the signatures of an export by a ring of trusted keys.
public struct BundleVerifier: Sendable {
  /// How much work one file may cause.
  public struct Limits: Hashable, Sendable {
    /// The most signatures that are looked at.
    public let signatures: Int
    /// The most times that a signature is tried under a key.
    public let verifications: Int

    /// Negative numbers count as 0.
    public init(signatures: Int = 64, verifications: Int = 1_000) {
      self.signatures = max(0, signatures)
      self.verifications = max(0, verifications)
    }
  }

  /// The most signatures that a device reads (Google's key server, `export.proto`).
  public static let maximumSignatures = 10

  public let ring: TrustRing
  public let limits: Limits

  public init(trusting ring: TrustRing, limits: Limits = Limits()) {
    self.ring = ring
    self.limits = limits
  }

  /// - Parameters:
  ///   - digests: of the `export.bin`; with the body's digest, or signatures over the body are not recognised.
  ///   - infos: the signature infos that `export.bin` lists.
  ///   - signatures: the entries of `export.sig`.
  ///   - instant: the time at which keys must be valid.
  public func verify(
    _ digests: ExportDigests, infos: [SignatureInfo], signatures: [ExportSignature], at instant: Instant
  ) -> SignatureReport {
    let examined = signatures.prefix(limits.signatures)
    var search = KeySearch(ring: ring, digests: digests, instant: instant, budget: limits.verifications)
    var subjects = examined.map(Subject.init)
    // The keys that are named come first for every signature, lest a worthless one uses up the work of a good one.
    for index in subjects.indices { search.tryNamedKeys(&subjects[index]) }
    for index in subjects.indices { search.tryOtherKeys(&subjects[index]) }

    let findings = signatures.enumerated().map { index, signature in
      guard index < subjects.count else {
        return SignatureFinding(index: index, info: signature.info, key: nil, observations: [.notExamined])
      }
      let subject = subjects[index]
      return SignatureFinding(
        index: index, info: signature.info, key: subject.match?.key,
        observations: subject.observations(ring, at: instant))
    }
    let pairing = InfoPairing(infos: infos, signatures: signatures.map(\.info))
    var faults = countFaults(infos: infos.count, signatures: signatures.count) + pairing.faults
    if examined.count < signatures.count || search.isCutOff {
      faults.append(.workLimited(examined: examined.count, verifications: search.verifications))
    }
    return SignatureReport(
      findings: findings, infosWithoutSignature: pairing.infosWithoutSignature, faults: faults, instant: instant,
      digests: digests)
  }

  private func countFaults(infos: Int, signatures: Int) -> [SignatureReportFault] {
    var faults: [SignatureReportFault] = []
    if signatures == 0 { faults.append(.noSignatures) }
    if signatures < infos { faults.append(.fewerSignaturesThanInfos(signatures: signatures, infos: infos)) }
    if signatures > infos { faults.append(.moreSignaturesThanInfos(signatures: signatures, infos: infos)) }
    if signatures > Self.maximumSignatures { faults.append(.tooManySignatures(signatures)) }
    return faults
  }
}

/// One signature on its way to a verdict.
private struct Subject {
  let info: SignatureInfo
  let encoding: Result<SpelledSignature, KeyFault>
  var match: (key: VerificationKey, isOverBody: Bool)?
  /// Public keys that did not make it.
  var failed: Set<P256PublicKey> = []
  var isCutOff = false

  init(_ signature: ExportSignature) {
    info = signature.info
    do throws(KeyFault) {
      encoding = .success(try SpelledSignature(signature.signature))
    } catch {
      encoding = .failure(error)
    }
  }

  /// What holds of the signature, in the order of ``SignatureVerdict/Code``.
  func observations(_ ring: TrustRing, at instant: Instant) -> [SignatureVerdict] {
    switch encoding {
    case .failure(let fault): return [.malformedSignature(reason: fault.reason)] + algorithmFaults
    case .success where isCutOff && failed.isEmpty: return [.notExamined]
    case .success(let encoding):
      guard let match else { return searchFaults(ring) + formFaults(encoding.form) + algorithmFaults }
      let coverage: [SignatureVerdict] = match.isOverBody ? [.signatureOverBody(by: match.key.identity)] : []
      let faults = coverage + formFaults(encoding.form) + algorithmFaults + keyFaults(match.key, at: instant)
      return faults.isEmpty ? [.verified(by: match.key.identity)] : faults
    }
  }

  private func searchFaults(_ ring: TrustRing) -> [SignatureVerdict] {
    let id = info.verificationKeyID
    let version = info.verificationKeyVersion
    let named = ring.keys(id: id, version: version).filter { failed.contains($0.publicKey) }
    let cutOff: [SignatureVerdict] = isCutOff ? [.searchCutOff] : []
    if !named.isEmpty { return [.doesNotVerify(under: named.map(\.identity))] + cutOff }
    return isCutOff ? cutOff : [.unknownKey(id: id, version: version)]
  }

  private func formFaults(_ form: SpelledSignature.Form) -> [SignatureVerdict] {
    switch form {
    case .der: []
    case .raw: [.rawSignature64(verifies: match?.key.identity)]
    case .nonCanonicalDER(let reason): [.nonCanonicalDER(reason: reason, verifies: match?.key.identity)]
    }
  }

  private var algorithmFaults: [SignatureVerdict] {
    guard info.signatureAlgorithm != SignatureInfo.ecdsaWithSHA256 else { return [] }
    return [.wrongAlgorithm(name: info.signatureAlgorithm, verifiesOtherwise: match != nil)]
  }

  private func keyFaults(_ key: VerificationKey, at instant: Instant) -> [SignatureVerdict] {
    let id = info.verificationKeyID
    let version = info.verificationKeyVersion
    var faults: [SignatureVerdict] = []
    if !key.isNamed(id: id, version: version) {
      faults.append(.verifiedWithOtherIdentity(statedID: id, statedVersion: version, key: key.identity))
    }
    if let from = key.from, instant < from { faults.append(.keyNotYetValid(key.identity, from: from)) }
    if let until = key.until, until <= instant { faults.append(.keyNoLongerValid(key.identity, until: until)) }
    return faults
  }
}

/// Looks for the key that made a signature, within a budget that all signatures of a file share.
private struct KeySearch {
  let ring: TrustRing
  let digests: ExportDigests
  let instant: Instant
  let budget: Int
  private(set) var verifications = 0
  private(set) var isCutOff = false

  init(ring: TrustRing, digests: ExportDigests, instant: Instant, budget: Int) {
    self.ring = ring
    self.digests = digests
    self.instant = instant
    self.budget = budget
  }

  mutating func tryNamedKeys(_ subject: inout Subject) { tryKeys(&subject, named: true) }

  mutating func tryOtherKeys(_ subject: inout Subject) { tryKeys(&subject, named: false) }

  /// Valid keys first, so that of two entries for one public key the better one is found.
  private mutating func tryKeys(_ subject: inout Subject, named: Bool) {
    guard subject.match == nil, case .success(let encoding) = subject.encoding,
      let signature = try? P256.Signing.ECDSASignature(rawRepresentation: encoding.scalars)
    else { return }
    let info = subject.info
    let keys = ring.keys.filter {
      $0.isNamed(id: info.verificationKeyID, version: info.verificationKeyVersion) == named
    }
    for isValid in [true, false] {
      for key in keys where key.isValid(at: instant) == isValid && !subject.failed.contains(key.publicKey) {
        for (digest, isOverBody) in [(digests.file, false), (digests.body, true)] {
          guard let digest else { continue }
          guard verifications < budget else {
            subject.isCutOff = true
            isCutOff = true
            return
          }
          verifications += 1
          guard key.publicKey.key.isValidSignature(signature, for: digest) else { continue }
          subject.match = (key, isOverBody)
          return
        }
        subject.failed.insert(key.publicKey)
      }
    }
  }
}

/// Which signature of `export.sig` belongs to which info of `export.bin`: equal ones first, then those of the same id
/// and version, then what is left over, in order.
private struct InfoPairing {
  private(set) var faults: [SignatureReportFault] = []
  private(set) var infosWithoutSignature: [SignatureReport.UnsignedInfo] = []

  init(infos: [SignatureInfo], signatures: [SignatureInfo]) {
    var unpairedSignatures = Set(signatures.indices)
    var openInfos: [Int] = []
    var byInfo: [SignatureInfo: [Int]] = [:]
    for index in signatures.indices.reversed() { byInfo[signatures[index], default: []].append(index) }
    for (index, info) in infos.enumerated() {
      if let signature = byInfo[info]?.popLast() {
        unpairedSignatures.remove(signature)
      } else {
        openInfos.append(index)
      }
    }
    // A device reads no more than these, and comparing all would cost the square of what a hostile file holds.
    let compared = unpairedSignatures.sorted().prefix(BundleVerifier.maximumSignatures)
    for mustNameSameKey in [true, false] {
      for signature in compared where unpairedSignatures.contains(signature) {
        let position = openInfos.firstIndex {
          !mustNameSameKey || Self.namesSameKey(infos[$0], signatures[signature])
        }
        guard let position else { continue }
        let info = openInfos.remove(at: position)
        unpairedSignatures.remove(signature)
        let fields = Self.differences(infos[info], signatures[signature])
        faults.append(.infoDiffers(signature: signature, info: info, fields: fields))
      }
    }
    infosWithoutSignature = openInfos.dropFirst(unpairedSignatures.count)
      .map { SignatureReport.UnsignedInfo(index: $0, info: infos[$0]) }
  }

  private static func namesSameKey(_ left: SignatureInfo, _ right: SignatureInfo) -> Bool {
    left.verificationKeyID == right.verificationKeyID && left.verificationKeyVersion == right.verificationKeyVersion
  }

  private static func differences(_ left: SignatureInfo, _ right: SignatureInfo) -> [String] {
    var fields: [String] = []
    if left.appBundleID != right.appBundleID { fields.append("app_bundle_id") }
    if left.androidPackage != right.androidPackage { fields.append("android_package") }
    if left.verificationKeyVersion != right.verificationKeyVersion { fields.append("verification_key_version") }
    if left.verificationKeyID != right.verificationKeyID { fields.append("verification_key_id") }
    if left.signatureAlgorithm != right.signatureAlgorithm { fields.append("signature_algorithm") }
    if left.unknownFields != right.unknownFields { fields.append("unknown fields") }
    return fields
  }
}
