package import KeyStorage
import SQLite

extension SQLiteStore: MovableStore {
  package func rows(of table: StoreTable, behind key: [StoredValue]?) async throws -> [[StoredValue]] {
    try await reading { database in
      try Row.fetchAll(
        database,
        sql: """
          SELECT \(table.columns.joined(separator: ", ")) FROM \(table.name)
          WHERE \(key == nil ? "true" : Self.isBehind(table))
          ORDER BY \(table.key.joined(separator: ", ")) LIMIT \(table.pageSize)
          """, arguments: StatementArguments((key ?? []).map(Self.value))
      ).map { row in try table.columns.indices.map { try Self.value(row[$0]) } }
    }
  }

  package func lastKey(of table: StoreTable) async throws -> [StoredValue]? {
    try await reading { database in
      try Row.fetchOne(
        database,
        sql: """
          SELECT \(table.key.joined(separator: ", ")) FROM \(table.name)
          ORDER BY \(table.key.map { "\($0) DESC" }.joined(separator: ", ")) LIMIT 1
          """
      ).map { row in try table.key.indices.map { try Self.value(row[$0]) } }
    }
  }

  package func put(_ rows: [[StoredValue]], into table: StoreTable) async throws {
    let places = table.columns.map { _ in "?" }.joined(separator: ", ")
    let changes = table.columns.dropFirst(table.keyCount).map { "\($0) = excluded.\($0)" }
    try await moving { database in
      let statement = try database.cachedStatement(
        sql: """
          INSERT INTO \(table.name) (\(table.columns.joined(separator: ", "))) VALUES (\(places))
          ON CONFLICT (\(table.key.joined(separator: ", "))) DO
          \(changes.isEmpty ? "NOTHING" : "UPDATE SET " + changes.joined(separator: ", "))
          """)
      for row in rows { try statement.execute(arguments: StatementArguments(row.map(Self.value))) }
    }
  }

  package func removeRow(_ key: [StoredValue], of table: StoreTable) async throws {
    let condition = table.key.map { "\($0) = ?" }.joined(separator: " AND ")
    try await moving { database in
      try database.execute(
        sql: "DELETE FROM \(table.name) WHERE \(condition)", arguments: StatementArguments(key.map(Self.value)))
    }
  }

  /// Of tables whose numbers are never given twice; the others count on from the highest.
  package func lastNumbers() async throws -> [String: Int64] {
    try await reading { database in
      var numbers: [String: Int64] = [:]
      for row in try Row.fetchAll(database, sql: "SELECT name, seq FROM sqlite_sequence") {
        try numbers[row["name"]] = try row["seq"]
      }
      return numbers
    }
  }

  package func setLastNumbers(_ numbers: [String: Int64]) async throws {
    try await moving { database in
      let counted = try String.fetchAll(
        database, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'")
      for table in counted {
        let last = try Int64.fetchOne(database, sql: "SELECT max(id) FROM \(table)")
        let number = max(numbers[table] ?? 0, last ?? 0)
        try database.execute(sql: "DELETE FROM sqlite_sequence WHERE name = ?", arguments: [table])
        try database.execute(
          sql: "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", arguments: [table, number])
      }
    }
  }

  private func reading<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    try await read { state in
      guard let transaction = state as? SQLiteTransaction else { throw StorageFault(.unsupported, "no transaction") }
      return try body(transaction.database)
    }
  }

  private func moving(_ body: @escaping @Sendable (Database) throws -> Void) async throws {
    try await write(as: .moving) { state in
      guard let transaction = state as? SQLiteTransaction else { throw StorageFault(.unsupported, "no transaction") }
      try body(transaction.database)
    }
  }

  private static func isBehind(_ table: StoreTable) -> String {
    let places = table.key.map { _ in "?" }.joined(separator: ", ")
    return "(\(table.key.joined(separator: ", "))) > (\(places))"
  }

  private static func value(_ value: StoredValue) -> DatabaseValue {
    switch value {
    case .none: .null
    case .number(let number): number.databaseValue
    case .text(let text): text.databaseValue
    case .bytes(let bytes): bytes.databaseValue
    }
  }

  private static func value(_ value: DatabaseValue) -> StoredValue {
    switch value {
    case .null: .none
    case .int64(let number): .number(number)
    case .double(let number): .number(Int64(exactly: number) ?? .max)
    case .string(let text): .text(text)
    case .blob(let bytes): .bytes(bytes)
    }
  }
}
