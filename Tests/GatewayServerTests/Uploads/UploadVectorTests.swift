import BundleTrust
import Crypto
import ExposureKeys
import Foundation
import GatewaySettings
import GatewayTesting
import Glibc
import HTTPTypes
import HummingbirdTesting
import KeyFormats
import KeyNormalization
import KeyStorage
import Logging
import Synchronization
import Testing

@testable import GatewayDaemon
@testable import GatewayServer

/// Requests that were made without Keyferry (`interop/uploads/make.py`), through doors that were opened by a configuration.
@Suite("Uploads as the apps make them")
struct UploadVectorTests {
  @Test(
    "Each request has the status and the code of the original, and what is refused is not kept",
    arguments: UploadVector.all)
  func vector(_ vector: UploadVector) async throws {
    let gateway = try ConfiguredGateway()
    let response = try await vector.post(to: try gateway.application())
    #expect(response.code == vector.status, "\(vector.comment): \(response.text.prefix(300))")
    if !vector.path.hasPrefix("/v1/gaen"), !vector.path.hasPrefix("/v2/gaen") {
      #expect((response.json["code"] as? String ?? "") == vector.code)
      #expect((6144..<8192).contains(response.bytes.count), "\(response.bytes.count) bytes")
    }
    let isFake = vector.name.hasSuffix("fake") || vector.name == "revision_negative"
    #expect((try await gateway.keptCount > 0) == (vector.status == 200 && !isFake))
    #expect(!response.text.contains("1234-"), "a code is repeated")
  }

  @Test("There are requests")
  func all() { #expect(UploadVector.all.count == 51) }

  private func claims(_ gateway: ConfiguredGateway) async throws -> [ClaimedKey] {
    try await gateway.ledger.read {
      try $0.claims(from: TemporaryExposureKey(high: 0, low: 0), limit: 1000).claims.statedClaims
    }.sorted { $0.key.rollingStartWord < $1.key.rollingStartWord }.map(\.key)
  }

  @Test(
    "The certificate says how the diagnosis was made, and when the symptoms began",
    arguments: [
      ("publish_confirmed", ReportType.confirmedTest), ("publish_likely", .confirmedClinicalDiagnosis),
      ("publish_user_report", .selfReport), ("publish_onset_of_certificate", .confirmedTest),
      ("covidwise_good", .confirmedClinicalDiagnosis),
    ])
  func certificate(name: String, type: ReportType) async throws {
    let gateway = try ConfiguredGateway()
    #expect(try await UploadVector(name).post(to: try gateway.application()).code == 200)
    let kept = try await claims(gateway)
    #expect(kept.count == 14 && kept.allSatisfy { $0.reportType == type.rawValue })
    // A PIN says nothing of symptoms, and four days before are what Google's server takes then.
    #expect(kept.map(\.daysSinceOnset) == (-10...3).map { $0 })
  }

  @Test("A token of a client's own opens the doors, and a certificate beside it says more")
  func clients() async throws {
    let vector = try UploadVector("publish_likely")
    for token in ["secret-token-of-all", "secret-token-of-the-hospital"] {
      let gateway = try ConfiguredGateway()
      let response = try await vector.post(to: try gateway.application(), adding: [.authorization: "Bearer \(token)"])
      #expect(response.code == 200)
      let kept = try await claims(gateway)
      #expect(kept.allSatisfy { $0.reportType == ReportType.confirmedClinicalDiagnosis.rawValue })
    }
    let gateway = try ConfiguredGateway()
    let bad = try await UploadVector("publish_certificate_signature").post(
      to: try gateway.application(), adding: [.authorization: "Bearer secret-token-of-all"])
    #expect(bad.code == 401)
    let wrong = try await UploadVector("publish_confirmed").post(
      to: try gateway.application(), adding: [.authorization: "Bearer secret-token-of-nobody"])
    #expect(wrong.code == 401 && wrong.problem == "unauthorized", "the certificate is good, and the token is not")
    #expect(try await gateway.keptCount == 0)
    let key = #"[{"keyData":"AQIDBAUGBwgJCgsMDQ4PEA==","rollingStartNumber":2677680,"transmissionRiskLevel":2}]"#
    for (token, status) in [("secret-token-of-the-hospital", 200), ("secret-token-of-nobody", 401)] {
      let response = try await gateway.application().ask(
        "/apple/VA/keys", .post,
        headers: [.contentType: "application/json", .authorization: "Bearer \(token)"], body: Array(key.utf8))
      #expect(response.code == status)
    }
  }

  @Test("Without tokens a certificate alone lets in, and the doors that need a token are closed")
  func certificatesAlone() async throws {
    let gateway = try ConfiguredGateway(
      doors: """
        origin: US-VA
            rate: none
            certificates: [{issuer: verify.example.org, audience: keys.example.org, key-set: keys.jwks}]
            revision-key: {file: revision}
        """)
    let app = try gateway.application()
    #expect(try await UploadVector("publish_confirmed").post(to: app).code == 200)
    #expect(try await UploadVector("publish_certificate_signature").post(to: app).code == 401)
    #expect(
      try await app.ask("/apple/VA/keys", .post, headers: [.contentType: "application/json"], body: []).code == 405)
    #expect(try await UploadVector("dp3t_exposed").post(to: app).code == 405)
    #expect(try await UploadVector("covidwise_good").post(to: app).code == 400, "its PIN is a member that nobody knows")
  }

  @Test("A code is asked about once for each upload, with the service's token, up to its budget")
  func codes() async throws {
    let gateway = try ConfiguredGateway(
      doors: """
        origin: US-VA
            regions: [US-VA, US]
            rate: none
            codes: {url: "https://verify.example.org/code", token: {file: token}, rate: 4/min, time-out: 3 s}
        """)
    #expect(gateway.plan.server?.uploads.first?.answerSeconds == 4)
    let service = PINService()
    let app = try gateway.application(caller: service)
    var codes: [Int] = []
    for name in ["covidwise_good", "covidwise_bad", "covidwise_good"] {
      codes.append(try await UploadVector(name).post(to: app).code)
    }
    #expect(codes == [200, 401, 503])
    #expect(service.calls.count == 2)
    let call = try #require(service.calls.first)
    #expect(call.address == "https://verify.example.org/code" && call.timeoutSeconds == 3)
    #expect(call.token?.disclosed == "secret-token-of-all")
    #expect(
      String(decoding: call.body ?? [], as: UTF8.self)
        == #"{"code":"1234-good","healthAuthorityID":"gov.vdh.exposurenotification"}"#)
  }

  @Test("Who guesses codes is held back before the service is asked")
  func guessing() async throws {
    let gateway = try ConfiguredGateway(
      doors: """
        origin: US-VA
            regions: [US-VA, US]
            rate: 4/min
            codes: {url: "https://verify.example.org/code"}
        """)
    let service = PINService()
    let app = try gateway.application(caller: service)
    var codes: [Int] = []
    for _ in 0..<6 { codes.append(try await UploadVector("covidwise_bad").post(to: app).code) }
    #expect(codes == [401, 401, 429, 429, 429, 429])
    #expect(service.calls.count == 2)
  }

  @Test("Another server is asked within its time and its size", .timeLimit(.minutes(1)))
  func outside() async throws {
    let gateway = try ConfiguredGateway()
    try await gateway.application().application().live { (client) async throws -> Void in
      let port = client.port
      func call(_ path: String, body: [UInt8]? = nil, byteLimit: Int = 1000) async throws -> WebAnswer {
        try await OutsideCaller().call(
          WebCall(
            address: "http://127.0.0.1:\(port)\(path)", body: body, token: nil, timeoutSeconds: 2, byteLimit: byteLimit)
        )
      }
      #expect(try await call("/health").status == 200)
      #expect(try await call("/v1/publish", body: Array("{".utf8), byteLimit: 10_000).status == 400)
      await #expect(throws: (any Error).self) { try await call("/health", byteLimit: 1) }
    }
    // Somebody listens, and never answers.
    let silent = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(silent) }
    // A `sockaddr_in` by its bytes: which module defines its members depends on what else is compiled beside this file.
    var address = [UInt8](repeating: 0, count: 16)
    withUnsafeBytes(of: UInt16(AF_INET)) { address.replaceSubrange(0..<2, with: $0) }
    address.replaceSubrange(4..<8, with: [127, 0, 0, 1])
    var size = socklen_t(address.count)
    let port = address.withUnsafeMutableBytes { bytes -> UInt16 in
      guard let place = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), bind(silent, place, size) == 0,
        listen(silent, 4) == 0
      else { return 0 }
      getsockname(silent, place, &size)
      return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
    }
    #expect(port > 0)
    let begin = ContinuousClock.now
    await #expect(throws: (any Error).self) {
      try await OutsideCaller().call(
        WebCall(
          address: "http://127.0.0.1:\(port)/", body: Array("{}".utf8), token: "secret", timeoutSeconds: 1,
          byteLimit: 10))
    }
    let time = ContinuousClock.now - begin
    #expect(time > .milliseconds(900) && time < .seconds(5), "\(time)")
  }

  // MARK: Keys of a verification server

  /// Serves a JWK set, and another one later.
  private final class KeyServer: WebCaller {
    let answer = Mutex<WebAnswer?>(nil)
    let count = Mutex(0)

    func call(_ call: WebCall) async throws -> WebAnswer {
      count.withLock { $0 += 1 }
      guard let answer = answer.withLock({ $0 }) else { throw CocoaError(.fileReadUnknown) }
      return answer
    }
  }

  private func set(_ keys: (String, P256.Signing.PrivateKey)...) -> [UInt8] {
    let all = keys.map { name, key in
      let point = Array(key.publicKey.x963Representation.dropFirst())
      return
        #"{"kty":"EC","crv":"P-256","kid":"\#(name)","x":"\#(Base64.encodeURL(Array(point.prefix(32))))","y":"\#(Base64.encodeURL(Array(point.suffix(32))))"}"#
    }
    return Array("{\"keys\":[\(all.joined(separator: ","))]}".utf8)
  }

  @Test("Keys are fetched, rotate, and stay where the address fails; strangers cannot make it ask more often")
  func rotation() async throws {
    let (first, second) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
    let server = KeyServer()
    var settings = CertificateSettings(issuer: "i", audience: "a")
    settings.keySetAddress = "https://verify.example.org/jwks"
    let keys = try VerificationKeys(settings, caller: server, logger: .init(label: "test") { _ in SilentHandler() })
    #expect(await keys.key(named: "v1", now: 1000) == nil)
    server.answer.withLock { $0 = WebAnswer(status: 200, body: set(("v1", first))) }
    #expect(await keys.key(named: "v1", now: 1010) == nil, "asked a moment ago")
    #expect(await keys.key(named: "v1", now: 1031)?.x963 == Array(first.publicKey.x963Representation))
    server.answer.withLock { $0 = WebAnswer(status: 200, body: set(("v1", first), ("v2", second))) }
    for number in 0..<100 { #expect(await keys.key(named: "stranger \(number)", now: 1040) == nil) }
    #expect(server.count.withLock { $0 } == 2)
    #expect(await keys.key(named: "v2", now: 1062)?.x963 == Array(second.publicKey.x963Representation))
    for body in [
      Array("no".utf8), [UInt8](repeating: 0x20, count: 70_000), Array(#"{"keys":[]}"#.utf8),
      Array(#"{"keys":[{"kty":"oct","kid":"v1","k":"AAAA"}]}"#.utf8),
    ] {
      server.answer.withLock { $0 = WebAnswer(status: 200, body: body) }
      #expect(await keys.key(named: "v1", now: 5000) != nil, "a set that cannot be used takes nothing away")
    }
    server.answer.withLock { $0 = WebAnswer(status: 200, body: set(("v2", second))) }
    // The old key is believed while the new set is on its way, and no longer.
    _ = await keys.key(named: "v1", now: 9000)
    for _ in 0..<200 where await keys.key(named: "v1", now: 9001) != nil { try await Task.sleep(for: .milliseconds(5)) }
    #expect(await keys.key(named: "v1", now: 9001) == nil)
    #expect(await keys.key(named: "v2", now: 9001) != nil)
  }
}
