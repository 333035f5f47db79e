internal import ExposureKeys

/// A CMS SignedData as its bytes say it, before anything of it is believed.
///
/// Read here, in memory-safe code, so that libcrypto is given only what has this form: no other content type, no nesting
/// that the form does not have, no byte that nobody looks at.
///
/// Source: RFC 5652, 5; what producers write is told by the federation's samples.
package struct BatchSignature: Hashable, Sendable {
  /// How many bytes of CMS are read. Real ones have 800 to 2,500; a chain of certificates may be among them.
  package static let maximumLength = 64 << 10

  /// Why the bytes are no such signature: the step, and what was found.
  struct Fault: Error, Hashable {
    let step: VerificationStep
    let reason: String

    init(_ step: VerificationStep, _ reason: String) {
      self.step = step
      self.reason = reason
    }
  }

  /// One SignerInfo.
  struct Signer: Hashable, Sendable {
    var version: Int
    /// Named by the key identifier, else by issuer and serial number.
    var isNamedByKey: Bool
    var digest: DigestAlgorithm
    var signatureAlgorithm: SignatureAlgorithm
    /// `nil` where nothing is signed but the content.
    var attributes: Attributes?
  }

  struct Attributes: Hashable, Sendable {
    var messageDigest: [UInt8]
    var signingTime: Instant?
  }

  /// All bytes, as they came.
  let bytes: [UInt8]
  let version: Int
  /// The content that lies inside; `nil` for a detached signature.
  let content: [UInt8]?
  /// The certificates inside, in DER.
  let certificates: [[UInt8]]
  let hasRevocationLists: Bool
  let signers: [Signer]

  /// The digest that the signer made of what was signed; `nil` without signed attributes.
  package var messageDigest: [UInt8]? { signers.first?.attributes?.messageDigest }

  /// - Parameter text: the header's; see ``HeaderBase64``.
  init(header text: String) throws(Fault) {
    let bytes: [UInt8]
    do throws(HeaderBase64.Fault) {
      bytes = try HeaderBase64.decode(text, limit: Self.maximumLength)
    } catch {
      throw Fault(.decode, "the signature is not base64: \(error.reason)")
    }
    try self.init(bytes)
  }

  init(_ bytes: [UInt8]) throws(Fault) {
    guard bytes.count <= Self.maximumLength else {
      throw Fault(.decode, "\(bytes.count) bytes of CMS, at most \(Self.maximumLength) are read")
    }
    do throws(KeyFault) {
      let envelope = try Envelope(bytes)
      self.bytes = bytes
      version = envelope.version
      content = envelope.content
      certificates = envelope.certificates
      hasRevocationLists = envelope.hasRevocationLists
      var signers: [Signer] = []
      for signer in envelope.signers { signers.append(try Signer(signer)) }
      self.signers = signers
      if let refusal = Self.refusal(of: envelope, signers) { throw KeyFault(.malformed, refusal) }
    } catch {
      throw Fault(.decode, "no CMS signature: \(error.reason)")
    }
  }

  /// Versions and digests that do not fit what else is said.
  private static func refusal(of envelope: Envelope, _ signers: [Signer]) -> String? {
    for signer in signers where signer.version != (signer.isNamedByKey ? 3 : 1) {
      return "a signer of version \(signer.version), expected \(signer.isNamedByKey ? 3 : 1)"
    }
    let version = signers.contains(where: \.isNamedByKey) ? 3 : 1
    guard envelope.version == version else { return "SignedData of version \(envelope.version), expected \(version)" }
    let named = Set(envelope.digests)
    guard named.count == envelope.digests.count, named == Set(signers.map(\.digest)) else {
      let list = envelope.digests.map(\.rawValue).joined(separator: ", ")
      return "the digests \(list.isEmpty ? "none" : list) are announced, and the signers use "
        + signers.map(\.digest.rawValue).joined(separator: ", ")
    }
    return nil
  }
}

/// The digests that CMS names.
enum DigestAlgorithm: String, Hashable, Sendable, CaseIterable {
  case sha1 = "SHA-1"
  case sha224 = "SHA-224"
  case sha256 = "SHA-256"
  case sha384 = "SHA-384"
  case sha512 = "SHA-512"
  case md5 = "MD5"
  case other = "an unknown digest"

  var length: Int {
    switch self {
    case .md5: 16
    case .sha1: 20
    case .sha224: 28
    case .sha256: 32
    case .sha384: 48
    case .sha512: 64
    case .other: 0
    }
  }

  var isStrong: Bool { self == .sha256 || self == .sha384 || self == .sha512 }

  init(identifier: ArraySlice<UInt8>) {
    switch Array(identifier) {
    case [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]: self = .sha256
    case [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02]: self = .sha384
    case [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03]: self = .sha512
    case [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x04]: self = .sha224
    case [0x2B, 0x0E, 0x03, 0x02, 0x1A]: self = .sha1
    case [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x02, 0x05]: self = .md5
    default: self = .other
    }
  }
}

/// How a signature is made, as its algorithm's identifier says.
enum SignatureAlgorithm: Hashable, Sendable {
  /// PKCS #1 version 1.5. OpenSSL names no digest here.
  case rsa(DigestAlgorithm?)
  case ecdsa(DigestAlgorithm?)
  case rsaPSS
  case other(String)

  init(identifier: ArraySlice<UInt8>) {
    let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01]
    let ec: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D]
    if identifier.count == 9, identifier.starts(with: rsa), let last = identifier.last {
      switch last {
      case 1: self = .rsa(nil)
      case 5: self = .rsa(.sha1)
      case 10: self = .rsaPSS
      case 11: self = .rsa(.sha256)
      case 12: self = .rsa(.sha384)
      case 13: self = .rsa(.sha512)
      default: self = .other(ObjectIdentifier.name(identifier))
      }
      return
    }
    switch Array(identifier) {
    case ec + [0x02, 0x01]: self = .ecdsa(nil)
    case ec + [0x04, 0x01]: self = .ecdsa(.sha1)
    case ec + [0x04, 0x03, 0x02]: self = .ecdsa(.sha256)
    case ec + [0x04, 0x03, 0x03]: self = .ecdsa(.sha384)
    case ec + [0x04, 0x03, 0x04]: self = .ecdsa(.sha512)
    default: self = .other(ObjectIdentifier.name(identifier))
    }
  }
}

/// An AlgorithmIdentifier (RFC 5280, 4.1.1.2) whose parameters are absent or NULL, as all of ours are.
private struct AlgorithmIdentifier {
  let identifier: ArraySlice<UInt8>
  /// `nil` for absent.
  let parameters: ArraySlice<UInt8>?

  init(_ content: ArraySlice<UInt8>, _ name: String) throws(KeyFault) {
    var reader = ASN1Reader(content, .basic)
    identifier = try reader.read(ASN1Reader.Tag.objectIdentifier, name)
    parameters = reader.rest.isEmpty ? nil : try reader.next("the parameters of \(name)").whole
    try reader.finish(name)
  }

  func requirePlain(_ name: String) throws(KeyFault) {
    guard parameters == nil || parameters == [0x05, 0x00] else {
      throw KeyFault(.malformed, "\(name) has parameters, allowed is none")
    }
  }

  static func digest(_ content: ArraySlice<UInt8>) throws(KeyFault) -> DigestAlgorithm {
    let algorithm = try AlgorithmIdentifier(content, "the digest algorithm")
    try algorithm.requirePlain("the digest algorithm")
    return DigestAlgorithm(identifier: algorithm.identifier)
  }

  static func signature(_ content: ArraySlice<UInt8>) throws(KeyFault) -> SignatureAlgorithm {
    let algorithm = try AlgorithmIdentifier(content, "the signature algorithm")
    let named = SignatureAlgorithm(identifier: algorithm.identifier)
    // Those of PSS say which digests it uses; it is refused by name later on.
    if named != .rsaPSS { try algorithm.requirePlain("the signature algorithm") }
    return named
  }
}

private let signedDataIdentifier: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
private let dataIdentifier: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]

/// ContentInfo and SignedData, the signers still as bytes.
private struct Envelope {
  let version: Int
  let digests: [DigestAlgorithm]
  let content: [UInt8]?
  var certificates: [[UInt8]] = []
  var hasRevocationLists = false
  var signers: [ArraySlice<UInt8>] = []

  /// More certificates or signers than anybody has a use for.
  private static let maximumParts = 16

  init(_ bytes: [UInt8]) throws(KeyFault) {
    var outer = ASN1Reader(bytes[...], .basic)
    var info = ASN1Reader(try outer.read(ASN1Reader.Tag.sequence, "the ContentInfo"), .basic)
    try outer.finish("the signature")
    let type = try info.read(ASN1Reader.Tag.objectIdentifier, "the content type")
    guard type.elementsEqual(signedDataIdentifier) else {
      throw KeyFault(.malformed, "content type \(ObjectIdentifier.name(type)), allowed is signedData")
    }
    var wrapper = ASN1Reader(try info.read(ASN1Reader.Tag.context0, "the content"), .basic)
    try info.finish("the ContentInfo")
    var data = ASN1Reader(try wrapper.read(ASN1Reader.Tag.sequence, "the SignedData"), .basic)
    try wrapper.finish("the content")

    version = try Self.number(data.read(ASN1Reader.Tag.integer, "the version of the SignedData"))
    digests = try Self.digests(data.read(ASN1Reader.Tag.set, "the digest algorithms"))
    content = try Self.content(data.read(ASN1Reader.Tag.sequence, "the encapsulated content"))
    if data.nextTag == ASN1Reader.Tag.context0 {
      var list = ASN1Reader(try data.read(ASN1Reader.Tag.context0, "the certificates"), .basic)
      while !list.rest.isEmpty {
        let certificate = try list.readElement(ASN1Reader.Tag.sequence, "a certificate")
        guard certificates.count < Self.maximumParts else {
          throw KeyFault(.malformed, "more than \(Self.maximumParts) certificates")
        }
        certificates.append(Array(certificate.whole))
      }
    }
    if data.nextTag == ASN1Reader.Tag.context1 {
      hasRevocationLists = true
      _ = try data.next("the revocation lists")
    }
    var list = ASN1Reader(try data.read(ASN1Reader.Tag.set, "the signers"), .basic)
    try data.finish("the SignedData")
    while !list.rest.isEmpty {
      guard signers.count < Self.maximumParts else {
        throw KeyFault(.malformed, "more than \(Self.maximumParts) signers")
      }
      signers.append(try list.read(ASN1Reader.Tag.sequence, "a signer"))
    }
  }

  static func number(_ content: ArraySlice<UInt8>) throws(KeyFault) -> Int {
    guard content.count == 1, let number = content.first, number < 0x80 else {
      throw KeyFault(.malformed, "a version 0x\(Hexadecimal.encode(content.prefix(8))), expected a small number")
    }
    return Int(number)
  }

  private static func digests(_ content: ArraySlice<UInt8>) throws(KeyFault) -> [DigestAlgorithm] {
    var digests: [DigestAlgorithm] = []
    var list = ASN1Reader(content, .basic)
    while !list.rest.isEmpty {
      guard digests.count < maximumParts else { throw KeyFault(.malformed, "more than \(maximumParts) digests") }
      digests.append(try AlgorithmIdentifier.digest(list.read(ASN1Reader.Tag.sequence, "a digest algorithm")))
    }
    return digests
  }

  private static func content(_ encapsulated: ArraySlice<UInt8>) throws(KeyFault) -> [UInt8]? {
    var reader = ASN1Reader(encapsulated, .basic)
    let type = try reader.read(ASN1Reader.Tag.objectIdentifier, "the type of what is signed")
    guard type.elementsEqual(dataIdentifier) else {
      throw KeyFault(.malformed, "what is signed has type \(ObjectIdentifier.name(type)), allowed is data")
    }
    guard !reader.rest.isEmpty else { return nil }
    var inner = ASN1Reader(try reader.read(ASN1Reader.Tag.context0, "the attached content"), .basic)
    try reader.finish("the encapsulated content")
    var bytes: [UInt8] = []
    // In BER a string may come in pieces.
    if inner.nextTag == ASN1Reader.Tag.constructedOctetString {
      var pieces = ASN1Reader(try inner.next("the attached content").content, .basic)
      while !pieces.rest.isEmpty {
        bytes += try pieces.read(ASN1Reader.Tag.octetString, "a piece of the attached content")
      }
    } else {
      bytes = Array(try inner.read(ASN1Reader.Tag.octetString, "the attached content"))
    }
    try inner.finish("the attached content")
    return bytes
  }
}

extension BatchSignature.Signer {
  fileprivate init(_ content: ArraySlice<UInt8>) throws(KeyFault) {
    var reader = ASN1Reader(content, .basic)
    version = try Envelope.number(reader.read(ASN1Reader.Tag.integer, "a signer's version"))
    let name = try reader.next("a signer's name")
    switch name.tag {
    case ASN1Reader.Tag.sequence: isNamedByKey = false
    case ASN1Reader.Tag.primitiveContext0: isNamedByKey = true
    default: throw KeyFault(.malformed, "a signer's name has tag 0x\(Hexadecimal.encode([name.tag]))")
    }
    let digestContent = try reader.read(ASN1Reader.Tag.sequence, "a signer's digest algorithm")
    digest = try AlgorithmIdentifier.digest(digestContent)
    var found = FoundAttributes()
    let hasAttributes = reader.nextTag == ASN1Reader.Tag.context0
    if hasAttributes {
      found = try FoundAttributes(reader.read(ASN1Reader.Tag.context0, "the signed attributes"))
    }
    let signatureContent = try reader.read(ASN1Reader.Tag.sequence, "a signer's signature algorithm")
    signatureAlgorithm = try AlgorithmIdentifier.signature(signatureContent)
    let signature = try reader.next("the signature")
    guard signature.tag == ASN1Reader.Tag.octetString || signature.tag == ASN1Reader.Tag.constructedOctetString else {
      throw KeyFault(
        .malformed, "the signature has tag 0x\(Hexadecimal.encode([signature.tag])), expected an octet string")
    }
    if reader.nextTag == ASN1Reader.Tag.context1 { _ = try reader.next("the unsigned attributes") }
    try reader.finish("a signer")
    guard hasAttributes else {
      attributes = nil
      return
    }
    if let protection = found.protection, protection.digest != digestContent || protection.signature != signatureContent
    {
      throw KeyFault(.malformed, "the algorithms are not those that were signed (RFC 6211)")
    }
    guard found.isOfData else {
      throw KeyFault(.malformed, "the signed attributes do not say that data was signed (contentType)")
    }
    guard let messageDigest = found.messageDigest else {
      throw KeyFault(.malformed, "the signed attributes have no messageDigest")
    }
    attributes = BatchSignature.Attributes(messageDigest: messageDigest, signingTime: found.signingTime)
  }
}

/// The signed attributes that mean something here. Each may be there once, with one value.
private struct FoundAttributes {
  var isOfData = false
  var messageDigest: [UInt8]?
  var signingTime: Instant?
  var protection: (digest: ArraySlice<UInt8>, signature: ArraySlice<UInt8>)?

  private static let pkcs9: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09]

  init() {}

  init(_ content: ArraySlice<UInt8>) throws(KeyFault) {
    var seen: Set<ArraySlice<UInt8>> = []
    var list = ASN1Reader(content, .basic)
    while !list.rest.isEmpty {
      var attribute = ASN1Reader(try list.read(ASN1Reader.Tag.sequence, "a signed attribute"), .basic)
      let type = try attribute.read(ASN1Reader.Tag.objectIdentifier, "the type of a signed attribute")
      guard seen.insert(type).inserted else {
        throw KeyFault(.malformed, "the signed attribute \(ObjectIdentifier.name(type)) stands twice")
      }
      var values = ASN1Reader(try attribute.read(ASN1Reader.Tag.set, "the values of a signed attribute"), .basic)
      try attribute.finish("a signed attribute")
      guard type.starts(with: Self.pkcs9), type.count == 9 else { continue }
      switch type.last {
      case 3:
        let value = try values.read(ASN1Reader.Tag.objectIdentifier, "the signed content type")
        isOfData = value.elementsEqual(dataIdentifier)
      case 4: messageDigest = Array(try values.read(ASN1Reader.Tag.octetString, "the message digest"))
      case 5: signingTime = try Self.time(values.next("the signing time"))
      case 52: protection = try Self.protection(values.read(ASN1Reader.Tag.sequence, "the algorithms' protection"))
      default: continue
      }
      try values.finish("a signed attribute of one value")
    }
  }

  /// UTCTime or GeneralizedTime in UTC with seconds, as RFC 5652, 11.3 asks for.
  private static func time(_ element: ASN1Reader.Element) throws(KeyFault) -> Instant {
    let text = String(decoding: element.content, as: UTF8.self)
    let isShort = element.tag == ASN1Reader.Tag.utcTime
    guard isShort || element.tag == ASN1Reader.Tag.generalizedTime, text.utf8.last == UInt8(ascii: "Z") else {
      throw KeyFault(.malformed, "a signing time \(quoted(text)), expected a time in UTC")
    }
    let digits = text.utf8.dropLast().map { Int64($0) - 48 }
    let yearDigits = isShort ? 2 : 4
    guard digits.count == yearDigits + 10, digits.allSatisfy({ (0...9).contains($0) }) else {
      throw KeyFault(.malformed, "a signing time \(quoted(text)), expected digits down to the second and Z")
    }
    func pair(_ place: Int) -> Int64 { digits[yearDigits + 2 * place] * 10 + digits[yearDigits + 2 * place + 1] }
    var year = digits[..<yearDigits].reduce(0) { $0 * 10 + $1 }
    if isShort { year += year < 50 ? 2000 : 1900 }
    guard let day = Day(year: year, month: pair(0), day: pair(1)), pair(2) < 24, pair(3) < 60, pair(4) < 61 else {
      throw KeyFault(.malformed, "a signing time \(quoted(text)) that does not exist")
    }
    return Instant(secondsSince1970: day.start.secondsSince1970 + pair(2) * 3600 + pair(3) * 60 + pair(4))
  }

  /// CMSAlgorithmProtection (RFC 6211): the algorithms once more, where they are signed.
  private static func protection(
    _ content: ArraySlice<UInt8>
  ) throws(KeyFault) -> (digest: ArraySlice<UInt8>, signature: ArraySlice<UInt8>) {
    var reader = ASN1Reader(content, .basic)
    let digest = try reader.read(ASN1Reader.Tag.sequence, "the protected digest algorithm")
    let signature = try reader.read(ASN1Reader.Tag.context1, "the protected signature algorithm")
    try reader.finish("the algorithms' protection")
    return (digest, signature)
  }
}
