import ExposureKeys
import Foundation
import KeyNormalization
import KeyStorage
import SQLite
import Synchronization
import Testing

@testable import SQLiteStorage

/// A store that the first version wrote.
@Suite("SQLite store: of an earlier version")
struct OldStoreTests {
  private func withOldStore(_ body: (String) async throws -> Void) async throws {
    try await withFolder { folder in
      let old = try DatabaseQueue(path: folder + "/" + SQLiteStore.fileName)
      try await old.write { try $0.execute(sql: FirstSchema.tables + FirstSchema.content) }
      try old.close()
      try await body(folder)
    }
  }

  private static func key(_ number: UInt64) -> TemporaryExposureKey { TemporaryExposureKey(high: 1, low: number) }

  @Test("it opens, and tells everything that it had")
  func opens() async throws {
    try await withOldStore { folder in
      let store = try SQLiteStore(folder: folder, now: Times.now)
      let state = try await store.snapshot()
      #expect(state.sources.map(\.cursor) == ["tag-3"])
      #expect(state.documents.map(\.name) == ["batch-1", "batch-2"] && state.documents.map(\.held) == [1, 0])
      #expect(state.contents == [[1, 2], nil])
      #expect(Set(state.claims.map(\.key.key)) == Set([Self.key(2), Self.key(3), Self.key(4)]))
      #expect(state.claimCount == 3 && state.volumes == [["DE": 1, "IT": 2]])
      #expect(
        state.pauses == [Pause(.origin("ES"), since: Instant(secondsSince1970: 4500), reason: "poisoned", by: nil)])
      #expect(state.recalls.map(\.claims) == [1] && state.recalls.map(\.word) == [nil])
      #expect(state.bundles.map(\.state) == [.staged] && state.bundleContents == [[7, 8, 9]])
      #expect(state.released[0].map(\.key.key) == [Self.key(2)])
      #expect(try await store.read { try $0.note(.seriesState("NL")) } == Array("{}".utf8))
    }
  }

  @Test("its claims, recalls and pauses are events")
  func events() async throws {
    try await withOldStore { folder in
      let store = try SQLiteStore(folder: folder, now: Times.now)
      try await store.read { state throws in
        let events = try state.events(from: EventID(rawValue: 0), limit: 99)
        #expect(events.map(\.event.kind) == [.recorded, .recalled, .recorded, .paused])
        #expect(events.map(\.event.subject) == ["efgs/batch-1", "origin DE", "efgs/batch-2", "origin ES"])
        #expect(events.map(\.event.time.secondsSince1970) == [2000, 3500, 4000, 4500])
        #expect(events.allSatisfy { $0.event.word == nil })
        #expect(try state.recalls().map(\.event) == [events[1].id])
        func known(_ index: Int) throws -> Set<UInt64> {
          Set(try state.claimSet(asOf: events[index].id).statedClaims.map(\.key.key.low))
        }
        #expect(try known(0) == [1, 2])
        #expect(try known(1) == [2])
        #expect(try known(2) == [2, 3, 4])
        #expect(try known(3) == [2, 3, 4])
      }
    }
  }

  @Test("it goes on from there")
  func goesOn() async throws {
    try await withOldStore { folder in
      let ledger = Ledger(try SQLiteStore(folder: folder, now: Times.now))
      let document = DocumentID(rawValue: 1)
      let receipt = try await ledger.heldReleased(document, by: LedgerScript.word, at: Times.now)
      #expect(receipt.new == 1)
      var known = ClaimedKey(key: Self.key(3))
      (known.rollingStart, known.rollingPeriod, known.transmissionRisk) = (2_670_000, 144, 5)
      var new = known
      new.transmissionRisk = 6
      let batch = admit(
        [(known, RegionClaim(origin: "DE")), (new, RegionClaim(origin: "DE"))],
        from: Source(name: "efgs", provenance: .signed(by: "efgs")))
      let facts = try await ledger.recorded(document, evidence: nil, cursor: nil, at: Times.now) {
        DocumentFacts(try $0.record(batch))
      }
      #expect(facts.new == 1 && facts.known == 1)
      try await ledger.published([BundleID(rawValue: 1)], by: "NL", at: Times.now)
      let numbers = try await ledger.read { try $0.events(from: EventID(rawValue: 5), limit: 9).map(\.id.rawValue) }
      #expect(numbers == [5, 6, 7])
      #expect(try await ledger.read { try $0.claimCount() } == 5)
      // A recall by document finds what came in before.
      let request = RecallRequest(origin: "IT", document: document)
      #expect(try await ledger.recalled(request, by: LedgerScript.word, at: Times.now).claims == 2)
    }
  }

  /// Some keys begin alike; some claims are withdrawn.
  private static let manyClaims = """
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3000)
    INSERT INTO claims SELECT CASE n % 3 WHEN 0 THEN CAST(x'0102030405060708' || printf('%08d', n) AS BLOB) ELSE randomblob(16) END,
      2670000 + n % 14 * 144, 144 | (n % 9 << 8), n % 3, 0, n % 2, 1 + n % 2, CASE n % 50 WHEN 0 THEN 1 END FROM numbers;
    """

  @Test("its claims are moved piece by piece; whatever cuts that short, the next opening goes on")
  func moves() async throws {
    try await withOldStore { folder in
      let path = folder + "/" + SQLiteStore.fileName
      let old = try DatabaseQueue(path: path)
      let keys = try await old.write { database in
        try database.execute(sql: Self.manyClaims)
        return Set(try [UInt8].fetchAll(database, sql: "SELECT key FROM claims WHERE recall IS NULL"))
      }
      try old.close()
      let bytes = try Data(contentsOf: URL(filePath: path))
      func claims() async throws -> (all: Set<StatedClaim>, then: Set<StatedClaim>) {
        let store = try SQLiteStore(folder: folder, now: Times.now)
        #expect(try await store.damage(limit: 9) == [])
        let claims = try await store.read { state in
          (try allClaims(state, limit: 100), Set(try state.claimSet(asOf: EventID(rawValue: 1)).statedClaims))
        }
        try store.letGo()
        return claims
      }
      let whole = try await claims()
      #expect(Set(whole.all.map(\.subject.key.bytes)) == keys && whole.all.count > 2900 && whole.then.count > 1400)
      // Who waits for it is told how far it is, from what was moved before on.
      let told = Mutex<[OpeningStep]>([])
      OpeningProgress.listen { step in told.withLock { $0.append(step) } }
      defer { OpeningProgress.listen(nil) }
      for pieces in 0...7 {
        told.withLock { $0 = [] }
        for ending in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + ending) }
        try bytes.write(to: URL(filePath: path))
        let pool = try DatabasePool(path: path, options: Database.Options())
        try Schema.migrator.migrate(pool, upTo: Schema.runsBegun)
        for piece in 0..<pieces {
          let isMore = try pool.write { try Schema.moveClaims(in: $0, limit: 500) }
          // A third of them begin alike, and go together.
          #expect(isMore == (piece < 5), "piece \(piece)")
        }
        try pool.close()
        let refusal = #expect(throws: StorageFault.self) {
          try SQLiteStore(folder: folder, role: .reader, now: Times.now)
        }
        #expect(refusal?.reason.contains("an earlier version") == true)
        let moved = try await claims()
        #expect(moved.all == whole.all && moved.then == whole.then, "after \(pieces) pieces")
        let steps = told.withLock { $0 }.filter { $0.work == .moving && $0.total >= 3000 }
        #expect(steps.first.map { $0.done >= 500 * min(pieces, 4) && $0.done <= $0.total } == true)
        #expect(steps.last.map { $0.done == $0.total } == true, "after \(pieces) pieces")
        #expect(told.withLock { $0.contains { $0.work == .noting && $0.done == $0.total } })
      }
    }
  }

  @Test("nobody but its owner changes its tables while there is one")
  func beside() async throws {
    try await withOldStore { folder in
      let refusal = #expect(throws: StorageFault.self) {
        try SQLiteStore(folder: folder, role: .reader, now: Times.now)
      }
      #expect(refusal?.code == .earlier && refusal?.reason.contains("an earlier version") == true)
    }
    try await withFolder { folder in
      // An older gateway has the lock, and not yet the tables.
      let owner = try SQLiteStore(folder: folder, now: Times.now)
      for name in ["", "-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: folder + "/" + SQLiteStore.fileName + name)
      }
      let old = try DatabaseQueue(path: folder + "/" + SQLiteStore.fileName)
      try await old.write { try $0.execute(sql: FirstSchema.tables + FirstSchema.content) }
      try old.close()
      let refusal = #expect(throws: StorageFault.self) {
        try SQLiteStore(folder: folder, role: .operator, now: Times.now)
      }
      #expect(refusal?.code == .held)
      withExtendedLifetime(owner) {}
    }
    try await withOldStore { folder in
      let aside = try SQLiteStore(folder: folder, role: .operator, now: Times.now)
      try await Ledger(aside).paused(.origin("DE"), by: LedgerScript.word, at: Times.now)
      // It let the lock go.
      let owner = try SQLiteStore(folder: folder, now: Times.now)
      #expect(try await owner.read { try $0.pauses().map(\.by) } == ["ada", nil])
    }
  }
}
