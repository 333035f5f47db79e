import BundleTrust
import ExposureKeys
import Foundation
import KeyFormats
import KeyPeers
import KeyStorage
import Testing

/// DP-3T's response token, against tokens of our own making: right ones, and each thing that can be wrong with one.
@Suite struct ResponseCheckTests {
  private static let signer = SigningKey.generate()
  private static let now = Instant(secondsSince1970: 1_606_989_600)
  private static let body = [UInt8](0..<32)

  private static func claims(_ changes: [String: String?] = [:]) -> String {
    var claims: [String: String] = [
      "iss": #""dp3t""#, "iat": "1606989590", "exp": "1607076000",
      "content-hash": "\"\(Base64.encode(ExportDigests(of: body).fileBytes))\"", "hash-alg": #""sha-256""#,
      "published-until": #""1606982400000""#,
    ]
    for (name, value) in changes { claims[name] = value }
    return "{\(claims.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}"
  }

  private static func encoded(_ bytes: [UInt8]) -> String {
    Base64.encode(bytes).replacing("+", with: "-").replacing("/", with: "_")
  }

  private static func token(
    _ claims: String = claims(), header: String = #"{"alg":"ES256"}"#, padding: Bool = false, key: SigningKey = signer
  ) throws -> String {
    func part(_ bytes: [UInt8]) -> String {
      padding ? encoded(bytes) : encoded(bytes).replacing("=", with: "")
    }
    let message = "\(part(Array(header.utf8))).\(part(Array(claims.utf8)))"
    return "\(message).\(part(try key.rawSignature(of: Array(message.utf8))))"
  }

  private static func verdict(
    _ token: String?, until: String? = "1606982400000", body: [UInt8] = body, now: Instant = now
  ) -> String? {
    var head = ResponseHead(status: 200)
    if let token { head.headers.append(PeerRequest.Header("SIGNATURE", token)) }
    if let until { head.headers.append(PeerRequest.Header("X-PUBLISHED-UNTIL", until)) }
    return ResponseCheck.token(signer.publicKey).verify(
      head, ExportDigests(of: body), body: MemorySource(body), now: now)?.code.rawValue
  }

  @Test func acceptsWhatDP3TSigns() throws {
    #expect(try Self.verdict(Self.token()) == nil)
    #expect(try Self.verdict(Self.token(padding: true)) == nil)
    #expect(try Self.verdict(Self.token(header: #"{"typ":"JWT","alg":"ES256"}"#)) == nil)
    #expect(try Self.verdict(Self.token(Self.claims(["published-until": "1606982400000"]))) == nil)
    #expect(try Self.verdict(Self.token(Self.claims(["published-until": nil]))) == nil)
    #expect(try Self.verdict(Self.token(Self.claims(["iat": "1606989590.75"]))) == nil)
  }

  @Test func timesHaveTenSecondsOfLeeway() throws {
    let token = try Self.token()
    func verdict(at seconds: Int64) -> String? {
      Self.verdict(token, now: Instant(secondsSince1970: seconds))
    }
    #expect(verdict(at: 1_606_989_580) == nil)
    #expect(verdict(at: 1_606_989_579) == "response-time")
    #expect(verdict(at: 1_607_076_010) == nil)
    #expect(verdict(at: 1_607_076_011) == "response-time")
  }

  @Test func refusesWhatIsNotSigned() throws {
    #expect(Self.verdict(nil) == "response-unsigned")
    #expect(try Self.verdict(Self.token(key: .generate())) == "response-signature")
    let parts = try Self.token().split(separator: ".").map(String.init)
    let other = Self.encoded(Array(Self.claims(["exp": "1907076000"]).utf8)).replacing("=", with: "")
    #expect(Self.verdict("\(parts[0]).\(other).\(parts[2])") == "response-signature")
    #expect(Self.verdict("\(parts[0]).\(parts[1]).") == "response-signature")
    #expect(try Self.verdict(Self.token(header: #"{"alg":"none"}"#)) == "response-malformed")
    #expect(try Self.verdict(Self.token(header: #"{"alg":"HS256"}"#)) == "response-malformed")
  }

  @Test func refusesAnotherBodyOrCursor() throws {
    let token = try Self.token()
    #expect(Self.verdict(token, body: [UInt8](repeating: 0, count: 32)) == "response-content")
    #expect(Self.verdict(token, until: "1606989600000") == "response-header")
    #expect(try Self.verdict(Self.token(Self.claims(["content-hash": nil]))) == "response-content")
  }

  @Test(
    arguments: [
      ("iss", #""other""#), ("exp", nil), ("iat", nil), ("hash-alg", #""md5""#), ("content-hash", "7"),
    ] as [(String, String?)])
  func refusesClaimsThatAreNotDP3Ts(name: String, value: String?) throws {
    #expect(try Self.verdict(Self.token(Self.claims([name: value]))) == "response-malformed")
  }

  @Test(arguments: ["", ".", "..", "a.b", "a.b.c.d", "*.*.*", "e30.e30.e30", String(repeating: "a", count: 20_000)])
  func refusesWhatIsNoToken(text: String) {
    #expect(Self.verdict(text) == "response-malformed")
  }

  // MARK: England and Wales

  private static let date = "Fri, 27 Nov 2020 14:40:14 UTC"

  private static func dated(
    _ signer: SigningIdentity, header: String? = nil, date: String? = date, signed: String = date,
    body: [UInt8] = body
  ) throws -> String? {
    let signature = try sign(ExportDigests(of: Array("\(signed):".utf8) + Self.body), with: [signer])[0].signature
    var head = ResponseHead(status: 200)
    let text = header ?? "keyId=\"b2\",signature=\"\(Base64.encode(signature))\""
    if !text.isEmpty { head.headers.append(.init("X-Amz-Meta-Signature", text)) }
    if let date { head.headers.append(.init("x-amz-meta-signature-date", date)) }
    let check = ResponseCheck.dated(signer.verificationKey.publicKey)
    let digests = ExportDigests(of: check.prefix(in: head) + body)
    return check.verify(head, digests, body: MemorySource(body), now: now)?.code.rawValue
  }

  @Test func dateAndBodyAreSigned() throws {
    let signer = try SigningIdentity(key: .generate(), keyID: "b2", keyVersion: "v1")
    #expect(try Self.dated(signer) == nil)
    #expect(try Self.dated(signer, signed: "Fri, 27 Nov 2020 14:40:15 UTC") == "response-signature")
    #expect(try Self.dated(signer, body: [1]) == "response-signature")
    #expect(try Self.dated(signer, date: nil) == "response-unsigned")
    #expect(try Self.dated(signer, header: "") == "response-unsigned")
    for header in [
      "x", "signature=", "signature=\"", "keyId=\"a\",signature=\"?\"", String(repeating: "s", count: 2000),
    ] {
      #expect(try Self.dated(signer, header: header) == "response-malformed", "\(header.prefix(40))")
    }
    #expect(try Self.dated(signer, header: "keyId=\"a\",signature=\"AAAA\"") == "response-signature")
  }
}
