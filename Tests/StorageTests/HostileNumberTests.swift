import ExposureKeys
import Foundation
import GRDB
import GatewayTesting
import KeyNormalization
import KeyStorage
import SQLiteDriver
import Testing

#if PostgreSQL
  @testable import PostgresDriver
#endif

/// A store's file is a file: whoever writes into it may write any number that its columns take.
@Suite("SQLite: numbers that no store writes")
struct HostileNumberTests {
  static let changes = [
    "UPDATE documents SET attempts = 9223372036854775807",
    "UPDATE documents SET rejections = '{\"malformed\":9223372036854775807}' WHERE state = 'recorded'",
    "UPDATE documents SET rejections = '{' WHERE state = 'recorded'", "UPDATE uploads SET regions = '['",
    "INSERT INTO held VALUES (1, x'000102030405060708090a0b0c0d0e0f', 2670000, 144, 1, 1, 0, 1, 'because')",
    "UPDATE bundles SET path = '../../../outside/precious'", "UPDATE bundles SET path = '/etc/passwd'",
    "INSERT INTO pauses VALUES ('person', 'x', 0, NULL, NULL)", "UPDATE claims SET arrival = 99",
    "DELETE FROM totals", "UPDATE totals SET claims = 5", "UPDATE OR IGNORE claims SET said = 0",
    "INSERT INTO origins (id, name) VALUES (4294967296, 'XX')",
    "INSERT INTO regions (id, names) VALUES (9000000000, '[\"XX\"]')",
  ]

  @Test("each is a fault, and ends nothing", arguments: changes)
  func fault(_ change: String) async throws {
    try await withFolder { folder in
      do {
        let store = try SQLiteStore(folder: folder, now: Times.now)
        try await SQLiteTests.fill(store, seed: 3)
      }
      let file = try DatabaseQueue(path: folder + "/" + SQLiteStore.fileName)
      try await file.writeWithoutTransaction { database in
        try database.execute(sql: "PRAGMA ignore_check_constraints = ON; " + change)
      }
      try file.close()
      let error = await #expect(throws: StorageFault.self) {
        let store = try SQLiteStore(folder: folder, now: Times.now)
        _ = try await store.read { state in
          for source in try state.sources() {
            _ = try state.documents(of: source.name, in: Set(DocumentState.allCases), limit: 100)
            _ = try state.summary(of: source.name)
          }
        }
        // The check reads a name also if no claim has it.
        if let damage = try await store.damage(limit: 1).first { throw StorageFault(.corrupt, damage) }
      }
      #expect(error?.code == .corrupt, "\(String(describing: error))")
    }
  }

  /// The columns of numbers that have rows.
  private func columns(of path: String) throws -> [(table: String, column: String)] {
    var configuration = Configuration()
    configuration.readonly = true
    let file = try DatabaseQueue(path: path, configuration: configuration)
    defer { try? file.close() }
    return try file.inDatabase { database in
      let rows = try Row.fetchAll(
        database,
        sql: """
          SELECT tables.name AS "table", columns.name AS "column"
          FROM pragma_table_list AS tables, pragma_table_xinfo(tables.name) AS columns
          WHERE tables.schema = 'main' AND tables.strict AND columns.type = 'INTEGER' ORDER BY 1, 2
          """)
      return try rows.compactMap { row in
        let (table, column): (String, String) = (row["table"], row["column"])
        let isFull = try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM \(table))")
        return isFull == true ? (table, column) : nil
      }
    }
  }

  /// - Returns: `false` where the file does not let it be set.
  private func set(_ column: String, of table: String, to number: Int64, in path: String) throws -> Bool {
    let file = try DatabaseQueue(path: path)
    defer { try? file.close() }
    do {
      try file.inDatabase { database in
        try database.execute(sql: "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
        // Of one row, since others may not have the same number.
        let last = "(SELECT max(\"\(column)\") FROM \(table))"
        try database.execute(
          sql: "UPDATE OR IGNORE \(table) SET \"\(column)\" = ? WHERE \"\(column)\" = \(last)", arguments: [number])
      }
      return true
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      return false
    }
  }

  @Test("no number in any column ends the process", .timeLimit(.minutes(3)))
  func everyColumn() async throws {
    try await withFolder { folder in
      let (path, log) = (folder + "/" + SQLiteStore.fileName, folder + "/" + SQLiteStore.fileName + "-wal")
      do {
        let store = try SQLiteStore(folder: folder, now: Times.now)
        try await SQLiteTests.fill(store, seed: 3)
        try store.letGo()
      }
      let whole = try Data(contentsOf: URL(filePath: path))
      let columns = try self.columns(of: path)
      #expect(columns.count > 60, "\(columns.count)")
      var refused = 0
      let numbers = [Int64.max, .min, 1 << 53, -(1 << 53), 1 << 32]
      for (place, (table, column)) in columns.enumerated() {
        for number in LongList.isRun ? numbers : [numbers[place % numbers.count]] {
          try? FileManager.default.removeItem(atPath: log)
          try whole.write(to: URL(filePath: path))
          guard try set(column, of: table, to: number, in: path) else { continue }
          do {
            let store = try SQLiteStore(folder: folder, now: Times.now)
            let found = try await store.damage(limit: 5)
            var arrivals = Arrivals(random: SeededRandom(seed: 4))
            let batch = arrivals.batch(10)
            try await store.write { transaction in
              let document = try transaction.document("later")
              let stamp = try transaction.enter(NewEvent(.recorded, about: "later", at: Times.now))
              let receipt = try transaction.record(batch, of: document, in: stamp)
              try transaction.complete(document, DocumentFacts(receipt), at: Times.now)
            }
            _ = try await store.snapshot()
            if !found.isEmpty { refused += 1 }
          } catch is StorageFault {
            refused += 1
          } catch {
            Issue.record("\(table).\(column) = \(number): \(error)")
          }
        }
      }
      // Most are no numbers that a store has.
      #expect(refused > LongList.size(15, long: 40), "\(refused)")
    }
  }
}

#if PostgreSQL
  /// The same for a database: whoever may write into it is not always Keyferry.
  @Suite("PostgreSQL: numbers that no store writes", .enabled(if: StoreKind.hasPostgres, "\(PostgresServer.advice)"))
  struct HostileDatabaseNumberTests {
    /// What was found in the examination: a count of a document that ended `status` and `run` by a signal.
    @Test("a count that is too large and a word that nobody knows are faults, and end nothing")
    func found() async throws {
      let schema = PostgresServer.newSchema()
      let server = try PostgresServer.shared
      let store = try PostgresStore(try ConnectionWords(server.words), schema: schema)
      try await SQLiteTests.fill(store, seed: 3)
      for change in [
        "UPDATE \(schema).documents SET rejections = '{\"rolling-period-out-of-range\":9223372036854775807}' WHERE state = 'recorded'",
        "UPDATE \(schema).documents SET rejections = '{}', allowances = '[' WHERE state = 'recorded'",
        """
        UPDATE \(schema).documents SET allowances = '{}' WHERE state = 'recorded';
        INSERT INTO \(schema).held VALUES (1, '\\x000102030405060708090a0b0c0d0e0f', 2670000, 144, 1, 1, 0, 1, 'because')
        """,
      ] {
        try server.query(change)
        #expect(try await !store.damage(limit: 5).isEmpty, "\(change)")
      }
      let hand = try PostgresConnection(try ConnectionWords(server.words), application: "hand")
      let keys: [TemporaryExposureKey] = try hand.rows("SELECT DISTINCT key FROM \(schema).held ORDER BY key").map {
        try $0[0]
      }
      let fault = await #expect(throws: StorageFault.self) { try await store.read { try $0.held(about: keys).count } }
      #expect(fault?.code == .corrupt && fault?.reason.contains("reason because is none that a store has") == true)
    }

    @Test("no number in any column ends the process", .timeLimit(.minutes(5)))
    func everyColumn() async throws {
      let schema = PostgresServer.newSchema()
      let server = try PostgresServer.shared
      let words = try ConnectionWords(server.words)
      let store = try PostgresStore(words, schema: schema)
      try await SQLiteTests.fill(store, seed: 3)
      // What the tables themselves would refuse is not what this is about.
      try server.query(
        """
        DO $$ DECLARE it record; BEGIN
          FOR it IN SELECT conrelid::regclass AS place, conname FROM pg_constraint
            WHERE connamespace = '\(schema)'::regnamespace AND contype IN ('c', 'f')
          LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', it.place, it.conname); END LOOP;
        END $$
        """)
      let columns = try server.query(
        """
        SELECT table_name || ' ' || column_name FROM information_schema.columns
        WHERE table_schema = '\(schema)' AND data_type = 'bigint' AND table_name NOT LIKE '%v1' ORDER BY 1
        """
      ).split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
      #expect(columns.count > 60, "\(columns.count)")
      var refused = 0
      let numbers = [Int64.max, .min, 1 << 53, -(1 << 53), 1 << 32]
      let hand = try PostgresConnection(words, application: "hand")
      for (place, pair) in columns.enumerated() {
        let (table, column) = ("\(schema).\(pair[0])", "\"\(pair[1])\"")
        for number in LongList.isRun ? numbers : [numbers[place % numbers.count]] {
          let row = try hand.row("SELECT ctid::text, \(column) FROM \(table) ORDER BY \(column) DESC LIMIT 1")
          guard let row else { continue }
          let (spot, old): (String, Int64?) = (try row[0], try? row[1])
          let changed = try? hand.row(
            "UPDATE \(table) SET \(column) = $1 WHERE ctid = $2::tid RETURNING ctid::text", number, spot)
          guard let changed else { continue }
          do {
            let found = try await store.damage(limit: 5)
            _ = try await store.snapshot()
            try await store.write { try $0.setNote([UInt8(place % 250)], named: "n") }
            if !found.isEmpty { refused += 1 }
          } catch is StorageFault {
            refused += 1
          } catch {
            Issue.record("\(pair) = \(number): \(error)")
          }
          let back: String = try changed[0]
          // The transaction may have written the row anew.
          let isBack = try hand.run("UPDATE \(table) SET \(column) = $1 WHERE ctid = $2::tid", old, back) == 1
          if !isBack { try hand.run("UPDATE \(table) SET \(column) = $1 WHERE \(column) = $2", old, number) }
        }
      }
      #expect(refused > LongList.size(15, long: 40), "\(refused)")
    }
  }
#endif
