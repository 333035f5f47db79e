internal import Crypto
internal import ExposureKeys

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A public key on the curve P-256: a point that is known to lie on it.
public struct P256PublicKey: Hashable, Sendable {
  /// The uncompressed point of X9.63: 0x04, x and y, 65 bytes. iOS keeps only these of what was registered.
  public let x963: [UInt8]
  let key: P256.Signing.PublicKey

  init(_ key: P256.Signing.PublicKey) {
    self.key = key
    x963 = Array(key.x963Representation)
  }

  /// - Parameter point: 65 bytes (uncompressed) or 33 (compressed), as X9.63 defines them.
  public init(x963 point: some Collection<UInt8>) throws(KeyFault) {
    let bytes = Array(point)
    do {
      switch (bytes.count, bytes.first) {
      case (65, 0x04): self.init(try P256.Signing.PublicKey(x963Representation: bytes))
      case (33, 0x02), (33, 0x03): self.init(try P256.Signing.PublicKey(compressedRepresentation: bytes))
      default:
        throw KeyFault(
          .malformed, "a point of \(bytes.count) bytes, expected 65 that begin with 0x04 or 33 with 0x02 or 0x03")
      }
    } catch let fault as KeyFault {
      throw fault
    } catch {
      throw KeyFault(.invalidKey, "the point is not on the curve P-256")
    }
  }

  /// - Parameter der: a SubjectPublicKeyInfo (RFC 5280, RFC 5480).
  public init(spki der: some Collection<UInt8>) throws(KeyFault) {
    var outer = ASN1Reader(der)
    var info = ASN1Reader(try outer.read(ASN1Reader.Tag.sequence, "the SubjectPublicKeyInfo"))
    guard outer.rest.isEmpty else {
      throw KeyFault(.malformed, "\(outer.rest.count) bytes follow the SubjectPublicKeyInfo")
    }
    try Self.requireP256(algorithm: info.read(ASN1Reader.Tag.sequence, "the algorithm"))
    let bits = try info.read(ASN1Reader.Tag.bitString, "the public key")
    guard info.rest.isEmpty else { throw KeyFault(.malformed, "\(info.rest.count) bytes follow the public key") }
    guard bits.first == 0 else { throw KeyFault(.malformed, "the public key is not a whole number of bytes") }
    try self.init(x963: bits.dropFirst())
  }

  /// - Parameter text: a PEM block `PUBLIC KEY`, or base64 of a SubjectPublicKeyInfo or of the point by itself.
  public init(text: String) throws(KeyFault) {
    if text.contains("-----BEGIN") {
      let blocks = try PEMBlock.blocks(in: text)
      guard blocks.count == 1 else {
        throw KeyFault(.notPEM, "\(blocks.count) PEM blocks, expected one PUBLIC KEY")
      }
      try self.init(blocks[0])
      return
    }
    let digits = text.utf8.filter { $0 != 0x20 && !(0x09...0x0D).contains($0) }
    guard digits.count <= 4096, let bytes = Data(base64Encoded: Data(digits)), !bytes.isEmpty else {
      throw KeyFault(.notBase64, "neither a PEM block nor base64")
    }
    if bytes.first == ASN1Reader.Tag.sequence {
      try self.init(spki: bytes)
    } else {
      try self.init(x963: bytes)
    }
  }

  init(_ block: PEMBlock) throws(KeyFault) {
    switch block.label {
    case "PUBLIC KEY": try self.init(spki: block.content)
    case "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE":
      throw KeyFault(
        .wrongBlock, "a certificate, expected PUBLIC KEY: take its key out with openssl x509 -pubkey -noout")
    case _ where block.label.hasSuffix("PRIVATE KEY"):
      throw KeyFault(
        .wrongBlock, "a private key, expected PUBLIC KEY: take the public half with openssl pkey -pubout")
    default: throw KeyFault(.wrongBlock, "a block \(quoted(block.label)), expected PUBLIC KEY")
    }
  }

  /// SubjectPublicKeyInfo in DER, 91 bytes.
  public var spki: [UInt8] { Array(key.derRepresentation) }

  /// ``spki`` in standard base64, one line.
  public var base64: String { key.derRepresentation.base64EncodedString() }

  /// ``spki`` as a PEM block `PUBLIC KEY`, with a newline at its end.
  public var pem: String { PEMBlock.text("PUBLIC KEY", spki) }

  /// SHA-256 of ``spki`` in lower-case hexadecimal: the key's name where ids repeat.
  public var fingerprint: String { Hexadecimal.encode(SHA256.hash(data: key.derRepresentation)) }

  /// Whether an ECDSA signature in DER was made over these bytes with the private half.
  package func verifies(_ signature: [UInt8], over digests: ExportDigests) -> Bool {
    guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature) else { return false }
    return key.isValidSignature(signature, for: digests.file)
  }

  public static func == (left: Self, right: Self) -> Bool { left.x963 == right.x963 }

  public func hash(into hasher: inout Hasher) { hasher.combine(x963) }

  /// Refuses an AlgorithmIdentifier (RFC 5480) of anything but a P-256 key.
  static func requireP256(algorithm identifier: ArraySlice<UInt8>) throws(KeyFault) {
    var reader = ASN1Reader(identifier)
    let algorithm = try reader.read(ASN1Reader.Tag.objectIdentifier, "the algorithm's identifier")
    guard algorithm.elementsEqual(ObjectIdentifier.ecPublicKey) else {
      let name = ObjectIdentifier.name(algorithm)
      throw KeyFault(.unsupportedAlgorithm, "a key for \(name), only ECDSA on P-256 is allowed")
    }
    try requireP256(curve: &reader)
  }

  /// Refuses the next element unless it names the curve P-256.
  static func requireP256(curve reader: inout ASN1Reader) throws(KeyFault) {
    guard reader.nextTag != ASN1Reader.Tag.sequence else {
      throw KeyFault(.unsupportedCurve, "a curve spelled out in numbers, only the named curve P-256 is allowed")
    }
    let curve = try reader.read(ASN1Reader.Tag.objectIdentifier, "the curve's identifier")
    guard curve.elementsEqual(ObjectIdentifier.p256) else {
      throw KeyFault(.unsupportedCurve, "curve \(ObjectIdentifier.name(curve)), only P-256 is allowed")
    }
  }
}

extension P256PublicKey: CustomStringConvertible {
  public var description: String { "P-256 public key, SHA-256 \(fingerprint)" }
}
