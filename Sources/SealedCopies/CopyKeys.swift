internal import Crypto

/// Who may read a copy: a public key, as `age-keygen` prints it.
package struct CopyRecipient: Hashable, Sendable, CustomStringConvertible {
  let publicKey: [UInt8]

  /// - Parameter text: `age1…`.
  package init(_ text: String) throws(CopyFault) {
    guard let bytes = Bech32.decode(text, prefix: "age"), bytes.count == 32 else {
      throw CopyFault(.badKey, "allowed is a public key of age: age1 and 58 more letters and digits")
    }
    publicKey = bytes
  }

  init(publicKey: [UInt8]) { self.publicKey = publicKey }

  package var description: String { Bech32.encode(publicKey, prefix: "age") }
}

/// Who reads a copy: private keys, as `age-keygen` writes them into a file. It describes itself as hidden.
package struct CopyIdentity: Sendable, CustomStringConvertible {
  let keys: [Curve25519.KeyAgreement.PrivateKey]

  /// - Parameter text: of the file: a line a key, and comments that begin with `#`.
  package init(file text: String) throws(CopyFault) {
    var keys: [Curve25519.KeyAgreement.PrivateKey] = []
    for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
      guard let bytes = Bech32.decode(String(line), prefix: "age-secret-key-"),
        let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes)
      else {
        throw CopyFault(.badKey, "a line is no private key of age: AGE-SECRET-KEY-1 and 58 more letters and digits")
      }
      keys.append(key)
    }
    guard !keys.isEmpty else { throw CopyFault(.badKey, "the file has no private key of age: AGE-SECRET-KEY-1…") }
    self.keys = keys
  }

  /// A new one.
  package static func generate() -> CopyIdentity { CopyIdentity(keys: [Curve25519.KeyAgreement.PrivateKey()]) }

  private init(keys: [Curve25519.KeyAgreement.PrivateKey]) { self.keys = keys }

  package var recipients: [CopyRecipient] {
    keys.map { CopyRecipient(publicKey: Array($0.publicKey.rawRepresentation)) }
  }

  /// As a file has it. The only way out.
  package var disclosed: String {
    keys.map { Bech32.encode(Array($0.rawRepresentation), prefix: "age-secret-key-").uppercased() + "\n" }.joined()
  }

  package var description: String { "(hidden)" }
}

/// Why a copy cannot be sealed or opened.
package struct CopyFault: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: String, Sendable {
    case badKey = "bad-key"
    /// It is no sealed copy, or of another version, or of other keys alone.
    case notForUs = "not-for-us"
    /// Its bytes are not those that were written, or its end is missing.
    case damaged
  }

  package let code: Code
  package let reason: String

  init(_ code: Code, _ reason: String) {
    self.code = code
    self.reason = reason
  }

  package var description: String { reason }
}
