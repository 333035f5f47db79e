internal import ExposureKeys

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What is wrong with a key, a key ring, or the name of a signer. Never holds key material.
public struct KeyFault: Error, Hashable, Sendable {
  /// The stable code for programs.
  public var code: Code
  /// Where: `keys[3].publicKey`, `310-v1.pem`, `line 4`. Empty when there is one text and nothing to tell apart.
  public var place: String
  /// What was found and what is allowed.
  public var reason: String

  public enum Code: String, Hashable, Sendable, CaseIterable {
    /// The text has no PEM block, or one that is not closed or not base64.
    case notPEM = "not-pem"
    /// The text is neither base64 nor PEM.
    case notBase64 = "not-base64"
    /// A PEM block of another kind: a certificate, a private key where a public one belongs.
    case wrongBlock = "wrong-block"
    /// The private key is encrypted with a pass phrase.
    case encrypted
    /// The DER inside does not parse.
    case malformed
    /// A key for another algorithm than ECDSA.
    case unsupportedAlgorithm = "unsupported-algorithm"
    /// An elliptic curve other than P-256.
    case unsupportedCurve = "unsupported-curve"
    /// A point or a scalar that is no key on P-256, or two halves that do not belong together.
    case invalidKey = "invalid-key"
    /// The ring is not JSON.
    case notJSON = "not-json"
    /// A JSON value of another type than the ring needs there.
    case wrongType = "wrong-type"
    /// A JSON member that the ring does not know: a misspelling, most likely.
    case unknownMember = "unknown-member"
    /// A JSON member that must be there.
    case missingMember = "missing-member"
    /// A time that is not RFC 3339 in UTC, or a validity that ends before it begins.
    case invalidTime = "invalid-time"
    /// A file in a ring folder that is not named `ID-VERSION.pem`.
    case fileName = "file-name"
    /// A key id, version or app name with characters that devices do not accept.
    case invalidName = "invalid-name"
    /// A ring without any key.
    case empty
    /// The same key with the same id, version and validity twice.
    case repeated
    /// Who signs with a key that lies elsewhere gave no signature, or one that does not verify.
    case notSigned = "not-signed"
    /// More than this program reads or signs with.
    case limitExceeded = "limit-exceeded"
    /// A file or folder that cannot be opened or read.
    case cannotRead = "cannot-read"
  }

  public init(_ code: Code, place: String = "", _ reason: String) {
    self.code = code
    self.place = place
    self.reason = reason
  }

  /// The same fault with this place in front of its own.
  func within(_ outer: String) -> KeyFault {
    var fault = self
    fault.place = [outer, place].filter { !$0.isEmpty }.joined(separator: ": ")
    return fault
  }
}

extension KeyFault: CustomStringConvertible {
  /// `keys[3].publicKey: curve P-384, only P-256 is allowed`.
  public var description: String { place.isEmpty ? reason : "\(place): \(reason)" }
}

extension KeyFault: LocalizedError {
  public var errorDescription: String? { description }
}

/// Text from a file as part of a message: in quotation marks, cut at 64 characters, control characters escaped.
func quoted(_ text: String) -> String {
  let limit = 64
  var result = "\""
  for scalar in text.unicodeScalars.prefix(limit) {
    let isPlain = scalar.properties.generalCategory != .format && !scalar.properties.isWhitespace
    switch scalar {
    case "\"", "\\": result += "\\" + String(scalar)
    case " ": result += " "
    case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || !isPlain:
      result += "\\u{" + String(scalar.value, radix: 16) + "}"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + (text.unicodeScalars.dropFirst(limit).isEmpty ? "\"" : "…\"")
}

extension KeyFault: ProgramFault {}
