internal import Crypto

/// The head of a sealed copy: the key of the file, wrapped for each recipient, under a seal of its own.
///
/// Source: the age file encryption format, version 1 (C2SP). Whoever has the private key reads a copy with `age`, `rage` or
/// any other program of that format.
struct CopyHeader {
  static let version = "age-encryption.org/v1"
  /// Stanzas of other kinds are passed over.
  private static let kind = "X25519"
  static let fileKeyLength = 16
  /// A longer head is none that anybody wrote.
  static let byteLimit = 65_536

  /// - Returns: the bytes of the head, from its first line to the end of its last.
  static func write(_ fileKey: [UInt8], for recipients: [CopyRecipient]) throws -> [UInt8] {
    var text = version + "\n"
    for recipient in recipients {
      let ephemeral = Curve25519.KeyAgreement.PrivateKey()
      let share = Array(ephemeral.publicKey.rawRepresentation)
      let key = try wrappingKey(ephemeral, with: recipient.publicKey, share: share, recipient: recipient.publicKey)
      let wrapped = try ChaChaPoly.seal(fileKey, using: key, nonce: noNonce)
      text += "-> \(kind) \(Base64.encode(share))\n\(Base64.encode(Array(wrapped.ciphertext) + Array(wrapped.tag)))\n"
    }
    text += "---"
    return Array("\(text) \(Base64.encode(seal(of: Array(text.utf8), fileKey)))\n".utf8)
  }

  /// - Parameter bytes: the head alone.
  /// - Returns: the key of the file.
  static func read(_ bytes: [UInt8], as identity: CopyIdentity) throws -> [UInt8] {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    guard lines.first == version, let last = lines.dropLast().last, last.hasPrefix("--- ") else {
      throw CopyFault(.notForUs, "the head of the copy is none of \(version)")
    }
    var index = 1
    while index < lines.count, lines[index].hasPrefix("-> ") {
      let words = lines[index].split(separator: " ").map(String.init)
      index += 1
      var body = ""
      // The last line of a body is shorter than all others.
      while index < lines.count {
        body += lines[index]
        index += 1
        if lines[index - 1].utf8.count < 64 { break }
      }
      guard words.count == 3, words[1] == kind, let share = Base64.decode(words[2]), share.count == 32,
        let wrapped = Base64.decode(body), wrapped.count == fileKeyLength + 16,
        let fileKey = unwrapped(wrapped, share: share, identity)
      else { continue }
      let sealed = bytes.dropLast(last.utf8.count + 1 - 3)
      guard let stated = Base64.decode(String(last.dropFirst(4))), stated == seal(of: Array(sealed), fileKey) else {
        throw CopyFault(.damaged, "the head of the copy was changed")
      }
      return fileKey
    }
    throw CopyFault(.notForUs, "none of these private keys opens the copy")
  }

  private static func unwrapped(_ wrapped: [UInt8], share: [UInt8], _ identity: CopyIdentity) -> [UInt8]? {
    for own in identity.keys {
      let recipient = Array(own.publicKey.rawRepresentation)
      guard let key = try? wrappingKey(own, with: share, share: share, recipient: recipient),
        let box = try? ChaChaPoly.SealedBox(
          nonce: noNonce, ciphertext: wrapped.prefix(fileKeyLength), tag: wrapped.suffix(16)),
        let fileKey = try? ChaChaPoly.open(box, using: key)
      else { continue }
      return Array(fileKey)
    }
    return nil
  }

  private static func wrappingKey(
    _ own: Curve25519.KeyAgreement.PrivateKey, with other: [UInt8], share: [UInt8], recipient: [UInt8]
  ) throws -> SymmetricKey {
    let secret = try own.sharedSecretFromKeyAgreement(
      with: try Curve25519.KeyAgreement.PublicKey(rawRepresentation: other))
    return secret.hkdfDerivedSymmetricKey(
      using: SHA256.self, salt: share + recipient, sharedInfo: Array("\(version)/\(kind)".utf8), outputByteCount: 32)
  }

  private static func seal(of bytes: [UInt8], _ fileKey: [UInt8]) -> [UInt8] {
    let key = HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(data: fileKey), salt: [UInt8](), info: Array("header".utf8), outputByteCount: 32)
    return Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key))
  }

  /// Each wrapping key is used once.
  private static var noNonce: ChaChaPoly.Nonce {
    get throws { try ChaChaPoly.Nonce(data: [UInt8](repeating: 0, count: 12)) }
  }
}

/// Base64 without padding.
private enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let word = group.reduce(0) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
      for place in 0...group.count { text.append(alphabet[Int(word >> UInt32(18 - 6 * place) & 63)]) }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// `nil` for what `encode` never writes.
  static func decode(_ text: String) -> [UInt8]? {
    var (word, bits): (UInt32, UInt32) = (0, 0)
    var bytes: [UInt8] = []
    for character in text.utf8 {
      guard let value = alphabet.firstIndex(of: character) else { return nil }
      word = (word << 6 | UInt32(value)) & 0xffff
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: word >> bits))
      }
    }
    return encode(bytes) == text ? bytes : nil
  }
}
