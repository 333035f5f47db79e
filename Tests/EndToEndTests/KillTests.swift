import ExposureKeys
import Foundation
import GatewayTesting
import KeyPublishing
import Testing

/// Killed at any moment, as often as one likes, a gateway ends where an undisturbed one does.
@Suite("A gateway that is killed") struct KillTests {
  /// CI kills a few times; KEYFERRY_KILL_ROUNDS does it more often.
  static let rounds = ProcessInfo.processInfo.environment["KEYFERRY_KILL_ROUNDS"].flatMap { Int($0) } ?? 4

  @Test("while it pulls") func pulling() async throws {
    try await Neighbourhood.visit { place in
      for name in ["calm", "killed"] {
        try place.gateway(name, origin: "DE", extra: "retention: {keys: 60 days}")
        for file in 0..<12 { try place.drop(400, seed: UInt64(file), in: name, as: "\(file).csv") }
      }
      try place.keyferry("pull", "--config", "calm/gateway.yaml", "--now", Neighbourhood.noon)
      let expected = try await place.claims(of: "calm")
      #expect(expected.count == 4800)

      var random = SystemRandomNumberGenerator()
      var kills = 0
      for _ in 0..<Self.rounds {
        let delay = Int.random(in: 20...700, using: &random)
        if try await place.killed(
          ["pull", "--config", "killed/gateway.yaml", "--now", Neighbourhood.noon], after: delay)
        {
          kills += 1
        }
      }
      try place.keyferry("pull", "--config", "killed/gateway.yaml", "--now", Neighbourhood.noon)
      #expect(try await place.claims(of: "killed") == expected, "after \(kills) kills")
    }
  }

  @Test("while it starts for the first time") func firstStart() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("first", origin: "DE")
      try place.drop(10, seed: 1, in: "first", as: "a.csv")
      var random = SystemRandomNumberGenerator()
      for _ in 0..<Self.rounds * 5 {
        try? FileManager.default.removeItem(atPath: place.path("first/state"))
        // The store is made within these milliseconds.
        _ = try await place.killed(
          ["pull", "--config", "first/gateway.yaml", "--now", Neighbourhood.noon],
          after: Int.random(in: 5...80, using: &random))
        try place.keyferry("pause", "drop", "--config", "first/gateway.yaml")
        try place.keyferry("resume", "drop", "--config", "first/gateway.yaml")
        try place.keyferry("pull", "--config", "first/gateway.yaml", "--now", Neighbourhood.noon)
        #expect(try await place.claims(of: "first").count == 10)
      }
    }
  }

  @Test("while it publishes") func publishing() async throws {
    try await Neighbourhood.visit { place in
      for name in ["calm", "killed"] {
        try place.gateway(name, origin: "DE")
        for file in 0..<4 { try place.drop(400, seed: UInt64(file), in: name, as: "\(file).csv") }
        try place.keyferry("pull", "--config", "\(name)/gateway.yaml", "--now", Neighbourhood.noon)
      }
      // The same key, so that the bundles can be the same.
      try FileManager.default.removeItem(atPath: place.path("killed/key.pem"))
      try FileManager.default.copyItem(atPath: place.path("calm/key.pem"), toPath: place.path("killed/key.pem"))

      var random = SystemRandomNumberGenerator()
      for (round, now) in ["2020-12-01T12:00:00Z", "2020-12-01T14:00:00Z"].enumerated() {
        if round == 1 {
          for name in ["calm", "killed"] {
            try place.drop(300, seed: 99, in: name, as: "late.csv")
            try place.keyferry("pull", "--config", "\(name)/gateway.yaml", "--now", now)
          }
        }
        try place.keyferry("publish", "--config", "calm/gateway.yaml", "--now", now)
        for _ in 0..<Self.rounds {
          let delay = Int.random(in: 20...500, using: &random)
          _ = try await place.killed(["publish", "--config", "killed/gateway.yaml", "--now", now], after: delay)
          try checkFolder(place, "killed")
        }
        try place.keyferry("publish", "--config", "killed/gateway.yaml", "--now", now)
        try checkFolder(place, "killed")
        #expect(try place.index(of: "killed") == place.index(of: "calm"))
        #expect(try exportDigests(place, "killed") == exportDigests(place, "calm"))
      }
      #expect(try place.index(of: "calm").count == 2)
    }
  }

  /// Every indexed file is there, whole, and signed by the gateway's key.
  private func checkFolder(_ place: Neighbourhood, _ gateway: String) throws {
    let names = try place.index(of: gateway)
    guard !names.isEmpty else { return }
    for name in names {
      try place.keyferry(
        "verify", "\(gateway)/public/\(name)", "--trust", "calm/public.pem", "--at", Neighbourhood.noon)
    }
    // The manifest is written after the files that it names, and the sums belong to them.
    let manifest = try manifest(place, gateway)
    for bundle in manifest.bundles where bundle.isListed {
      let file = place.path("\(gateway)/public/\(bundle.path)")
      #expect(FileManager.default.fileExists(atPath: file), "\(bundle.path) is named and not there")
    }
  }

  private func manifest(_ place: Neighbourhood, _ gateway: String) throws -> SeriesManifest {
    let data = try Data(contentsOf: URL(filePath: place.path("\(gateway)/public/all/manifest.json")))
    return try JSONDecoder().decode(SeriesManifest.self, from: data)
  }

  private func exportDigests(_ place: Neighbourhood, _ gateway: String) throws -> Set<String> {
    Set(try manifest(place, gateway).bundles.filter(\.isListed).map { "\($0.path) \($0.exportSHA256)" })
  }
}
