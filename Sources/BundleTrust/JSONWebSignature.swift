internal import Crypto
package import ExposureKeys

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
    compact text: some StringProtocol, spelling: Base64.Spelling = .url, maximumLength: Int = maximumLength
  ) throws(Fault) {
    let bytes = Array(text.utf8.prefix(maximumLength + 1))
    guard bytes.count <= maximumLength else { throw .notCompact }
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64.decode(parts[0], spelling: spelling),
      let payload = Base64.decode(parts[1], spelling: spelling),
      let signature = Base64.decode(parts[2], spelling: spelling)
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
    let message = "\(Base64.encodeURL(header)).\(Base64.encodeURL(payload))"
    return "\(message).\(Base64.encodeURL(try key.rawSignature(of: Array(message.utf8))))"
  }
}

extension SigningKey {
  /// - Returns: r and s, 32 bytes each, big-endian.
  package func rawSignature(of message: [UInt8]) throws(KeyFault) -> [UInt8] {
    Array(try signature(of: SHA256.hash(data: message)).rawRepresentation)
  }
}
