import Foundation
import KeyPublishing
import Testing

@testable import GatewayServer

@Suite("Files of the transparency log")
struct TransparencyLogTests {
  @Test("Checkpoint, tiles, entries, key and proofs are served as their formats say, and nothing else of the folder")
  func files() async throws {
    let fixture = try PublicationFixture()
    let bundle = try #require(try fixture.publish("NL", bundles: 2).bundles.first)
    var settings = ServerSettings()
    settings.logFolder = "evidence"
    let text = "text/plain; charset=utf-8"
    let week = "public, max-age=604800, immutable"
    let served = [
      ("evidence/checkpoint", text, "no-store"), ("evidence/log.vkey", text, "public, max-age=300"),
      ("evidence/tile/0/000.p/2", "application/octet-stream", week),
      ("evidence/tile/1/x001/x234/067", "application/octet-stream", week),
      ("evidence/tile/entries/000.p/2", "application/octet-stream", week),
      ("evidence/attest.pem", text, "public, max-age=300"),
      ("\(bundle.path).tlog-proof", text, "public, max-age=60"),
      ("\(bundle.path).intoto.jsonl", "application/vnd.in-toto+json", "public, max-age=60"),
    ]
    let hidden = [
      "evidence/lock", "evidence/.checkpoint.partial", "evidence/tile/0/0", "evidence/tile/0/000.p/0",
      "evidence/tile/8/000", "evidence/tile/0/x000/001", "evidence/tile", "NL/other.zip.tlog-proof",
      "evidence/checkpoint.tlog-proof", "NL/other.zip.intoto.jsonl", "evidence/checkpoint.intoto.jsonl",
    ]
    for (path, _, _) in served { try fixture.write(path, "content of \(path)") }
    for path in hidden where path != "evidence/tile" { try fixture.write(path, "secret") }
    let app = try GatewayApplication.testing(fixture, settings: settings)
    for (path, type, cache) in served {
      let response = try await app.ask("/\(path)")
      #expect(response.code == 200 && response.text == "content of \(path)", "\(path)")
      #expect(response["Content-Type"] == type && response["Cache-Control"] == cache, "\(path)")
      #expect(response["Access-Control-Allow-Origin"] == "*" && response["ETag"] != nil, "\(path)")
    }
    for path in hidden {
      let response = try await app.ask("/\(path)")
      #expect(response.code == 404 && !response.text.contains("secret"), "\(path)")
    }
    #expect(try await app.ask("/evidence/tile/0/001").code == 404)
    // Without a log the folder is nobody's.
    let plain = try GatewayApplication.testing(fixture)
    #expect(try await plain.ask("/evidence/checkpoint").code == 404)
  }
}
