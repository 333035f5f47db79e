import Foundation
import GatewayTesting
import KeyNormalization
import KeyStorage
import SQLite
import SQLiteStorage
import Testing

/// A store's file is a file: whoever writes into it may write any number that its columns take.
@Suite("SQLite: numbers that no store writes")
struct HostileNumberTests {
  static let changes = [
    "UPDATE documents SET attempts = 9223372036854775807",
    "UPDATE documents SET rejections = '{\"malformed\":9223372036854775807}' WHERE state = 'recorded'",
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
      try await file.access { database in
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
      }
      #expect(error?.code == .corrupt, "\(String(describing: error))")
    }
  }

  /// The columns of numbers that have rows.
  private func columns(of path: String) throws -> [(table: String, column: String)] {
    let file = try DatabaseQueue(path: path, options: Database.Options(isReadOnly: true))
    defer { try? file.close() }
    return try file.access { database in
      let rows = try Row.fetchAll(
        database,
        sql: """
          SELECT tables.name AS "table", columns.name AS "column"
          FROM pragma_table_list AS tables, pragma_table_xinfo(tables.name) AS columns
          WHERE tables.schema = 'main' AND tables.strict AND columns.type = 'INTEGER' ORDER BY 1, 2
          """)
      return try rows.compactMap { row in
        let (table, column): (String, String) = try (row["table"], row["column"])
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
      try file.access { database in
        try database.execute(sql: "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
        // Of one row, since others may not have the same number.
        let last = "(SELECT max(\"\(column)\") FROM \(table))"
        try database.execute(
          sql: "UPDATE OR IGNORE \(table) SET \"\(column)\" = ? WHERE \"\(column)\" = \(last)", arguments: [number])
      }
      return true
    } catch let error as DatabaseError where error.resultCode == .constraint {
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
