internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import KeyInspection
internal import KeyIntake
internal import TransparencyLog

/// What `keyferry verify --json` prints; see schemas/verification.schema.json.
struct VerificationDocument: Encodable {
  var reportVersion = 1
  var files: [VerificationResult]
  /// What could not be read.
  var unreadable: [LeftOutDocument]
  /// Of several documents.
  var sum: InspectionSum.Report?
}

/// The verdict on one file.
struct VerificationResult: Encodable {
  let name: String
  /// Whether a signature verifies with a matching, valid key, and a log that was asked for has the bundle.
  let isTrusted: Bool
  /// SHA-256 of `export.bin`, hexadecimal; absent for formats that carry no signature.
  let sha256: String?
  let signatures: [Signature]
  let faults: [Fault]
  /// What the client that was asked about would do.
  let profile: ProfileReport?
  /// What the log that was asked for says; absent without one.
  let log: LogStanding?
  /// What lies beside it and says how it was made; absent where nothing does.
  let attestation: UncheckedAttestation?

  struct Signature: Encodable {
    /// Counted from 1 in `export.sig`.
    let number: Int
    let keyID: String?
    let keyVersion: String?
    let algorithm: String?
    /// The stable code of the verdict, and of what else is wrong.
    let verdict: String
    let observations: [String]
    let text: String
  }

  struct Fault: Encodable {
    let code: String
    let text: String
  }

  enum CodingKeys: String, CodingKey {
    case name, sha256, signatures, faults, profile, log, attestation
    case isTrusted = "trusted"
  }

  init(
    _ document: SourceDocument, ring: TrustRing, at instant: Instant, profile: DeviceProfile?, log: TrustedLog? = nil
  ) throws {
    name = document.name
    attestation = UncheckedAttestation(beside: document)
    guard let report = try document.verify(trusting: ring, at: instant) else {
      let format = try document.findFormat().rawValue
      isTrusted = false
      self.log = nil
      self.profile = try Self.judge(document, profile, .unknown, at: instant)
      sha256 = nil
      signatures = []
      faults = [Fault(code: "not-signed-format", text: "\(format) carries no signature that could be verified")]
      return
    }
    let standing = try log?.standing(of: document, exportDigest: report.digests.hexadecimal)
    self.log = standing
    isTrusted = report.isTrusted && standing?.isLogged ?? true
    self.profile = try Self.judge(document, profile, report.isTrusted ? .verified : .notVerified, at: instant)
    sha256 = report.digests.hexadecimal
    signatures = report.findings.map { finding in
      Signature(
        number: finding.index + 1, keyID: finding.info.verificationKeyID,
        keyVersion: finding.info.verificationKeyVersion, algorithm: finding.info.signatureAlgorithm,
        verdict: finding.verdict.code.rawValue, observations: finding.observations.map(\.code.rawValue),
        text: finding.description)
    }
    faults =
      report.infosWithoutSignature.map { Fault(code: "info-without-signature", text: $0.description) }
      + report.faults.map { Fault(code: $0.code.rawValue, text: $0.description) }
  }

  private static func judge(
    _ document: SourceDocument, _ profile: DeviceProfile?, _ signature: SignatureStanding, at instant: Instant
  ) throws -> ProfileReport? {
    guard let profile else { return nil }
    do {
      let examination = try Inspector(InspectionOptions(now: instant)).examine(
        try document.open(), name: document.name, fileSize: document.source.byteCount)
      return profile.judge(examination, signature: signature)
    } catch let error as FormatError {
      return profile.judge(unreadable: error)
    }
  }
}

/// An attestation that lies beside a bundle, and at which this command does not look.
struct UncheckedAttestation: Encodable {
  /// Always `not-checked`: another command, and another key, say whether it is right.
  let verdict = "not-checked"
  let file: String
  let text: String

  /// `nil` where there is none.
  init?(beside document: SourceDocument) {
    let place = document.file + Envelope.ending
    guard document.entry == nil, FileIdentity(path: place) != nil else { return nil }
    file = place
    text =
      "there is an attestation beside it, which was not looked at: keyferry audit verify \(document.file) --key attest.pem"
  }
}
