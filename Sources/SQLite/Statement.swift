internal import CSQLite

/// A prepared statement of one connection.
package final class Statement {
  /// For those who bind and step by themselves.
  package let handle: OpaquePointer
  private let cancellation: Cancellation
  private let connection: OpaquePointer
  private var knownColumns: ColumnNames?

  /// Prepares the first statement of a text.
  ///
  /// - Parameters:
  ///   - text: in UTF-8; what is behind the statement is left in it.
  ///   - lasts: whether it will be used often.
  /// - Returns: `nil` where there is nothing but comments.
  static func prepare(_ text: inout ArraySlice<UInt8>, lasts: Bool, in database: Database) throws -> Statement? {
    let connection = try database.requireHandle()
    var statement: OpaquePointer?
    let code = text.withUnsafeBytes { bytes in
      let start = bytes.bindMemory(to: CChar.self).baseAddress
      var rest: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v3(
        connection, start, Int32(bytes.count), lasts ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0, &statement, &rest)
      return (code, start.flatMap { start in rest.map { $0 - start } } ?? bytes.count)
    }
    guard code.0 == SQLITE_OK else { throw database.error(code.0) }
    text = text.dropFirst(code.1)
    return statement.map { Statement($0, in: database, connection) }
  }

  private init(_ handle: OpaquePointer, in database: Database, _ connection: OpaquePointer) {
    self.handle = handle
    self.connection = connection
    cancellation = database.cancellation
  }

  deinit { sqlite3_finalize(handle) }

  /// How many values it takes.
  var argumentCount: Int { Int(sqlite3_bind_parameter_count(handle)) }

  /// Goes on to the next row.
  ///
  /// - Returns: whether there is one.
  /// - Throws: ``DatabaseError``, `CancellationError` where the task was cancelled that waits for it.
  package func step() throws -> Bool {
    try cancellation.check()
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code: throw failed(code)
    }
  }

  /// What a step that failed means. The statement is at its beginning again.
  ///
  /// - Returns: ``DatabaseError``; `CancellationError` where the task was cancelled that waits for it.
  package func failed(_ code: Int32) -> any Error {
    let error = DatabaseError(
      resultCode: ResultCode(rawValue: code), message: sqlite3_errmsg(connection).map { String(cString: $0) })
    sqlite3_reset(handle)
    if error.resultCode == .interrupted {
      do { try cancellation.check() } catch { return error }
    }
    return error
  }

  /// Runs it to its end.
  package func execute(arguments: StatementArguments = [:]) throws {
    try bind(arguments)
    defer { letGo() }
    while try step() {}
  }

  func forEachRow(_ arguments: StatementArguments, _ body: (Row) throws -> Void) throws {
    try bind(arguments)
    defer { letGo() }
    while try step() { try body(row) }
  }

  func firstRow(_ arguments: StatementArguments) throws -> Row? {
    try bind(arguments)
    defer { letGo() }
    return try step() ? row : nil
  }

  /// It holds nothing of the database any more, and no copies of what was bound.
  private func letGo() {
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  private var row: Row { Row(columns: columns, values: (0..<sqlite3_column_count(handle)).map(value(at:))) }

  /// A change of tables changes what `*` means.
  private var columns: ColumnNames {
    let count = sqlite3_column_count(handle)
    if let knownColumns, knownColumns.names.count == count { return knownColumns }
    let columns = ColumnNames(
      (0..<count).map { sqlite3_column_name(handle, $0).map { String(cString: $0) } ?? "" },
      of: sqlite3_sql(handle).map { String(cString: $0) } ?? "")
    knownColumns = columns
    return columns
  }

  private func value(at column: Int32) -> DatabaseValue {
    switch sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: return .int64(sqlite3_column_int64(handle, column))
    case SQLITE_FLOAT: return .double(sqlite3_column_double(handle, column))
    case SQLITE_TEXT:
      let start = sqlite3_column_text(handle, column)
      let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
      return .string(String(decoding: bytes, as: UTF8.self))
    case SQLITE_BLOB:
      let start = sqlite3_column_blob(handle, column)
      return .blob(
        Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))))
    default: return .null
    }
  }

  // MARK: Binding

  private func bind(_ arguments: StatementArguments) throws {
    sqlite3_reset(handle)
    let count = argumentCount
    if arguments.named.isEmpty {
      guard arguments.values.count == count else {
        throw DatabaseError(
          resultCode: .range, message: "a statement has \(count) places and was given \(arguments.values.count) values")
      }
      for (index, value) in arguments.values.enumerated() { try bind(value, at: Int32(index) + 1) }
      return
    }
    var next = arguments.values.startIndex
    for index in 0..<Int32(count) {
      if let name = sqlite3_bind_parameter_name(handle, index + 1).map({ String(cString: $0) }) {
        guard let value = arguments.named[String(name.dropFirst())] else {
          throw DatabaseError(resultCode: .range, message: "a statement was given no value for \(name)")
        }
        try bind(value, at: index + 1)
      } else {
        guard next < arguments.values.endIndex else {
          throw DatabaseError(resultCode: .range, message: "a statement was given too few values")
        }
        try bind(arguments.values[next], at: index + 1)
        next += 1
      }
    }
  }

  private func bind(_ value: DatabaseValue, at index: Int32) throws {
    let code =
      switch value {
      case .null: sqlite3_bind_null(handle, index)
      case .int64(let number): sqlite3_bind_int64(handle, index, number)
      case .double(let number): sqlite3_bind_double(handle, index, number)
      case .string(var text):
        text.withUTF8 { bytes in
          bytes.withMemoryRebound(to: CChar.self) {
            keyferry_sqlite_bind_text(handle, index, $0.baseAddress, Int32(clamping: $0.count))
          }
        }
      case .blob(let bytes):
        bytes.isEmpty
          ? sqlite3_bind_zeroblob64(handle, index, 0)
          : bytes.withUnsafeBytes {
            keyferry_sqlite_bind_bytes(handle, index, $0.baseAddress, Int32(clamping: $0.count))
          }
      }
    guard code == SQLITE_OK else {
      throw DatabaseError(
        resultCode: ResultCode(rawValue: code), message: sqlite3_errmsg(connection).map { String(cString: $0) })
    }
  }
}
