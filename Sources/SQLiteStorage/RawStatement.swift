import CSQLite
import ExposureKeys
import SQLite

/// A statement of the hot loops: values go in and out without being boxed. Prepared once for a connection.
struct RawStatement {
  private let statement: Statement
  private let connection: OpaquePointer?
  private let pointer: OpaquePointer

  init(_ database: Database, _ sql: String) throws {
    statement = try database.cachedStatement(sql: sql)
    connection = database.sqliteConnection
    pointer = statement.handle
    reset()
  }

  func reset() { sqlite3_reset(pointer) }

  func bind(_ value: Int64, at index: Int32) { sqlite3_bind_int64(pointer, index, value) }

  func bind(_ value: Int32, at index: Int32) { sqlite3_bind_int64(pointer, index, Int64(value)) }

  /// Binds a key whose bytes stand at `bytes` until the statement has been stepped.
  func bind(key bytes: UnsafeRawPointer, at index: Int32) {
    sqlite3_bind_blob(pointer, index, bytes, Int32(TemporaryExposureKey.byteCount), nil)
  }

  /// Binds a text, or NULL, while `body` runs.
  func bind<Result>(text: String?, at index: Int32, _ body: () throws -> Result) rethrows -> Result {
    guard let text else {
      sqlite3_bind_null(pointer, index)
      return try body()
    }
    return try text.withCString {
      sqlite3_bind_text(pointer, index, $0, -1, nil)
      return try body()
    }
  }

  /// Binds bytes, while `body` runs.
  func bind<Result>(bytes: [UInt8], at index: Int32, _ body: () throws -> Result) rethrows -> Result {
    try bytes.withUnsafeBytes {
      sqlite3_bind_blob(pointer, index, $0.baseAddress, Int32($0.count), nil)
      return try body()
    }
  }

  /// The bytes of a column, until the next step.
  func bytes(at column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(pointer, column)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
  }

  /// Binds so many zeros, in whose place bytes are written later.
  func bind(zeroBytes count: Int, at index: Int32) { sqlite3_bind_zeroblob64(pointer, index, UInt64(count)) }

  /// - Returns: whether there is a row.
  func step() throws -> Bool {
    switch sqlite3_step(pointer) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code: throw statement.failed(code)
    }
  }

  /// Steps a statement without rows.
  ///
  /// - Returns: whether a row was written.
  func run() throws -> Bool {
    _ = try step()
    sqlite3_reset(pointer)
    return sqlite3_changes(connection) > 0
  }

  /// Reads the whole row, as far as it goes over to other pages.
  func readAll() {
    for column in 0..<sqlite3_column_count(pointer) { _ = sqlite3_column_blob(pointer, column) }
  }

  func int(at column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }

  func int32(at column: Int32) -> Int32 { sqlite3_column_int(pointer, column) }

  /// `nil` where it is NULL.
  func text(at column: Int32) -> String? { sqlite3_column_text(pointer, column).map { String(cString: $0) } }

  func key(at column: Int32) throws -> TemporaryExposureKey {
    guard let bytes = sqlite3_column_blob(pointer, column),
      sqlite3_column_bytes(pointer, column) == TemporaryExposureKey.byteCount
    else { throw DatabaseError(resultCode: .corrupt, message: "a key is not sixteen bytes long") }
    return TemporaryExposureKey(loadingFrom: bytes)
  }
}

/// Calls `body` with the bytes of a key.
func withBytes<Result>(of key: TemporaryExposureKey, _ body: (UnsafeRawPointer) throws -> Result) rethrows -> Result {
  var words = (key.high.bigEndian, key.low.bigEndian)
  return try withUnsafeBytes(of: &words) { bytes in
    // A tuple of two words is never empty.
    guard let start = bytes.baseAddress else { preconditionFailure("sixteen bytes have an address") }
    return try body(start)
  }
}
