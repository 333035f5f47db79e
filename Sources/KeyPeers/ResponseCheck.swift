package import BundleTrust
package import ExposureKeys
internal import FoundationEssentials
package import KeyFormats

/// What a response has to prove beside the signature of the bundle in it.
package enum ResponseCheck: Hashable, Sendable {
  /// DP-3T's response token: a JSON Web Token (RFC 7519, ES256) in the header `Signature`, whose claims name the hash
  /// of the body and repeat the headers that an app relies on.
  case token(P256PublicKey)
  /// England and Wales: an ECDSA signature of the time of signing, a colon and the body, in the headers
  /// `x-amz-meta-signature` and `x-amz-meta-signature-date`. It names no file, so an old answer passes as well.
  case dated(P256PublicKey)
  /// CoronaMelder: CMS over `export.bin`, in `content.sig` beside it.
  case sealed(SealRoot)

  private static let dateHeader = "x-amz-meta-signature-date"
  private static let signatureHeader = "x-amz-meta-signature"
  private static let headerLimit = 1024

  /// What is hashed in front of the body.
  package func prefix(in head: ResponseHead) -> [UInt8] {
    guard case .dated = self, let date = head[Self.dateHeader], date.utf8.count <= Self.headerLimit else { return [] }
    return Array("\(date):".utf8)
  }

  /// Clocks of the peer and of the gateway may differ by this much, in seconds, as the apps allow.
  static let leeway: Int64 = 10
  /// Response headers that carry a cursor, and the claims that repeat them.
  private static let protectedHeaders = [
    ("x-published-until", "published-until"), ("x-key-bundle-tag", "key-bundle-tag"),
  ]

  /// - Parameter digests: SHA-256 of the body as it was received, behind its ``prefix(in:)``.
  /// - Parameter body: what was received, for checks that look into it.
  /// - Returns: what is wrong, or `nil`. Codes: `response-unsigned`, `response-malformed`, `response-signature`,
  ///   `response-time`, `response-content`, `response-header`.
  package func verify(
    _ head: ResponseHead, _ digests: ExportDigests, body: any SeekableSource, now: Instant
  ) -> DocumentFault? {
    switch self {
    case .token(let key):
      do throws(PeerFault) {
        guard let text = head["signature"] else {
          throw PeerFault(.responseUnsigned, "the response has no header Signature, and a key for it is configured")
        }
        let claims = try Self.claims(of: text, signedBy: key)
        try Self.judge(claims, digest: digests.fileBytes, now: now)
        try Self.compare(claims, with: head)
        return nil
      } catch {
        return error.documentFault
      }
    case .sealed(let root):
      do throws(PeerFault) {
        _ = try SealedArchive.content("export.bin", of: body, limit: 64 << 20, under: root, at: now)
        return nil
      } catch {
        return error.documentFault
      }
    case .dated(let key):
      do throws(PeerFault) {
        try Self.verifyDated(head, digests, signedBy: key)
        return nil
      } catch {
        return error.documentFault
      }
    }
  }

  /// The header is `keyId="…",signature="BASE64"`.
  private static func verifyDated(
    _ head: ResponseHead, _ digests: ExportDigests, signedBy key: P256PublicKey
  ) throws(PeerFault) {
    guard let text = head[signatureHeader], let date = head[dateHeader] else {
      throw PeerFault(
        .responseUnsigned,
        "the response has no headers \(signatureHeader) and \(dateHeader), and a key for them is configured")
    }
    let parts = text.split(separator: "signature=\"", maxSplits: 1, omittingEmptySubsequences: false)
    guard text.utf8.count <= headerLimit, date.utf8.count <= headerLimit, parts.count == 2,
      let end = parts[1].firstIndex(of: "\""), let signature = Base64.decode(parts[1][..<end].utf8)
    else {
      throw PeerFault(
        .responseMalformed,
        "the header \(signatureHeader) is \(peerText(text)); expected keyId=\"…\",signature=\"BASE64\"")
    }
    guard key.verifies(signature, over: digests) else {
      throw PeerFault(.responseSignature, "the response is not signed by the configured key")
    }
  }

  private static func claims(of text: String, signedBy key: P256PublicKey) throws(PeerFault) -> Claims {
    let token: JSONWebSignature?
    do throws(JSONWebSignature.Fault) {
      // Writers differ in alphabet and padding.
      token = try JSONWebSignature(compact: text, spelling: .any)
    } catch {
      switch error {
      case .headerNotObject: token = nil
      case .notCompact:
        throw PeerFault(
          .responseMalformed,
          "the header Signature is no token: expected three parts of base64url, at most "
            + "\(JSONWebSignature.maximumLength) bytes")
      }
    }
    guard let token, let algorithm = token.algorithm else {
      throw PeerFault(.responseMalformed, "the token's header does not name an algorithm, expected alg ES256")
    }
    guard algorithm == JSONWebSignature.algorithm else {
      throw PeerFault(.responseMalformed, "the token's algorithm is \(peerText(algorithm)), expected ES256")
    }
    guard token.verifies(under: key) else {
      throw PeerFault(.responseSignature, "the response's token is not signed by the configured key")
    }
    guard let claims = PeerJSON.value(Claims.self, in: token.payload) else {
      throw PeerFault(.responseMalformed, "the token's claims are not the JSON object that DP-3T describes")
    }
    return claims
  }

  private static func judge(_ claims: Claims, digest: [UInt8], now: Instant) throws(PeerFault) {
    guard claims.iss == "dp3t" else {
      throw PeerFault(.responseMalformed, "the token's issuer is \(peerText(claims.iss ?? "none")), expected dp3t")
    }
    guard let issued = claims.iat?.seconds, let expires = claims.exp?.seconds else {
      throw PeerFault(.responseMalformed, "the token lacks iat or exp")
    }
    guard issued <= now.secondsSince1970 + leeway else {
      throw PeerFault(.responseTime, "the token was issued at \(issued), after now, \(now)")
    }
    guard expires >= now.secondsSince1970 - leeway else {
      throw PeerFault(.responseTime, "the token expired at \(expires), before now, \(now)")
    }
    guard claims.hashAlg?.lowercased() == "sha-256" else {
      throw PeerFault(.responseMalformed, "the token's hash-alg is \(peerText(claims.hashAlg ?? "none"))")
    }
    guard let hash = claims.contentHash.flatMap({ Base64.decode($0.utf8) }), hash == digest else {
      throw PeerFault(.responseContent, "the body is not the one whose hash the token states")
    }
  }

  private static func compare(_ claims: Claims, with head: ResponseHead) throws(PeerFault) {
    for (header, claim) in protectedHeaders {
      guard let stated = claims.others[claim], let received = head[header] else { continue }
      guard stated == received else {
        throw PeerFault(
          .responseHeader, "the header \(header) is \(peerText(received)), and its token says \(peerText(stated))")
      }
    }
  }

  /// A time in seconds, with or without a fraction.
  private struct NumericDate: Decodable {
    var seconds: Int64?

    init(from decoder: any Decoder) throws {
      seconds = Int64(exactly: try decoder.singleValueContainer().decode(Double.self).rounded(.down))
    }
  }

  private struct Claims: Decodable {
    var iss: String?
    var iat: NumericDate?
    var exp: NumericDate?
    var contentHash: String?
    var hashAlg: String?
    /// The claims that repeat headers, as text.
    var others: [String: String] = [:]

    private struct Name: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: Name.self)
      iss = try members.decodeIfPresent(String.self, forKey: Name(stringValue: "iss"))
      iat = try members.decodeIfPresent(NumericDate.self, forKey: Name(stringValue: "iat"))
      exp = try members.decodeIfPresent(NumericDate.self, forKey: Name(stringValue: "exp"))
      contentHash = try members.decodeIfPresent(String.self, forKey: Name(stringValue: "content-hash"))
      hashAlg = try members.decodeIfPresent(String.self, forKey: Name(stringValue: "hash-alg"))
      for (_, claim) in ResponseCheck.protectedHeaders {
        let name = Name(stringValue: claim)
        if let text = try? members.decode(String.self, forKey: name) {
          others[claim] = text
        } else if let number = try? members.decode(Int64.self, forKey: name) {
          others[claim] = String(number)
        }
      }
    }
  }
}
