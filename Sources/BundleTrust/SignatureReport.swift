public import ExposureKeys

/// What ``BundleVerifier`` found out about one export: each signature by itself, then the file.
public struct SignatureReport: Hashable, Sendable {
  /// One for each entry of `export.sig`, in its order.
  public let findings: [SignatureFinding]
  /// The infos of `export.bin` that no signature belongs to, by their index there.
  public let infosWithoutSignature: [UnsignedInfo]
  /// What is wrong with the file as a whole. A file can have faults and be trusted; devices are stricter.
  public let faults: [SignatureReportFault]
  /// The instant for which the validity of keys was judged.
  public let instant: Instant
  /// The export that was checked.
  public let digests: ExportDigests

  /// Whether a signature fits no key of the ring. It may be one over the body, which only the body's digest can tell.
  public var hasUnmatchedSignature: Bool { findings.contains { $0.key == nil } }

  /// Whether at least one signature is in order in every respect.
  public var isTrusted: Bool { verifiedDocument != nil }

  /// What later steps ask for; `nil` when the file is not trusted.
  public var verifiedDocument: VerifiedDocument? {
    for finding in findings {
      guard case .verified(let key) = finding.verdict else { continue }
      return VerifiedDocument(basis: .signed(by: key), exportDigest: digests.hexadecimal)
    }
    return nil
  }

  /// The findings as lines for people, one for each signature, each info without one, and each fault of the file.
  public var lines: [String] {
    findings.map(\.description) + infosWithoutSignature.map(\.description) + faults.map(\.description)
  }

  /// An info of `export.bin` without a signature in `export.sig`.
  public struct UnsignedInfo: Hashable, Sendable, CustomStringConvertible {
    /// Counted from 0 in `export.bin`.
    public let index: Int
    public let info: SignatureInfo

    public var description: String { "info \(index + 1) (\(name(of: info))): export.sig has no signature for it" }
  }
}

/// One signature of `export.sig` and everything that holds of it.
public struct SignatureFinding: Hashable, Sendable {
  /// Counted from 0 in `export.sig`.
  public let index: Int
  /// What the signature says of itself.
  public let info: SignatureInfo
  /// The key of the ring that made the signature, whatever else is wrong with it.
  public let key: VerificationKey?
  /// The verdict first, then what else is wrong; a verified signature has nothing else.
  public let observations: [SignatureVerdict]

  /// The observation that explains most.
  public var verdict: SignatureVerdict { observations.first ?? .notExamined }

  /// What is wrong, the verdict first; empty for a verified signature.
  public var faults: [SignatureVerdict] { observations.filter { !$0.isVerified } }
}

extension SignatureFinding: CustomStringConvertible {
  /// `signature 1 (id "310", version "v1"): verified by …`.
  public var description: String {
    "signature \(index + 1) (\(name(of: info))): \(observations.map(\.description).joined(separator: "; also "))"
  }
}

/// What is wrong with the signatures of a file taken together.
public enum SignatureReportFault: Hashable, Sendable {
  /// `export.sig` is empty. Google's server writes such files when every signing key has expired.
  case noSignatures
  /// Devices of Google want as many signatures as infos.
  case fewerSignaturesThanInfos(signatures: Int, infos: Int)
  case moreSignaturesThanInfos(signatures: Int, infos: Int)
  /// The info beside a signature is not the one in `export.bin`; `fields` have other values.
  case infoDiffers(signature: Int, info: Int, fields: [String])
  /// Devices may ignore what comes after the tenth.
  case tooManySignatures(Int)
  /// Not all signatures, or not all keys, could be tried within ``BundleVerifier/Limits``.
  case workLimited(examined: Int, verifications: Int)

  public enum Code: String, Hashable, Sendable, CaseIterable {
    case noSignatures = "no-signatures"
    case fewerSignaturesThanInfos = "fewer-signatures-than-infos"
    case moreSignaturesThanInfos = "more-signatures-than-infos"
    case infoDiffers = "info-differs"
    case tooManySignatures = "too-many-signatures"
    case workLimited = "work-limited"
  }

  public var code: Code {
    switch self {
    case .noSignatures: .noSignatures
    case .fewerSignaturesThanInfos: .fewerSignaturesThanInfos
    case .moreSignaturesThanInfos: .moreSignaturesThanInfos
    case .infoDiffers: .infoDiffers
    case .tooManySignatures: .tooManySignatures
    case .workLimited: .workLimited
    }
  }
}

extension SignatureReportFault: CustomStringConvertible {
  public var description: String {
    switch self {
    case .noSignatures: "export.sig has no signature"
    case .fewerSignaturesThanInfos(let signatures, let infos):
      "export.sig has \(counted(signatures, "signature")), but export.bin announces \(infos)"
    case .moreSignaturesThanInfos(let signatures, let infos):
      "export.sig has \(counted(signatures, "signature")), but export.bin announces only \(infos)"
    case .infoDiffers(let signature, let info, let fields):
      "signature \(signature + 1) and info \(info + 1) of export.bin differ in \(fields.joined(separator: ", "))"
    case .tooManySignatures(let count):
      "\(count) signatures, devices read at most \(BundleVerifier.maximumSignatures)"
    case .workLimited(let examined, let verifications):
      "only \(counted(examined, "signature")) examined and \(counted(verifications, "verification")) tried"
    }
  }
}

private func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

private func name(of info: SignatureInfo) -> String {
  let id = info.verificationKeyID.map { "id \(quoted($0))" } ?? "no id"
  let version = info.verificationKeyVersion.map { "version \(quoted($0))" } ?? "no version"
  return "\(id), \(version)"
}
