import ExposureKeys
import Foundation
import GatewaySettings
import HTTPTypes
import HummingbirdTesting
import KeyNormalization
import KeyStorage
import ProgramMetrics
import Testing

@testable import GatewayServer

/// One gateway takes in the keys of several origins, each by doors of its own.
@Suite("Doors of several origins")
struct SeveralEntrancesTests {
  private static let withPath = """
    - name: va
      origin: US-VA
      rate: none
      token: {file: token}
      certificates:
        - {issuer: verify.example.org, audience: keys.example.org, key-set: keys.jwks}
      revision-key: {file: revision}
    - name: canada
      path: /ca
      origin: CA
      rate: none
      token: {file: hospital}
      certificates:
        - {issuer: verify.example.org, audience: keys.example.org, key-set: keys.jwks}
      revision-key: {file: revision}
    """
  private static let withSeries = """
    - {name: va, origin: US-VA, rate: none, token: {file: token}, protocols: [sample-app], series: [VA]}
    - {name: canada, origin: CA, rate: none, token: {file: hospital}, protocols: [sample-app], series: [CA, travel]}
    """

  private func key(_ number: UInt8) -> [UInt8] {
    let data = Data((0..<16).map { number &+ $0 }).base64EncodedString()
    return Array(
      "[{\"keyData\":\"\(data)\",\"rollingStartNumber\":2677680,\"rollingPeriod\":144,\"transmissionRiskLevel\":2}]"
        .utf8)
  }

  private func post(
    _ path: String, _ number: UInt8, as owner: String, to app: GatewayApplication
  ) async throws -> Int {
    let token = owner == "va" ? "secret-token-of-all" : "secret-token-of-the-hospital"
    return try await app.ask(
      path, .post, headers: [.contentType: "application/json", .authorization: "Bearer \(token)"],
      body: key(number)
    ).code
  }

  private func claims(_ gateway: ConfiguredGateway) async throws -> [[String?]] {
    try await gateway.ledger.read {
      try $0.claims(from: TemporaryExposureKey(high: 0, low: 0), limit: 1000).claims.statedClaims
    }.map { [$0.source.name, $0.origin] }
  }

  @Test("Each has its own origin, tokens and name, below a path")
  func paths() async throws {
    let gateway = try ConfiguredGateway(doors: Self.withPath)
    #expect(gateway.plan.sourceNames == ["va", "canada"])
    let app = try gateway.application()
    #expect(try await post("/apple/VA/keys", 1, as: "va", to: app) == 200)
    #expect(try await post("/ca/apple/CA/keys", 2, as: "canada", to: app) == 200)
    #expect(Set(try await claims(gateway)) == [["va", "US-VA"], ["canada", "CA"]])
    // What opens one door opens no other, and no series is at the other's address.
    for (path, owner, status) in [
      ("/ca/apple/CA/keys", "va", 401), ("/apple/VA/keys", "canada", 401),
      ("/ca/apple/VA/keys", "canada", 404),
      ("/apple/CA/keys", "va", 404), ("/nl/apple/CA/keys", "canada", 405), ("/ca", "canada", 400),
    ] {
      #expect(try await post(path, 3, as: owner, to: app) == status, "\(path)")
    }
    #expect(try await gateway.keptCount == 2)
    #expect(
      gateway.metrics.text.contains(
        #"keyferry_uploads_total{door="canada/sample-app",outcome="accepted"} 1"# + "\n"))
    let options = try await app.ask("/ca/apple/CA/keys", .options)
    #expect(options["Allow"] == "POST, OPTIONS", "layouts are not below a path")
    #expect(try await app.ask("/ca/apple/CA/keys").code == 405)
    #expect(try await app.ask("/apple/VA/keys", .options)["Allow"] == "GET, HEAD, POST, OPTIONS")
  }

  @Test("A revision token of one is none at the other")
  func revisionTokens() async throws {
    let gateway = try ConfiguredGateway(doors: Self.withPath)
    let app = try gateway.application()
    var first = try UploadVector("revision_likely")
    let token = try #require(try await first.post(to: app).json["revisionToken"] as? String)
    first.path = "/ca/v1/publish"
    #expect(try await first.post(to: app).code == 200)
    var second = try UploadVector("revision_confirmed")
    let showing = { (body: String) in
      body.replacing(
        "\"revisionToken\": \"\"",
        with: "\"revisionToken\": \"\(token.replacing("/", with: "\\/"))\"")
    }
    second.path = "/ca/v1/publish"
    #expect(try await second.post(to: app, showing).problem == "invalid_revision_token")
    second.path = "/v1/publish"
    #expect(try await second.post(to: app, showing).code == 200)
  }

  @Test("At one address each takes the series that are its own")
  func series() async throws {
    let gateway = try ConfiguredGateway(doors: Self.withSeries)
    let app = try gateway.application()
    for (series, owner, status) in [
      ("VA", "va", 200), ("CA", "canada", 200), ("travel", "canada", 200), ("VA", "canada", 401),
      ("CA", "va", 401),
      ("US", "va", 404), ("XX", "va", 404),
    ] {
      #expect(
        try await post("/apple/\(series)/keys", 1, as: owner, to: app) == status,
        "\(series) by \(owner)")
    }
    #expect(Set(try await claims(gateway)) == [["va", "US-VA"], ["canada", "CA"]])
    #expect(
      try await UploadVector("publish_confirmed").post(to: app).code == 405,
      "protocols opens no other")
  }
}
