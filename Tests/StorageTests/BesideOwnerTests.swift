import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage
import SQLiteDriver
import Testing

@testable import BundleTrust

/// A server that runs by itself records uploads beside the gateway that owns the store.
@Suite("Two processes write into one store")
struct BesideOwnerTests {
  @Test("Each learns the names that the other has added, and no claim changes its owner")
  func names() async throws {
    try await withFolder { folder in
      let owner = Ledger(try SQLiteStore(folder: folder, now: Times.now))
      let aside = Ledger(try SQLiteStore(folder: folder, role: .operator, now: Times.now))
      let alone = Ledger(MemoryStore())
      for round in 0..<12 {
        // Names that nobody has said before, of origins, sources and regions, in turns.
        for (ledger, writer) in [(owner, "pull"), (aside, "serve")] {
          let source = Source(
            name: "\(writer)-\(round)", origin: "O\(round)-\(writer)", provenance: .assertedByOperator)
          var key = ClaimedKey(key: TemporaryExposureKey(high: UInt64(round) + 1, low: writer == "pull" ? 1 : 2))
          key.rollingStart = Int32(Day(daysSince1970: 18_596).firstInterval.rawValue)
          key.rollingPeriod = 144
          let region = RegionClaim(origin: "O\(round)-\(writer)", visited: ["R\(round)\(writer == "pull" ? "A" : "B")"])
          let batch = admit([(key, region)], from: source)
          #expect(batch.claims.count == 1)
          for target in [ledger, alone] {
            _ = try await target.uploaded(
              [AdmittedUpload(door: source.name, batch: batch, regions: [], certificate: nil, byteCount: 1)],
              at: Times.now)
          }
        }
      }
      let expected = try await alone.read { try allClaims($0, limit: 1000) }
      #expect(expected.count == 24)
      for ledger in [owner, aside] {
        #expect(try await ledger.read { try allClaims($0, limit: 1000) } == expected)
      }
    }
  }
}
