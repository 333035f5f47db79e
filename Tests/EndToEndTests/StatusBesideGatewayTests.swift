import Foundation
import FoundationNetworking
import GatewayTesting
import Testing

/// `keyferry status` beside a gateway that runs.
@Suite("Status beside a gateway that runs") struct StatusBesideGatewayTests {
  private struct Answer: Decodable { var reason: String? }

  /// Nobody listens at the port.
  private static let away =
    "publication: {s3: {endpoint: \"http://127.0.0.1:9\", bucket: keys, credentials: {access-key-id: AKIDTEST, secret-access-key: {file: secret}}}}"

  @Test("a bucket that is away is reported with the reason that /ready/publishing gives", .timeLimit(.minutes(3)))
  func bucket() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL")
      try place.drop(40, seed: 1, in: "nl", as: "a.csv")
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      let status = ["status", "--brief", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon]
      func tell() throws -> Tool.Outcome {
        let program = try #require(Neighbourhood.program)
        return try Tool(path: program).run(status, in: place.folder)
      }
      #expect(try tell().status == 0)
      try place.write("hush-secret-1", "nl/secret")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: place.path("nl/secret"))
      let settings = try String(contentsOfFile: place.path("nl/gateway.yaml"), encoding: .utf8)
      try place.write(settings.replacing("publication: {folder: public}", with: Self.away), "nl/gateway.yaml")
      try await place.running("nl") { _, address in
        var reason = ""
        for _ in 0..<300 where !reason.contains("series all") {
          let data = try await URLSession.shared.data(from: address.appending(path: "ready/publishing")).0
          reason = (try? JSONDecoder().decode(Answer.self, from: data))?.reason ?? ""
          try await Task.sleep(for: .milliseconds(100))
        }
        let words = try #require(reason.split(separator: "; ").first { $0.hasPrefix("series all: ") }, "\(reason)")
        var outcome = try tell()
        for _ in 0..<50 where !outcome.errors.contains(words) {
          try await Task.sleep(for: .milliseconds(200))
          outcome = try tell()
        }
        #expect(outcome.status == 1 && outcome.errors.contains(words), "\(reason)\n\(outcome.errors)")
        #expect(!outcome.errors.contains("keyferry publish completes it"))
        let metrics = try await URLSession.shared.data(from: address.appending(path: "metrics")).0
        #expect(String(decoding: metrics, as: UTF8.self).contains("keyferry_faults{fault=\"series\"} 1\n"))
        let json = try Tool(path: try #require(Neighbourhood.program)).run(status + ["--json"], in: place.folder)
        #expect(try DocumentSchema(named: "status.schema.json").faults(in: Data(json.output)) == [])
        #expect(json.text.contains("\"code\" : \"series\""))
      }
    }
  }
}
