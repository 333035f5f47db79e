import ExposureKeys
import Foundation
import FoundationNetworking
import GatewayTesting
import KeyFormats
import Testing

/// What the apps of the seeds post is what the apps of the seeds find: over HTTP, through the program and its configuration, on
/// three days.
@Suite("The apps of the seeds upload and find their keys") struct SeedUploadTests {
  private static let requests = PackageFolder.root.appending(path: "interop/uploads")
  /// 2020-12-01.
  private static let today = 2_677_968

  private struct Vector: Decodable {
    var path: String
    var headers: [String: String]
    var body: String

    init(_ name: String) throws {
      self = try JSONDecoder().decode(
        Vector.self, from: Data(contentsOf: SeedUploadTests.requests.appending(path: "\(name).json")))
    }

    /// What is posted, by its key data in base64.
    var keys: [String: Int] {
      get throws {
        let members = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any] ?? [:]
        let list = members["gaenKeys"] ?? members["temporaryExposureKeys"]
        let real = (list as? [[String: Any]] ?? []).filter { $0["fake"] as? Int != 1 }
        return Dictionary(
          uniqueKeysWithValues: real.compactMap { key in
            guard let text = (key["keyData"] ?? key["key"]) as? String, let start = key["rollingStartNumber"] as? Int
            else {
              return nil
            }
            return (text, start)
          })
      }
    }
  }

  @Test(.timeLimit(.minutes(3))) func threeDays() async throws {
    let service = try #require(CodeService())
    defer { service.stop() }
    try await Neighbourhood.visit { place in
      try makeGateway(in: place, codesAt: service.port)
      try place.keyferry("pull", "--config", "gateway.yaml", "--now", "2020-12-01T12:00:00Z")

      // The first day: EN Express, COVIDWISE and DP-3T upload, and fake uploads among them.
      var posted: [String: Int] = [:]
      var token: String?
      try await serving(place, at: "2020-12-01T12:00:00Z") { address in
        for name in ["publish_confirmed", "covidwise_good", "dp3t_exposed", "dp3t_exposed_fake", "dp3t_v2_federated"] {
          let vector = try Vector(name)
          let (_, response) = try await post(vector, to: address)
          #expect(response.statusCode == 200, "\(name)")
          if name == "dp3t_exposed" { token = response.value(forHTTPHeaderField: "Authorization") }
          guard !name.hasSuffix("fake") else { continue }
          // A token of DP-3T vouches for the days since the onset alone, 2020-11-27.
          posted.merge(try vector.keys.filter { !name.hasPrefix("dp3t") || $0.value >= Self.today - 4 * 144 }) { $1 }
        }
        let (_, bad) = try await post(try Vector("covidwise_bad"), to: address)
        #expect(bad.statusCode == 401)
      }
      #expect(
        service.requests.count == 2 && service.requests.allSatisfy { $0.contains("Bearer a-token-of-the-service") })
      try place.keyferry("publish", "--config", "gateway.yaml", "--now", "2020-12-01T14:01:00Z")

      // The second day: the phone of DP-3T's first generation posts the key of the day before.
      let data = Data((100..<116).map { UInt8($0) }).base64EncodedString()
      try await serving(place, at: "2020-12-02T09:00:00Z") { address in
        var vector = try Vector("dp3t_exposed")
        vector.path = "/v1/gaen/exposednextday"
        vector.headers["Authorization"] = token
        vector.body =
          "{\"fake\":0,\"delayedKey\":{\"keyData\":\"\(data)\",\"rollingStartNumber\":\(Self.today),"
          + "\"rollingPeriod\":144,\"transmissionRiskLevel\":0,\"fake\":0}}"
        let (text, response) = try await post(vector, to: address)
        #expect(response.statusCode == 200 && text == Data("OK".utf8), "\(String(decoding: text, as: UTF8.self))")
        posted[data] = Self.today
      }
      try place.keyferry("publish", "--config", "gateway.yaml", "--now", "2020-12-02T12:01:00Z")

      // The third day: every phone finds every key once, and DP-3T's first SDK under its own day.
      try await serving(place, at: "2020-12-03T06:00:00Z") { address in
        let byIndex = try await foundByIndex(address)
        #expect(byIndex == posted)
        let byDay = try await foundByDay(address)
        #expect(byDay == posted.filter { $0.value >= Self.today + 2 * 144 - 9 * 144 })
        let byTag = try await foundByTag(address)
        #expect(byTag == posted)
      }
    }
  }

  /// The log of what is published has an entry for each hour of each door, and what opens it is what came.
  @Test(.timeLimit(.minutes(3))) func hoursOfUploadsAreInTheLog() async throws {
    let service = try #require(CodeService())
    defer { service.stop() }
    try await Neighbourhood.visit { place in
      try makeGateway(in: place, codesAt: service.port, log: "log: {name: 127.0.0.1/log}\nretention: {keys: 28 days}\n")
      try place.keyferry("log", "init", "--config", "gateway.yaml", "-o", "log.vkey")
      // The hour before the first round is the first one that is told of.
      try place.keyferry("publish", "--config", "gateway.yaml", "--now", "2020-12-01T11:59:00Z")
      try await serving(place, at: "2020-12-01T12:00:00Z") { address in
        for name in ["publish_confirmed", "dp3t_exposed", "dp3t_v2_federated"] {
          let (_, response) = try await post(try Vector(name), to: address)
          #expect(response.statusCode == 200, "\(name)")
        }
      }
      try place.keyferry("publish", "--config", "gateway.yaml", "--now", "2020-12-01T12:59:00Z")
      #expect(try hours(in: place).allSatisfy { $0.hour < "2020-12-01T12" && $0.uploads == 0 }, "none is over")
      try place.keyferry("publish", "--config", "gateway.yaml", "--now", "2020-12-01T14:01:00Z")
      let told = try hours(in: place)
      let doors = Set(told.map(\.door))
      #expect(told.count == doors.count * 4 && !doors.isEmpty, "\(told)")
      #expect(told.filter { $0.hour == "2020-12-01T12:00:00Z" }.map(\.uploads).reduce(0, +) == 3, "\(told)")
      #expect(told.filter { $0.hour != "2020-12-01T12:00:00Z" }.allSatisfy { $0.uploads == 0 }, "\(told)")
      try place.keyferry("log", "verify", "public/log", "--key", "log.vkey")
      let missing = try place.keyferry(
        "log", "reveal", "\(told[0].door)/2020-12-01T14:00:00Z", "--config", "gateway.yaml", status: 64)
      #expect(missing.errors.contains("no hour of uploads"), "\(missing.errors)")
    }
  }

  /// What the log says of uploads, each opened by the operator and computed by a program that is not ours.
  private func hours(in place: Neighbourhood) throws -> [(door: String, hour: String, uploads: Int)] {
    struct Opened: Decodable {
      var uploads: Int
      var commitment: String
      var entry: Int
    }
    let script = PackageFolder.root.appending(path: "interop/log/commitment.py").path()
    var found: [(String, String, Int)] = []
    for (index, entry) in try entries(in: place).enumerated() where entry["kind"] as? String == "uploaded" {
      let door = try #require(entry["source"] as? String)
      let start = Date(timeIntervalSince1970: try #require(entry["at"] as? Double))
      let hour = start.formatted(.iso8601)
      let reveal = try place.keyferry("log", "reveal", "\(door)/\(hour)", "--config", "gateway.yaml", "--json")
      let opened = try JSONDecoder().decode(Opened.self, from: Data(reveal.output))
      #expect(opened.entry == index && opened.commitment == entry["commitment"] as? String)
      let other = try #require(Tool(named: "python3")).run([script], input: reveal.output)
      #expect(other.text == opened.commitment + "\n", "\(other.errors)")
      found.append((door, hour, opened.uploads))
    }
    return found
  }

  /// Of a log with one tile of entries.
  private func entries(in place: Neighbourhood) throws -> [[String: Any]] {
    let log = place.folder.appending(path: "public/log")
    let checkpoint = try String(contentsOf: log.appending(path: "checkpoint"), encoding: .utf8)
    let size = checkpoint.split(separator: "\n")[1]
    let bytes = [UInt8](try Data(contentsOf: log.appending(path: "tile/entries/000.p/\(size)")))
    var entries: [[String: Any]] = []
    var offset = 0
    while offset + 2 <= bytes.count {
      let end = offset + 2 + (Int(bytes[offset]) << 8 | Int(bytes[offset + 1]))
      let members = try JSONSerialization.jsonObject(with: Data(bytes[(offset + 2)..<end])) as? [String: Any]
      entries.append(try #require(members))
      offset = end
    }
    return entries
  }

  // MARK: The apps

  private func post(_ vector: Vector, to address: URL) async throws -> (Data, HTTPURLResponse) {
    var request = URLRequest(url: try #require(URL(string: "\(address)\(vector.path.dropFirst())")))
    request.httpMethod = "POST"
    request.httpBody = Data(vector.body.utf8)
    for (name, value) in vector.headers { request.setValue(value, forHTTPHeaderField: name) }
    let (data, response) = try await URLSession.shared.data(for: request)
    return (data, try #require(response as? HTTPURLResponse))
  }

  private func get(_ address: String) async throws -> (Data, HTTPURLResponse) {
    let (data, response) = try await URLSession.shared.data(from: try #require(URL(string: address)))
    return (data, try #require(response as? HTTPURLResponse))
  }

  private func add(_ archive: Data, to found: inout [String: Int]) throws {
    for key in try DecodedDocument(Array(archive)).keys {
      let text = Data(key.key.bytes).base64EncodedString()
      #expect(found[text] == nil, "a key comes twice")
      found[text] = key.rollingStart.map(Int.init)
    }
  }

  /// EN Express and COVIDWISE: each line of the index is an archive.
  private func foundByIndex(_ address: URL) async throws -> [String: Int] {
    var found: [String: Int] = [:]
    let (index, _) = try await get("\(address)VA/index.txt")
    for line in String(decoding: index, as: UTF8.self).split(separator: "\n") {
      let (archive, response) = try await get("\(address)\(line)")
      #expect(response.statusCode == 200)
      try add(archive, to: &found)
    }
    return found
  }

  /// SDK 1.3.0: ten days, oldest first; what an archive holds was used on the day asked for.
  private func foundByDay(_ address: URL) async throws -> [String: Int] {
    var found: [String: Int] = [:]
    for back in (0...9).reversed() {
      let day = Self.today / 144 + 2 - back
      let (archive, response) = try await get("\(address)v1/gaen/exposed/\(day * 86_400_000)")
      guard response.statusCode == 200 else {
        #expect(response.statusCode == 204)
        continue
      }
      var keys: [String: Int] = [:]
      try add(archive, to: &keys)
      #expect(keys.values.allSatisfy { $0 / 144 == day }, "a key stands under another day")
      found.merge(keys) { first, _ in first }
    }
    return found
  }

  /// SDK 2.5.1: a new phone, whose tag comes from the answer before.
  private func foundByTag(_ address: URL) async throws -> [String: Int] {
    var found: [String: Int] = [:]
    var tag: String?
    for _ in 0..<6 {
      let (archive, response) = try await get(
        "\(address)v2/gaen/exposed" + (tag.map { "?lastKeyBundleTag=\($0)" } ?? ""))
      tag = response.value(forHTTPHeaderField: "x-key-bundle-tag") ?? tag
      guard response.statusCode == 200 else { break }
      try add(archive, to: &found)
    }
    return found
  }

  // MARK: The gateway

  private func makeGateway(in place: Neighbourhood, codesAt port: UInt16, log: String = "") throws {
    for name in ["sign", "next-day"] { try place.keyferry("keygen", "-o", "\(name).key") }
    for name in ["TEST-KEY-dp3t.pem", "TEST-KEYS.jwks"] {
      try place.write(try String(contentsOf: Self.requests.appending(path: name), encoding: .utf8), name)
    }
    for (name, text) in [
      ("service", "a-token-of-the-service"), ("revision", String(repeating: "secret-word-", count: 4)),
    ] {
      try place.write(text, name)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: place.path(name))
    }
    try place.write(
      """
      state: state
      series:
        - name: VA
          include: [US-VA]
          every: 2 hours
          rollups: [since, key-day]
          sign: [{key: {file: sign.key}, id: "310", version: v1}]
      publication: {folder: public}
      server:
        listen: "127.0.0.1:0"
        proxies: [127.0.0.1]
        uploads:
          origin: US-VA
          regions: [US-VA, US]
          certificates:
            - {issuer: verify.example.org, audience: keys.example.org, health-authority: gov.example.health, key-set: TEST-KEYS.jwks}
          codes: {url: "http://127.0.0.1:\(port)/code", token: {file: service}}
          dp3t: {keys: [TEST-KEY-dp3t.pem], next-day-key: {file: next-day.key}}
          revision-key: {file: revision}
          answer-after: 2 s
      \(log)
      """, "gateway.yaml")
  }

  /// Serves at this time, and ends.
  private func serving(_ place: Neighbourhood, at time: String, _ body: (URL) async throws -> Void) async throws {
    let process = try place.start(["serve", "--config", "gateway.yaml", "--now", time], log: "log")
    defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
    var address: URL?
    for _ in 0..<600 where process.isRunning && address == nil {
      try await Task.sleep(for: .milliseconds(50))
      let log = try String(contentsOf: place.folder.appending(path: "log"), encoding: .utf8)
      if let line = log.split(separator: "\n").first(where: { $0.contains("serving at ") }) {
        address = line.split(separator: " ").last.flatMap { URL(string: String($0)) }
      }
    }
    let log = try String(contentsOf: place.folder.appending(path: "log"), encoding: .utf8)
    try await body(try #require(address, "\(log)"))
    kill(process.processIdentifier, SIGTERM)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let end = try String(contentsOf: place.folder.appending(path: "log"), encoding: .utf8)
    for secret in ["1234-good", "a-token-of-the-service", "secret-word-", "eyJ"] {
      #expect(!end.contains(secret), "\(secret) stands in the log")
    }
  }
}
