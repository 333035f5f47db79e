import ExposureKeys
import Foundation
import GatewayTesting
import KeyNormalization
import KeyferryClient
import Testing

/// Gateways, servers and apps on one machine.
@Suite("Across borders") struct CrossBorderTests {
  @Test("the sample app's client downloads what a gateway publishes, and the keys verify")
  func sampleApp() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL", extra: "retention: {keys: 60 days}")
      try place.drop(200, seed: 1, in: "nl", as: "a.csv")
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      try place.drop(100, seed: 2, in: "nl", as: "b.csv")
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", "2020-12-02T14:00:00Z")
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", "2020-12-02T14:00:00Z")
      // Archives for this app are of whole days.
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", "2020-12-03T00:00:00Z")

      try await place.serving("nl") { address in
        let configuration = ServerConfiguration(
          baseURL: address, series: "all", downloadFolder: place.folder.appending(path: "app"))
        let server = Server(configuration)
        let urls = try await server.getDiagnosisKeyFileURLs(startingAt: 0)
        try #require(urls.count == 2)
        var files: [URL] = []
        for url in urls { files += try await server.downloadDiagnosisKeyFile(at: url) }
        #expect(files.count == 4)
        #expect(Set(files.map(\.lastPathComponent)).count == 4)
        // The app counts files, two an archive.
        #expect(try await server.getDiagnosisKeyFileURLs(startingAt: files.count).isEmpty)
        #expect(try await server.getDiagnosisKeyFileURLs(startingAt: 2) == [urls[1]])
        for bin in files where bin.pathExtension == "bin" {
          // keyferry reads the .sig beside the .bin.
          try place.keyferry("verify", bin.path(), "--trust", "nl/public.pem", "--profile", "strict")
        }

        var keys: [CodableDiagnosisKey] = []
        var done = false
        while !done {
          let page = try await server.getDiagnosisKeys(index: keys.count, maximumCount: 64)
          keys += page.diagnosisKeys
          done = page.done
        }
        let published = try await place.claims(of: "nl").filter { $0.key.reportType != ReportType.revoked.rawValue }
        #expect(!keys.isEmpty && keys.count <= published.count)
        #expect(Set(keys.map(\.keyData)).isSubset(of: Set(published.map { Data($0.key.key.bytes) })))
        _ = try await server.getExposureConfiguration()
      }
    }
  }

  @Test("two gateways that pull from each other end in the same state, and stay there")
  func convergence() async throws {
    try await Neighbourhood.visit { place in
      let peers = [("one", "AA", "two"), ("two", "BB", "one")]
      for (name, origin, other) in peers {
        try place.gateway(
          name, origin: origin,
          sources: """
              - {name: \(other), protocol: files, location: ../\(other)/public/all, trust: ../\(other)/public.pem,
                 relay: true}
            """, extra: "own-origins: [\(origin)]")
        try place.drop(60, seed: origin == "AA" ? 1 : 2, in: name, as: "a.csv")
      }
      var sizes: [[Int]] = []
      for round in 0..<4 {
        let now = "2020-12-01T\(12 + 2 * round):00:00Z"
        for (name, _, other) in peers {
          try FileManager.default.createDirectory(
            atPath: place.path("\(other)/public/all"), withIntermediateDirectories: true)
          _ = try place.run("pull", "--config", "\(name)/gateway.yaml", "--now", now)
          try place.keyferry("publish", "--config", "\(name)/gateway.yaml", "--now", now)
        }
        sizes.append([try await place.claims(of: "one").count, try await place.claims(of: "two").count])
      }
      #expect(sizes[2] == sizes[3], "nothing new comes of pulling again: \(sizes)")
      let keys = { (gateway: String) async throws in Set(try await place.claims(of: gateway).map(\.key.key)) }
      let (one, two) = (try await keys("one"), try await keys("two"))
      #expect(!one.isEmpty)
      // What either has published, the other one knows.
      #expect(one.intersection(two).count >= 60)
    }
  }
}

extension Neighbourhood {
  /// Runs `keyferry`, however it ends.
  func run(_ arguments: String...) throws -> Tool.Outcome {
    try Tool(path: try #require(Self.program)).run(arguments, in: folder)
  }

  /// Serves a gateway's publications meanwhile.
  func serving(_ gateway: String, _ body: (URL) async throws -> Void) async throws {
    let process = try start(["serve", "--config", "\(gateway)/gateway.yaml"], log: "server.log")
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    var address: URL?
    for _ in 0..<200 where address == nil {
      let log = (try? String(contentsOfFile: path("server.log"), encoding: .utf8)) ?? ""
      if let line = log.split(separator: "\n").first(where: { $0.contains("serving at http") }) {
        address = line.split(separator: " ").last.flatMap { URL(string: String($0)) }
      } else {
        try await Task.sleep(for: .milliseconds(50))
      }
    }
    try await body(try #require(address, "the server names no address"))
  }
}

/// What the gateway's commands print with `--json` is what the schemas say.
@Suite("The gateway's reports") struct ReportTests {
  @Test func areAsTheirSchemasSay() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL")
      try place.drop(40, seed: 1, in: "nl", as: "a.csv")
      try place.drop(0, seed: 1, in: "nl", as: "b.csv")
      try place.write("<!DOCTYPE html><html>not found</html>", "nl/drop/page.html")
      let options = ["--config", "nl/gateway.yaml", "--now", Neighbourhood.noon, "--json"]
      for (schema, arguments, status) in [
        ("pull", ["pull"], 1), ("status", ["status"], 1), ("quarantine", ["quarantine", "list"], 1),
        ("preview", ["preview"], 0), ("publication", ["publish"], 0), ("recall", ["recall", "NL"], 0),
        ("recall", ["recall", "NL", "--yes"], 0), ("status", ["status"], 1), ("publication", ["publish"], 0),
        ("check", ["check", "--online"], 0),
      ] as [(String, [String], Int32)] {
        let outcome = try Tool(path: try #require(Neighbourhood.program)).run(arguments + options, in: place.folder)
        #expect(outcome.status == status, "\(arguments): \(outcome.errors)")
        let schema = try DocumentSchema(named: "\(schema).schema.json")
        #expect(try schema.faults(in: Data(outcome.output)) == [], "\(arguments)")
      }
    }
  }

  @Test("the operator's commands work on one store, one after the other, and say what they did")
  func operation() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL")
      try place.drop(40, seed: 1, in: "nl", as: "a.csv")
      let options = ["--config", "nl/gateway.yaml", "--now", Neighbourhood.noon]
      func keyferry(_ arguments: String..., status: Int32) throws -> Tool.Outcome {
        let outcome = try Tool(path: try #require(Neighbourhood.program)).run(arguments + options, in: place.folder)
        #expect(outcome.status == status, "\(arguments): \(outcome.errors)")
        return outcome
      }
      #expect(
        try keyferry("pause", "drop", "--reason", "a test", status: 0).errors == "keyferry: source drop is paused\n")
      #expect(try keyferry("pull", status: 0).text.contains("drop: paused"))
      _ = try keyferry("resume", "drop", status: 0)
      _ = try keyferry("resume", "drop", status: 1)
      _ = try keyferry("pull", status: 0)
      let key = try #require(try await place.claims(of: "nl").first)
      let told = try keyferry("explain", key.key.key.bytes.map { String(format: "%02x", $0) }.joined(), status: 0)
      #expect(told.text.contains("series all (policy default)") && told.text.contains("source drop, origin NL"))
      _ = try keyferry("pause", "origin:NL", status: 0)
      #expect(try keyferry("preview", status: 0).text.contains("paused"))
      _ = try keyferry("recall", "NL", status: 0)
      #expect(try await place.claims(of: "nl").count == 40, "without --yes nothing changes")
      _ = try keyferry("recall", "NL", "--yes", status: 0)
      #expect(try await place.claims(of: "nl").isEmpty)
      _ = try keyferry("recall", "NL", status: 1)
      _ = try keyferry("quarantine", "show", "99", status: 2)
    }
  }
}
