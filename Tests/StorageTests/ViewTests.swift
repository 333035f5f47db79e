import ExposureKeys
import Foundation
import GatewayTesting
import KeyNormalization
import KeyStorage
import Testing

/// What an analyst reads with `sqlite3` or `psql`.
@Suite("Stores: views")
struct ViewTests {
  private static func rows<Row: Sendable>(
    _ store: any Store, _ query: String, _ row: @escaping @Sendable (SQLRow) throws -> Row
  ) async throws -> [Row] {
    try await store.read { state in
      let transaction = try #require(state as? TableTransaction)
      return try transaction.sql.rows(query).map(row)
    }
  }

  @Test("keys_v1 has every claim that stands, with what it says", arguments: StoreKind.allCases)
  func keys(kind: StoreKind) async throws {
    var arrivals = Arrivals(random: SeededRandom(for: "views \(kind)"))
    let batches = arrivals.batches(6)
    try await withStore(kind) { store in
      let expected = try await store.write { transaction in
        for batch in batches { _ = try transaction.record(batch, of: try transaction.document("a"), at: Times.now) }
        return try allClaims(transaction, limit: 100)
      }
      let found = try await Self.rows(store, "SELECT * FROM keys_v1") { row in
        let (key, start): (TemporaryExposureKey, Int32) = (try row["key"], try row["rolling_start"])
        var said = ClaimedKey(key: key)
        (said.rollingStart, said.rollingPeriod) = (start, try row["rolling_period"])
        (said.transmissionRisk, said.reportType) = (try row["transmission_risk"], try row["report_type"])
        said.daysSinceOnset = try row["days_since_onset"]
        let (origin, regions, source): (String?, String?, String) = (
          try row["origin"], try row["regions"], try row["source"]
        )
        let (day, arrived): (String, String) = (try row["day"], try row["arrived"])
        #expect(day == Day(daysSince1970: Int64(start) / 144).description && arrived == Times.now.description)
        let names = try regions.map { try JSONDecoder().decode([String].self, from: Data($0.utf8)) }
        return Self.line(said, origin: origin, regions: names, source: source)
      }
      #expect(!found.isEmpty)
      #expect(
        found.sorted()
          == expected.map { claim in
            var said = claim.statement.claim(about: claim.subject)
            said.isRevised = false
            return Self.line(said, origin: claim.origin, regions: claim.visited, source: claim.source.name)
          }.sorted())
    }
  }

  private static func line(_ said: ClaimedKey, origin: String?, regions: [String]?, source: String) -> String {
    "\(said.key.bytes) \(said) \(origin ?? "-") \(regions.map { "\($0)" } ?? "-") \(source)"
  }

  @Test("no view shows the key data of what is held or withdrawn", arguments: StoreKind.allCases)
  func held(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      _ = try await KeyRecordTests.fill(ledger)
      let shown = try await Self.rows(store, "SELECT key, origin FROM keys_v1") { row in
        (try row[0] as TemporaryExposureKey, try row[1] as String)
      }
      #expect(shown.contains { $0.0 == KeyRecordTests.key(1).key && $0.1 == "DE" })
      #expect(!shown.contains { $0.1 == "IT" })
      let held = try await ledger.read { try $0.record(of: KeyRecordTests.key(8).key) }
      #expect(!held.held.isEmpty && held.claims.isEmpty && !shown.contains { $0.0 == KeyRecordTests.key(8).key })
      let counts = try await Self.rows(store, "SELECT document, reason, claims FROM held_v1") { row in
        "\(try row[0] as String) \(try row[1] as String) \(try row[2] as Int > 0)"
      }
      #expect(counts == ["c flood true"])

      let released = "SELECT series, first_bundle, last_bundle FROM released_v1"
      let path = NewBundle("NL", 0).path
      let before = try await Self.rows(store, released) { row in [try row[0], try row[1], try row[2]] as [String] }
      #expect(before == [["NL", path, path]])
      _ = try await ledger.recalled(RecallRequest(origin: "DE"), by: KeyRecordTests.word, at: Times.days(2))
      #expect(try await Self.rows(store, released) { _ in 0 }.isEmpty)
    }
  }

  @Test("bundles and documents have the names of their series and sources", arguments: StoreKind.allCases)
  func names(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      _ = try await KeyRecordTests.fill(Ledger(store))
      let bundles = try await Self.rows(store, "SELECT series, path, state, keys, published FROM bundles_v1") { row in
        "\(try row[0] as String) \(try row[1] as String) \(try row[2] as String) \(try row[4] as String? ?? "-")"
      }
      #expect(bundles == ["NL \(NewBundle("NL", 0).path) staged -"])
      let documents = try await Self.rows(
        store, "SELECT source, document, state, received, discovered FROM documents_v1 ORDER BY document"
      ) { row in
        "\(try row[0] as String) \(try row[1] as String) \(try row[2] as String) \(try row[3] as Int) \(try row[4] as String)"
      }
      let time = Times.now.description
      #expect(documents == ["DE a recorded 2 \(time)", "DE b recorded 1 \(time)", "DE c recorded 9 \(time)"])
    }
  }
}
