internal import Crypto
internal import ExposureKeys
internal import FoundationEssentials

/// A signed payload with its type: DSSE, the envelope of in-toto.
///
/// Source: secure-systems-lab/dsse 1.0.2. What is signed is ``preAuthenticated(_:_:)``; the name of the key beside a signature
/// is a hint that nobody has signed. Whoever has verified an envelope goes on with the ``payload`` that was verified.
package struct Envelope: Hashable, Sendable {
  package struct Signature: Hashable, Sendable {
    /// A hint; empty where there is none.
    package var keyID: String
    package var bytes: [UInt8]
  }

  package let payloadType: String
  package let payload: [UInt8]
  package let signatures: [Signature]

  /// The type of a statement of in-toto.
  package static let statementType = "application/vnd.in-toto+json"
  /// Of a file with envelopes, one a line.
  package static let mediaType = "application/vnd.in-toto+json"
  /// What stands behind the name of the file that it is about.
  package static let ending = ".intoto.jsonl"
  /// A larger one is not read.
  package static let byteLimit = 1 << 20
  private static let mostSignatures = 16

  /// What is signed.
  package static func preAuthenticated(_ type: String, _ payload: [UInt8]) -> [UInt8] {
    Array("DSSEv1 \(type.utf8.count) \(type) \(payload.count) ".utf8) + payload
  }

  package init(_ payload: [UInt8], type: String = Self.statementType, by signer: AttestationSigner) throws {
    self.payload = payload
    payloadType = type
    signatures = [try signer.sign(Self.preAuthenticated(type, payload))]
  }

  /// One line of JSON, with a line feed at its end.
  package var bytes: [UInt8] {
    let signatures = signatures.map { signature in
      JSONValue.object([("keyid", .text(signature.keyID)), ("sig", .text(Base64.encode(signature.bytes)))])
    }
    let envelope = JSONValue.object([
      ("payload", .text(Base64.encode(payload))), ("payloadType", .text(payloadType)),
      ("signatures", .list(signatures)),
    ])
    return Array("\(envelope.text)\n".utf8)
  }

  /// Reads one envelope. Members that are not known are passed over, as the format asks.
  ///
  /// - Parameter name: for messages.
  /// - Throws: ``LogFault`` `bad-attestation`.
  package init(_ bytes: [UInt8], name: String) throws {
    func fault(_ reason: String) -> LogFault { LogFault(.badAttestation, "\(name): \(reason)") }
    guard bytes.count <= Self.byteLimit else {
      throw fault("it has \(bytes.count) bytes, at most \(Self.byteLimit) are read")
    }
    let line = bytes.last == 0x0a ? bytes.dropLast() : bytes[...]
    guard !line.contains(0x0a) else { throw fault("it has several lines, and one envelope is a line") }
    // Other encodings than UTF-8 have such bytes.
    guard !line.contains(0), let members = try? JSONDecoder().decode(Members.self, from: Data(line)) else {
      throw fault("it is no JSON object with payload, payloadType and signatures")
    }
    if let name = RepeatedMember.name(in: line) {
      throw fault("it has the member \(quoted(name)) twice; an object has each once")
    }
    guard let payload = Base64.decode(members.payload.utf8) else { throw fault("its payload is no base64") }
    guard (1...Self.mostSignatures).contains(members.signatures.count) else {
      throw fault("it has \(members.signatures.count) signatures, allowed are 1...\(Self.mostSignatures)")
    }
    guard members.payloadType.utf8.count <= 200 else { throw fault("its payloadType is too long") }
    (self.payload, payloadType) = (payload, members.payloadType)
    signatures = try members.signatures.map { member in
      guard let bytes = Base64.decode(member.sig.utf8) else { throw fault("a signature is no base64") }
      return Signature(keyID: member.keyid ?? "", bytes: bytes)
    }
  }

  /// - Throws: ``LogFault`` `bad-signature` where no signature is by this key.
  package func verify(by key: AttestationKey, name: String) throws {
    let message = Self.preAuthenticated(payloadType, payload)
    guard signatures.contains(where: { key.hasSigned(message, $0.bytes) }) else {
      throw LogFault(.badSignature, "\(name): no signature of it is by the key \(key.id)")
    }
  }

  private struct Members: Decodable {
    var payload: String
    var payloadType: String
    var signatures: [Member]

    struct Member: Decodable {
      var keyid: String?
      var sig: String
    }
  }
}

/// A public Ed25519 key that may have signed attestations.
package struct AttestationKey: Hashable, Sendable {
  /// 32 bytes.
  private let raw: [UInt8]

  /// What stands before the key in its `SubjectPublicKeyInfo` (RFC 8410).
  private static let prefix: [UInt8] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00]
  private static let begin = "-----BEGIN PUBLIC KEY-----"
  private static let end = "-----END PUBLIC KEY-----"

  fileprivate init(raw: [UInt8]) { self.raw = raw }

  /// - Parameter pem: as ``pem`` writes it.
  /// - Throws: ``LogFault`` `bad-key`.
  package init(pem: String, name: String) throws {
    func fault(_ reason: String) -> LogFault {
      LogFault(.badKey, "\(name): \(reason); an attestation's key is Ed25519 in PEM (\(Self.begin))")
    }
    guard !pem.contains("PRIVATE KEY") else { throw fault("it is a private key") }
    guard let begin = pem.firstRange(of: Self.begin),
      let end = pem[begin.upperBound...].firstRange(of: Self.end)
    else { throw fault("it has no public key") }
    let text = pem[begin.upperBound..<end.lowerBound].filter { !$0.isWhitespace }
    guard let bytes = Base64.decode(text.utf8, spelling: .canonical), bytes.count == Self.prefix.count + 32,
      bytes.starts(with: Self.prefix)
    else { throw fault("it is another kind of key") }
    raw = Array(bytes.dropFirst(Self.prefix.count))
  }

  package var pem: String { "\(Self.begin)\n\(Base64.encode(Self.prefix + raw))\n\(Self.end)\n" }

  /// SHA-256 of its 32 bytes, lower-case hexadecimal: a hint beside signatures.
  package var id: String { Hexadecimal.encode(SHA256.hash(data: raw)) }

  func hasSigned(_ message: [UInt8], _ signature: [UInt8]) -> Bool {
    guard signature.count == 64, let key = try? Curve25519.Signing.PublicKey(rawRepresentation: raw) else {
      return false
    }
    return key.isValidSignature(signature, for: message)
  }
}

/// A private key that signs attestations. It signs nothing else: neither a log's checkpoints nor bundles for phones.
package struct AttestationSigner: Sendable, CustomStringConvertible {
  private let key: Curve25519.Signing.PrivateKey

  private static let prefix: [UInt8] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
  ]
  private static let begin = "-----BEGIN PRIVATE KEY-----"
  private static let end = "-----END PRIVATE KEY-----"

  private init(key: Curve25519.Signing.PrivateKey) { self.key = key }

  package static func generate() -> AttestationSigner { AttestationSigner(key: Curve25519.Signing.PrivateKey()) }

  /// - Parameters:
  ///   - pem: PKCS #8, as ``disclosed`` and OpenSSL write it. It is in no message.
  ///   - name: for messages.
  /// - Throws: ``LogFault`` `bad-key`.
  package init(pem: String, name: String) throws {
    let fault = LogFault(.badKey, "\(name): it is no private Ed25519 key in PEM (PKCS #8)")
    guard let begin = pem.firstRange(of: Self.begin),
      let end = pem[begin.upperBound...].firstRange(of: Self.end)
    else { throw fault }
    let text = pem[begin.upperBound..<end.lowerBound].filter { !$0.isWhitespace }
    guard let bytes = Base64.decode(text.utf8, spelling: .canonical), bytes.count == Self.prefix.count + 32,
      bytes.starts(with: Self.prefix),
      let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes.dropFirst(Self.prefix.count))
    else { throw fault }
    self.key = key
  }

  package var publicKey: AttestationKey { AttestationKey(raw: Array(key.publicKey.rawRepresentation)) }

  /// For a file that its owner alone can read.
  package var disclosed: String {
    "\(Self.begin)\n\(Base64.encode(Self.prefix + Array(key.rawRepresentation)))\n\(Self.end)\n"
  }

  package var description: String { "a private key of attestations" }

  fileprivate func sign(_ message: [UInt8]) throws -> Envelope.Signature {
    Envelope.Signature(keyID: publicKey.id, bytes: Array(try key.signature(for: message)))
  }
}

extension AttestationSigner {
  static let keyFile = "attest.key"
  /// The public key, in the folder that others see.
  package static let publicFile = "attest.pem"

  /// The key in the state of a log, beside the log's own; a new one where there is none, and none was ever shown.
  ///
  /// - Parameters:
  ///   - folder: what others see of the log.
  ///   - makesKey: whether one is made where there is none: not where several machines have to have the same.
  /// - Throws: ``LogFault`` `bad-key`, `input-output`, and `bad-state` where others were shown another key.
  package static func kept(
    in state: LogFolder, shownIn folder: any LogShelf, makesKey: Bool = true
  ) async throws -> AttestationSigner {
    try await check(state, shownIn: folder)
    if let signer = try present(in: state) { return signer }
    guard makesKey else {
      throw LogFault(
        .badState, "\(state.path)/\(keyFile) is not there, the key by which attestations are signed",
        hint: "keyferry log init makes it beside log.key; each replica has a copy of both")
    }
    let signer = generate()
    try state.put([(keyFile, Array(signer.disclosed.utf8))], replacing: false, permissions: 0o600)
    return signer
  }

  /// Whoever was told the public key would find that nothing is signed by it any more: that does not happen unasked.
  ///
  /// - Throws: ``LogFault`` `bad-state` where the key that was shown is lost, or is not the one in the state.
  package static func check(_ state: LogFolder, shownIn folder: any LogShelf) async throws {
    guard let shown = try await folder.content(of: publicFile, limit: 1 << 16) else { return }
    let place = "\(folder.name)/\(publicFile)"
    guard let signer = try present(in: state) else {
      throw LogFault(
        .badState,
        "\(state.path)/\(keyFile) is gone, the key by which attestations are signed, and \(place) was shown to others",
        hint: recovery)
    }
    // What nobody can read as a key is written again.
    guard let key = try? AttestationKey(pem: String(decoding: shown, as: UTF8.self), name: place) else { return }
    guard key == signer.publicKey else {
      throw LogFault(
        .badState,
        "\(state.placeOfAttestationKey) is not the key that others were shown, which \(place) has: \(key.id)",
        hint: recovery)
    }
  }

  /// Makes another key, because the one that was shown is lost; or shows the one of the state, where that is another one.
  ///
  /// - Throws: ``LogFault`` `would-overwrite` where the key that was shown is there.
  package static func renew(in state: LogFolder, shownIn folder: any LogShelf) async throws -> AttestationSigner {
    let present = try present(in: state)
    let shown = try await folder.content(of: publicFile, limit: 1 << 16)
    if let present, shown == nil || shown == Array(present.publicKey.pem.utf8) {
      throw LogFault(
        .wouldOverwrite, "\(state.placeOfAttestationKey) is there: the key \(present.publicKey.id) is not lost",
        hint: "nothing is to be done; leave out --new-attestation-key")
    }
    let signer = present ?? generate()
    if present == nil { try state.put([(keyFile, Array(signer.disclosed.utf8))], replacing: false, permissions: 0o600) }
    try await folder.show(Array(signer.publicKey.pem.utf8), at: publicFile)
    return signer
  }

  private static func present(in state: LogFolder) throws -> AttestationSigner? {
    switch state.privateKeys.attestations {
    case .given(let signer): return signer
    case .unread: throw state.unread(state.placeOfAttestationKey)
    case .file:
      return try state.bytes(of: keyFile, limit: 4096).map {
        try AttestationSigner(pem: String(decoding: $0, as: UTF8.self), name: "\(state.path)/\(keyFile)")
      }
    }
  }

  private static let recovery = """
    bring \(keyFile) back from a safe copy; where there is none, keyferry log adopt --new-attestation-key makes a new key, \
    and those who have the old \(publicFile) are to be told
    """
}
