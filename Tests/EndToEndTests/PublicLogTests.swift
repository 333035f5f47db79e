import Foundation
import FoundationNetworking
import GatewayTesting
import ProgramMetrics
import Testing
import TransparencyLog

/// A gateway that logs what it publishes, looked at by a stranger over HTTP, and by its operator.
@Suite("A gateway with a public log") struct PublicLogTests {
  @Test(.timeLimit(.minutes(3))) func isFollowedByAStranger() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL", extra: "log: {name: 127.0.0.1/log}")
      let config = ["--config", "nl/gateway.yaml"]
      try place.drop(40, seed: 1, in: "nl", as: "a.csv")
      // Without its key nothing is published, and everybody is told why.
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", "2020-12-01T07:59:00Z")
      let refused = try place.keyferry(
        "publish", "--config", "nl/gateway.yaml", "--now", "2020-12-01T10:00:00Z", status: 2)
      #expect(refused.errors.contains("keyferry log init"), "\(refused.errors)")
      #expect(!FileManager.default.fileExists(atPath: place.path("nl/public/all/index.txt")))
      let status = try place.keyferry(
        "status", "--config", "nl/gateway.yaml", "--now", "2020-12-01T10:00:00Z", status: 1)
      #expect(status.text.contains("log 127.0.0.1/log") && status.text.contains("refuses"), "\(status.text)")
      try place.keyferry("log", "init", config[0], config[1], "-o", "log.vkey")
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", "2020-12-01T10:00:00Z")
      let standing = try place.keyferry("status", "--config", "nl/gateway.yaml", "--now", "2020-12-01T10:00:00Z")
      #expect(standing.text.contains("waiting       nothing") && !standing.text.contains("refuses"), "\(standing.text)")

      // Words of the operator wait for the next round.
      try place.keyferry(
        "recall", "NL", "--yes", "--by", "ada", "--reason", "test keys", "--now", Neighbourhood.noon, config[0],
        config[1])
      let revealed = try place.keyferry("log", "reveal", "1", config[0], config[1])
      let commitment = try #require(
        revealed.text.split(separator: "\n").first { $0.hasPrefix("commitment") }?.split(separator: " ").last)
      #expect(revealed.text.contains(" of 127.0.0.1/log"), "\(revealed.text)")

      try await place.running("nl") { _, address in
        let log = address.appending(path: "log").absoluteString
        for _ in 0..<200 where try await Self.get(address.appending(path: "ready")).status != 200 {
          try await Task.sleep(for: .milliseconds(50))
        }
        let monitor = ["log", "monitor", log, "--key", "log.vkey", "--keep", "seen.json"]
        var seen = try place.run(monitor)
        // The round at the start may still be writing.
        for _ in 0..<20 where !seen.text.contains("entries") || seen.status != 0 {
          try await Task.sleep(for: .milliseconds(200))
          seen = try place.run(monitor)
        }
        #expect(seen.status == 0, "\(seen.text)\(seen.errors)")
        try place.keyferry("log", "verify", log, "--key", "log.vkey")
        let entries = try await Self.entries(of: address.appending(path: "log"))
        #expect(entries.contains { $0.text("commitment") == String(commitment) })
        #expect(entries.contains { $0.kind == .recalled && $0.text("by") == "ada" })

        // A bundle with the proof that lies beside it.
        let index = try await Self.get(address.appending(path: "all/index.txt"))
        let path = try #require(
          String(decoding: index.body, as: UTF8.self).split(separator: "\n").first.map(String.init))
        for ending in ["", ".tlog-proof", ".intoto.jsonl"] {
          let file = try await Self.get(address.appending(path: path + ending))
          #expect(file.status == 200)
          try Data(file.body).write(to: place.folder.appending(path: "bundle.zip\(ending)"))
        }
        try FileManager.default.copyItem(atPath: place.path("nl/public.pem"), toPath: place.path("310-v1.pem"))
        let verified = try place.keyferry(
          "verify", "bundle.zip", "--trust", "310-v1.pem", "--log", log, "--log-key", "log.vkey")
        #expect(verified.text.contains("of 127.0.0.1/log"), "\(verified.text)")

        // The page and its figures.
        let page = String(decoding: try await Self.get(address).body, as: UTF8.self)
        let key = try String(contentsOfFile: place.path("log.vkey"), encoding: .utf8).dropLast()
        #expect(page.contains("Public log") && page.contains(String(key)) && page.contains(".tlog-proof"))
        let metrics = String(decoding: try await Self.get(address.appending(path: "metrics")).body, as: UTF8.self)
        #expect(metrics.contains("keyferry_log_entries \(entries.count)"), "\(metrics)")

        // Somebody changes what was published.
        let file = place.path("nl/public/\(path)")
        let bytes = try Data(contentsOf: URL(filePath: file))
        try (bytes.dropLast() + [bytes.last! ^ 1]).write(to: URL(filePath: file))
        let changed = try place.run(
          ["log", "monitor", "nl/public/log", "--key", "log.vkey", "--keep", "seen.json", "--bundles", "nl/public"])
        #expect(changed.status == 1 && changed.text.contains("changed-bundle"), "\(changed.text)")
      }
    }
  }

  private static func get(_ address: URL) async throws -> (status: Int, body: Data) {
    let (data, response) = try await URLSession(configuration: .ephemeral).data(from: address)
    return ((response as? HTTPURLResponse)?.statusCode ?? 0, data)
  }

  /// Of a log with one bundle of entries.
  private static func entries(of log: URL) async throws -> [LogEntry] {
    let text = String(decoding: try await get(log.appending(path: "checkpoint")).body, as: UTF8.self)
    let size = try #require(text.split(separator: "\n").dropFirst().first.flatMap { Int($0) })
    #expect((1..<256).contains(size))
    let bytes = [UInt8](try await get(log.appending(path: "tile/entries/000.p/\(size)")).body)
    var entries: [LogEntry] = []
    var offset = 0
    while offset + 2 <= bytes.count {
      let end = offset + 2 + (Int(bytes[offset]) << 8 | Int(bytes[offset + 1]))
      entries.append(try LogEntry(Array(bytes[(offset + 2)..<end]), name: "entry"))
      offset = end
    }
    #expect(entries.count == size)
    return entries
  }
}

extension Neighbourhood {
  /// Runs `keyferry`, whichever way it ends.
  func run(_ arguments: [String]) throws -> Tool.Outcome {
    try Tool(path: try #require(Self.program)).run(arguments, in: folder)
  }
}
