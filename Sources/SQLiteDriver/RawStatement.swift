import ExposureKeys
import GRDB
import GRDBSQLite
import Glibc
import KeyStorage

/// A statement that is prepared once for a connection, and bound and read without the library's values: those end a text at its first
/// NUL, and a row of theirs traps where a column has something else than is asked for.
struct RawStatement {
  private let database: Database
  /// Keeps what `pointer` points to.
  private let statement: Statement
  private let pointer: OpaquePointer

  /// - Parameter isKept: whether the connection keeps it for the same SQL. Only one caller at a time may use a statement that is kept.
  init(_ database: Database, _ sql: String, isKept: Bool = true) throws {
    self.database = database
    statement = isKept ? try database.cachedStatement(sql: sql) : try database.makeStatement(sql: sql)
    pointer = statement.sqliteStatement
    reset()
  }

  func reset() { sqlite3_reset(pointer) }

  /// It holds nothing of the database any more, and nothing of what was bound.
  func letGo() {
    sqlite3_reset(pointer)
    sqlite3_clear_bindings(pointer)
  }

  // MARK: Binding

  /// Binds values in their order. SQLite copies them.
  ///
  /// - Throws: `DatabaseError` where there are not as many as places.
  func bind(_ values: [SQLValue]) throws {
    let count = Int(sqlite3_bind_parameter_count(pointer))
    guard values.count == count else {
      throw DatabaseError(
        resultCode: .SQLITE_RANGE, message: "a statement has \(count) places and was given \(values.count) values")
    }
    for (value, index) in zip(values, Int32(1)...) {
      let code =
        switch value {
        case .int(let number?): sqlite3_bind_int64(pointer, index, number)
        case .text(let text?): sqlite3_bind_text(pointer, index, text, Int32(clamping: text.utf8.count), Self.copied)
        case .bytes(let bytes?):
          bytes.isEmpty
            ? sqlite3_bind_zeroblob(pointer, index, 0)
            : bytes.withUnsafeBytes {
              sqlite3_bind_blob(pointer, index, $0.baseAddress, Int32(clamping: $0.count), Self.copied)
            }
        case .int(nil), .text(nil), .bytes(nil): sqlite3_bind_null(pointer, index)
        }
      guard code == SQLITE_OK else { throw database.error(code) }
    }
  }

  /// SQLite's word for "take a copy", an address that the importer does not know.
  private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  // MARK: Stepping

  /// - Returns: whether there is a row.
  /// - Throws: `DatabaseError`; `CancellationError` where the task was cancelled that waits for it.
  func step() throws -> Bool {
    try Task.checkCancellation()
    switch sqlite3_step(pointer) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code:
      let error = database.error(code)
      reset()
      if code & 0xff == SQLITE_INTERRUPT { try Task.checkCancellation() }
      throw error
    }
  }

  /// Steps a statement without rows.
  func run() throws {
    while try step() {}
    reset()
  }

  /// Reads the whole row, as far as it goes over to other pages.
  func readAll() {
    for column in 0..<sqlite3_column_count(pointer) { _ = sqlite3_column_blob(pointer, column) }
  }

  // MARK: Reading

  func int(at column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }

  /// The bytes of a column, until the next step.
  func bytes(at column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(pointer, column)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
  }

  var columnNames: [String] {
    (0..<sqlite3_column_count(pointer)).map { sqlite3_column_name(pointer, $0).map { String(cString: $0) } ?? "" }
  }

  /// The row, copied.
  ///
  /// - Throws: ``StorageFault`` `corrupt` where a number is not whole.
  func values() throws -> [StoredValue] { try (0..<sqlite3_column_count(pointer)).map(value(at:)) }

  private func value(at column: Int32) throws -> StoredValue {
    switch sqlite3_column_type(pointer, column) {
    case SQLITE_INTEGER: return .number(int(at: column))
    case SQLITE_FLOAT:
      let number = sqlite3_column_double(pointer, column)
      guard let whole = Int64(exactly: number) else {
        throw StorageFault(.corrupt, "a number is \(number), and no store writes one that is not whole")
      }
      return .number(whole)
    case SQLITE_TEXT:
      let start = sqlite3_column_text(pointer, column)
      let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
      return .text(String(decoding: bytes, as: UTF8.self))
    case SQLITE_BLOB: return .bytes(Array(bytes(at: column)))
    default: return .none
    }
  }
}

extension Database {
  /// What a code of SQLite means, in its words for what was done last.
  func error(_ code: Int32) -> DatabaseError {
    DatabaseError(
      resultCode: ResultCode(rawValue: code), message: sqlite3_errmsg(sqliteConnection).map { String(cString: $0) }
    ).seenBy(self)
  }

  /// All of it happens, or nothing.
  func inOneTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    var result: Result?
    do {
      try inTransaction(.immediate) {
        result = try body()
        return .commit
      }
    } catch let error as DatabaseError {
      throw error.seenBy(self)
    }
    guard let result else { preconditionFailure("a transaction that was kept has a result") }
    return result
  }
}

extension DatabaseError {
  /// SQLite reports a full disk as a failed one where it does not write a page, such as in the memory that processes share.
  fileprivate func seenBy(_ database: Database) -> DatabaseError {
    guard resultCode == .SQLITE_IOERR || resultCode == .SQLITE_CANTOPEN, let connection = database.sqliteConnection,
      [ENOSPC, EDQUOT].contains(sqlite3_system_errno(connection))
    else { return self }
    return DatabaseError(resultCode: .SQLITE_FULL)
  }
}
