public import ExposureKeys

/// What one entry of `export.sig` is worth, or one thing that is wrong with it.
///
/// Several things can be wrong at once: a raw signature under a wrong algorithm name, over the body alone. A
/// ``SignatureFinding`` lists all of them, and its verdict is the one that explains most, in the order of ``Code``.
public enum SignatureVerdict: Hashable, Sendable {
  /// Canonical DER over the whole file, the right algorithm, by a key that the ring names as stated and that was valid.
  case verified(by: KeyIdentity)
  /// The file has more signatures than are examined, or the work allowed for it was used up before this one.
  case notExamined
  /// No ECDSA signature on P-256 in any of the known spellings.
  case malformedSignature(reason: String)
  /// The ring has keys of the stated id and version, but the signature was made by none of them, nor by any other.
  case doesNotVerify(under: [KeyIdentity])
  /// The ring has no key of the stated id and version, and none of its other keys made the signature.
  case unknownKey(id: String?, version: String?)
  /// Not all keys of the ring were tried: the work allowed for one file was used up.
  case searchCutOff
  /// The signature covers the protobuf body without the 16-byte header. No device accepts it.
  case signatureOverBody(by: KeyIdentity)
  /// 64 bytes r‖s instead of DER. `verifies` is the key it verifies under, if any. No device accepts it.
  case rawSignature64(verifies: KeyIdentity?)
  /// The numbers of a signature in an encoding that DER does not allow; devices differ in what they make of it.
  case nonCanonicalDER(reason: String, verifies: KeyIdentity?)
  /// Another name than the object identifier `1.2.840.10045.4.3.2`, or none. Android refuses the file.
  /// `verifiesOtherwise`: whether a key of the ring made the signature with SHA-256 all the same. The identifier of
  /// SHA-512, which the format allows and no server writes, counts as a wrong name.
  case wrongAlgorithm(name: String?, verifiesOtherwise: Bool)
  /// Made by a key of the ring, but not by one of the id and version that it states.
  case verifiedWithOtherIdentity(statedID: String?, statedVersion: String?, key: KeyIdentity)
  /// Made by the right key, which is trusted only from this instant on.
  case keyNotYetValid(KeyIdentity, from: Instant)
  /// Made by the right key, which is trusted only before this instant.
  case keyNoLongerValid(KeyIdentity, until: Instant)

  /// The stable names for programs; after `verified`, in the order in which one becomes the verdict.
  public enum Code: String, Hashable, Sendable, CaseIterable {
    case verified
    case notExamined = "not-examined"
    case malformedSignature = "malformed-signature"
    case doesNotVerify = "does-not-verify"
    case unknownKey = "unknown-key"
    case searchCutOff = "search-cut-off"
    case signatureOverBody = "signature-over-body"
    case rawSignature64 = "raw-signature"
    case nonCanonicalDER = "non-canonical-der"
    case wrongAlgorithm = "wrong-algorithm"
    case verifiedWithOtherIdentity = "verified-with-other-identity"
    case keyNotYetValid = "key-not-yet-valid"
    case keyNoLongerValid = "key-no-longer-valid"
  }

  public var code: Code {
    switch self {
    case .verified: .verified
    case .notExamined: .notExamined
    case .malformedSignature: .malformedSignature
    case .doesNotVerify: .doesNotVerify
    case .unknownKey: .unknownKey
    case .searchCutOff: .searchCutOff
    case .signatureOverBody: .signatureOverBody
    case .rawSignature64: .rawSignature64
    case .nonCanonicalDER: .nonCanonicalDER
    case .wrongAlgorithm: .wrongAlgorithm
    case .verifiedWithOtherIdentity: .verifiedWithOtherIdentity
    case .keyNotYetValid: .keyNotYetValid
    case .keyNoLongerValid: .keyNoLongerValid
    }
  }

  /// Whether this verdict trusts the file.
  public var isVerified: Bool { code == .verified }
}

extension SignatureVerdict: CustomStringConvertible {
  public var description: String {
    switch self {
    case .verified(let key):
      return key.matchesAnyName
        ? "verified by \(key); the key's file does not say its id and version, so those that the bundle states were not compared"
        : "verified by \(key)"
    case .notExamined: return "not examined: too many signatures in one file"
    case .malformedSignature(let reason): return "not an ECDSA signature: \(reason)"
    case .doesNotVerify(let keys):
      return "does not verify under \(keys.map(\.description).joined(separator: ", nor "))"
    case .unknownKey(let id, let version):
      return "the ring has no key for \(stated(id, version)), and no other key of it made this signature"
    case .searchCutOff: return "not every key of the ring was tried: too much work for one file"
    case .signatureOverBody(let key):
      return "covers the body without the 16-byte header, made by \(key); no device accepts this"
    case .rawSignature64(let key):
      return "64 bytes r‖s instead of DER, \(verifying(key)); no device accepts this"
    case .nonCanonicalDER(let reason, let key): return "not canonical DER (\(reason)), \(verifying(key))"
    case .wrongAlgorithm(let name, let verifiesOtherwise):
      let found = name.map { "algorithm \(quoted($0))" } ?? "no algorithm"
      let otherwise = verifiesOtherwise ? "verifies as ECDSA with SHA-256" : "does not verify as ECDSA with SHA-256"
      return "\(found) instead of \(SignatureInfo.ecdsaWithSHA256); \(otherwise)"
    case .verifiedWithOtherIdentity(let id, let version, let key):
      return "states \(stated(id, version)), but was made by \(key)"
    case .keyNotYetValid(let key, let from): return "made by \(key), which is trusted only from \(from)"
    case .keyNoLongerValid(let key, let until): return "made by \(key), which is trusted only before \(until)"
    }
  }

  private func stated(_ id: String?, _ version: String?) -> String {
    "\(id.map { "id \(quoted($0))" } ?? "no id"), \(version.map { "version \(quoted($0))" } ?? "no version")"
  }

  private func verifying(_ key: KeyIdentity?) -> String {
    key.map { "verifies under \($0)" } ?? "verifies under no key of the ring"
  }
}
