import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import HummingbirdTesting
import KeyFormats
import KeyIntake
import Testing

@testable import GatewayServer

/// A phone says something new about keys that it has uploaded, with the token that it was given.
@Suite("Revision tokens")
struct RevisionTokenTests {
  private func post(
    _ report: String, token: String = "", to gateway: ConfiguredGateway
  ) async throws -> TestResponse {
    try await UploadVector("revision_\(report)").post(to: try gateway.application()) {
      $0.replacing("\"revisionToken\": \"\"", with: "\"revisionToken\": \"\(token.replacing("/", with: "\\/"))\"")
    }
  }

  private func token(_ response: TestResponse) throws -> String {
    try #require(response.json["revisionToken"] as? String)
  }

  @Test(
    "Every allowed transition reaches the bundles",
    arguments: [
      ("likely", "confirmed", ReportType.confirmedTest), ("likely", "negative", .revoked),
      ("user-report", "likely", .confirmedClinicalDiagnosis), ("user-report", "confirmed", .confirmedTest),
      ("user-report", "negative", .revoked),
    ])
  func transitions(first: String, second: String, type: ReportType) async throws {
    let gateway = try ConfiguredGateway()
    let before = try await post(first, to: gateway)
    #expect(before.json["insertedExposures"] as? Int == 3)
    let released = try #require(try await gateway.publish()["VA"])
    #expect(released.count == 3 && !released.contains { $0.isRevised })
    let after = try await post(second, token: try token(before), to: gateway)
    #expect(after.code == 200 && after.problem == nil, "\(after.text.prefix(200))")
    #expect(after.json["insertedExposures"] == nil)
    let again = try #require(try await gateway.publish(after: 4)["VA"])
    let revised = again.filter(\.isRevised)
    #expect(revised.count == 3 && revised.allSatisfy { $0.reportType == type.rawValue })
    #expect(Set(revised.map(\.key)) == Set(released.map(\.key)))
    // The new token stands for the same keys, and they are revised once.
    let third = second == "confirmed" ? "negative" : "confirmed"
    let late = try await post(third, token: try token(after), to: gateway)
    #expect(late.code == 400 && late.problem == "key_already_revised")
  }

  @Test("What is not allowed is refused with the original's codes, and nothing is kept of it")
  func refused() async throws {
    let gateway = try ConfiguredGateway()
    let first = try token(try await post("confirmed", to: gateway))
    let count = try await gateway.keptCount
    let other = try token(
      try await UploadVector("publish_likely").post(to: try ConfiguredGateway().application()))
    for (report, token, code) in [
      ("negative", "", "missing_revision_token"), ("negative", "AAAA", "invalid_revision_token"),
      ("negative", other, "invalid_revision_token"), ("negative", first, "invalid_report_type_transition"),
      ("likely", first, "invalid_report_type_transition"), ("likely", "", "missing_revision_token"),
    ] {
      let response = try await post(report, token: token, to: gateway)
      #expect(response.code == 400 && response.problem == code, "\(report): \(response.text.prefix(120))")
    }
    // The same once more is nothing new.
    let same = try await post("confirmed", token: first, to: gateway)
    #expect(same.code == 200 && same.json["insertedExposures"] == nil)
    #expect(try await gateway.keptCount == count)
  }

  @Test("Where no tokens are given out, a phone may repeat itself, and nobody changes what is known")
  func withoutTokens() async throws {
    let gateway = try ConfiguredGateway(
      doors: """
        origin: US-VA
            rate: none
            certificates: [{issuer: verify.example.org, audience: keys.example.org, key-set: keys.jwks}]
            revision-key: {file: revision}
        """
    ).withoutRevisionKey()
    for _ in 0..<2 {
      let response = try await post("likely", to: gateway)
      #expect(response.code == 200 && response.json["revisionToken"] == nil)
    }
    let count = try await gateway.keptCount
    let changed = try await post("confirmed", to: gateway)
    #expect(changed.code == 400 && changed.problem == "missing_revision_token")
    #expect(try await post("negative", to: gateway).code == 200)
    #expect(try await gateway.keptCount == count)
  }

  @Test("A first negative is answered as any other, with a token, and not kept; a test that comes later is new")
  func negative() async throws {
    let gateway = try ConfiguredGateway()
    let response = try await post("negative", to: gateway)
    #expect(response.code == 200 && response.json["insertedExposures"] == nil)
    #expect(try await gateway.keptCount == 0)
    let given = try token(response)
    #expect(given.utf8.count == (try token(try await post("confirmed", to: try ConfiguredGateway()))).utf8.count)
    let later = try await post("confirmed", token: given, to: gateway)
    #expect(later.code == 200 && later.json["insertedExposures"] as? Int == 3, "\(later.text.prefix(120))")
    // The token that stands for nothing lets nothing be said about these keys.
    #expect(try await post("negative", token: given, to: gateway).problem == "invalid_revision_token")
  }

  // MARK: The token by itself

  private let now = PublicationFixture.noon
  private let scope = UploadScope(series: [], home: "VA", regions: [])

  private func key(_ number: UInt64, start: Int32 = 2_677_680) -> RevisableKey {
    RevisableKey(key: TemporaryExposureKey(high: 7, low: number), rollingStart: start, rollingPeriod: 144)
  }

  @Test("Tokens of one key and of thirty have one length, and carry on what is not too old")
  func token() throws {
    let tokens = RevisionTokens("a secret of at least thirty-two characters", scope: scope)
    let one = try #require(tokens.token(of: [key(1)], carrying: [], now: now))
    let thirty = try #require(tokens.token(of: (0..<30).map { key($0) }, carrying: [], now: now))
    #expect(one.utf8.count == thirty.utf8.count)
    #expect(tokens.proof(in: one) == .keys([key(1)]))
    let carried = try #require(
      tokens.token(of: [key(2)], carrying: [key(1), key(3, start: 2_677_680 - 144 * 16)], now: now))
    #expect(tokens.proof(in: carried) == .keys([key(2), key(1)]))
    let none = try #require(tokens.token(of: [], carrying: [], now: now))
    #expect(none.utf8.count == one.utf8.count && tokens.proof(in: none) == .keys([]))
  }

  @Test("A token that was changed, or sealed by another, is none")
  func foreign() throws {
    let tokens = RevisionTokens("a secret of at least thirty-two characters", scope: scope)
    let text = try #require(tokens.token(of: [key(1)], carrying: [], now: now))
    let bytes = try #require(Base64.decode(Array(text.utf8)))
    for position in [0, 1, 5, 20, bytes.count - 1] {
      var changed = bytes
      changed[position] ^= 1
      #expect(tokens.proof(in: Base64.encode(changed)) == .unreadable)
    }
    #expect(tokens.proof(in: "") == .missing)
    #expect(tokens.proof(in: String(repeating: "A", count: 20_000)) == .unreadable)
    for other in [
      RevisionTokens("another secret of at least thirty-two chars", scope: scope),
      RevisionTokens(
        "a secret of at least thirty-two characters", scope: UploadScope(series: [], home: "MD", regions: [])),
    ] {
      #expect(other.proof(in: text) == .unreadable)
    }
  }
}
