internal import CSQLite
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// One connection to a file, for who has the turn on it.
package final class Database {
  /// `nil` once it is closed.
  package private(set) var sqliteConnection: OpaquePointer?
  package let path: String
  package let isReadOnly: Bool
  let cancellation = Cancellation()
  /// Of who asks for the same often.
  private var lasting: [String: Statement] = [:]
  /// Of what was asked last, each used by one at a time.
  private var recent: [String: Statement] = [:]
  private static let recentLimit = 256
  /// Whether a body is at work that is one transaction.
  private var expectsTransaction = false

  /// How a file is opened.
  package struct Options: Sendable {
    package var isReadOnly: Bool
    /// How long it is waited where somebody else is in the way.
    package var busySeconds: Int32
    /// What is done before anything else.
    package var prepare: @Sendable (Database) throws -> Void

    package init(
      isReadOnly: Bool = false, busySeconds: Int32 = 10,
      prepare: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) {
      self.isReadOnly = isReadOnly
      self.busySeconds = busySeconds
      self.prepare = prepare
    }
  }

  /// Opens a file, and makes it where there is none and it is not only read. References between tables are looked after.
  ///
  /// - Throws: ``DatabaseError``, also where the file is none of SQLite's.
  init(path: String, options: Options) throws {
    self.path = path
    isReadOnly = options.isReadOnly
    let flags = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    let code = sqlite3_open_v2(path, &sqliteConnection, flags | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK else {
      let error = DatabaseError(resultCode: ResultCode(rawValue: code))
      forget()
      throw error
    }
    do {
      sqlite3_busy_timeout(sqliteConnection, options.busySeconds * 1000)
      try require(keyferry_sqlite_no_quoted_texts(sqliteConnection))
      try require(sqlite3_extended_result_codes(sqliteConnection, 1))
      try execute(sql: "PRAGMA foreign_keys = ON")
      try options.prepare(self)
      // What is no file of SQLite's is seen here, and not later.
      _ = try Row.fetchOne(self, sql: "SELECT * FROM sqlite_master LIMIT 1")
    } catch {
      forget()
      throw error
    }
  }

  deinit { forget() }

  /// - Throws: ``DatabaseError`` `busy` where a statement is still in somebody's hands.
  func close() throws {
    guard let connection = sqliteConnection else { return }
    (lasting, recent) = ([:], [:])
    let code = sqlite3_close(connection)
    guard code == SQLITE_OK else { throw error(code) }
    sqliteConnection = nil
  }

  /// The connection goes as soon as nobody has a statement of it any more.
  private func forget() {
    (lasting, recent) = ([:], [:])
    sqlite3_close_v2(sqliteConnection)
    sqliteConnection = nil
  }

  // MARK: Statements

  /// Runs all statements of a text. Values are for them in their order.
  package func execute(sql: String, arguments: StatementArguments = [:]) throws {
    try checkTransaction()
    if let statement = recent.removeValue(forKey: sql) {
      defer { recent[sql] = statement }
      return try statement.execute(arguments: arguments)
    }
    var rest = ArraySlice(sql.utf8)
    var values = arguments.values[...]
    var isFirst = true
    while let statement = try Statement.prepare(&rest, lasts: false, in: self) {
      var own = arguments
      if arguments.named.isEmpty {
        let count = statement.argumentCount
        own = StatementArguments(values.prefix(count))
        values = values.dropFirst(count)
      }
      try statement.execute(arguments: own)
      if isFirst, rest.isEmpty { keep(statement, sql) }
      isFirst = false
    }
    guard values.isEmpty || !arguments.named.isEmpty else {
      throw DatabaseError(resultCode: .range, message: "a statement was given \(values.count) values too many")
    }
  }

  /// A statement that is used often. One at a time uses it.
  package func cachedStatement(sql: String) throws -> Statement {
    try checkTransaction()
    if let statement = lasting[sql] { return statement }
    let statement = try prepare(sql, lasts: true)
    lasting[sql] = statement
    return statement
  }

  func withStatement<Result>(_ sql: String, _ body: (Statement) throws -> Result) throws -> Result {
    try checkTransaction()
    let statement = try recent.removeValue(forKey: sql) ?? prepare(sql, lasts: false)
    defer { keep(statement, sql) }
    return try body(statement)
  }

  private func prepare(_ sql: String, lasts: Bool) throws -> Statement {
    var text = ArraySlice(sql.utf8)
    guard let statement = try Statement.prepare(&text, lasts: lasts, in: self) else {
      throw DatabaseError(resultCode: .misuse, message: "a text without a statement")
    }
    return statement
  }

  /// Some of the others act when they are prepared (PRAGMA), or are run once.
  private static let kept = ["SELECT", "INSERT", "UPDATE", "DELETE", "BEGIN", "COMMIT"]

  private func keep(_ statement: Statement, _ sql: String) {
    guard sqliteConnection != nil, Self.kept.contains(where: sql.hasPrefix) else { return }
    if recent.count >= Self.recentLimit { recent = [:] }
    recent[sql] = statement
  }

  /// Of the last row that was added.
  package var lastInsertedRowID: Int64 { sqliteConnection.map { sqlite3_last_insert_rowid($0) } ?? 0 }

  /// How many rows the last statement changed.
  package var changesCount: Int { sqliteConnection.map { Int(sqlite3_changes($0)) } ?? 0 }

  // MARK: Transactions

  package enum TransactionKind: String, Sendable {
    /// It sees one state of the file from its first look on.
    case deferred = "DEFERRED"
    /// Nobody else writes from its beginning on.
    case immediate = "IMMEDIATE"
  }

  package var isInsideTransaction: Bool { sqliteConnection.map { sqlite3_get_autocommit($0) == 0 } ?? false }

  /// All of it happens, or nothing.
  package func inTransaction<Result>(_ kind: TransactionKind, _ body: () throws -> Result) throws -> Result {
    try execute(sql: "BEGIN \(kind.rawValue)")
    expectsTransaction = true
    defer { expectsTransaction = false }
    do {
      let result = try body()
      try checkTransaction()
      try cancellation.check()
      // From here on it happens, whoever does not wait for it any more.
      try cancellation.ignoring { try execute(sql: "COMMIT") }
      return result
    } catch {
      expectsTransaction = false
      rollBack()
      throw error
    }
  }

  /// Some errors end a transaction, and a body may have caught one. What it does then would stand alone.
  private func checkTransaction() throws {
    guard !expectsTransaction || isInsideTransaction else {
      throw DatabaseError(resultCode: .error, message: "the transaction was rolled back by an error before")
    }
  }

  /// Ends what was begun, also in a task that was cancelled.
  func rollBack() {
    guard isInsideTransaction else { return }
    // While one is at work, whatever is begun is interrupted as well, and a state of the file is kept.
    resetAll()
    try? cancellation.ignoring { try execute(sql: "ROLLBACK") }
  }

  /// Takes every statement back to its beginning: none keeps a state of the file.
  func resetAll() {
    var statement = sqlite3_next_stmt(sqliteConnection, nil)
    while let current = statement {
      sqlite3_reset(current)
      statement = sqlite3_next_stmt(sqliteConnection, current)
    }
  }

  // MARK: The file

  package enum CheckpointKind: Sendable {
    /// The log is empty afterwards.
    case truncate
  }

  /// Moves what is in the log of changes into the file.
  ///
  /// - Throws: ``DatabaseError`` `busy` where somebody reads a state that only the log has.
  package func checkpoint(_ kind: CheckpointKind) throws {
    switch kind {
    case .truncate:
      try require(sqlite3_wal_checkpoint_v2(try requireHandle(), nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil))
    }
  }

  /// Writes everything into another file, page by page.
  func backUp(to other: Database) throws {
    let target = try other.requireHandle()
    guard let backup = sqlite3_backup_init(target, "main", try requireHandle(), "main") else {
      throw other.error(sqlite3_errcode(target))
    }
    let code = sqlite3_backup_step(backup, -1)
    let end = sqlite3_backup_finish(backup)
    // Who waits for it waits at the connection that is read.
    if code & 0xff == SQLITE_INTERRUPT { try cancellation.check() }
    guard code == SQLITE_DONE else { throw other.error(code) }
    try other.require(end)
  }

  /// Changes are written to a log beside the file, so that who reads is in nobody's way.
  func keepLogOfChanges() throws {
    guard try String.fetchOne(self, sql: "PRAGMA journal_mode = WAL") == "wal" else {
      throw DatabaseError(resultCode: .error, message: "SQLite keeps no log of changes for \(path)")
    }
    try execute(sql: "PRAGMA synchronous = NORMAL")
    // The last one who closes the file leaves the log there, empty: who may only read cannot make one.
    var keeps: Int32 = 1
    try require(sqlite3_file_control(sqliteConnection, "main", SQLITE_FCNTL_PERSIST_WAL, &keeps))
    // Who only reads cannot open a file whose log is to be made first.
    guard FileSize.of(path + "-wal") == 0 else { return }
    let version = try Int32.fetchOne(self, sql: "PRAGMA user_version") ?? 0
    try inTransaction(.immediate) { try execute(sql: "PRAGMA user_version = \(version)") }
  }

  // MARK: Errors

  func requireHandle() throws -> OpaquePointer {
    guard let sqliteConnection else { throw DatabaseError(resultCode: .misuse, message: "the connection is closed") }
    return sqliteConnection
  }

  func require(_ code: Int32) throws {
    guard code == SQLITE_OK else { throw error(code) }
  }

  /// What a code means, with the words for what was done last.
  ///
  /// - Returns: ``DatabaseError``; `CancellationError` where the task was cancelled that waits for it.
  func error(_ code: Int32) -> any Error {
    if code & 0xff == SQLITE_INTERRUPT {
      do { try cancellation.check() } catch { return error }
    }
    return databaseError(code)
  }

  private func databaseError(_ code: Int32) -> DatabaseError {
    // SQLite reports a full disk as a failed one where it does not write a page, such as in the memory that processes share.
    if [SQLITE_IOERR, SQLITE_CANTOPEN].contains(code & 0xff), let connection = sqliteConnection,
      [ENOSPC, EDQUOT].contains(sqlite3_system_errno(connection))
    {
      return DatabaseError(resultCode: .full)
    }
    return DatabaseError(
      resultCode: ResultCode(rawValue: code),
      message: sqliteConnection.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) })
  }
}

/// Ends what a connection does when the task is cancelled that waits for it.
final class Cancellation: Sendable {
  private struct State {
    /// Who has the turn. A word about an earlier turn says nothing.
    var turn: UInt64 = 0
    var connection: SendablePointer?
    /// Whether what is done now comes to its end.
    var isIgnored = false
    var isCancelled = false
  }

  private let state = Mutex(State())
  /// The same as the state says, for each step of a statement.
  private let refuses = Atomic(false)

  /// - Throws: `CancellationError`.
  func check() throws {
    if refuses.load(ordering: .relaxed) { throw CancellationError() }
  }

  func begin(_ turn: UInt64, on connection: OpaquePointer?) {
    state.withLock { $0 = State(turn: turn, connection: connection.map { SendablePointer(pointer: $0) }) }
  }

  func end() {
    state.withLock {
      $0.connection = nil
      refuses.store(false, ordering: .relaxed)
    }
  }

  func cancel(_ turn: UInt64) {
    state.withLock {
      guard $0.turn == turn, let connection = $0.connection else { return }
      $0.isCancelled = true
      if $0.isIgnored { return }
      refuses.store(true, ordering: .relaxed)
      sqlite3_interrupt(connection.pointer)
    }
  }

  /// For what must come to its end. Who has the turn calls it.
  func ignoring(_ body: () throws -> Void) rethrows {
    state.withLock {
      $0.isIgnored = true
      refuses.store(false, ordering: .relaxed)
    }
    defer {
      state.withLock {
        $0.isIgnored = false
        refuses.store($0.isCancelled && $0.connection != nil, ordering: .relaxed)
      }
    }
    try body()
  }

  /// SQLite lets any thread interrupt a connection that is not closed meanwhile.
  private struct SendablePointer: @unchecked Sendable {
    let pointer: OpaquePointer
  }
}
