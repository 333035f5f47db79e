import BundleTrust
import ExposureKeys
import Foundation
import GatewaySettings
import GatewayTesting
import KeyFormats
import KeyNormalization
import KeyPublishing
import KeyStorage
import SQLiteDriver
import Testing

/// Somebody, or a disk, writes over a store.
@Suite("A store that was written over") struct DamagedStoreTests {
  /// KEYFERRY_OVERWRITES does it more often.
  static let rounds = ProcessInfo.processInfo.environment["KEYFERRY_OVERWRITES"].flatMap { Int($0) } ?? 120
  static let later = "2020-12-01T14:00:00Z"

  /// What apps see of a round: each archive by its content, and not by its signature, which is another each time.
  private struct Outcome: Equatable {
    var exports: Set<String>
    var claims: Set<StatedClaim>
  }

  @Test("ends no process, and what cannot be read is not published", .timeLimit(.minutes(5))) func overwrites()
    async throws
  {
    try await Neighbourhood.visit { place in
      try place.gateway("g", origin: "DE", extra: "retention: {keys: 60 days}")
      try place.drop(300, seed: 1, in: "g", as: "a.csv")
      try place.keyferry("pull", "--config", "g/gateway.yaml", "--now", Neighbourhood.noon)
      try place.keyferry("publish", "--config", "g/gateway.yaml", "--now", Neighbourhood.noon)
      try place.drop(300, seed: 2, in: "g", as: "b.csv")
      try place.keyferry("pull", "--config", "g/gateway.yaml", "--now", Neighbourhood.noon)
      let plan = try GatewayFile.read(
        path: place.path("g/gateway.yaml"), environment: [:], now: try #require(Instant(Neighbourhood.noon)),
        layouts: []
      ).plan
      try SQLiteStore(folder: place.path("g/state"), now: try #require(Instant(Self.later))).letGo()
      let whole = try Data(contentsOf: place.folder.appending(path: "g/state/keyferry.sqlite"))
      let log = try? Data(contentsOf: place.folder.appending(path: "g/state/keyferry.sqlite-wal"))
      #expect(log?.isEmpty ?? true)
      let expected = try await outcome(of: whole, plan, in: place)
      #expect(expected.exports.count > 1 && expected.claims.count == 600)

      var random = SeededRandom(seed: 2020)
      var (refused, others) = (0, 0)
      for round in 0..<Self.rounds {
        let damaged = overwrite(whole, using: &random)
        do {
          let found = try await outcome(of: damaged, plan, in: place)
          if found != expected { others += 1 }
        } catch let fault as StorageFault {
          refused += 1
          // A list of steps that was written over may look like another version's.
          #expect([.corrupt, .incompatible, .earlier, .later].contains(fault.code), "overwrite \(round): \(fault)")
        } catch let fault as PublishingFault {
          refused += 1
          let codes = ["corrupt", "incompatible", "earlier", "later"].map { "storage-\($0)" }
          #expect(codes.contains(fault.code), "overwrite \(round): \(fault)")
        }
      }
      // Most of the file is claims, all of them are read, and each block has a checksum. Other tables have none.
      #expect(refused > Self.rounds / 3 && others < Self.rounds / 6, "\(refused), \(others) of \(Self.rounds)")
    }
  }

  /// One stretch of random bytes, zeros, ones, or of the file itself from another place.
  private func overwrite(_ whole: Data, using random: inout SeededRandom) -> Data {
    var bytes = whole
    let count = [1, 2, 8, 100, 512, 4096, 20_000].randomElement(using: &random) ?? 1
    // The header is small and hit seldom; every fifth stretch begins in it.
    let start = Int.random(in: 0..<5, using: &random) == 0 ? Int.random(in: 0..<100, using: &random) : nil
    let page = start ?? Int.random(in: 0..<whole.count, using: &random)
    let end = min(whole.count, page + count)
    switch Int.random(in: 0..<4, using: &random) {
    case 0: for place in page..<end { bytes[place] = UInt8.random(in: 0...255, using: &random) }
    case 1: for place in page..<end { bytes[place] = 0 }
    case 2:
      // A page that was written in the place of another one.
      let (from, to) = (Int.random(in: 0..<whole.count / 4096, using: &random) * 4096, page / 4096 * 4096)
      bytes.replaceSubrange(to..<to + 4096, with: whole[from..<from + 4096])
    default: bytes = bytes.prefix(max(1, page))
    }
    return bytes
  }

  /// Publishes the next window of a store with this file, in folders that are gone afterwards.
  private func outcome(of file: Data, _ plan: GatewayPlan, in place: Neighbourhood) async throws -> Outcome {
    let folder = place.path("try-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try FileManager.default.copyItem(atPath: place.path("g/public"), toPath: folder + "/public")
    try file.write(to: URL(filePath: folder + "/" + SQLiteStore.fileName))
    let before = try exports(in: folder + "/public")
    let now = try #require(Instant(Self.later))
    do {
      let store = try SQLiteStore(folder: folder, now: now)
      let publisher = Publisher(ledger: Ledger(store), series: plan.series, folder: folder + "/public")
      let receipts = try await publisher.round(at: ClockLook(toldByOperator: now))
      if let fault = receipts.compactMap(\.fault).first { throw fault }
      return Outcome(exports: try exports(in: folder + "/public"), claims: try await Neighbourhood.claims(of: store))
    } catch {
      // Nothing of it went out.
      #expect(try exports(in: folder + "/public") == before)
      throw error
    }
  }

  /// The digests of what is signed, of all archives that an index names.
  private func exports(in folder: String) throws -> Set<String> {
    let manifest = try SeriesManifest(
      document: Array(try Data(contentsOf: URL(filePath: "\(folder)/\(SeriesManifest.path(of: "all"))"))))
    return Set(manifest.bundles.filter(\.isListed).map { "\($0.kind) \($0.start) \($0.end) \($0.exportSHA256)" })
  }

  /// A copy is made while a gateway works, it works on, its store is lost, the copy is restored, and it works on again.
  @Test("is restored from a copy made during work, and each client still gets each key") func rehearsal() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("g", origin: "DE", extra: "retention: {keys: 60 days}")
      var clients: [Set<TemporaryExposureKey>] = [[], [], []]
      /// Downloads what its index names and it has not seen, as an app of the sample's kind does.
      var seen: [Set<String>] = [[], [], []]
      func visit(_ client: Int) throws {
        for path in try place.index(of: "g") where seen[client].insert(path).inserted {
          let document = try DecodedDocument(
            Array(try Data(contentsOf: place.folder.appending(path: "g/public/\(path)"))), format: .gaenExport)
          clients[client].formUnion(document.keys.filter { !$0.isRevised }.map(\.key))
        }
      }
      func work(_ hour: Int, seed: UInt64) throws {
        let now = "2020-12-01T\(hour):00:00Z"
        try place.drop(120, seed: seed, in: "g", as: "\(seed).csv")
        try place.keyferry("pull", "--config", "g/gateway.yaml", "--now", now)
        try place.keyferry("publish", "--config", "g/gateway.yaml", "--now", now)
      }
      try work(10, seed: 1)
      try visit(0)
      // While a pull runs.
      try place.drop(4000, seed: 9, in: "g", as: "large.csv")
      let pull = try place.start(["pull", "--config", "g/gateway.yaml", "--now", "2020-12-01T10:00:00Z"])
      try place.keyferry("store", "backup", "-o", "g/copy.sqlite", "--config", "g/gateway.yaml")
      pull.waitUntilExit()
      try work(12, seed: 2)
      try visit(0)
      try visit(1)
      try FileManager.default.removeItem(atPath: place.path("g/state"))
      try place.keyferry("store", "restore", "g/copy.sqlite", "--config", "g/gateway.yaml")
      // The source still lists its files, those that the copy does not know included.
      try place.keyferry("pull", "--config", "g/gateway.yaml", "--now", "2020-12-01T14:00:00Z")
      try place.keyferry("publish", "--config", "g/gateway.yaml", "--now", "2020-12-01T14:00:00Z", status: 1)
      try work(16, seed: 3)
      for client in 0..<3 { try visit(client) }
      let all = try await place.claims(of: "g")
      #expect(all.count == 4360)
      for keys in clients { #expect(keys == clients[2]) }
      #expect(clients[2].count > 1000)
      try place.keyferry("store", "check", "--config", "g/gateway.yaml")
    }
  }
}
