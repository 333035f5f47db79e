internal import ExposureKeys
internal import GRDBSQLite

/// Why a database cannot be written.
package struct SQLiteTablesError: Error, Hashable, CustomStringConvertible {
  package var description: String
}

/// Writes tables into one SQLite database, typed (`STRICT`) and indexed, in one transaction.
///
/// Times are text as SQLite's functions for dates take it: `2020-12-01T00:00:00Z`. Booleans are 0 and 1.
package final class SQLiteTables {
  private let database: OpaquePointer
  private var tables: [SQLiteRows] = []
  private var indices: [String] = []

  /// - Parameter path: a file that is not there yet, or is empty.
  /// - Throws: ``SQLiteTablesError``.
  package init(path: String) throws {
    var database: OpaquePointer?
    let status = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
    guard status == SQLITE_OK, let database else {
      let reason = database.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
      sqlite3_close_v2(database)
      throw SQLiteTablesError(description: "cannot make \(path): \(reason)")
    }
    self.database = database
    // What is not complete is thrown away, so nothing is kept for taking it back.
    try run("PRAGMA journal_mode = OFF")
    try run("PRAGMA synchronous = OFF")
    try run("BEGIN")
  }

  deinit {
    for table in tables { table.close() }
    sqlite3_close_v2(database)
  }

  package func table(_ description: TableDescription) throws -> SQLiteRows {
    let columns = description.columns.map { column in
      "\(Self.quoted(column.name)) \(column.kind.type)\(column.isOptional ? "" : " NOT NULL")"
    }
    let name = Self.quoted(description.name)
    try run("CREATE TABLE \(name) (\(columns.joined(separator: ", "))) STRICT")
    for column in description.columns where column.isIndexed {
      let index = Self.quoted("\(description.name)_by_\(column.name)")
      indices.append("CREATE INDEX \(index) ON \(name) (\(Self.quoted(column.name)))")
    }
    let places = Array(repeating: "?", count: columns.count).joined(separator: ", ")
    let rows = SQLiteRows(
      try statement("INSERT INTO \(name) VALUES (\(places))"), in: database, kinds: description.columns.map(\.kind))
    tables.append(rows)
    return rows
  }

  /// Makes the indices, which is quicker at the end, and closes the transaction.
  package func finish() throws {
    for index in indices { try run(index) }
    try run("COMMIT")
  }

  private func statement(_ sql: String) throws -> OpaquePointer {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
      throw SQLiteTablesError(description: String(cString: sqlite3_errmsg(database)))
    }
    return statement
  }

  private func run(_ sql: String) throws {
    guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else {
      throw SQLiteTablesError(description: String(cString: sqlite3_errmsg(database)))
    }
  }

  private static func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
}

/// Binds a row's values one after the other, and inserts it.
package final class SQLiteRows {
  private let database: OpaquePointer
  private var statement: OpaquePointer?
  /// In the order of the description.
  package let columns: [Column]

  fileprivate init(_ statement: OpaquePointer, in database: OpaquePointer, kinds: [ColumnKind]) {
    self.statement = statement
    self.database = database
    columns = kinds.enumerated().map { Column(statement, Int32($0.offset + 1), $0.element) }
  }

  /// Ends a row: every column has been given its value.
  package func endRow() throws {
    guard let statement else { return }
    guard sqlite3_step(statement) == SQLITE_DONE else {
      throw SQLiteTablesError(description: String(cString: sqlite3_errmsg(database)))
    }
    sqlite3_reset(statement)
    sqlite3_clear_bindings(statement)
  }

  fileprivate func close() {
    sqlite3_finalize(statement)
    statement = nil
  }

  /// A value of the row that is being written. SQLite says what was wrong with it when the row ends.
  package final class Column {
    private let statement: OpaquePointer
    private let place: Int32
    private let kind: ColumnKind
    /// SQLite copies what it is given.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    fileprivate init(_ statement: OpaquePointer, _ place: Int32, _ kind: ColumnKind) {
      self.statement = statement
      self.place = place
      self.kind = kind
    }

    /// A number, or for a boolean 0 and 1, or milliseconds since 1970.
    package func append(_ number: Int64) {
      if kind == .timestamp { return append(Instant(secondsSince1970: number / 1000).description) }
      sqlite3_bind_int64(statement, place, number)
    }

    package func append(_ text: String) {
      var text = text
      text.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) { characters in
          _ = sqlite3_bind_text(
            statement, place, characters.baseAddress ?? UnsafePointer(bitPattern: 1), Int32(clamping: characters.count),
            Self.copied)
        }
      }
    }

    package func append(bytes: [UInt8]) {
      _ = bytes.withUnsafeBytes {
        sqlite3_bind_blob(statement, place, $0.baseAddress, Int32(clamping: $0.count), Self.copied)
      }
    }

    package func appendNothing() { sqlite3_bind_null(statement, place) }

    package func append(_ value: Bool) { append(value ? 1 : 0) }

    package func append(optional number: (some BinaryInteger)?) {
      if let number { append(Int64(clamping: number)) } else { appendNothing() }
    }

    package func append(optional text: String?) { if let text { append(text) } else { appendNothing() } }
  }
}

extension ColumnKind {
  fileprivate var type: String {
    switch self {
    case .boolean, .int32, .int64: "INTEGER"
    case .timestamp, .text: "TEXT"
    case .bytes: "BLOB"
    }
  }
}
