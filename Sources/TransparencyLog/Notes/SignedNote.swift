internal import ExposureKeys

/// A text and signatures under it.
///
/// Source: C2SP signed-note. The text ends with a line feed; then comes an empty line, and a line for each signature. In the
/// whole note there are no control characters but line feeds.
package struct SignedNote: Hashable, Sendable {
  /// The most bytes of a note that is read.
  package static let byteLimit = 128 << 10
  /// The most signatures of a note that is read.
  package static let signatureLimit = 100

  package struct Signature: Hashable, Sendable {
    /// The name of the key.
    package let name: String
    package let keyID: KeyID
    /// What follows the key's ID: for Ed25519 64 bytes, for a cosignature eight of its time and 64.
    package let bytes: [UInt8]

    package init(name: String, keyID: KeyID, bytes: [UInt8]) {
      self.name = name
      self.keyID = keyID
      self.bytes = bytes
    }

    /// `— NAME BASE64`, without the line feed.
    package var line: String { "— \(name) \(Base64.encode(keyID.bytes + bytes))" }

    /// - Returns: `nil` for a line that is no signature.
    package init?(line: some StringProtocol) {
      let parts = line.split(separator: " ", omittingEmptySubsequences: false)
      guard parts.count == 3, parts[0] == "—", KeyName.isValid(parts[1]),
        let bytes = Base64.decode(parts[2].utf8, spelling: .canonical),
        bytes.count > 4, let keyID = KeyID(bytes.prefix(4))
      else { return nil }
      self.init(name: String(parts[1]), keyID: keyID, bytes: Array(bytes.dropFirst(4)))
    }
  }

  /// With the line feed at its end.
  package let text: String
  package private(set) var signatures: [Signature]

  /// - Parameter text: ends with a line feed and has no other control character.
  package init(text: String, signatures: [Signature]) {
    self.text = text
    self.signatures = signatures
  }

  /// - Parameter name: for messages.
  /// - Throws: ``LogFault`` `bad-note`.
  package init(_ bytes: [UInt8], name: String) throws {
    func fault(_ reason: String) -> LogFault { LogFault(.badNote, "\(name): \(reason)") }
    guard bytes.count <= Self.byteLimit else {
      throw fault("a note of \(bytes.count) bytes, at most \(Self.byteLimit) are read")
    }
    guard String(validating: bytes, as: UTF8.self) != nil else { throw fault("a note is UTF-8, this is not") }
    if let place = bytes.firstIndex(where: { $0 < 0x20 && $0 != 0x0a }) {
      throw fault("byte \(place) is the control character \(bytes[place]), allowed is the line feed alone")
    }
    guard bytes.last == 0x0a else { throw fault("the note does not end with a line feed") }
    guard let split = Self.lastEmptyLine(in: bytes), split > 0 else {
      throw fault("there is no empty line between a text and its signatures")
    }
    text = String(decoding: bytes[..<split], as: UTF8.self)
    let block = String(decoding: bytes[(split + 1)...].dropLast(), as: UTF8.self)
    let lines = block.split(separator: "\n", omittingEmptySubsequences: false)
    guard !block.isEmpty else { throw fault("no signature follows the text") }
    guard lines.count <= Self.signatureLimit else {
      throw fault("\(lines.count) signatures, at most \(Self.signatureLimit) are read")
    }
    signatures = try lines.enumerated().map { number, line in
      guard let signature = Signature(line: line) else {
        throw fault("signature \(number + 1) is \(quoted(line)), allowed is \"— NAME BASE64\"")
      }
      return signature
    }
  }

  /// Where the text ends: the offset of the line feed that is the last empty line.
  private static func lastEmptyLine(in bytes: [UInt8]) -> Int? {
    bytes.indices.dropFirst().last { bytes[$0] == 0x0a && bytes[$0 - 1] == 0x0a }
  }

  package var bytes: [UInt8] { Array((text + "\n" + signatures.map { $0.line + "\n" }.joined()).utf8) }

  package mutating func add(_ signature: Signature) { signatures.append(signature) }
}

/// What tells keys of one name apart: four bytes.
package struct KeyID: Hashable, Sendable {
  private let value: UInt32

  init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == 4 else { return nil }
    value = bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// - Parameter hexadecimal: eight lower-case digits.
  init?(hexadecimal text: some StringProtocol) {
    guard let bytes = Hexadecimal.decode(text.utf8), text == text.lowercased() else { return nil }
    self.init(bytes)
  }

  var bytes: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * $0)) } }

  package var hexadecimal: String { Hexadecimal.encode(bytes) }
}

/// Names of keys, and so of logs.
package enum KeyName {
  package static let byteLimit = 255

  /// A name has no spaces, no `+` and no control characters, and is not empty.
  package static func isValid(_ name: some StringProtocol) -> Bool {
    (1...byteLimit).contains(name.utf8.count)
      && name.unicodeScalars.allSatisfy {
        !$0.properties.isWhitespace && $0 != "+" && $0.value >= 0x20 && $0.value != 0x7f
      }
  }
}
