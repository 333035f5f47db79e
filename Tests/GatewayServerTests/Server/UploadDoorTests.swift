import ExposureKeys
import Foundation
import GatewayTesting
import HTTPTypes
import KeyStorage
import Logging
import ProgramMetrics
import Testing

@testable import GatewayServer

/// The doors as a list: what is written about them, and what is done around each.
@Suite("The doors for uploads")
struct UploadDoorTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The addresses under the tag `uploads` that are posted to.
  private static var described: Set<String> {
    get throws {
      let bytes = try Data(contentsOf: root.appending(path: "schemas/openapi.json"))
      let document = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
      let paths = try #require(document["paths"] as? [String: [String: Any]])
      return Set(paths.filter { ($0.value["post"] as? [String: Any])?["tags"] as? [String] == ["uploads"] }.keys)
    }
  }

  @Test("Every door is described in the schema, the manual and the metrics, and nothing else is")
  func described() throws {
    let addresses = UploadEndpoints.all.map(\.address)
    #expect(Set(addresses) == (try Self.described))
    let folder = Self.root.appending(path: "Sources/GatewayDaemon/GatewayDaemon.docc")
    let manual = try String(contentsOf: folder.appending(path: "Uploads.md"), encoding: .utf8)
    let posted = manual.split(separator: "\n").filter { $0.hasPrefix("| `POST ") }
    #expect(posted.count == addresses.count)
    for address in addresses { #expect(posted.contains { $0.hasPrefix("| `POST \(address)` |") }, "\(address)") }
    let metrics = try String(contentsOf: folder.appending(path: "Metrics.md"), encoding: .utf8)
    let names = UploadEndpoints.all.map { "`\($0.name)`" }.joined(separator: ", ")
    #expect(metrics.contains("| `door` | \(names) |\n"))
  }

  @Test("No two doors stand at one address or have one name")
  func apart() {
    #expect(Set(UploadEndpoints.all.map(\.name)).count == UploadEndpoints.all.count)
    for door in UploadEndpoints.all {
      let path = door.address.split(separator: "/").map { $0.hasPrefix("{") ? "NL" : String($0) }
      #expect(UploadEndpoints.all.filter { $0.stands(at: path) }.map(\.name) == [door.name])
      #expect(!door.stands(at: path + ["x"]) && !door.stands(at: path.dropLast()))
    }
  }

  @Test(
    "A segment in braces is what can be a series",
    arguments: [("NL", true), ("NL-travel", true), ("", false), ("..", false), (".x", false), ("a/b", false)])
  func series(name: String, isOne: Bool) {
    #expect(SampleAppEndpoint.description.stands(at: ["apple", name, "keys"]) == isOne)
  }

  /// Whoever changes the spelling of a refusal changes somebody's alert.
  @Test("Refusals are counted once, at their door, under their names")
  func refusals() async throws {
    let fixture = try PublicationFixture()
    let metrics = GatewayMetrics()
    var settings = ServerSettings()
    settings.uploads = [UploadSettings(token: "secret-token")]
    let app = try GatewayApplication.testing(fixture, settings: settings, metrics: metrics)
    let json: HTTPFields = [.contentType: "application/json"]
    let authorized: HTTPFields = [.contentType: "application/json", .authorization: "Bearer secret-token"]
    let large = [UInt8](repeating: 0x20, count: 64_001)
    for (address, headers, body) in [
      ("/apple/NL/keys", json, Array("[]".utf8)), ("/apple/NL/keys", authorized, Array("[".utf8)),
      ("/apple/NL/keys", authorized, large), ("/v1/publish", json, Array("{}".utf8)),
      ("/v1/publish", authorized, Array("[".utf8)), ("/v1/publish", [.authorization: "Bearer secret-token"], []),
    ] {
      _ = try await app.ask(address, .post, headers: headers, body: body)
    }
    let counted = metrics.text.split(separator: "\n").filter { $0.hasPrefix("keyferry_uploads_total{") }
    #expect(
      Set(counted) == [
        #"keyferry_uploads_total{door="sample-app",outcome="unauthorized"} 1"#,
        #"keyferry_uploads_total{door="sample-app",outcome="bad-request"} 1"#,
        #"keyferry_uploads_total{door="sample-app",outcome="body-too-large"} 1"#,
        #"keyferry_uploads_total{door="publish",outcome="health_authority_verification_certificate_invalid"} 1"#,
        #"keyferry_uploads_total{door="publish",outcome="bad_request"} 1"#,
        #"keyferry_uploads_total{door="publish",outcome="unsupported-media-type"} 1"#,
      ])
  }
}
