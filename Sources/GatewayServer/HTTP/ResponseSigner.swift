internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import Synchronization

/// Signs answers as DP-3T apps check them: a JWT (RFC 7519, ES256) in the header `Signature`, whose claims hold the
/// hash of the body and the protected fields.
///
/// Making one takes longer than answering from memory, so a token is used again for the same answer for a while. The
/// lock owns the tokens.
final class ResponseSigner: Sendable {
  /// How long apps believe an answer: longer than any bundle is listed.
  private static let lifetime: Int64 = 21 * 86_400
  /// Seconds that a token is used again.
  private static let reuse: Int64 = 30
  private static let byteLimit = 2 << 20

  private let key: SigningKey
  private let tokens = Mutex(LeastRecentlyUsed<Answer, Token>(limit: byteLimit))

  private struct Answer: Hashable {
    var digest: String
    var claims: [String: String]

    var weight: Int {
      claims.reduce(digest.utf8.count) {
        $0 + $1.key.utf8.count + $1.value.utf8.count + LeastRecentlyUsed<Answer, Token>.entryWeight
      }
    }
  }

  private struct Token {
    var issued: Int64
    var text: String
  }

  /// - Parameter pem: PKCS#8 or SEC1.
  /// - Throws: `KeyFault` where it is no private key on P-256.
  init(pem: String) throws {
    key = try SigningKey(pem: pem)
  }

  /// - Parameters:
  ///   - digest: of the body, lower-case hexadecimal SHA-256.
  ///   - fields: those of the response; those whose names begin with `x-` are protected.
  /// - Returns: `nil` where the key could not sign.
  func signature(digest: String, fields: [(name: String, value: String)], at now: Instant) -> String? {
    var protected: [String: String] = [:]
    for (name, value) in fields {
      let name = name.lowercased()
      if name.hasPrefix("x-") { protected[String(name.dropFirst(2))] = value }
    }
    let answer = Answer(digest: digest, claims: protected)
    let second = now.secondsSince1970
    if let token = tokens.withLock({ $0.value(for: answer) }), (0..<Self.reuse).contains(second - token.issued) {
      return token.text
    }
    guard let text = makeToken(answer, issued: second) else { return nil }
    tokens.withLock { tokens in
      tokens.keep(Token(issued: second, text: text), for: answer, weight: answer.weight + text.utf8.count)
    }
    return text
  }

  private func makeToken(_ answer: Answer, issued: Int64) -> String? {
    var claims: [String: Claim] = answer.claims.mapValues { .text($0) }
    claims["iss"] = .text("dp3t")
    claims["iat"] = .number(issued)
    claims["exp"] = .number(issued + Self.lifetime)
    claims["content-hash"] = .text(Base64.encode(Hexadecimal.decode(answer.digest.utf8) ?? []))
    claims["hash-alg"] = .text("sha-256")
    return try? JSONWebSignature.token(of: JSONDocument.bytes(claims), signedWith: key)
  }

  private enum Claim: Encodable {
    case text(String)
    case number(Int64)

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .text(let text): try container.encode(text)
      case .number(let number): try container.encode(number)
      }
    }
  }
}
