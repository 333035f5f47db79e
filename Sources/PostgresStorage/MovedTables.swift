package import KeyStorage

extension PostgresStore: MovableStore {
  package func rows(of table: StoreTable, behind key: [StoredValue]?) async throws -> [[StoredValue]] {
    try await reading { database in
      try database.rows(
        """
        SELECT \(table.columns.joined(separator: ", ")) FROM \(table.name) WHERE \(key == nil ? "true" : Self.isBehind(table))
        ORDER BY \(table.key.joined(separator: ", ")) LIMIT \(table.pageSize)
        """, with: (key ?? []).map(Self.argument)
      ).map { row in try table.columns.indices.map { try Self.value(row, Int32($0)) } }
    }
  }

  package func lastKey(of table: StoreTable) async throws -> [StoredValue]? {
    try await reading { database in
      try database.row(
        """
        SELECT \(table.key.joined(separator: ", ")) FROM \(table.name)
        ORDER BY \(table.key.map { "\($0) DESC" }.joined(separator: ", ")) LIMIT 1
        """
      ).map { row in try table.key.indices.map { try Self.value(row, Int32($0)) } }
    }
  }

  package func put(_ rows: [[StoredValue]], into table: StoreTable) async throws {
    let places = table.columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
    let changes = table.columns.dropFirst(table.keyCount).map { "\($0) = excluded.\($0)" }
    try await moving { database in
      for row in rows {
        try database.run(
          """
          INSERT INTO \(table.name) (\(table.columns.joined(separator: ", "))) VALUES (\(places))
          ON CONFLICT (\(table.key.joined(separator: ", "))) DO
          \(changes.isEmpty ? "NOTHING" : "UPDATE SET " + changes.joined(separator: ", "))
          """, with: row.map(Self.argument))
      }
    }
  }

  package func removeRow(_ key: [StoredValue], of table: StoreTable) async throws {
    let condition = table.key.enumerated().map { "\($1) = $\($0 + 1)" }.joined(separator: " AND ")
    try await moving { database in
      try database.run("DELETE FROM \(table.name) WHERE \(condition)", with: key.map(Self.argument))
    }
  }

  package func lastNumbers() async throws -> [String: Int64] {
    try await reading { database in
      var numbers: [String: Int64] = [:]
      for row in try database.rows("SELECT name, last FROM counters WHERE name <> 'writes'") {
        numbers[try row[0]] = try row[1]
      }
      return numbers
    }
  }

  /// Those that a store counts otherwise are the highest that it has.
  package func setLastNumbers(_ numbers: [String: Int64]) async throws {
    try await moving { database in
      for row in try database.rows("SELECT name FROM counters WHERE name <> 'writes'") {
        let table: String = try row[0]
        let last: Int64? = try database.value("SELECT max(id) FROM \(table)")
        try database.run(
          "UPDATE counters SET last = $1 WHERE name = $2", max(numbers[table] ?? 0, last ?? 0), table)
      }
    }
  }

  private func reading<Result: Sendable>(
    _ body: @escaping @Sendable (PostgresConnection) throws -> Result
  ) async throws -> Result {
    try await read { state in
      guard let transaction = state as? PostgresTransaction else { throw StorageFault(.unsupported, "no transaction") }
      return try body(transaction.database)
    }
  }

  private func moving(_ body: @escaping @Sendable (PostgresConnection) throws -> Void) async throws {
    try await write(as: .moving) { state in
      guard let transaction = state as? PostgresTransaction else { throw StorageFault(.unsupported, "no transaction") }
      try body(transaction.database)
    }
  }

  private static func isBehind(_ table: StoreTable) -> String {
    let places = table.key.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
    return "(\(table.key.joined(separator: ", "))) > (\(places))"
  }

  private static func argument(_ value: StoredValue) -> any PostgresArgument {
    switch value {
    case .none: PostgresNull()
    case .number(let number): number
    case .text(let text): text
    case .bytes(let bytes): bytes
    }
  }

  private static func value(_ row: PostgresRow, _ column: Int32) throws -> StoredValue {
    if row.isNull(column) { return .none }
    switch row.result.type(of: column) {
    case 17: return .bytes(try [UInt8](row, column))
    case 25: return .text(try String(row, column))
    default: return .number(try row.integer(column))
    }
  }
}

/// NULL, of the type that the statement needs.
private struct PostgresNull: PostgresArgument {
  var postgresValue: PostgresValue { .untypedNull }
  static var null: PostgresValue { .untypedNull }
}
