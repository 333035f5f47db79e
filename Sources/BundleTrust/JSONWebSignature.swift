internal import Crypto

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A JSON Web Signature in its compact form: three parts of base64url, of which the last is the signature over the two
/// before it. Of the algorithms there is one, ES256: ECDSA on P-256 with SHA-256, r and s side by side.
///
/// What the payload says, and whether that is believed, is its reader's business.
///
/// Source: RFC 7515, 7.1; RFC 7518, 3.4.
package struct JSONWebSignature: Sendable {
  /// Why a text is none.
  package enum Fault: Error, Hashable, Sendable {
    /// Longer than is read, not three parts, or a part that is not base64url.
    case notCompact
    /// The header is not a JSON object.
    case headerNotObject
  }

  /// The one algorithm that is read and written.
  package static let algorithm = "ES256"
  /// How many bytes of text are read, where nothing else is said.
  package static let maximumLength = 16 << 10

  /// The algorithm that the header names, whichever it is.
  package let algorithm: String?
  /// The key that the header names.
  package let keyID: String?
  package let payload: [UInt8]

  /// The two parts that are signed, as they were received: writers differ in padding, and the signature covers theirs.
  private let message: [UInt8]
  private let signature: [UInt8]

  /// - Parameter spelling: what is let through besides base64url without padding.
  package init(
    compact text: some StringProtocol, spelling: Base64URL.Spelling = .strict, maximumLength: Int = maximumLength
  ) throws(Fault) {
    let bytes = Array(text.utf8.prefix(maximumLength + 1))
    guard bytes.count <= maximumLength else { throw .notCompact }
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64URL.decode(parts[0], spelling: spelling),
      let payload = Base64URL.decode(parts[1], spelling: spelling),
      let signature = Base64URL.decode(parts[2], spelling: spelling)
    else { throw .notCompact }
    guard case .object(let members)? = try? RingJSON(header) else { throw .headerNotObject }
    func member(_ name: String) -> String? {
      guard case .string(let text)? = members.first(where: { $0.name == name })?.value else { return nil }
      return text
    }
    // Whoever does not understand what is critical refuses it (RFC 7515, 4.1.11), and nothing is understood here.
    guard !members.contains(where: { $0.name == "crit" }) else { throw .headerNotObject }
    algorithm = member("alg")
    keyID = member("kid")
    self.payload = payload
    self.signature = signature
    message = Array(bytes[..<parts[1].endIndex])
  }

  /// Whether the header names the algorithm and the signature was made with the private half of `key`.
  package func verifies(under key: P256PublicKey) -> Bool {
    guard algorithm == Self.algorithm, let pair = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else {
      return false
    }
    return key.key.isValidSignature(pair, for: message)
  }

  /// Signs a JSON Web Token's claims.
  ///
  /// - Returns: the compact form, whose header names the algorithm and says that it is a token (RFC 7519).
  package static func token(of payload: [UInt8], signedWith key: SigningKey) throws(KeyFault) -> String {
    let header = Array(#"{"alg":"ES256","typ":"JWT"}"#.utf8)
    let message = "\(Base64URL.encode(header)).\(Base64URL.encode(payload))"
    return "\(message).\(Base64URL.encode(try key.rawSignature(of: Array(message.utf8))))"
  }
}

extension SigningKey {
  /// - Returns: r and s, 32 bytes each, big-endian.
  package func rawSignature(of message: [UInt8]) throws(KeyFault) -> [UInt8] {
    Array(try signature(of: SHA256.hash(data: message)).rawRepresentation)
  }
}

/// Base64 in the alphabet for URLs, without padding (RFC 7515, 2).
package enum Base64URL {
  /// What is let through when it is read.
  package enum Spelling: Sendable {
    /// The alphabet for URLs alone, without padding.
    case strict
    /// Also the standard alphabet, and padding.
    case any
  }

  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    var bits: UInt32 = 0
    var count: UInt32 = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 6 {
        count -= 6
        text.append(digits[Int(bits >> count & 63)])
      }
    }
    if count > 0 { text.append(digits[Int(bits << (6 - count) & 63)]) }
    return String(decoding: text, as: UTF8.self)
  }

  package static func decode(_ text: some StringProtocol) -> [UInt8]? { decode(Array(text.utf8), spelling: .strict) }

  /// `nil` for anything that is not spelled so.
  package static func decode(_ text: some Collection<UInt8>, spelling: Spelling) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3 + 2)
    var bits: UInt32 = 0
    var digits = 0
    var padding = 0
    for byte in text {
      if byte == UInt8(ascii: "="), spelling == .any {
        padding += 1
        continue
      }
      guard padding == 0, let value = value(of: byte, spelling) else { return nil }
      bits = bits << 6 | value
      digits += 1
      if digits % 4 != 1 { bytes.append(UInt8(truncatingIfNeeded: bits >> [0, 0, 4, 2][digits % 4])) }
    }
    let missing = (4 - digits % 4) % 4
    return missing < 3 && (padding == 0 || padding == missing) ? bytes : nil
  }

  private static func value(of digit: UInt8, _ spelling: Spelling) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    case UInt8(ascii: "+") where spelling == .any: 62
    case UInt8(ascii: "/") where spelling == .any: 63
    default: nil
    }
  }
}
