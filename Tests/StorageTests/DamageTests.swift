import ExposureKeys
import Foundation
import GRDB
import GatewayTesting
import KeyNormalization
import KeyStorage
import SQLiteDriver
import Testing

#if PostgreSQL
  import PostgresDriver
#endif

/// The check finds damage by the database's own means, by reading rows, and by comparing tables.
@Suite("Stores: damage")
struct DamageTests {
  private static let document = DocumentID(rawValue: 1)

  /// A document in two pieces with many claims, and a series that has released the first ones.
  private static func fill(_ store: any Store) async throws {
    let ledger = Ledger(store)
    let batches = [SQLiteTests.manyClaims(20_000), SQLiteTests.manyClaims(9000, from: 20_000)]
    _ = try await ledger.discovered(["a"], of: "DE", at: Times.now)
    for batch in batches { _ = try await ledger.recordedPiece(of: document, at: Times.now) { _ in batch } }
    _ = try await ledger.recorded(document, inPieces: .small, evidence: nil, cursor: nil, at: Times.now)
    _ = try await ledger.discovered((0..<200).map { "document \($0)" }, of: "DE", at: Times.now)
    let keys = batches[0].claims.map { claim in
      var key = claim.key
      (key.regions, key.unknownFields) = (.none, 0)
      return NewRelease(key: key, revisions: 0)
    }
    try await ledger.staged([NewStaging(NewBundle("NL", 0), [1], releasing: keys)], by: "NL", at: Times.days(1)) { _ in
      []
    }
  }

  /// A store that is filled, and that no process has open.
  private static func makeStore(in folder: String) async throws -> String {
    let store = try SQLiteStore(folder: folder, now: Times.now)
    try await fill(store)
    #expect(try await store.damage(limit: 9) == [])
    try store.letGo()
    return folder + "/" + SQLiteStore.fileName
  }

  private static func change<Result: Sendable>(
    _ path: String, _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    let file = try DatabaseQueue(path: path)
    defer { try? file.close() }
    return try await file.writeWithoutTransaction(body)
  }

  private static func damage(in folder: String) async throws -> [String] {
    let store = try SQLiteStore(folder: folder, role: .reader, now: Times.now)
    defer { try? store.letGo() }
    return try await store.damage(limit: 99)
  }

  // MARK: Indexes and pages

  enum IndexDamage: String, CaseIterable, CustomTestStringConvertible {
    case header, zeros, missing

    var testDescription: String { rawValue }
  }

  @Test("a damaged index is found", arguments: IndexDamage.allCases)
  func indexes(damage: IndexDamage) async throws {
    try await withFolder { folder in
      let path = try await Self.makeStore(in: folder)
      if damage == .missing {
        // The row is not in the index, since the index was not in the list of what there is.
        try await Self.change(path) { database in
          let index = "name = 'documents_by_state'"
          let row = try #require(
            try Row.fetchOne(database, sql: "SELECT rootpage, sql FROM sqlite_master WHERE \(index)"))
          let (root, sql): (Int64, String) = (row["rootpage"], row["sql"])
          try database.execute(sql: "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE \(index)")
          try database.execute(sql: "PRAGMA writable_schema = RESET")
          try database.execute(sql: "UPDATE documents SET state = 'quarantined' WHERE id = 7")
          try database.execute(sql: "PRAGMA writable_schema = ON")
          try database.execute(
            sql: "INSERT INTO sqlite_master VALUES ('index', 'documents_by_state', 'documents', ?, ?)",
            arguments: [root, sql])
        }
      } else {
        let page = try await Self.change(path) { database in
          try Int.fetchOne(
            database, sql: "SELECT pageno FROM dbstat WHERE name = 'documents_by_state' AND pagetype = 'leaf'") ?? 0
        }
        try #require(page > 1)
        var bytes = try Data(contentsOf: URL(filePath: path))
        let start = (page - 1) * 4096
        if damage == .header { bytes[start] ^= 0xff }
        if damage == .zeros { bytes.replaceSubrange(start..<start + 4096, with: Data(count: 4096)) }
        try bytes.write(to: URL(filePath: path))
      }
      let found = try await Self.damage(in: folder)
      #expect(!found.isEmpty)
    }
  }

  /// A disk that acknowledges a write and does not carry it out returns the page as it was before.
  @Test(
    "a page of a table that was not written last is found by the table's indexes",
    arguments: [
      ("origins", "INSERT INTO origins (name) VALUES ('ZZ')"),
      ("used_tokens", "INSERT INTO used_tokens (digest, until) VALUES (zeroblob(32), 5)"),
      ("series", "INSERT INTO series (name) VALUES ('another')"),
      ("regions", "UPDATE regions SET names = '[\"ZZ\"]' WHERE id = (SELECT max(id) FROM regions)"),
    ])
  func lostWrites(table: String, change: String) async throws {
    try await withFolder { folder in
      let path = try await Self.makeStore(in: folder)
      let before = try Data(contentsOf: URL(filePath: path))
      let root = try await Self.change(path) { database in
        try database.execute(sql: change)
        #expect(database.changesCount == 1)
        return try Int.fetchOne(
          database, sql: "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?", arguments: [table])
          ?? 0
      }
      var bytes = try Data(contentsOf: URL(filePath: path))
      let page = (root - 1) * 4096..<root * 4096
      try #require(root > 1 && bytes[page] != before[page])
      bytes.replaceSubrange(page, with: before[page])
      try bytes.write(to: URL(filePath: path))
      let found = try await Self.damage(in: folder)
      #expect(!found.isEmpty)
    }
  }

  @Test("claims that refer to names that are not there are found")
  func lostNames() async throws {
    try await withFolder { folder in
      let path = try await Self.makeStore(in: folder)
      try await Self.change(path) { database in
        try database.execute(sql: "PRAGMA foreign_keys = OFF; UPDATE origins SET id = id + 100")
      }
      let found = try await Self.damage(in: folder)
      #expect(found.contains { $0.contains("refer to an origin that is not in the store") }, "\(found)")
    }
  }

  // MARK: The log of changes

  @Test(
    "a log of changes whose file is empty or gone stays, and no role opens a store there", arguments: StoreRole.allCases
  )
  func logAlone(role: StoreRole) async throws {
    for isEmpty in [true, false] {
      try await withFolder { folder in
        let (path, other) = (folder + "/" + SQLiteStore.fileName, folder + "/other")
        let store = try SQLiteStore(folder: folder, now: Times.now)
        try await store.write { try $0.setNote([1], named: "a") }
        // As the log is there when the process is killed.
        let log = try Data(contentsOf: URL(filePath: path + "-wal"))
        try #require(log.count > 4096)
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
        let file = other + "/" + SQLiteStore.fileName
        try log.write(to: URL(filePath: file + "-wal"))
        if isEmpty { try Data().write(to: URL(filePath: file)) }
        let fault = #expect(throws: StorageFault.self) { try SQLiteStore(folder: other, role: role, now: Times.now) }
        #expect(fault?.code == .corrupt && fault?.reason.contains("the file is empty or gone") == true)
        #expect(try Data(contentsOf: URL(filePath: file + "-wal")) == log)
      }
    }
  }
}
