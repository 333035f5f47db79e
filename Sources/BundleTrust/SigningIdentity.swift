public import ExposureKeys

/// A private key with the names under which Apple and Google know its public half.
public struct SigningIdentity: Sendable {
  public let key: SigningKey
  /// By convention the mobile country code: `310`.
  public let keyID: String
  /// `v1`.
  public let keyVersion: String
  /// The iOS app that trusts the key; Apple asks for it at registration.
  public let appBundleID: String?
  /// The Android app that trusts the key; Google asks for it at registration.
  public let androidPackage: String?

  /// Id and version are letters, digits, `_` and `.` (Apple, "Setting Up a Key Server"); names of apps also have `-`.
  /// All are 1...255 ASCII characters.
  public init(
    key: SigningKey, keyID: String, keyVersion: String, appBundleID: String? = nil, androidPackage: String? = nil
  ) throws(KeyFault) {
    try Self.require(keyID, "key id", ["_", "."])
    try Self.require(keyVersion, "key version", ["_", "."])
    if let appBundleID { try Self.require(appBundleID, "app bundle id", ["-", "_", "."]) }
    if let androidPackage { try Self.require(androidPackage, "Android package", ["_", "."]) }
    self.key = key
    self.keyID = keyID
    self.keyVersion = keyVersion
    self.appBundleID = appBundleID
    self.androidPackage = androidPackage
  }

  private static func require(_ name: String, _ place: String, _ marks: [Unicode.Scalar]) throws(KeyFault) {
    guard !name.isEmpty else { throw KeyFault(.invalidName, place: place, "is empty") }
    guard name.utf8.count <= 255 else {
      throw KeyFault(.invalidName, place: place, "\(name.utf8.count) bytes, at most 255 are allowed")
    }
    let isAllowed = { (scalar: Unicode.Scalar) in
      ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
        || marks.contains(scalar)
    }
    guard name.unicodeScalars.allSatisfy(isAllowed) else {
      let allowed = marks.map { "\"\($0)\"" }.joined(separator: ", ")
      throw KeyFault(.invalidName, place: place, "\(quoted(name)), allowed are letters, digits, \(allowed)")
    }
  }

  /// What stands for this signer in `export.bin` and, the same, in `export.sig`.
  ///
  /// The names of the apps stay out: their fields are retired, and readers pick keys by id and version.
  public var info: SignatureInfo {
    SignatureInfo(
      verificationKeyVersion: keyVersion, verificationKeyID: keyID,
      signatureAlgorithm: SignatureInfo.ecdsaWithSHA256)
  }

  /// The key as a ring of trusted keys holds it, without bounds on its validity.
  public var verificationKey: VerificationKey {
    VerificationKey(id: keyID, version: keyVersion, publicKey: key.publicKey)
  }
}

/// Signs an export once with each identity, for `export.sig`: batch 1 of 1, DER, the same infos as in `export.bin`.
///
/// The infos must already stand in the `export.bin` that was hashed, in the same order: they are part of what is
/// signed. Every run gives other bytes that verify as well.
///
/// - Parameters:
///   - digests: of the whole `export.bin`; the body's digest is not needed.
///   - identities: 1...10, no id and version twice. Devices do best with one: iOS reads the first alone, and microG
///     wants all to verify.
public func sign(
  _ digests: ExportDigests, with identities: [SigningIdentity]
) throws(KeyFault) -> [ExportSignature] {
  guard !identities.isEmpty else { throw KeyFault(.empty, "no key to sign with, allowed are 1...10") }
  guard identities.count <= BundleVerifier.maximumSignatures else {
    throw KeyFault(.limitExceeded, "\(identities.count) keys to sign with, allowed are 1...10")
  }
  var infos: Set<SignatureInfo> = []
  var signatures: [ExportSignature] = []
  for identity in identities {
    guard infos.insert(identity.info).inserted else {
      let name = "id \(quoted(identity.keyID)), version \(quoted(identity.keyVersion))"
      throw KeyFault(.repeated, "\(name) is given twice")
    }
    signatures.append(
      ExportSignature(
        info: identity.info, batchNum: 1, batchSize: 1, signature: try identity.key.signature(for: digests)))
  }
  return signatures
}
