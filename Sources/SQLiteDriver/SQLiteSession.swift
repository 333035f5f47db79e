import ExposureKeys
import GRDB
import GRDBSQLite
import KeyStorage

/// A transaction of SQLite for the tables of the store.
final class SQLiteSession: SQLSession {
  let database: Database
  private let isTransaction: Bool
  /// The SQL of statements in use. The same SQL gets another statement meanwhile.
  private var taken: Set<String> = []

  /// - Parameter isTransaction: `false` for checks of a file that may be damaged, because damage ends a transaction.
  init(_ database: Database, isTransaction: Bool = true) {
    self.database = database
    self.isTransaction = isTransaction
  }

  var dialect: SQLDialect { .sqlite }

  func run(_ sql: String, with values: [SQLValue]) throws -> Int {
    try withStatement(sql, values) { statement in
      try statement.run()
      return database.changesCount
    }
  }

  func each(_ sql: String, with values: [SQLValue], _ body: (SQLRow) throws -> Void) throws {
    try withStatement(sql, values) { statement in
      let columns = SQLColumns(statement.columnNames, of: sql)
      while try statement.step() { try body(SQLRow(columns, try statement.values())) }
    }
  }

  func insert(into table: String, _ columns: [String], _ rows: [[SQLValue]], _ conflict: String) throws {
    if rows.isEmpty { return }
    let places = columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
    let sql = "INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(places)) \(conflict)"
    try withStatement(sql, rows[0]) { statement in
      for row in rows {
        try statement.bind(row)
        try statement.run()
      }
    }
  }

  private func withStatement<Result>(
    _ sql: String, _ values: [SQLValue], _ body: (RawStatement) throws -> Result
  ) throws -> Result {
    // Some errors end a transaction, and a body may have caught one. What it does then would stand alone.
    guard !isTransaction || database.isInsideTransaction else {
      throw DatabaseError(resultCode: .SQLITE_ABORT, message: "the transaction was rolled back by an error before")
    }
    let isFree = taken.insert(sql).inserted
    defer { if isFree { taken.remove(sql) } }
    let statement = try RawStatement(database, Self.numbered(sql), isKept: isFree)
    defer { statement.letGo() }
    try statement.bind(values)
    return try body(statement)
  }

  func lastNumber(of table: String) throws -> Int64 {
    try value("SELECT seq FROM sqlite_sequence WHERE name = $1", table) ?? 0
  }

  func lastNumbers() throws -> [String: Int64] {
    var numbers: [String: Int64] = [:]
    for row in try rows("SELECT name, seq FROM sqlite_sequence") { numbers[try row[0]] = try row[1] as Int64 }
    return numbers
  }

  func setLastNumbers(_ numbers: [String: Int64]) throws {
    let counted: [String] = try rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"
    ).map { try $0[0] }
    for table in counted {
      let last: Int64? = try value("SELECT max(id) FROM \(table)")
      try run("DELETE FROM sqlite_sequence WHERE name = $1", table)
      try run("INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)", table, max(numbers[table] ?? 0, last ?? 0))
    }
  }

  /// A table with `AUTOINCREMENT` keeps its last number also when a statement states one; the others never lose their last row.
  func nextNumbers(_ count: Int, of table: String) throws -> Int64 {
    let kept: Int64? = try value("SELECT seq FROM sqlite_sequence WHERE name = $1", table)
    if let kept { return kept + 1 }
    let last: Int64? = try value("SELECT max(id) FROM \(table)")
    return (last ?? 0) + 1
  }

  func serverTime() -> Instant? { nil }

  /// SQLite copies a value as a whole, several times; so it is written piece by piece over zeros.
  func insert(into table: String, _ columns: [String], _ values: [SQLValue], bytes: StoredBytes) throws {
    let places = (1...columns.count + 1).map { "$\($0)" }
    _ = try run(
      """
      INSERT INTO \(table) (\(columns.joined(separator: ", ")), bytes)
      VALUES (\(places.dropLast().joined(separator: ", ")), zeroblob(\(places[columns.count])))
      """, with: values + [bytes.count.sqlValue])
    guard bytes.count > 0, case .int(let row?) = values.first else { return }
    let blob = try open(table, row, isWritten: true)
    defer { sqlite3_blob_close(blob) }
    try bytes.forEachPiece { offset, piece in
      try require(sqlite3_blob_write(blob, piece.baseAddress, Int32(piece.count), Int32(offset)))
    }
  }

  func bytes(in table: String, where key: String, is number: Int64) throws -> [UInt8]? {
    let length: Int? = try value("SELECT length(bytes) FROM \(table) WHERE \(key) = $1", number)
    guard let length else { return nil }
    if length == 0 { return [] }
    let blob = try open(table, number, isWritten: false)
    defer { sqlite3_blob_close(blob) }
    return try [UInt8](unsafeUninitializedCapacity: length) { room, filled in
      try require(sqlite3_blob_read(blob, room.baseAddress, Int32(length), 0))
      filled = length
    }
  }

  private func open(_ table: String, _ row: Int64, isWritten: Bool) throws -> OpaquePointer? {
    var blob: OpaquePointer?
    try require(sqlite3_blob_open(database.sqliteConnection, "main", table, "bytes", row, isWritten ? 1 : 0, &blob))
    return blob
  }

  private func require(_ code: Int32) throws {
    guard code != SQLITE_OK else { return }
    throw database.error(code)
  }

  /// SQLite takes `$1` for a *name*, and gives names numbers in the order in which they first stand: `$2 … $1` would swap two
  /// values without a word. `?1` is a number.
  static func numbered(_ sql: String) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(sql.utf8.count)
    var isQuoted = false
    for byte in sql.utf8 {
      if byte == UInt8(ascii: "'") { isQuoted.toggle() }
      text.append(byte == UInt8(ascii: "$") && !isQuoted ? UInt8(ascii: "?") : byte)
    }
    return String(decoding: text, as: UTF8.self)
  }
}
