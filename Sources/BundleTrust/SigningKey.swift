internal import Crypto
internal import ExposureKeys

/// A private key on the curve P-256. It shows itself nowhere but in ``pemRepresentation``.
public struct SigningKey: Sendable {
  private let holder: Holder

  /// Who has the key.
  private enum Holder: Sendable {
    case here(P256.Signing.PrivateKey)
    /// Somebody who is given a digest and gives a signature in DER.
    case elsewhere(P256PublicKey, sign: @Sendable (_ digest: [UInt8]) throws(KeyFault) -> [UInt8])
  }

  /// A new key from the system's random numbers.
  public static func generate() -> SigningKey { SigningKey(key: P256.Signing.PrivateKey()) }

  init(key: P256.Signing.PrivateKey) { holder = .here(key) }

  /// A key that this process does not have.
  ///
  /// - Parameters:
  ///   - publicKey: every signature is verified by it before anybody gets it.
  ///   - sign: is given the 32 bytes of a SHA-256, and gives a signature over that digest in DER.
  package init(
    _ publicKey: P256PublicKey,
    signedElsewhere sign: @escaping @Sendable (_ digest: [UInt8]) throws(KeyFault) -> [UInt8]
  ) {
    holder = .elsewhere(publicKey, sign: sign)
  }

  /// Whether this process does not have it.
  package var isElsewhere: Bool { if case .elsewhere = holder { true } else { false } }

  /// Reads PKCS#8 (`PRIVATE KEY`, RFC 5958) or SEC1 (`EC PRIVATE KEY`, RFC 5915), the latter also after the
  /// `EC PARAMETERS` block that `openssl ecparam -genkey` writes. Encrypted keys are refused.
  ///
  /// - Parameter text: at most 4 MiB of PEM with exactly one private key.
  public init(pem text: String) throws(KeyFault) {
    let blocks = try PEMBlock.blocks(in: text).filter { $0.label != "EC PARAMETERS" }
    guard let block = blocks.first else {
      throw KeyFault(.notPEM, "no PEM block, expected PRIVATE KEY or EC PRIVATE KEY")
    }
    guard blocks.count == 1 else {
      throw KeyFault(.notPEM, "\(blocks.count) PEM blocks, expected one PRIVATE KEY or EC PRIVATE KEY")
    }
    do throws(KeyFault) {
      guard !block.isEncrypted, block.label != "ENCRYPTED PRIVATE KEY" else {
        throw KeyFault(.encrypted, "the key is encrypted: decrypt it with openssl pkey")
      }
      switch block.label {
      case "PRIVATE KEY": self.init(key: try Self.key(pkcs8: block.content))
      case "EC PRIVATE KEY":
        self.init(key: try Self.key(sec1: ArraySlice(block.content), curveIsKnown: false))
      case "PUBLIC KEY":
        throw KeyFault(.wrongBlock, "a public key, expected its private half, PRIVATE KEY or EC PRIVATE KEY")
      default:
        throw KeyFault(.wrongBlock, "a block \(quoted(block.label)), expected PRIVATE KEY or EC PRIVATE KEY")
      }
    } catch {
      throw error.within("line \(block.line)")
    }
  }

  private static func key(pkcs8 der: [UInt8]) throws(KeyFault) -> P256.Signing.PrivateKey {
    var outer = ASN1Reader(der)
    var info = ASN1Reader(try outer.read(ASN1Reader.Tag.sequence, "the PrivateKeyInfo"))
    _ = try info.read(ASN1Reader.Tag.integer, "the version")
    try P256PublicKey.requireP256(algorithm: info.read(ASN1Reader.Tag.sequence, "the algorithm"))
    return try key(sec1: info.read(ASN1Reader.Tag.octetString, "the private key"), curveIsKnown: true)
  }

  private static func key(
    sec1 der: ArraySlice<UInt8>, curveIsKnown: Bool
  ) throws(KeyFault) -> P256.Signing.PrivateKey {
    var outer = ASN1Reader(der)
    var sequence = ASN1Reader(try outer.read(ASN1Reader.Tag.sequence, "the ECPrivateKey"))
    _ = try sequence.read(ASN1Reader.Tag.integer, "the version")
    let octets = try sequence.read(ASN1Reader.Tag.octetString, "the private number")
    if sequence.nextTag == ASN1Reader.Tag.context0 {
      var parameters = ASN1Reader(try sequence.read(ASN1Reader.Tag.context0, "the parameters"))
      try P256PublicKey.requireP256(curve: &parameters)
    } else if !curveIsKnown {
      throw KeyFault(.malformed, "the key does not name its curve")
    }
    // Some writers drop leading zero bytes of the number.
    let magnitude = octets.drop { $0 == 0 }
    guard magnitude.count <= 32 else { throw KeyFault(.malformed, "the private number is longer than 32 bytes") }
    let scalar = [UInt8](repeating: 0, count: 32 - magnitude.count) + magnitude
    guard let key = try? P256.Signing.PrivateKey(rawRepresentation: scalar) else {
      throw KeyFault(.invalidKey, "the private number is zero or not below the order of the curve")
    }
    if sequence.nextTag == ASN1Reader.Tag.context1 {
      var optional = ASN1Reader(try sequence.read(ASN1Reader.Tag.context1, "the public half"))
      let bits = try optional.read(ASN1Reader.Tag.bitString, "the public half")
      guard try P256PublicKey(x963: bits.dropFirst()) == P256PublicKey(key.publicKey) else {
        throw KeyFault(.invalidKey, "the public half does not belong to the private number")
      }
    }
    return key
  }

  /// PKCS#8 as a PEM block `PRIVATE KEY`. This is the secret: write it with mode 0600.
  /// Empty for a key that this process does not have.
  public var pemRepresentation: String {
    guard case .here(let key) = holder else { return "" }
    return PEMBlock.text("PRIVATE KEY", Array(key.derRepresentation))
  }

  public var publicKey: P256PublicKey {
    switch holder {
    case .here(let key): P256PublicKey(key.publicKey)
    case .elsewhere(let publicKey, _): publicKey
    }
  }

  /// A signature over the whole export in DER.
  func signature(for digests: ExportDigests) throws(KeyFault) -> [UInt8] {
    Array(try signature(of: digests.file).derRepresentation)
  }

  /// A signature over what has this digest.
  func signature(of digest: SHA256Digest) throws(KeyFault) -> P256.Signing.ECDSASignature {
    switch holder {
    case .here(let key):
      do { return try key.signature(for: digest) } catch { throw KeyFault(.invalidKey, "the key could not sign") }
    case .elsewhere(let publicKey, let sign):
      let bytes = try sign(Array(digest))
      let signature = try Self.signature(spelled: bytes)
      guard publicKey.key.isValidSignature(signature, for: digest) else {
        throw KeyFault(
          .notSigned,
          "the signature does not verify by the public key that is configured, SHA-256 \(publicKey.fingerprint)")
      }
      return signature
    }
  }

  /// Canonical DER alone: devices take nothing else.
  private static func signature(spelled bytes: [UInt8]) throws(KeyFault) -> P256.Signing.ECDSASignature {
    do throws(KeyFault) {
      let spelled = try SpelledSignature(bytes)
      switch spelled.form {
      case .der: break
      case .raw: throw KeyFault(.notSigned, "64 bytes, r and s side by side, expected them in DER")
      case .nonCanonicalDER(let reason): throw KeyFault(.notSigned, "no canonical DER: \(reason)")
      }
      if let signature = try? P256.Signing.ECDSASignature(derRepresentation: bytes) { return signature }
      throw KeyFault(.notSigned, "no signature in DER")
    } catch {
      throw error.code == .notSigned
        ? error : KeyFault(.notSigned, "\(bytes.count) bytes that are no signature in DER: \(error.reason)")
    }
  }

  /// Has it sign a digest of nothing that is published, and verifies what comes.
  package func prove(over text: String) throws(KeyFault) {
    _ = try signature(of: SHA256.hash(data: Array(text.utf8)))
  }
}

extension SigningKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The public half's fingerprint, never the key.
  public var description: String { "SigningKey(SHA-256 of the public half: \(publicKey.fingerprint))" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
