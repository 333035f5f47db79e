import Foundation
import FoundationNetworking
import GatewayTesting
import ProgramMetrics
import Testing

/// What a running gateway says at `/metrics` is what `Metrics.md` says that it says.
@Suite("The metrics of a gateway that runs") struct RunningMetricsTests {
  /// A key that ends, and one that follows it: an alert on the first would fire.
  static let keys = """
    [{key: {file: key.pem}, id: "310", version: v1, until: "2020-12-08T00:00:00Z"}, \
    {key: {file: key.pem}, id: "310", version: v2, from: "2020-12-07T00:00:00Z"}]
    """

  /// A witness that does not answer.
  static let silent =
    "{key: \"witness.example.org/w1+e9a71523+BFSG+/rWZWZGZ0An7CXRrZixjcilXn6mhEQ5X1TOuj+i\", url: \"http://127.0.0.1:1\"}"

  @Test(.timeLimit(.minutes(2))) func areAsDocumented() async throws {
    let documented = try Documentation.read()
    try await Neighbourhood.visit { place in
      try place.gateway(
        "nl", origin: "NL",
        sources: "  - {name: gone, protocol: files, location: nowhere, trust: operator, origin: NL, speaks-for: [NL]}")
      let file = "nl/gateway.yaml"
      let settings = try String(contentsOfFile: place.path(file), encoding: .utf8)
        .replacing("[{key: {file: key.pem}, id: \"310\", version: v1}]", with: Self.keys)
        .replacing("publication:", with: "log: {name: keys.example.org/log, witnesses: [\(Self.silent)]}\npublication:")
        .replacing(
          "series:",
          with: "destinations: [{name: efgs, protocol: efgs, location: \"https://127.0.0.1:1\", origin: NL, "
            + "sources: [drop], rehearsal: true, signing: {certificate: nbbs.pem, key: {file: nbbs.key}}}]\nseries:"
        )
        .replacing(
          "server: {listen: \"127.0.0.1:0\"}",
          with: "server: {listen: \"127.0.0.1:0\", rate: 40/min, uploads: {origin: NL, token: {file: token}}}")
      try place.write(settings, file)
      try place.write("a-token-of-the-door", "nl/token")
      try place.write(TestCertificate.netherlands.pem, "nl/nbbs.pem")
      try place.write(TestCertificate.netherlands.keyPEM, "nl/nbbs.key")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: place.path("nl/token"))
      try place.keyferry("log", "init", "--config", "nl/gateway.yaml")
      // What is published at the start was pulled before, so that nobody waits for a second window.
      try place.drop(40, seed: 1, in: "nl", as: "a.csv")
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--source", "drop", "--now", "2020-12-01T10:00:00Z")
      try place.drop(40, seed: 2, in: "nl", as: "b.csv")
      try place.keyferry("pause", "gone", "--config", "nl/gateway.yaml", "--now", "2020-12-01T10:00:00Z")
      try place.write("<!DOCTYPE html><html>not found</html>", "nl/drop/page.html")
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: place.path("nl/drop/page.html"))

      try await place.running("nl") { process, address in
        try await ask(address)
        let metrics = try await metrics(of: address) { metrics in
          documented.here.allSatisfy { metric in metrics.samples.contains { $0.metric == metric.name } }
        }
        compare(metrics, documented)
        #expect(metrics["keyferry_signing_key_valid", "series", "all"] == ["1"])
        #expect(metrics["keyferry_signing_key_expiry_timestamp_seconds", "key_version", "v1"] == ["1607385600"])
        #expect(metrics["keyferry_signing_key_expiry_timestamp_seconds", "key_version", "v2"] == ["+Inf"])
        #expect(metrics["keyferry_listed_bundles", "kind", "increment"] == ["1"])
        #expect(metrics["keyferry_published_keys_total", "outcome", "published"].first.flatMap { Int($0) } ?? 0 > 0)
        #expect(metrics["keyferry_quarantined_documents", "source", "drop"] == ["1"])
        #expect(metrics.samples.contains { $0.metric == "keyferry_log_entries" && $0.value != "0" })
        #expect(metrics["keyferry_source_lag_seconds", "source", "drop"] == ["0"])

        #expect(metrics["keyferry_source_paused", "source", "drop"] == ["0"])
        #expect(metrics["keyferry_source_paused", "source", "gone"] == ["1"])
        #expect(metrics["keyferry_destination_paused", "destination", "efgs"] == ["0"])
        #expect(metrics["keyferry_push_interval_seconds", "destination", "efgs"] == ["3600"])
        let window = try #require(metrics["keyferry_window_seconds", "series", "all"].first.flatMap { Int($0) })
        let next = try #require(
          metrics["keyferry_next_window_timestamp_seconds", "series", "all"].first.flatMap { Int($0) })
        let round = try #require(
          metrics["keyferry_last_successful_publication_timestamp_seconds", "series", "all"].first.flatMap { Int($0) })
        #expect(next % window == 0 && next > round && next <= round + window)

        // What the operator changes is seen without a round.
        let changed = settings.replacing("2020-12-08", with: "2020-12-03").replacing("2020-12-07", with: "2020-12-02")
          .replacing("version: v2", with: "version: v3")
        try place.write(changed, file)
        kill(process.processIdentifier, SIGHUP)
        let reloaded = try await self.metrics(of: address) {
          $0["keyferry_signing_key_expiry_timestamp_seconds", "key_version", "v1"] == ["1606953600"]
        }
        #expect(reloaded["keyferry_signing_key_expiry_timestamp_seconds", "key_version", "v1"] == ["1606953600"])
        #expect(reloaded["keyferry_signing_key_expiry_timestamp_seconds", "key_version", "v2"].isEmpty)
        #expect(reloaded["keyferry_signing_key_expiry_timestamp_seconds", "key_version", "v3"] == ["+Inf"])
      }
    }
  }

  /// Also where there are many, while the source is paused, and as soon as somebody has decided.
  @Test(.timeLimit(.minutes(2))) func whatWaitsInQuarantineIsCountedToTheEnd() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL")
      for number in 1...1001 {
        try place.write("<!DOCTYPE html><html>\(number)</html>", "nl/drop/\(number).html")
        try FileManager.default.setAttributes(
          [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)],
          ofItemAtPath: place.path("nl/drop/\(number).html"))
      }
      try place.keyferry(
        "pull", "--config", "nl/gateway.yaml", "--source", "drop", "--now", "2020-12-01T10:00:00Z", status: 1)
      try place.keyferry("pause", "drop", "--config", "nl/gateway.yaml", "--now", "2020-12-01T10:00:00Z")
      try await place.running("nl") { _, address in
        let metrics = try await metrics(of: address) {
          $0["keyferry_quarantined_documents", "source", "drop"] == ["1001"]
        }
        #expect(metrics["keyferry_quarantined_documents", "source", "drop"] == ["1001"])
        #expect(metrics["keyferry_source_paused", "source", "drop"] == ["1"])
      }
    }
  }

  @Test(.timeLimit(.minutes(2))) func aMirrorsLastPublicationIsToldAsLongAsItIsConfigured() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway(
        "nl", origin: "NL",
        sources:
          "  - {name: va, protocol: index, location: \"https://127.0.0.1:1\", trust: public.pem, origin: US-VA, options: {index: i}}"
      )
      let file = "nl/gateway.yaml"
      let settings = try String(contentsOfFile: place.path(file), encoding: .utf8)
      try place.write(
        settings.replacing("series:\n", with: "series:\n  - {name: VA-original, mirror: va}\n"), file)
      try await place.running("nl") { process, address in
        let families = ["keyferry_last_publication_timestamp_seconds"]
        let isTold: (Exposition) -> Bool = { metrics in
          families.allSatisfy { !metrics[$0, "series", "VA-original"].isEmpty }
        }
        #expect(isTold(try await metrics(of: address, until: isTold)))
        #expect(isTold(try await metrics(of: address) { _ in true }))
        try place.write(settings, file)
        kill(process.processIdentifier, SIGHUP)
        #expect(!isTold(try await metrics(of: address) { !isTold($0) }))
      }
    }
  }

  /// Something of everything, until there is too much of it.
  private func ask(_ address: URL) async throws {
    let session = URLSession(configuration: .ephemeral)
    func status(_ path: String) async throws -> Int? {
      (try await session.data(from: address.appending(path: path)).1 as? HTTPURLResponse)?.statusCode
    }
    for _ in 0..<200 where try await status("ready") != 200 { try await Task.sleep(for: .milliseconds(50)) }
    let index = address.appending(path: "all/index.txt")
    let archive = String(decoding: try await session.data(from: index).0, as: UTF8.self)
    for _ in 0..<3 { _ = try await session.data(from: address.appending(path: archive)) }
    for (token, body) in [("a-token-of-the-door", "[]"), ("another", "[]")] {
      var upload = URLRequest(url: address.appending(path: "apple/all/keys"))
      upload.httpMethod = "POST"
      upload.httpBody = Data(body.utf8)
      upload.setValue("application/json", forHTTPHeaderField: "Content-Type")
      upload.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
      _ = try await session.data(for: upload)
    }
    for path in ["", "missing", "api/series", "apple/all/files", "health", "ready"] {
      _ = try await session.data(from: address.appending(path: path))
    }
    for _ in 0..<200 where try await status("all/index.txt") != 429 {}
  }

  private func metrics(of address: URL, until isComplete: (Exposition) -> Bool) async throws -> Exposition {
    var metrics = Exposition()
    for _ in 0..<200 {
      let (data, _) = try await URLSession.shared.data(from: address.appending(path: "metrics"))
      metrics = try Exposition(String(decoding: data, as: UTF8.self))
      if isComplete(metrics) { break }
      try await Task.sleep(for: .milliseconds(50))
    }
    return metrics
  }

  private func compare(_ metrics: Exposition, _ documented: Documentation) {
    let names = Set(documented.here.map(\.name))
    #expect(names.count == documented.here.count)
    #expect(Set(metrics.samples.map(\.metric)) == names)
    for metric in documented.here {
      #expect(metrics.types[metric.name] == metric.type, "\(metric.name)")
      #expect(metrics.helps[metric.name] == metric.meaning, "\(metric.name)")
      for sample in metrics.samples where sample.metric == metric.name {
        #expect(sample.labels.map(\.name) == metric.labels, "\(metric.name)")
        for (name, value) in sample.labels {
          guard let values = documented.values[name] else {
            Issue.record("the values of \(name) are not documented")
            continue
          }
          #expect(values.isEmpty || values.contains(value), "\(metric.name): \(name)=\(value)")
        }
      }
    }
    let labels = Set(documented.metrics.flatMap(\.labels))
    #expect(labels == Set(documented.values.keys))
  }
}

extension Neighbourhood {
  /// Runs a gateway meanwhile.
  func running(_ gateway: String, _ command: String = "run", _ body: (Process, URL) async throws -> Void) async throws {
    let process = try start([command, "--config", "\(gateway)/gateway.yaml", "--now", Self.noon], log: "run.log")
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    var address: URL?
    for _ in 0..<200 where address == nil {
      let log = (try? String(contentsOfFile: path("run.log"), encoding: .utf8)) ?? ""
      if let line = log.split(separator: "\n").first(where: { $0.contains("serving at http") }) {
        address = line.split(separator: " ").last.flatMap { URL(string: String($0)) }
      } else {
        try await Task.sleep(for: .milliseconds(50))
      }
    }
    let log = (try? String(contentsOfFile: path("run.log"), encoding: .utf8)) ?? ""
    try await body(process, try #require(address, "the gateway names no address\n\(log)"))
  }
}

/// The tables of `Metrics.md`.
private struct Documentation {
  struct Metric {
    var name: String
    var type: String
    var labels: [String]
    var meaning: String
  }

  var metrics: [Metric] = []
  /// Those that a gateway without a federation and without TLS tells. Countries ask through a proxy, and through a proxy nobody reads
  /// metrics; the tests of the federation's gateway look at the others.
  var here: [Metric] {
    metrics.filter { !$0.name.hasPrefix("keyferry_federation_") && !$0.name.hasPrefix("keyferry_tls_") }
  }
  /// Of each label; none where any word may be.
  var values: [String: Set<String>] = [:]

  static func read() throws -> Documentation {
    let place = PackageFolder.root.appending(path: "Sources/GatewayDaemon/GatewayDaemon.docc/Metrics.md")
    var documentation = Documentation()
    for line in try String(contentsOf: place, encoding: .utf8).split(separator: "\n") where line.hasPrefix("| `") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      func words(_ cell: String) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
          .compactMap { $0.offset % 2 == 1 ? String($0.element) : nil }
      }
      let name = try #require(words(cells[0]).first)
      if cells.count == 4 {
        documentation.metrics.append(
          Metric(name: name, type: cells[1], labels: words(cells[2]), meaning: cells[3]))
      } else {
        documentation.values[name] = Set(words(cells[1]))
      }
    }
    return documentation
  }
}

/// The text format of Prometheus, version 0.0.4, as far as we write it.
private struct Exposition {
  struct Sample {
    /// Without what a histogram puts behind its name.
    var metric: String
    /// Without `le`.
    var labels: [(name: String, value: String)]
    var value: String
  }

  var helps: [String: String] = [:]
  var types: [String: String] = [:]
  var samples: [Sample] = []

  init() {}

  init(_ text: String) throws {
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 3).map(String.init)
      if line.hasPrefix("# HELP ") {
        helps[words[2]] = words[3]
      } else if line.hasPrefix("# TYPE ") {
        types[words[2]] = words[3]
      } else {
        samples.append(try sample(line))
      }
    }
  }

  private func sample(_ line: Substring) throws -> Sample {
    let parts = try #require(line.wholeMatch(of: /([a-z0-9_]+)(?:\{(.*)\})? (\S+)/), "\(line)")
    var metric = String(parts.1)
    for ending in ["_bucket", "_sum", "_count"] where types[metric] == nil && metric.hasSuffix(ending) {
      metric = String(metric.dropLast(ending.count))
    }
    try #require(types[metric] != nil, "\(line) has no type")
    let labels = (parts.2 ?? "").matches(of: /([a-z_]+)="([^"\\]*)"/).map { (name: String($0.1), value: String($0.2)) }
    return Sample(metric: metric, labels: labels.filter { $0.name != "le" }, value: String(parts.3))
  }

  /// The values of the samples with this label.
  subscript(metric: String, label: String, value: String) -> [String] {
    samples.filter { $0.metric == metric && $0.labels.contains { $0 == (label, value) } }.map(\.value)
  }
}
