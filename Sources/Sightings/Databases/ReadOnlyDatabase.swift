internal import ExposureKeys
internal import GRDBSQLite
internal import Glibc
internal import KeyFormats

/// An SQLite database that somebody else has written, read as it is in its file.
///
/// SQLite is told that the file never changes: it takes no locks and makes no journal or shared memory beside it. An authorizer lets
/// statements read the named tables and nothing else, whatever views or generated columns the file brings. A damaged or hostile file
/// can neither take more steps nor return more rows than one of its size has room for.
final class ReadOnlyDatabase {
  private let database: OpaquePointer
  private let guardian: Guardian

  /// What the callbacks of SQLite know.
  private final class Guardian {
    var tables: Set<String> = ["sqlite_schema", "sqlite_master"]
    var allowsPragmas = true
    /// Calls of the progress handler that are left.
    var steps: Int
    init(steps: Int) { self.steps = steps }
  }

  private static let stepsPerCall: Int32 = 10_000
  /// No row of these logs is larger.
  private static let longestValue: Int32 = 1 << 20

  /// - Parameters:
  ///   - path: the bytes of the file's path.
  ///   - byteCount: of the file.
  /// - Throws: ``FormatError``; where newer rows wait beside the file, too.
  init(path: [UInt8], byteCount: Int) throws {
    try Self.refuseUnwritten(path)
    guardian = Guardian(steps: 1000 + byteCount / 100)
    var opened: OpaquePointer?
    let uri = "file:\(Self.spelled(path))?mode=ro&immutable=1"
    let code = sqlite3_open_v2(uri, &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nil)
    guard let opened else { throw FormatError(.cannotRead, "SQLite has no memory") }
    database = opened
    guard code == SQLITE_OK else { throw fault("cannot open the database") }
    for (limit, most) in [
      (SQLITE_LIMIT_LENGTH, Self.longestValue), (SQLITE_LIMIT_SQL_LENGTH, 1 << 16), (SQLITE_LIMIT_ATTACHED, 0),
      (SQLITE_LIMIT_COLUMN, 256), (SQLITE_LIMIT_EXPR_DEPTH, 32), (SQLITE_LIMIT_VDBE_OP, 25_000),
      (SQLITE_LIMIT_WORKER_THREADS, 0),
    ] { sqlite3_limit(opened, limit, most) }
    let context = Unmanaged.passUnretained(guardian).toOpaque()
    sqlite3_progress_handler(
      opened, Self.stepsPerCall,
      { context in
        guard let context else { return 1 }
        let guardian = Unmanaged<Guardian>.fromOpaque(context).takeUnretainedValue()
        guardian.steps -= 1
        return guardian.steps < 0 ? 1 : 0
      }, context)
    sqlite3_set_authorizer(
      opened,
      { context, action, first, _, _, _ in
        guard let context else { return SQLITE_DENY }
        let guardian = Unmanaged<Guardian>.fromOpaque(context).takeUnretainedValue()
        switch action {
        case SQLITE_SELECT: return SQLITE_OK
        case SQLITE_PRAGMA: return guardian.allowsPragmas ? SQLITE_OK : SQLITE_DENY
        case SQLITE_READ:
          return first.map { guardian.tables.contains(String(cString: $0)) } == true ? SQLITE_OK : SQLITE_DENY
        default: return SQLITE_DENY
        }
      }, context)
    for pragma in ["trusted_schema = OFF", "cell_size_check = ON", "temp_store = MEMORY", "query_only = ON"] {
      let rows = try statement("PRAGMA \(pragma)")
      while try rows.step() {}
    }
  }

  deinit { sqlite3_close_v2(database) }

  /// Allows reading these tables, and no pragma any more.
  func open(tables: Set<String>) {
    guardian.tables.formUnion(tables)
    guardian.allowsPragmas = false
  }

  /// The columns of a table; empty if there is no such table. A view or virtual table counts as none.
  func columns(of table: String) throws -> Set<String> {
    let schema = try statement("SELECT type, sql FROM sqlite_schema WHERE name = ?1")
    schema.bind(table)
    guard try schema.step(), schema.text(0) == "table", let sql = schema.text(1),
      !sql.lowercased().split(separator: " ").prefix(2).elementsEqual(["create", "virtual"])
    else { return [] }
    let info = try statement("PRAGMA table_info(\(table))")
    var names: Set<String> = []
    while try info.step() { if let name = info.text(1) { names.insert(name.lowercased()) } }
    return names
  }

  func statement(_ sql: String) throws -> ReadOnlyRows {
    var prepared: OpaquePointer?
    guard sqlite3_prepare_v2(database, sql, -1, &prepared, nil) == SQLITE_OK, let prepared else {
      throw fault("the table cannot be read")
    }
    return ReadOnlyRows(prepared, of: self)
  }

  /// What went wrong. SQLite's words of a statement may quote the file's own, so that they are left out where they can.
  func fault(_ what: String) -> FormatError {
    let code = sqlite3_errcode(database) & 0xFF
    let words = sqlite3_errstr(code).map { String(cString: $0) } ?? "error \(code)"
    switch code {
    case SQLITE_INTERRUPT:
      return FormatError(.malformed, "\(what): it takes more steps than a file of its size can need; it is damaged")
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_SCHEMA:
      return FormatError(.malformed, "\(what): \(words)")
    case SQLITE_TOOBIG: return FormatError(.limitExceeded, "\(what): a value is larger than \(Self.longestValue) bytes")
    case SQLITE_AUTH:
      return FormatError(.malformed, "\(what): it leads to other tables, which are never read")
    default: return FormatError(.cannotRead, "\(what): \(words)")
    }
  }

  // MARK: The file

  /// Rows that wait in a write-ahead log or a journal would be left out in silence.
  private static func refuseUnwritten(_ path: [UInt8]) throws {
    for (ending, meaning) in [
      ("-wal", "rows that are not in the database yet"), ("-journal", "a change that was broken off"),
    ] {
      guard let front = front(of: path + Array(ending.utf8)) else { continue }
      // An emptied journal stays, with zeros in the place of its mark.
      guard !front.isEmpty, ending == "-wal" || front.starts(with: [0xD9, 0xD5, 0x05, 0xF9]) else { continue }
      throw FormatError(
        .unsupported,
        "the file beside it that ends in \(ending) has \(meaning), and the database is never changed here; "
          + "copy all its files, run sqlite3 COPY 'PRAGMA journal_mode = DELETE', and read the copy")
    }
  }

  /// The first bytes of a file; `nil` if it is not there.
  private static func front(of path: [UInt8]) -> [UInt8]? {
    let descriptor = Glibc.open((path + [0]).map { CChar(bitPattern: $0) }, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return [UInt8](unsafeUninitializedCapacity: 4) { room, filled in
      filled = max(0, read(descriptor, room.baseAddress, 4))
    }
  }

  /// A path within a URI: every byte that can mean something else as two digits.
  private static func spelled(_ path: [UInt8]) -> String {
    path.reduce(into: "") { text, byte in
      let scalar = Character(Unicode.Scalar(byte))
      if scalar.isASCII, scalar.isLetter || scalar.isNumber || "/._-".contains(scalar) {
        text.append(scalar)
      } else {
        text += "%" + Hexadecimal.encode(number: UInt64(byte), width: 2)
      }
    }
  }
}

/// The rows of a statement. Any column may be of any type, whatever its table declares.
final class ReadOnlyRows {
  private let statement: OpaquePointer
  private let database: ReadOnlyDatabase
  /// SQLite would begin again.
  private var isAtEnd = false

  fileprivate init(_ statement: OpaquePointer, of database: ReadOnlyDatabase) {
    self.statement = statement
    self.database = database
  }

  deinit { sqlite3_finalize(statement) }

  func bind(_ text: String) {
    sqlite3_bind_text(statement, 1, text, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
  }

  /// - Returns: whether there is a row.
  func step() throws -> Bool {
    guard !isAtEnd else { return false }
    let code = sqlite3_step(statement)
    if code == SQLITE_ROW { return true }
    isAtEnd = true
    guard code == SQLITE_DONE else { throw database.fault("the rest of the table cannot be read") }
    return false
  }

  /// A whole number, also one that is spelled as text or has a fraction, which is dropped.
  func number(_ column: Int32) -> Int64? {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_INTEGER: return sqlite3_column_int64(statement, column)
    case SQLITE_FLOAT: return Int64(exactly: sqlite3_column_double(statement, column).rounded(.towardZero))
    case SQLITE_TEXT: return SightingFields.number(bytes(column)[...])
    default: return nil
    }
  }

  /// Milliseconds since 1970 of a column in seconds, whatever its type.
  func time(_ column: Int32) -> Int64? {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_INTEGER, SQLITE_FLOAT:
      guard let number = number(column) else { return nil }
      return SightingFields.time(seconds: number) ?? SightingFields.time(milliseconds: number)
    case SQLITE_TEXT: return SightingFields.time(bytes(column)[...])
    default: return nil
    }
  }

  func isNothing(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

  func text(_ column: Int32) -> String? {
    sqlite3_column_type(statement, column) == SQLITE_TEXT ? String(decoding: bytes(column), as: UTF8.self) : nil
  }

  func bytes(_ column: Int32) -> [UInt8] {
    let start = sqlite3_column_blob(statement, column)
    return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
  }
}
