internal import Crypto
internal import ExposureKeys

/// A public key that may have signed notes, with its name: `NAME+HEX+BASE64`.
///
/// Source: C2SP signed-note. Ed25519 alone, of logs (type 1) and of witnesses (type 4: a cosignature with its time).
package struct NoteVerifier: Hashable, Sendable, CustomStringConvertible {
  package enum Kind: UInt8, Sendable {
    /// Signs the text as it is.
    case log = 1
    /// Signs the text with a time in front: C2SP tlog-cosignature.
    case witness = 4
  }

  package let name: String
  package let kind: Kind
  package let keyID: KeyID
  /// 32 bytes.
  private let publicKey: [UInt8]

  init(name: String, kind: Kind, publicKey: [UInt8]) {
    self.name = name
    self.kind = kind
    self.publicKey = publicKey
    keyID = Self.keyID(name, kind, publicKey)
  }

  private static func keyID(_ name: String, _ kind: Kind, _ publicKey: [UInt8]) -> KeyID {
    let digest = SHA256.hash(data: Array(name.utf8) + [0x0a, kind.rawValue] + publicKey)
    return KeyID(Array(digest).prefix(4))!
  }

  /// - Throws: ``LogFault`` `bad-key`.
  package init(_ text: String) throws {
    // What is no public key may be a secret.
    func fault(_ reason: String, of front: String? = nil) -> LogFault {
      let shown = front ?? "\(text.prefix(4).prefix { !$0.isNewline })..."
      return LogFault(.badKey, "the key \(quoted(shown)) \(reason); a key is NAME+HEX+BASE64")
    }
    guard !text.hasPrefix("PRIVATE+") else {
      throw LogFault(.badKey, "a private key was given where the public one belongs; a public key is NAME+HEX+BASE64")
    }
    // Base64 has plus signs of its own.
    let parts = text.split(separator: "+", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { throw fault("has \(parts.count) parts") }
    guard KeyName.isValid(parts[0]) else { throw fault("has no name that is allowed") }
    guard let stated = KeyID(hexadecimal: parts[1]) else { throw fault("has no eight lower-case digits for its ID") }
    let front = "\(parts[0])+\(parts[1])+..."
    guard let bytes = Base64.decode(parts[2].utf8, spelling: .canonical), let type = bytes.first else {
      throw fault("ends in no base64", of: front)
    }
    guard let kind = Kind(rawValue: type) else {
      throw fault("is of type \(type), known are 1 (Ed25519) and 4 (Ed25519 with a time)", of: front)
    }
    guard bytes.count == 33 else { throw fault("has \(bytes.count - 1) bytes, allowed are 32", of: front) }
    self.init(name: String(parts[0]), kind: kind, publicKey: Array(bytes.dropFirst()))
    guard keyID == stated else {
      throw fault("says the ID \(stated.hexadecimal), but its bytes have \(keyID.hexadecimal)", of: front)
    }
  }

  package var description: String {
    "\(name)+\(keyID.hexadecimal)+\(Base64.encode([kind.rawValue] + publicKey))"
  }

  /// Whether a signature is said to be by this key.
  package func claims(_ signature: SignedNote.Signature) -> Bool {
    signature.name == name && signature.keyID == keyID
  }

  /// Whether this key has signed the note.
  ///
  /// - Returns: `false` where no signature is said to be by this key.
  /// - Throws: ``LogFault`` `bad-signature` where one is said to be and is not.
  package func hasSigned(_ note: SignedNote) throws -> Bool { try signature(of: note) != nil }

  /// - Returns: the time of a cosignature in seconds since 1970; `nil` where no signature is said to be by this key.
  /// - Throws: ``LogFault`` `bad-signature`.
  package func cosigningTime(of note: SignedNote) throws -> Int64? {
    guard kind == .witness, let signature = try signature(of: note) else { return nil }
    return Cosignature.time(signature.bytes)
  }

  /// The time that a witness says, in seconds since 1970; `nil` of what is no cosignature.
  package func cosigningTime(of signature: SignedNote.Signature) -> Int64? {
    kind == .witness ? Cosignature.time(signature.bytes) : nil
  }

  private func signature(of note: SignedNote) throws -> SignedNote.Signature? {
    guard let signature = note.signatures.first(where: claims) else { return nil }
    guard isValid(signature.bytes, of: note.text) else {
      throw LogFault(
        .badSignature, "the signature of \(name) (key \(keyID.hexadecimal)) does not belong to this text or this key")
    }
    return signature
  }

  private func isValid(_ signature: [UInt8], of text: String) -> Bool {
    guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: publicKey) else { return false }
    switch kind {
    case .log: return signature.count == 64 && key.isValidSignature(signature, for: Array(text.utf8))
    case .witness:
      guard signature.count == 72, let time = Cosignature.time(signature) else { return false }
      return key.isValidSignature(Array(signature.dropFirst(8)), for: Cosignature.message(text, time: time))
    }
  }
}

/// A private key that signs notes: `PRIVATE+KEY+NAME+HEX+BASE64`, as Go's `sumdb/note` and Tessera write it.
package struct NoteSigner: Sendable, CustomStringConvertible {
  package let verifier: NoteVerifier
  private let key: Curve25519.Signing.PrivateKey

  private init(_ name: String, _ kind: NoteVerifier.Kind, _ key: Curve25519.Signing.PrivateKey) {
    self.key = key
    verifier = NoteVerifier(name: name, kind: kind, publicKey: Array(key.publicKey.rawRepresentation))
  }

  /// A new key.
  ///
  /// - Throws: ``LogFault`` `bad-key` for a name that is none.
  package static func generate(name: String, kind: NoteVerifier.Kind = .log) throws -> NoteSigner {
    guard KeyName.isValid(name) else {
      throw LogFault(
        .badKey,
        "\(quoted(name)) is no name of a log; allowed are 1 to \(KeyName.byteLimit) bytes without spaces and +",
        hint: "the name is the address of the log without https://, such as keys.example.org/log")
    }
    return NoteSigner(name, kind, Curve25519.Signing.PrivateKey())
  }

  /// - Parameter text: with or without a line feed at its end. It is in no message.
  /// - Throws: ``LogFault`` `bad-key`.
  package init(_ text: String) throws {
    func fault(_ reason: String) -> LogFault {
      LogFault(.badKey, "the private key of a log is PRIVATE+KEY+NAME+HEX+BASE64, this \(reason)")
    }
    let line = text.hasSuffix("\n") ? text.dropLast() : text[...]
    let parts = line.split(separator: "+", maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count == 5, parts[0] == "PRIVATE", parts[1] == "KEY" else { throw fault("is none") }
    guard KeyName.isValid(parts[2]), let stated = KeyID(hexadecimal: parts[3]) else {
      throw fault("has no name or no ID")
    }
    guard let bytes = Base64.decode(parts[4].utf8, spelling: .canonical), bytes.count == 33,
      let kind = NoteVerifier.Kind(rawValue: bytes[0]),
      let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes.dropFirst())
    else { throw fault("ends in no Ed25519 key") }
    self.init(String(parts[2]), kind, key)
    guard verifier.keyID == stated else { throw fault("says another ID than its bytes have") }
  }

  /// For a file that its owner alone can read.
  package var disclosed: String {
    let name = verifier.name
    let seed = [verifier.kind.rawValue] + Array(key.rawRepresentation)
    return "PRIVATE+KEY+\(name)+\(verifier.keyID.hexadecimal)+\(Base64.encode(seed))"
  }

  package var description: String { "a private key of \(verifier.name)" }

  /// - Parameter time: of a witness's cosignature, in seconds since 1970, 0 or more; a log's signature has none.
  package func sign(_ text: String, time: Int64 = 0) throws -> SignedNote.Signature {
    switch verifier.kind {
    case .log: return try signature(try key.signature(for: Array(text.utf8)))
    case .witness:
      let time = max(0, time)
      let head = (0..<8).map { UInt8(truncatingIfNeeded: time >> Int64(56 - 8 * $0)) }
      return try signature(head + Array(try key.signature(for: Cosignature.message(text, time: time))))
    }
  }

  private func signature(_ bytes: some Sequence<UInt8>) throws -> SignedNote.Signature {
    SignedNote.Signature(name: verifier.name, keyID: verifier.keyID, bytes: Array(bytes))
  }
}

/// What a witness signs: that at a time this was the largest consistent tree that it had seen.
///
/// Source: C2SP tlog-cosignature, `cosignature/v1`.
private enum Cosignature {
  static func message(_ text: String, time: Int64) -> [UInt8] { Array("cosignature/v1\ntime \(time)\n\(text)".utf8) }

  /// - Returns: `nil` where the first eight bytes are no time up to 2⁶³ − 1.
  static func time(_ signature: [UInt8]) -> Int64? {
    guard signature.count >= 8 else { return nil }
    return Int64(exactly: signature.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }
}
