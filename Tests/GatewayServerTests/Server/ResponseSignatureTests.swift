import BundleTrust
import Crypto
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyPublishing
import Testing

@testable import GatewayServer

@Suite("Signed responses")
struct ResponseSignatureTests {
  let key = SigningKey.generate()

  @Test("The header Signature vouches for the body and the protected headers")
  func signature() async throws {
    let fixture = try PublicationFixture()
    let bundle = try #require(try fixture.publish("CH", bundles: 1).bundles.first)
    let layout = TestLayout { request, publications in
      guard let bundle = publications["CH"]?.increments.first else { return nil }
      switch request.path.last {
      case "zip":
        return LayoutAnswer(
          .archive(bundle), headers: [("x-published-until", "1606824000000"), ("Expires", "never")],
          isSignedResponse: true)
      case "empty": return LayoutAnswer(.nothing, headers: [("x-key-bundle-tag", "5")], isSignedResponse: true)
      default: return LayoutAnswer(.archive(bundle))
      }
    }
    var settings = ServerSettings()
    settings.responseKeyPEM = Secret(key.pemRepresentation)
    let app = try GatewayApplication.testing(fixture, layouts: [layout], settings: settings)

    let response = try await app.ask("/test/zip")
    let claims = try verified(try #require(response["Signature"]))
    #expect(claims["iss"] as? String == "dp3t")
    #expect(claims["hash-alg"] as? String == "sha-256")
    #expect(claims["content-hash"] as? String == Data(SHA256.hash(data: response.bytes)).base64EncodedString())
    #expect(claims["published-until"] as? String == "1606824000000")
    #expect(claims["expires"] == nil)
    let now = Int(PublicationFixture.noon.secondsSince1970)
    #expect(claims["iat"] as? Int == now)
    #expect((claims["exp"] as? Int ?? 0) > now + 14 * 86_400)
    #expect(sha256(response.bytes) == bundle.sha256)

    let empty = try await app.ask("/test/empty")
    let emptyClaims = try verified(try #require(empty["Signature"]))
    #expect(emptyClaims["content-hash"] as? String == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
    #expect(emptyClaims["key-bundle-tag"] as? String == "5")
    #expect(try await app.ask("/test/other")["Signature"] == nil)
    // Without a key nothing pretends to be signed.
    #expect(try await GatewayApplication.testing(fixture, layouts: [layout]).ask("/test/zip")["Signature"] == nil)
  }

  @Test("A token is used again for a while, for the same answer only")
  func reuse() throws {
    let signer = try ResponseSigner(pem: key.pemRepresentation)
    func token(_ digest: String, _ tag: String, _ second: Int64) -> String? {
      signer.signature(
        digest: digest, fields: [("x-tag", tag)], at: Instant(secondsSince1970: second))
    }
    let one = String(repeating: "a", count: 64)
    let two = String(repeating: "b", count: 64)
    #expect(token(one, "1", 1000) == token(one, "1", 1029))
    #expect(token(one, "1", 1000) != token(one, "1", 1030))
    #expect(token(one, "1", 1030) != token(one, "2", 1030))
    #expect(token(one, "1", 1030) != token(two, "1", 1030))
    // A clock that was set back does not bring tokens from the future.
    let back = try verified(try #require(token(one, "1", 500)))
    #expect(back["iat"] as? Int == 500)
    for number in 0..<3000 { _ = token(one, "\(number)", 2000) }
  }

  @Test("Base64 for URLs has no padding and its own alphabet")
  func base64URL() {
    #expect(Base64.encodeURL([0xfb, 0xff, 0xfe]) == "-__-")
    #expect(Base64.encodeURL([1]) == "AQ")
    #expect(Base64.decode("-__-".utf8, spelling: .url) == [0xfb, 0xff, 0xfe])
    for text in ["AQ==", "+//+", "A", "A B"] { #expect(Base64.decode(text.utf8, spelling: .url) == nil) }
  }

  private func verified(_ token: String) throws -> [String: Any] {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    try #require(parts.count == 3)
    #expect(!token.contains("="))
    let signature = try P256.Signing.ECDSASignature(
      rawRepresentation: try #require(Base64.decode(parts[2].utf8, spelling: .url)))
    let publicKey = try P256.Signing.PublicKey(x963Representation: key.publicKey.x963)
    try #require(publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
    let header =
      try JSONSerialization.jsonObject(with: Data(try #require(Base64.decode(parts[0].utf8, spelling: .url))))
      as? [String: String]
    #expect(header == ["alg": "ES256", "typ": "JWT"])
    let claims = try JSONSerialization.jsonObject(
      with: Data(try #require(Base64.decode(parts[1].utf8, spelling: .url))))
    return try #require(claims as? [String: Any])
  }
}
