internal import Crypto
internal import ExposureKeys

/// A private key on the curve P-256. It shows itself nowhere but in ``pemRepresentation``.
public struct SigningKey: Sendable {
  let key: P256.Signing.PrivateKey

  /// A new key from the system's random numbers.
  public static func generate() -> SigningKey { SigningKey(key: P256.Signing.PrivateKey()) }

  init(key: P256.Signing.PrivateKey) { self.key = key }

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
      case "PRIVATE KEY": key = try Self.key(pkcs8: block.content)
      case "EC PRIVATE KEY": key = try Self.key(sec1: ArraySlice(block.content), curveIsKnown: false)
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
    var outer = DERReader(der)
    var info = DERReader(try outer.read(DERReader.Tag.sequence, "the PrivateKeyInfo"))
    _ = try info.read(DERReader.Tag.integer, "the version")
    try P256PublicKey.requireP256(algorithm: info.read(DERReader.Tag.sequence, "the algorithm"))
    return try key(sec1: info.read(DERReader.Tag.octetString, "the private key"), curveIsKnown: true)
  }

  private static func key(
    sec1 der: ArraySlice<UInt8>, curveIsKnown: Bool
  ) throws(KeyFault) -> P256.Signing.PrivateKey {
    var outer = DERReader(der)
    var sequence = DERReader(try outer.read(DERReader.Tag.sequence, "the ECPrivateKey"))
    _ = try sequence.read(DERReader.Tag.integer, "the version")
    let octets = try sequence.read(DERReader.Tag.octetString, "the private number")
    if sequence.nextTag == DERReader.Tag.context0 {
      var parameters = DERReader(try sequence.read(DERReader.Tag.context0, "the parameters"))
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
    if sequence.nextTag == DERReader.Tag.context1 {
      var optional = DERReader(try sequence.read(DERReader.Tag.context1, "the public half"))
      let bits = try optional.read(DERReader.Tag.bitString, "the public half")
      guard try P256PublicKey(x963: bits.dropFirst()) == P256PublicKey(key.publicKey) else {
        throw KeyFault(.invalidKey, "the public half does not belong to the private number")
      }
    }
    return key
  }

  /// PKCS#8 as a PEM block `PRIVATE KEY`. This is the secret: write it with mode 0600.
  public var pemRepresentation: String { PEMBlock.text("PRIVATE KEY", Array(key.derRepresentation)) }

  public var publicKey: P256PublicKey { P256PublicKey(key.publicKey) }

  /// A signature over the whole export in DER.
  func signature(for digests: ExportDigests) throws(KeyFault) -> [UInt8] {
    do {
      return Array(try key.signature(for: digests.file).derRepresentation)
    } catch {
      throw KeyFault(.invalidKey, "the key could not sign")
    }
  }
}

extension SigningKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The public half's fingerprint, never the key.
  public var description: String { "SigningKey(SHA-256 of the public half: \(publicKey.fingerprint))" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
