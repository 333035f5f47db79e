import ExposureKeys
import Foundation
import GRDB
import GatewayTesting
import KeyNormalization
import Testing

@testable import KeyStorage
@testable import SQLiteDriver

#if PostgreSQL
  import PostgresDriver
#endif

/// Whether uploads can be recorded, before one is, and what they are answered with where they cannot.
@Suite("Stores that cannot be written to") struct ProbeTests {
  private static func upload(_ low: UInt64) -> AdmittedUpload {
    var key = ClaimedKey(key: TemporaryExposureKey(high: 7, low: low))
    (key.rollingStart, key.rollingPeriod) = (2_670_000, 144)
    let batch = admit(
      [(key, RegionClaim(origin: "NL", visited: ["NL"]))],
      from: Source(name: "uploads", origin: "NL", provenance: .assertedByOperator))
    return AdmittedUpload(door: "uploads", batch: batch, regions: ["NL"], certificate: nil, byteCount: 9)
  }

  private func fault(_ body: () async throws -> Void) async -> StorageFault? {
    do {
      try await body()
      return nil
    } catch {
      return error as? StorageFault ?? StorageFault(.conflict, "another error: \(error)")
    }
  }

  @Test("a probe leaves no event", arguments: StoreKind.allCases)
  func silence(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      _ = try await ledger.uploaded([Self.upload(1)], at: Times.now)
      let before = try await store.snapshot()
      for _ in 0..<3 { try await ledger.probed(door: "uploads", at: Times.now) }
      let after = try await store.snapshot()
      #expect(after.events == before.events && after.claims == before.claims)
      #expect(try await store.damage(limit: 10) == [])
    }
  }

  @Test("a probe finds that SQLite has no room for an upload, and that it has room again")
  func full() async throws {
    try await withFolder { folder in
      let store = try SQLiteStore(folder: folder, now: Times.now, pageLimit: 120)
      let ledger = Ledger(store)
      try await ledger.probed(door: "uploads", at: Times.now)
      var count = 0
      while count < 200,
        await fault({
          [count] in
          try await store.write { try $0.setNote([UInt8](repeating: 1, count: 3000), named: "filler/\(count)") }
        }) == nil
      { count += 1 }
      #expect(count > 5 && count < 200)
      #expect(await fault { try await ledger.probed(door: "uploads", at: Times.now) }?.code == .full)
      try await store.write { [count] transaction in
        for number in 0..<count { try transaction.setNote(nil, named: "filler/\(number)") }
      }
      try await ledger.probed(door: "uploads", at: Times.now)
      #expect(try await ledger.uploaded([Self.upload(1)], at: Times.now).new == 1)
    }
  }

  @Test("an upload that SQLite has no table for may pass later")
  func lostTables() async throws {
    var tables: [String] = []
    try await withFolder { folder in
      try SQLiteStore(folder: folder, now: Times.now).letGo()
      tables = try tableNames(in: folder)
    }
    #expect(tables.count > 20)
    var failed = 0
    for table in tables + [tables.joined(separator: " ")] {
      try await withFolder { folder in
        let store = try SQLiteStore(folder: folder, now: Times.now)
        let ledger = Ledger(store)
        _ = try await ledger.uploaded([Self.upload(1)], at: Times.now)
        try drop(table.split(separator: " "), in: folder)
        let found = await fault { _ = try await ledger.uploaded([Self.upload(2)], at: Times.now) }
        if let found {
          failed += 1
          #expect(found.mayPass, "\(table): \(found.code) \(found.reason)")
        }
      }
    }
    #expect(failed > 5)
  }

  private func drop(_ tables: [Substring], in folder: String) throws {
    let file = try DatabaseQueue(path: folder + "/" + SQLiteStore.fileName)
    try file.inDatabase { database in
      try database.execute(sql: "PRAGMA foreign_keys = OFF")
      for table in tables { try database.execute(sql: "DROP TABLE \"\(table)\"") }
    }
    try file.close()
  }

  private func tableNames(in folder: String) throws -> [String] {
    let file = try DatabaseQueue(path: folder + "/" + SQLiteStore.fileName)
    defer { try? file.close() }
    return try file.inDatabase {
      try String.fetchAll($0, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    }
  }

  #if PostgreSQL
    @Test(
      "a probe finds that PostgreSQL has no room, is read alone or has lost its tables",
      .enabled(if: StoreKind.hasPostgres),
      arguments: [
        ("53100", StorageFault.Code.full), ("53400", .full),
      ])
    func database(code: String, expected: StorageFault.Code) async throws {
      let (server, schema) = (try PostgresServer.shared, PostgresServer.newSchema())
      let store = try PostgresStore(try ConnectionWords(server.words), schema: schema)
      let ledger = Ledger(store)
      try await ledger.probed(door: "uploads", at: Times.now)
      try server.query(
        """
        SET search_path = \(schema);
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN RAISE EXCEPTION ''no room'' USING ERRCODE = ''\(code)''; END';
        CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION refuse()
        """)
      #expect(await fault { try await ledger.probed(door: "uploads", at: Times.now) }?.code == expected)
      try server.query("SET search_path = \(schema); DROP TRIGGER refuse ON notes")
      try await ledger.probed(door: "uploads", at: Times.now)
      #expect(try await ledger.uploaded([Self.upload(1)], at: Times.now).new == 1)
      try server.query("SET search_path = \(schema); DROP TABLE notes CASCADE")
      let lost = await fault { try await ledger.probed(door: "uploads", at: Times.now) }
      #expect(lost?.mayPass == true, "\(lost?.reason ?? "")")
    }
  #endif
}
