import Foundation
import FoundationNetworking
import GatewayTesting
import Testing

/// The program, and a bucket of moto's server.
@Suite("A gateway that publishes into a bucket", .enabled(if: Moto.isThere, "\(Moto.howToEnable)"))
struct BucketCommandTests {
  private func scene(_ body: (Neighbourhood, Moto) async throws -> Void) async throws {
    try await Moto.run { moto in
      try await Neighbourhood.visit { place in
        try place.gateway("nl", origin: "NL")
        try place.write("hush-secret-1", "nl/secret")
        let file = place.folder.appending(path: "nl/gateway.yaml")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: place.path("nl/secret"))
        let text = try String(contentsOf: file, encoding: .utf8)
        try Data(text.replacing("publication: {folder: public}", with: Self.publication(moto.endpoint)).utf8).write(
          to: file)
        try await body(place, moto)
      }
    }
  }

  private static func publication(_ endpoint: String) -> String {
    "publication: {s3: {endpoint: \"\(endpoint)\", bucket: keys, prefix: eu, credentials: {access-key-id: AKIDTEST, "
      + "secret-access-key: {file: secret}}}}"
  }

  /// What the bucket has, as a content delivery network reads it.
  private func object(_ path: String, _ moto: Moto) async throws -> Data? {
    let address = try #require(URL(string: "\(moto.endpoint)/keys/eu/\(path)"))
    // A list may be kept for minutes, as its headers say; here it is asked for anew.
    var request = URLRequest(url: address, cachePolicy: .reloadIgnoringLocalAndRemoteCacheData)
    request.setValue(
      "AWS4-HMAC-SHA256 Credential=cdn/20201201/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0",
      forHTTPHeaderField: "Authorization")
    let (data, answer) = try await URLSession.shared.data(for: request)
    return (answer as? HTTPURLResponse)?.statusCode == 200 ? data : nil
  }

  private func index(_ moto: Moto) async throws -> [String] {
    let data = try await object("all/index.txt", moto) ?? Data()
    return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  private let noon = ["--config", "nl/gateway.yaml", "--now", Neighbourhood.noon]

  @Test("check says what is wrong, and then that it is good") func check() async throws {
    try await scene { place, moto in
      // What asks nobody says that nobody was asked.
      try place.keyferry("check", "--config", "nl/gateway.yaml")
      let missing = try place.keyferry("check", "--config", "nl/gateway.yaml", "--online", status: 1).text
      #expect(missing.contains("cannot be published into as it is") && missing.contains("NoSuchBucket"))
      let refused = try place.keyferry("publish", "--config", "nl/gateway.yaml", status: 2)
      #expect(refused.errors.contains("NoSuchBucket"))
      try await moto.makeBucket("keys")
      let good = try place.keyferry("check", "--config", "nl/gateway.yaml", "--online").text
      #expect(good.contains("s3://keys/eu/: can be published into"))
      let json = try place.keyferry("check", "--config", "nl/gateway.yaml", "--online", "--json")
      let document = try #require(try JSONSerialization.jsonObject(with: Data(json.output)) as? [String: Any])
      let probe = try #require(document["bucket_probe"] as? [String: Any])
      #expect(probe["usable"] as? Bool == true && (probe["findings"] as? [String])?.count == 3)
      #expect(try DocumentSchema(named: "check.schema.json").faults(in: Data(json.output)) == [])
    }
  }

  @Test("publish, look, serve elsewhere, and an outage") func publish() async throws {
    try await scene { place, moto in
      try await moto.makeBucket("keys")
      try place.drop(200, seed: 1, in: "nl", as: "1.csv")
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      let names = try await index(moto)
      #expect(!names.isEmpty)
      for name in names { #expect(try await object(name, moto)?.isEmpty == false) }
      let json = try place.keyferry("check", "--config", "nl/gateway.yaml", "--publication", "--json")
      let document = try #require(try JSONSerialization.jsonObject(with: Data(json.output)) as? [String: Any])
      let files = try #require(document["publication"] as? [String: Any])
      // The bundles, with the day and everything since, and three lists.
      #expect((files["files"] as? Int ?? 0) >= 6 && (files["faults"] as? [Any])?.isEmpty == true)
      try place.keyferry("status", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      // Every bundle is made again, and compared with what the bucket has.
      try place.keyferry("audit", "rebuild", "--all", "--config", "nl/gateway.yaml")
      #expect(FileManager.default.fileExists(atPath: place.path("nl/state/published/all/manifest.json")))

      // Another machine has the configuration, and neither store nor sources.
      try place.write("hush-secret-1", "other/secret")
      try FileManager.default.copyItem(atPath: place.path("nl/key.pem"), toPath: place.path("other/key.pem"))
      try place.write(
        try String(contentsOf: place.folder.appending(path: "nl/gateway.yaml"), encoding: .utf8), "other/gateway.yaml")
      try FileManager.default.createDirectory(atPath: place.path("other/drop"), withIntermediateDirectories: true)
      try await place.serving("other") { address in
        var served: String?
        for _ in 0..<100 where served == nil {
          let (data, answer) = try await URLSession.shared.data(from: address.appending(path: "all/index.txt"))
          if (answer as? HTTPURLResponse)?.statusCode == 200 { served = String(decoding: data, as: UTF8.self) }
          if served == nil { try await Task.sleep(for: .milliseconds(100)) }
        }
        #expect(served == names.joined(separator: "\n"))
        let (archive, _) = try await URLSession.shared.data(from: address.appending(path: names[0]))
        #expect(try await object(names[0], moto) == archive)
      }
    }
  }

  /// The copy on this machine has everything still.
  @Test("store check tells a bucket that was brought back from an older copy") func older() async throws {
    try await scene { place, moto in
      try await moto.makeBucket("keys")
      try place.drop(200, seed: 1, in: "nl", as: "1.csv")
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      let old = try #require(try await object("all/manifest.json", moto))
      try place.drop(100, seed: 2, in: "nl", as: "2.csv")
      let later = "2020-12-01T16:00:00Z"
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", later)
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", later)
      try place.keyferry("store", "check", "--config", "nl/gateway.yaml")
      try old.write(to: place.folder.appending(path: "old.json"))
      try Tool(named: "curl")?.run(
        [
          "-sS", "-f", "-T", "old.json", "-H",
          "Authorization: AWS4-HMAC-SHA256 Credential=x/20200101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=x",
          "\(moto.endpoint)/keys/eu/all/manifest.json",
        ], in: place.folder)
      let told = try place.keyferry("store", "check", "--config", "nl/gateway.yaml", status: 1).text
      #expect(
        told.contains("series all: s3://keys/eu/ does not know 1 increment that the store has published"), "\(told)")
      // Who has not the service's secret is told that the bucket was not asked, and that is no success.
      try FileManager.default.removeItem(atPath: place.path("nl/secret"))
      let unasked = try place.keyferry("store", "check", "--config", "nl/gateway.yaml", status: 1).text
      #expect(
        unasked.hasPrefix("the store is whole\nwhat is published was not compared with the store: "), "\(unasked)")
    }
  }

  @Test("a state that was lost beside a bucket: nobody begins a store without a word, or while the bucket is away")
  func beginning() async throws {
    try await scene { place, moto in
      try await moto.makeBucket("keys")
      try place.drop(200, seed: 1, in: "nl", as: "1.csv")
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      let names = try await index(moto)
      let files = FileManager.default
      try files.removeItem(atPath: place.path("nl/state"))
      let words = "there is no store in nl/state, and s3://keys/eu/ has series all, published before"
      for command in [["pull"] + noon, ["publish"] + noon, ["pause", "drop", "--config", "nl/gateway.yaml"]] {
        let refused = try place.run(command)
        #expect(refused.status == 2 && refused.errors.contains(words), "\(command): \(refused.errors)")
      }
      // This machine has nothing of the bucket, and a check that fetches nothing cannot know.
      try place.keyferry("check", "--config", "nl/gateway.yaml")
      let check = try place.keyferry("check", "--online", "--config", "nl/gateway.yaml", status: 2)
      #expect(check.text.contains(words), "\(check.text)")
      #expect(!files.fileExists(atPath: place.path("nl/state/keyferry.sqlite")))

      let file = place.folder.appending(path: "nl/gateway.yaml")
      let text = try String(contentsOf: file, encoding: .utf8)
      try Data(text.replacing(moto.endpoint, with: "http://127.0.0.1:1").utf8).write(to: file)
      for command in [["pull"] + noon, ["publish"] + noon, ["store", "begin", "--yes", "--config", "nl/gateway.yaml"]] {
        let away = try place.run(command)
        #expect(
          away.status == 2 && away.errors.contains("whether anything is published in s3://keys/eu/ cannot be asked"),
          "\(command): \(away.errors)")
      }
      #expect(!files.fileExists(atPath: place.path("nl/state/keyferry.sqlite")))
      try Data(text.utf8).write(to: file)

      let begun = try place.run(["store", "begin", "--yes"] + noon)
      #expect(begun.status == 0 && begun.text.contains("bundles in s3://keys/eu/"), "\(begun.text)\(begun.errors)")
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      try place.keyferry("store", "begin", "--publish", "--yes", "--config", "nl/gateway.yaml")
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon, status: 1)
      #expect(try await index(moto).starts(with: names))
      // What this machine has of the bucket is enough for a check, as a gateway that serves has it.
      try files.createDirectory(atPath: place.path("nl/state/published/all"), withIntermediateDirectories: true)
      try Data("\(names.joined(separator: "\n"))\n".utf8).write(
        to: place.folder.appending(path: "nl/state/published/all/index.txt"))
      for name in ["keyferry.sqlite", "keyferry.sqlite-wal", "keyferry.sqlite-shm"] {
        try? files.removeItem(atPath: place.path("nl/state/\(name)"))
      }
      let offline = try place.keyferry("check", "--config", "nl/gateway.yaml", status: 2)
      #expect(offline.text.contains("has series all, published before"), "\(offline.text)")
    }
  }

  @Test("the public log lies in the bucket, and a gateway serves it from its copy", .timeLimit(.minutes(3)))
  func log() async throws {
    try await scene { place, moto in
      try await moto.makeBucket("keys")
      let file = place.folder.appending(path: "nl/gateway.yaml")
      let text = try String(contentsOf: file, encoding: .utf8) + "\nlog: {name: 127.0.0.1/log}\n"
      try Data(text.utf8).write(to: file)
      try place.drop(40, seed: 1, in: "nl", as: "1.csv")
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      let refused = try place.run(["publish"] + noon)
      #expect(refused.status == 2 && refused.errors.contains("keyferry log init"), "\(refused.errors)")
      #expect(try await index(moto).isEmpty)
      try place.keyferry("log", "init", "--config", "nl/gateway.yaml", "-o", "log.vkey")
      let again = try place.run(["log", "init", "--config", "nl/gateway.yaml"])
      #expect(again.status != 0 && again.errors.contains("there is a log already"), "\(again.errors)")
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      let name = try #require(try await index(moto).first)
      for path in ["log/checkpoint", "log/log.vkey", "log/attest.pem", "\(name).tlog-proof", "\(name).intoto.jsonl"] {
        #expect(try await object(path, moto)?.isEmpty == false, "\(path)")
      }
      #expect(try await object("log/log.key", moto) == nil)
      try place.keyferry("check", "--config", "nl/gateway.yaml", "--publication")
      let rebuilt = try place.keyferry("audit", "rebuild", "--all", "--config", "nl/gateway.yaml")
      #expect(!rebuilt.text.contains("log"), "\(rebuilt.text)")
      try place.keyferry("status", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      try place.keyferry("log", "reveal", "1", "--config", "nl/gateway.yaml")
      // A second round, with more in the log.
      try place.drop(40, seed: 2, in: "nl", as: "2.csv")
      let later = ["--config", "nl/gateway.yaml", "--now", "2020-12-01T18:00:00Z"]
      _ = try place.run(["pull"] + later)
      #expect(try place.run(["publish"] + later).status == 0)
      try await place.serving("nl") { address in
        let log = address.appending(path: "log").absoluteString
        var verified = try place.run(["log", "verify", log, "--key", "log.vkey"])
        for _ in 0..<50 where verified.status != 0 {
          try await Task.sleep(for: .milliseconds(200))
          verified = try place.run(["log", "verify", log, "--key", "log.vkey"])
        }
        #expect(verified.status == 0, "\(verified.text)\(verified.errors)")
        let monitor = try place.run(
          ["log", "monitor", log, "--key", "log.vkey", "--keep", "seen.json"])
        #expect(monitor.status == 0, "\(monitor.text)\(monitor.errors)")
      }
      // The state is lost, and the bucket has everything.
      for name in ["signed", "queue"] {
        try? FileManager.default.removeItem(atPath: place.path("nl/state/log/\(name)"))
      }
      #expect(try place.run(["publish"] + later).errors.contains("log adopt"))
      try place.keyferry("log", "adopt", "--config", "nl/gateway.yaml")
      #expect(try place.run(["publish"] + later).status == 0)
    }
  }

  @Test("killed at random moments, it ends as one that was not") func kills() async throws {
    try await scene { place, moto in
      try await moto.makeBucket("keys")
      for seed in 1...3 { try place.drop(150, seed: UInt64(seed), in: "nl", as: "\(seed).csv") }
      try place.keyferry("pull", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      var random = SeededRandom(for: "kills with a bucket")
      var (kills, longest) = (0, 450)
      for _ in 0..<60 where kills < 6 {
        let moment = Int.random(in: 1...longest, using: &random)
        if try await place.killed(["publish"] + noon, after: moment) {
          kills += 1
        } else {
          // It was ready before: this machine is faster than that.
          longest = max(20, moment)
        }
        // What an index names is there, at every moment.
        for name in try await index(moto) { #expect(try await object(name, moto)?.isEmpty == false) }
      }
      try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon)
      let names = try await index(moto)
      #expect(names.count == 1 && kills == 6)
      try place.keyferry("check", "--config", "nl/gateway.yaml", "--publication")
      // Nothing of the credentials is in what anybody reads later.
      let outcome = try place.keyferry("publish", "--config", "nl/gateway.yaml", "--now", Neighbourhood.noon, "--json")
      #expect(!outcome.text.contains("hush") && !outcome.errors.contains("hush"))
    }
  }
}
