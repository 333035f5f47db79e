import BundleTrust
import Crypto
import ExposureKeys
import Foundation
import GatewayTesting
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import KeyFormats
import KeyNormalization
import KeyPublishing
import KeyReceiving
import KeyStorage
import ProgramMetrics
import Testing

@testable import GatewayServer

@Suite("The upload door")
struct UploadTests {
  let fixture: PublicationFixture
  let ledger = Ledger(MemoryStore())
  let verificationKey = P256.Signing.PrivateKey()
  let metrics = GatewayMetrics()

  private static let json: HTTPFields = [.contentType: "application/json"]
  private static let authorized: HTTPFields = [.contentType: "application/json", .authorization: "Bearer secret-token"]
  /// Midnight of 2020-11-29.
  private static let start = 2_677_680

  init() throws {
    fixture = try PublicationFixture()
  }

  private func application(
    limits: ServerLimits = ServerLimits(), isOpen: Bool = true, recordedBy ledger: Ledger? = nil
  ) throws -> GatewayApplication {
    var settings = ServerSettings()
    if isOpen {
      settings.uploads = [
        UploadSettings(
          token: "secret-token",
          certificates: CertificateSettings(
            issuer: "verify.example.org", audience: "keys.example.org",
            keys: ["k1": verificationKey.publicKey.pemRepresentation], healthAuthorityID: "org.example"),
          requestsPerMinute: nil)
      ]
    }
    return try GatewayApplication.testing(
      fixture, settings: settings, metrics: metrics, limits: limits, uploads: ledger ?? self.ledger)
  }

  /// What the ledger has, in the order of time.
  private func kept(_ ledger: Ledger? = nil) async throws -> [StatedClaim] {
    try await (ledger ?? self.ledger).read { state in
      try state.claims(from: TemporaryExposureKey(high: 0, low: 0), limit: 1000).claims.statedClaims
    }.sorted { $0.key.rollingStartWord < $1.key.rollingStartWord }
  }

  private func uploads(with certificate: String) async throws -> [UploadRecord] {
    try await ledger.read { try $0.uploads(certificate: certificate) }
  }

  /// Sixteen bytes that are not all equal, as those of a device.
  private func data(_ number: UInt8) -> [UInt8] { (0..<16).map { number &+ $0 } }
  private func key(_ number: UInt8) -> String { Data(data(number)).base64EncodedString() }

  private func sample(_ keys: [(UInt8, Int, Int)]) -> [UInt8] {
    let objects = keys.map {
      "{\"keyData\":\"\(key($0.0))\",\"rollingPeriod\":\($0.2),\"rollingStartNumber\":\($0.1),\"transmissionRiskLevel\":3}"
    }
    return Array("[\(objects.joined(separator: ","))]".utf8)
  }

  // MARK: The sample app

  @Test("What the sample app posts is kept once, however often it comes and in whatever order")
  func sampleApp() async throws {
    let app = try application()
    let keys = [(UInt8(1), Self.start, 144), (2, Self.start + 144, 100)]
    for body in [sample(keys), sample(keys), sample(keys.reversed())] {
      let response = try await app.ask("/apple/NL/keys", .post, headers: Self.authorized, body: body)
      #expect(response.code == 200)
      #expect(response.json["accepted"] as? Int == 2)
    }
    let claims = try await kept()
    #expect(Set(claims.map(\.origin)) == ["NL"] && Set(claims.map(\.source.name)) == ["uploads"])
    let found = claims.map(\.key)
    #expect(found.map(\.key.bytes) == [data(1), data(2)])
    #expect(found.map(\.rollingStart) == [Int32(Self.start), Int32(Self.start + 144)])
    #expect(found.map(\.rollingPeriod) == [144, 100])
    #expect(found.map(\.transmissionRisk) == [3, 3])
    #expect(found.allSatisfy { $0.reportType == nil && $0.daysSinceOnset == nil })
    #expect(metrics.text.contains("keyferry_uploaded_keys_total{door=\"sample-app\",outcome=\"accepted\"} 6\n"))
  }

  @Test("A table of keys is refused, whatever its field says: no app sends one")
  func table() async throws {
    let app = try application()
    let text = "key_hex,rolling_start,rolling_period\n000102030405060708090a0b0c0d0e0f,\(Self.start),144\n"
    for body in [text, " \n" + text, "", "\"\(key(1))\""] {
      let response = try await app.ask(
        "/apple/NL/keys", .post, headers: Self.authorized, body: Array(body.utf8))
      #expect(response.code == 400 && response.problem == "bad-upload", "\(response.text)")
    }
    #expect(try await kept().isEmpty)
  }

  @Test("A key that breaks a rule is dropped and named by its place, the others are kept")
  func partial() async throws {
    let response = try await application().ask(
      "/apple/NL/keys", .post, headers: Self.authorized,
      body: sample([
        (1, Self.start, 144), (2, Self.start + 144, 145), (3, 3_000_000, 144), (4, 2_000_000, 144),
      ]))
    #expect(response.code == 200)
    #expect(response.json["accepted"] as? Int == 1)
    let rejected = try #require(response.json["rejected"] as? [String])
    #expect(rejected.count == 3)
    #expect(rejected.contains { $0.hasPrefix("key 1: rolling period 145") })
    #expect(rejected.contains { $0.hasPrefix("key 2: rolling start 3000000 is in the future") })
    #expect(try await kept().count == 1)
    #expect(!response.text.contains(key(2)))
  }

  @Test("A closed door is no door")
  func closed() async throws {
    let app = try application(isOpen: false)
    #expect(try await app.ask("/apple/NL/keys", .post, headers: Self.authorized, body: sample([])).code == 405)
    #expect(try await app.ask("/v1/publish", .post, headers: Self.json, body: []).code == 405)
  }

  @Test("Without the right token nothing is taken")
  func token() async throws {
    let app = try application()
    for value in [
      "", "Bearer", "Bearer ", "Bearer secret-toke", "Bearer secret-token2", "Basic secret-token", "secret-token",
    ] {
      let response = try await app.ask(
        "/apple/NL/keys", .post, headers: [.contentType: "application/json", .authorization: value],
        body: sample([(1, Self.start, 144)]))
      #expect(response.code == 401, "\(value)")
      #expect(response["WWW-Authenticate"] == "Bearer")
    }
    #expect(try await kept().isEmpty)
  }

  @Test("What is no upload is refused with a reason")
  func refused() async throws {
    var limits = ServerLimits()
    limits.uploadBytes = 4000
    let app = try application(limits: limits)
    for (headers, body, status) in [
      (Self.authorized, Array("{".utf8), 400), (Self.authorized, [], 400),
      (Self.authorized, sample((0..<31).map { (UInt8($0), Self.start, 144) }), 400),
      (Self.authorized, sample([(1, Self.start, 144), (2, Self.start + 100, 144)]), 400),
      (Self.authorized, sample((0..<4).map { (UInt8($0), Self.start, 144) }), 400),
      (Self.authorized, [UInt8](repeating: 0x20, count: 4001), 413),
      ([.contentType: "text/plain", .authorization: "Bearer secret-token"], sample([(1, Self.start, 144)]), 415),
    ] {
      let response = try await app.ask("/apple/NL/keys", .post, headers: headers, body: body)
      #expect(response.code == status, "\(String(decoding: body.prefix(60), as: UTF8.self))")
      #expect((response.json["detail"] as? String)?.isEmpty == false)
    }
    #expect(try await kept().isEmpty)
    #expect(try await app.ask("/apple/NL/keys", .put)["Allow"] == "GET, HEAD, POST, OPTIONS")
    #expect(try await app.ask("/apple/../keys", .post, headers: Self.authorized, body: []).code == 400)
  }

  @Test("A body of brackets from anyone costs no time")
  func brackets() async throws {
    let app = try application()
    // Of some tries on a busy machine one is undisturbed.
    var quickest = Duration.seconds(1000)
    for _ in 0..<3 {
      let start = ContinuousClock.now
      for bracket in ["[", "{\"a\":"] {
        let body = [UInt8](String(repeating: bracket, count: 60_000 / bracket.utf8.count).utf8)
        #expect(try await app.ask("/v1/publish", .post, headers: Self.json, body: body).code == 400)
      }
      quickest = min(quickest, ContinuousClock.now - start)
    }
    #expect(quickest < .seconds(2), "\(quickest)")
  }

  @Test("Uploads have a limit of their own")
  func rate() async throws {
    var settings = ServerSettings()
    settings.uploads = [UploadSettings(token: "secret-token", requestsPerMinute: 4)]
    let app = try GatewayApplication.testing(fixture, settings: settings)
    for _ in 0..<2 {
      #expect(try await app.ask("/v1/publish", .post, headers: Self.json, body: []).code == 400)
    }
    #expect(try await app.ask("/v1/publish", .post, headers: Self.json, body: []).code == 429)
    #expect(try await app.ask("/").code == 200)
  }

  @Test("A door that nobody could open is a fault of the settings")
  func badSettings() throws {
    for uploads in [
      UploadSettings(token: ""),
      UploadSettings(
        token: "x",
        certificates: CertificateSettings(issuer: "i", audience: "a", keys: ["k": "no key"])),
      UploadSettings(
        token: "x", certificates: CertificateSettings(issuer: "i", audience: "a", keys: [:])),
    ] {
      var settings = ServerSettings()
      settings.uploads = [uploads]
      #expect(throws: ServerFault.self) { try GatewayApplication.testing(fixture, settings: settings) }
    }
  }

  // MARK: Google's publish request

  private struct Certificate {
    var algorithm = "ES256"
    var keyID = "k1"
    var issuer = "verify.example.org"
    var audience = "keys.example.org"
    var expires = PublicationFixture.noon.secondsSince1970 + 900
    var issued = PublicationFixture.noon.secondsSince1970 - 10
    var reportType = "confirmed"
    var onset: Int64 = 0
  }

  private func publish(
    _ keys: [(UInt8, Int, Int, Int)], _ certificate: Certificate? = Certificate(),
    signer: P256.Signing.PrivateKey? = nil,
    vouchedFor: [(UInt8, Int, Int, Int)]? = nil, isShortForm: Bool = false, adding: String = ""
  ) throws -> [UInt8] {
    let objects = keys.map {
      "{\"key\":\"\(key($0.0))\",\"rollingStartNumber\":\($0.1),\"rollingPeriod\":\($0.2),\"transmissionRisk\":\($0.3)}"
    }
    var body = "{\"temporaryExposureKeys\":[\(objects.joined(separator: ","))],\"healthAuthorityID\":\"org.example\""
    if let certificate {
      let secret = Array("sixteen bytes ok".utf8)
      let lines = (vouchedFor ?? keys).map {
        "\(key($0.0)).\($0.1).\($0.2)" + (isShortForm ? "" : ".\($0.3)")
      }.sorted().joined(separator: ",")
      let code = HMAC<SHA256>.authenticationCode(for: Data(lines.utf8), using: SymmetricKey(data: secret))
      let header = "{\"alg\":\"\(certificate.algorithm)\",\"kid\":\"\(certificate.keyID)\",\"typ\":\"JWT\"}"
      let claims =
        "{\"iss\":\"\(certificate.issuer)\",\"aud\":\"\(certificate.audience)\",\"exp\":\(certificate.expires),"
        + "\"iat\":\(certificate.issued),\"reportType\":\"\(certificate.reportType)\","
        + "\"symptomOnsetInterval\":\(certificate.onset),\"tekmac\":\"\(Data(code).base64EncodedString())\"}"
      let signed = "\(Base64.encodeURL(Array(header.utf8))).\(Base64.encodeURL(Array(claims.utf8)))"
      let signature = try (signer ?? verificationKey).signature(for: Data(signed.utf8))
      body += ",\"verificationPayload\":\"\(signed).\(Base64.encodeURL(Array(signature.rawRepresentation)))\""
      body += ",\"hmackey\":\"\(Data(secret).base64EncodedString())\""
    }
    return Array((body + adding + ",\"padding\":\"abcd\"}").utf8)
  }

  private static let keys = [(UInt8(9), start, 144, 2), (UInt8(3), start + 144, 144, 2)]

  @Test("A verification certificate vouches for keys, and says what kind of diagnosis it was")
  func certificate() async throws {
    let app = try application()
    var certificate = Certificate()
    certificate.onset = Int64(Self.start) + 144 + 5
    for (report, type) in [
      ("confirmed", ReportType.confirmedTest), ("likely", .confirmedClinicalDiagnosis), ("user-report", .selfReport),
    ] {
      certificate.reportType = report
      let ledger = Ledger(MemoryStore())
      let app = try application(recordedBy: ledger)
      let body = try publish(Self.keys, certificate)
      let response = try await app.ask("/v1/publish", .post, headers: Self.json, body: body)
      #expect(response.code == 200)
      #expect(response.json["insertedExposures"] as? Int == 2)
      #expect(response.problem == nil)
      let found = try await kept(ledger).map(\.key)
      #expect(found.map(\.reportType) == [type.rawValue, type.rawValue])
      #expect(found.map(\.daysSinceOnset) == [-1, 0])
      #expect(found.map(\.transmissionRisk) == [2, 2])
    }
    // Taking back needs more proof than this door asks for: it is answered, and nothing is kept.
    certificate.reportType = "negative"
    let count = try await kept().count
    let response = try await app.ask(
      "/v1/publish", .post, headers: Self.json, body: try publish([(7, Self.start, 144, 0)], certificate))
    #expect(response.code == 200)
    #expect(try await kept().count == count)
  }

  @Test("The code over the keys has a short form where no key has a risk level")
  func shortForm() async throws {
    let plain = [(UInt8(1), Self.start, 144, 0)]
    let app = try application()
    let good = try await app.ask("/v1/publish", .post, headers: Self.json, body: try publish(plain, isShortForm: true))
    #expect(good.code == 200)
    let bad = try await app.ask(
      "/v1/publish", .post, headers: Self.json, body: try publish(Self.keys, isShortForm: true))
    #expect(bad.code == 401)
  }

  @Test("A certificate that is not right in every respect is none")
  func badCertificates() async throws {
    let app = try application()
    let now = PublicationFixture.noon.secondsSince1970
    let bad: [(String, (inout Certificate) -> Void)] = [
      ("none", { $0.algorithm = "none" }), ("HS256", { $0.algorithm = "HS256" }), ("kid", { $0.keyID = "k2" }),
      ("issuer", { $0.issuer = "other" }), ("audience", { $0.audience = "other" }),
      ("expired", { $0.expires = now - 61 }), ("future", { $0.issued = now + 61 }),
      ("report", { $0.reportType = "maybe" }),
    ]
    for (name, change) in bad {
      var certificate = Certificate()
      change(&certificate)
      let response = try await app.ask(
        "/v1/publish", .post, headers: Self.json, body: try publish(Self.keys, certificate))
      #expect(response.code == 401, "\(name)")
      #expect(response.problem == "health_authority_verification_certificate_invalid")
      #expect(response.json["padding"] != nil)
    }
    for body in [
      try publish(Self.keys, nil), try publish(Self.keys, signer: P256.Signing.PrivateKey()),
      try publish(Self.keys, vouchedFor: [Self.keys[0]]),
    ] {
      let response = try await app.ask("/v1/publish", .post, headers: Self.json, body: body)
      #expect(response.code == 401)
    }
    let other = String(decoding: try publish(Self.keys), as: UTF8.self).replacing("org.example\"", with: "org.other\"")
    let response = try await app.ask("/v1/publish", .post, headers: Self.json, body: Array(other.utf8))
    #expect(response.code == 401)
    #expect(response.problem == "unknown_health_authority_id")
    #expect(try await kept().isEmpty)
  }

  @Test("Partial failures are told with their code, and every answer is padded")
  func publishPartial() async throws {
    let app = try application()
    var sizes: Set<Int> = []
    for _ in 0..<8 {
      let response = try await app.ask(
        "/v1/publish", .post, headers: Self.authorized,
        body: try publish([(1, Self.start, 144, 0), (2, Self.start + 144, 0, 0), (3, Self.start + 144, 144, 9)], nil))
      #expect(response.code == 200)
      #expect(response.problem == "partial_failure")
      #expect(response.json["insertedExposures"] as? Int == 1)
      let error = try #require(response.json["error"] as? String)
      #expect(error.contains("key 1: rolling period 0, allowed 1...144"))
      #expect(error.contains("key 2: transmission risk level 9, allowed 0...8"))
      let padding = try #require((response.json["padding"] as? String).flatMap { Data(base64Encoded: $0) })
      #expect(padding.count >= 1024)
      #expect((6144..<8192).contains(response.bytes.count))
      sizes.insert(response.bytes.count)
    }
    #expect(sizes.count > 1)
  }

  @Test("Keys far from the onset are dropped with a warning that is no error")
  func onset() async throws {
    let app = try application()
    let onset = Self.start - 15 * 144
    let far = try await app.ask(
      "/v1/publish", .post, headers: Self.authorized,
      body: try publish(
        [(1, Self.start - 144, 144, 0), (2, Self.start, 144, 0)], nil, adding: ",\"symptomOnsetInterval\":\(onset)"))
    #expect(far.code == 200)
    #expect(far.json["insertedExposures"] as? Int == 1)
    #expect((far.json["warnings"] as? [String])?.count == 1)
    #expect(far.problem == nil)
    // An onset that cannot be is as good as none, which is four days ago.
    for onset in [Self.start - 40 * 144, 3_000_000] {
      let ledger = Ledger(MemoryStore())
      let app = try application(recordedBy: ledger)
      _ = try await app.ask(
        "/v1/publish", .post, headers: Self.authorized,
        body: try publish([(1, Self.start, 144, 0)], nil, adding: ",\"symptomOnsetInterval\":\(onset)"))
      #expect(try await kept(ledger).map(\.key.daysSinceOnset) == [2])
    }
  }

  @Test("A key that is no phone's any more is a fault, and no warning", arguments: [0, 1_000_000, -1, 2_147_483_647])
  func ancient(start: Int) async throws {
    let app = try application()
    let response = try await app.ask(
      "/v1/publish", .post, headers: Self.authorized, body: try publish([(1, start, 144, 0)], nil))
    #expect(response.code == 400, "\(response.text.prefix(200))")
    #expect(response.problem == "bad_request")
    #expect(try await kept().isEmpty)
  }

  @Test("What the request may not hold is refused as a whole")
  func badRequests() async throws {
    let app = try application()
    let one = try publish([(1, Self.start, 144, 0)], nil)
    for body in [
      [], Array("[]".utf8), Array("{}".utf8), Array("{\"temporaryExposureKeys\":1}".utf8),
      try publish([], nil), try publish((0..<31).map { (UInt8($0), Self.start, 144, 0) }, nil),
      try publish([(1, Self.start, 0, 0)], nil), try publish([(1, Self.start, 144, 0)], nil, adding: ",\"extra\":1"),
      Array(String(decoding: one, as: UTF8.self).replacing("\"rollingPeriod\"", with: "\"rollingDuration\"").utf8),
      Array(String(decoding: one, as: UTF8.self).replacing(":\(Self.start),", with: ":1e12,").utf8),
      one + one,
      // Of two members none may be passed over.
      Array(
        String(decoding: one, as: UTF8.self).replacing(
          "\"rollingPeriod\"", with: "\"rollingPeriod\":1,\"rollingPeriod\""
        ).utf8),
      try publish([(1, Self.start, 144, 0)], nil, adding: ",\"HealthAuthorityID\":\"org.other\""),
    ] {
      let response = try await app.ask("/v1/publish", .post, headers: Self.authorized, body: body)
      #expect(response.code == 400, "\(String(decoding: body.prefix(90), as: UTF8.self))")
      #expect(response.problem == "bad_request")
      #expect(response.json["padding"] != nil)
    }
    for (headers, body, status) in [
      ([.authorization: "Bearer secret-token"], one, 415),
      (
        [.authorization: "Bearer secret-token", .contentType: "application/json", .contentEncoding: "gzip"], one, 415
      ),
      (Self.authorized, [UInt8](repeating: 0x20, count: 64_001), 413),
    ] as [(HTTPFields, [UInt8], Int)] {
      let response = try await app.ask("/v1/publish", .post, headers: headers, body: body)
      #expect(response.code == status)
      #expect(response.json["padding"] != nil)
    }
    #expect(try await kept().isEmpty)
    let get = try await app.ask("/v1/publish")
    #expect(get.code == 405)
    #expect(get["Allow"] == "POST, OPTIONS")
  }

  @Test("Chaff is answered and thrown away")
  func chaff() async throws {
    var headers = Self.authorized
    headers[HTTPField.Name("X-Chaff")!] = "1"
    let response = try await application().ask(
      "/v1/publish", .post, headers: headers, body: try publish([(1, Self.start, 144, 0)], nil))
    #expect(response.code == 200)
    #expect(response.json["padding"] != nil)
    #expect(try await kept().isEmpty)
  }
}
