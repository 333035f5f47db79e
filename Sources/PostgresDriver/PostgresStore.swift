import ExposureKeys
import FoundationEssentials
import Glibc
package import KeyStorage
import Synchronization

/// A store in a schema of a PostgreSQL database.
///
/// Who writes locks one row first, so that there is one writer at a time, whoever runs where; who reads has a snapshot. The
/// owner's connection holds an advisory lock of its session beside that: whoever else wants to be the owner finds it, and it
/// goes with the connection. Replicas hold it together, and what each does is under leases.
///
/// Bodies run on threads of the connections: one that writes, and some that read.
package final class PostgresStore: Store {
  package let role: StoreRole
  private let words: ConnectionWords
  private let schema: String
  private let application: String
  private let writing = ConnectionThread(name: "keyferry writer")
  private let reading: ReadingThreads
  /// What the last transactions that were kept knew.
  private let names = Mutex(Names())
  /// This process among all that write.
  private let writer = UUID().uuidString.lowercased()
  private let tuning: PostgresTuning
  /// The last transaction of this process that was kept.
  private let lastKept = Mutex<Int64?>(nil)
  private let office: PostgresLeases
  private let heart: PostgresPulse
  private let haste = Haste()

  package var leases: (any LeaseStore)? { office }
  package var pulse: (any StorePulse)? { heart }

  /// Opens the store, and makes it where there is none and it is not only read. The caller waits meanwhile: stores are opened before
  /// anything else runs.
  ///
  /// - Parameters:
  ///   - schema: of the database; made where it is not there.
  ///   - command: what this process is doing, for others that want to write.
  ///   - isCopy: whether a copy goes on that was begun; see ``StoreMove``.
  ///   - makes: whether it is made where there is none; otherwise nothing is written then.
  /// - Throws: ``StorageFault``: `held` by another owner, `earlier`, `later`, `incompatible`, `notFound`, or what the server says.
  package init(
    _ words: ConnectionWords, schema: String = PostgresStore.defaultSchema, role: StoreRole = .owner,
    command: String = "keyferry", tuning: PostgresTuning = PostgresTuning(), isCopy: Bool = false, makes: Bool = true
  ) throws {
    self.role = role
    self.words = words
    self.schema = schema
    self.tuning = tuning
    application = String(command.prefix(60))
    office = PostgresLeases(words, schema: schema, application: application, haste: haste)
    heart = PostgresPulse(words, application: application, haste: haste)
    reading = ReadingThreads(limit: tuning.readers)
    do {
      try writing.runAndWait { [self] connection in
        let database = try connect()
        if role.isGateway { try Pooler(connection: database, place: words.place) { [self] in try connect() }.refuse() }
        let maker = SchemaMaker(
          database: database, schema: schema, place: words.place, lockSeconds: tuning.lockSeconds)
        let standing = try limited(database) {
          let lacks = try Rights(database, schema: schema).missing(for: role).filter(\.isNeeded)
          if !lacks.isEmpty {
            let reasons = lacks.map(\.description).joined(separator: "; ")
            throw StorageFault(.inputOutput, "\(words.place): \(reasons)")
          }
          let standing = try maker.standing()
          if standing == .nothing, role == .reader || !makes {
            throw StorageFault(.notFound, "\(words.place): there is no store in its schema \(schema)")
          }
          if role.isGateway { try own(database) }
          if standing == .current { try prepare(database, isCopy: isCopy) }
          return standing
        }
        if standing == .nothing {
          // Others may be making the tables.
          database.patience = nil
          try maker.run()
          database.patience = patience
          try limited(database) { try prepare(database, isCopy: isCopy) }
        }
        if role != .reader { connection = database }
      }
    } catch {
      throw StorageFault(error, at: words.place)
    }
  }

  /// What opens the store, in a transaction with the limits of every other one.
  private func limited<Result>(_ database: PostgresConnection, _ body: () throws -> Result) throws -> Result {
    try database.script(opening("READ COMMITTED"))
    let result = try body()
    guard try database.script("COMMIT").tag == "COMMIT" else {
      throw StorageFault(.inputOutput, "\(words.place): the store could not be opened")
    }
    return result
  }

  private func prepare(_ database: PostgresConnection, isCopy: Bool) throws {
    if role.isGateway { try sweep(database) }
    if !isCopy { try refuseUnfinishedCopy(database) }
  }

  private func refuseUnfinishedCopy(_ database: PostgresConnection) throws {
    let mark = try database.row("SELECT 1 FROM \(quoted(schema)).notes WHERE name = $1", StoreMove.markName)
    if mark != nil { throw StoreMove.unfinished(words.place) }
  }

  package static let defaultSchema = DatabaseAccess.usualSchema

  package var place: String { "\(words.place), schema \(schema)" }

  /// Seconds that the server is waited for: it has ended by itself before whatever may take long.
  private var patience: Int { max(tuning.statementSeconds, tuning.lockSeconds) + tuning.answerSeconds }

  /// The name of this program and its first argument, unless that is an option.
  package static var currentCommand: String {
    let arguments = CommandLine.arguments
    let program = arguments.first?.split(separator: "/").last.map(String.init) ?? "keyferry"
    return ([program] + arguments.dropFirst().prefix(1).filter { !$0.hasPrefix("-") }).joined(separator: " ")
  }

  // MARK: Connecting

  /// Processes and replicas that were here once, and are not any more.
  private func sweep(_ database: PostgresConnection) throws {
    try database.run("DELETE FROM \(quoted(schema)).writers WHERE changed < now() - interval '30 days'")
    try database.run(
      "DELETE FROM \(quoted(schema)).leases WHERE duty LIKE 'replica/%' AND until < now() - interval '30 days'")
  }

  private func connect() throws -> PostgresConnection {
    let database = try Self.connect(words, application: application, haste: haste)
    database.patience = patience
    return database
  }

  static func connect(
    _ words: ConnectionWords, application: String, haste: Haste = Haste()
  ) throws -> PostgresConnection {
    let database = try PostgresConnection(words, application: application, haste: haste)
    // Of a connection that has ended meanwhile nothing is known any more.
    guard database.serverVersion > 0 else {
      throw PostgresError(state: nil, message: "the server has ended the connection", isLost: true)
    }
    guard database.serverVersion >= oldestServer else {
      throw StorageFault(
        .unsupported,
        "\(words.place): PostgreSQL \(database.serverVersion / 10_000), allowed is \(oldestServer / 10_000) or later")
    }
    return database
  }

  private static let oldestServer = 130_000

  /// Takes the lock of the owner, which goes with the connection. Replicas have it together, and nobody else beside them.
  ///
  /// - Parameter patience: seconds; the server may not have noticed yet that this process's last connection is gone.
  private func own(_ database: PostgresConnection, patience: Double = 0) throws {
    let number = "owner of \(quoted(schema))".stableHash
    let end = Date().addingTimeInterval(patience)
    while true {
      let isMine: Bool? = try database.value(
        role == .replica ? "SELECT pg_try_advisory_lock_shared($1)" : "SELECT pg_try_advisory_lock($1)", number)
      if isMine == true { return }
      guard Date() < end else { break }
      usleep(50_000)
    }
    let other = try database.row(
      """
      SELECT coalesce(application_name, '')::text AS name, coalesce(host(client_addr), '')::text AS host
      FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'advisory' AND granted AND objsubid = 1
        AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid::bigint = ($1 >> 32) & 4294967295 AND objid::bigint = $1 & 4294967295
      """, number)
    let name: String = try other?["name"] ?? ""
    let host: String = try other?["host"] ?? ""
    let whoever = (name.isEmpty ? "another process" : name) + (host.isEmpty ? "" : " on \(host)")
    throw StorageFault(.held, "\(words.place): \(whoever) has the store")
  }

  private func opening(_ isolation: String, isLong: Bool = false) -> String {
    tuning.opening(isolation, schema: schema, isLong: isLong)
  }

  // MARK: Reading

  package func read<Result: Sendable>(
    _ body: @escaping @Sendable (any StoredState) throws -> Result
  ) async throws -> Result {
    let known = names.withLock { $0 }
    do {
      return try await reading.run { [self] connection in
        let database = try begin(&connection, "\(opening("REPEATABLE READ READ ONLY"))\(touch)") { try connect() }
        defer { leave(&connection) }
        return try body(TableTransaction(PostgresSession(database, nil), names: known))
      }
    } catch let error where error is PostgresError || error is StorageFault {
      throw StorageFault(error, at: words.place)
    }
  }

  /// A schema that its role may not use any more hides its tables, as if there were none; asked by its name it says so.
  private var touch: String { "SELECT FROM \(quoted(schema)).counters LIMIT 0" }

  /// Begins a transaction. A connection that was idle may be gone; then there is another one.
  private func begin(
    _ connection: inout PostgresConnection?, _ script: String, _ connect: () throws -> PostgresConnection,
    _ isBegun: (PostgresResult) throws -> Void = { _ in }
  ) throws -> PostgresConnection {
    if let database = connection {
      do {
        try isBegun(try database.script(script))
        return database
      } catch let error as PostgresError where error.isLost {
        connection = nil
      } catch {
        // The owner's lock stays with the connection, whatever others keep busy.
        leave(&connection)
        throw error
      }
    }
    let database = try connect()
    connection = database
    do {
      try isBegun(try database.script(script))
    } catch {
      leave(&connection)
      throw error
    }
    return database
  }

  /// Ends a transaction that keeps nothing. A connection that is not as it was before is thrown away.
  private func leave(_ connection: inout PostgresConnection?) {
    guard let database = connection else { return }
    _ = try? database.script("ROLLBACK")
    if !database.isIdle { connection = nil }
  }

  // MARK: Writing

  package func write<Result: Sendable>(
    as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result {
    guard role != .reader else { throw StorageFault(.held, "\(words.place): the store was opened to be read alone") }
    do {
      return try await writing.run { [self] connection in
        var attempt = 0
        let begun = ContinuousClock.now
        while true {
          do {
            return try writeOnce(&connection, authority, body)
          } catch let error as PostgresError
            where error.isWorthRepeating && attempt < tuning.repeats && !haste.isOver
            && ContinuousClock.now - begun < .seconds(patience + tuning.againSeconds)
          {
            attempt += 1
            // Others that collided wait as well, and not as long.
            usleep(UInt32(Double.random(in: 0.5...1) * min(5, 0.05 * pow(2.5, Double(attempt))) * 1_000_000))
          }
        }
      }
    } catch let error where error is PostgresError || error is StorageFault {
      throw StorageFault(error, at: words.place)
    }
  }

  /// - Throws: ``PostgresError`` where nothing was kept, and it may be worth repeating; what the body throws.
  private func writeOnce<Result: Sendable>(
    _ connection: inout PostgresConnection?, _ authority: LedgerAuthority,
    _ body: @Sendable (any StoreTransaction) throws -> Result
  ) throws -> Result {
    let script = """
      \(opening("READ COMMITTED"))
      SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off';
      SELECT last FROM \(quoted(schema)).counters WHERE name = 'writes' FOR UPDATE;
      SELECT name, last FROM counters
      """
    var counters: Counters?
    var isNew = false
    let database = try begin(
      &connection, script,
      {
        let database = try connect()
        isNew = true
        if role.isGateway { try own(database, patience: tuning.searchSeconds) }
        return database
      },
      { counters = try Counters($0) })
    do {
      guard let counters else { throw StorageFault(.corrupt, "\(words.place): nothing was counted") }
      if isNew { try lookBack(database) }
      // Nobody takes a lease without the lock that this transaction has.
      try PostgresLeases.check(authority.leases, in: database)
      let number = counters.last("writes") + 1
      let transaction = TableTransaction(PostgresSession(database, counters), names: names.withLock { $0 })
      let result = try body(transaction)
      counters.set("writes", number)
      try commit(&connection, database, counters, number)
      lastKept.withLock { $0 = number }
      names.withLock { $0 = transaction.names }
      if transaction.hasErased { clean(&connection) }
      return result
    } catch {
      leave(&connection)
      throw error
    }
  }

  /// What was known of the store before the connection was lost is asked anew. Where the database has gone back, to a standby that was
  /// behind or to a copy, this process has told others what is not there any more.
  private func lookBack(_ database: PostgresConnection) throws {
    names.withLock { $0 = Names() }
    guard let kept = lastKept.withLock({ $0 }) else { return }
    let there: Int64? = try database.value("SELECT number FROM writers WHERE id = $1", writer)
    guard let there, there >= kept else {
      throw StorageFault(
        .gone,
        "\(words.place): the database lacks what this process has written, as after a switch to a standby that was behind, or after a "
          + "restored copy; nothing is written until it is started again")
    }
  }

  /// Keeps what was done. Where the connection is lost meanwhile, it is found out whether it was.
  private func commit(
    _ connection: inout PostgresConnection?, _ database: PostgresConnection, _ counters: Counters, _ number: Int64
  ) throws {
    let script = """
      \(counters.update)
      INSERT INTO writers (id, number, changed) VALUES ('\(writer)', \(number), now())
        ON CONFLICT (id) DO UPDATE SET number = excluded.number, changed = excluded.changed;
      COMMIT
      """
    do {
      guard try database.script(script).tag == "COMMIT" else {
        throw StorageFault(.inputOutput, "\(words.place): a transaction failed, and nothing of it was kept")
      }
    } catch let error as PostgresError where error.isLost {
      connection = nil
      guard try !wasKept(number, error) else { return }
      throw error
    }
  }

  /// Whether the transaction of this number is there; waits until the server can say so.
  private func wasKept(_ number: Int64, _ error: PostgresError) throws -> Bool {
    let end = Date().addingTimeInterval(tuning.searchSeconds)
    while true {
      do {
        let database = try connect()
        // The lost connection may still have the lock; then its transaction is not over.
        try database.script("\(opening("READ COMMITTED"))SELECT last FROM counters WHERE name = 'writes' FOR UPDATE")
        let last: Int64? = try database.value("SELECT number FROM writers WHERE id = $1", writer)
        return last == number
      } catch let other as PostgresError where Date() < end && !haste.isOver {
        _ = other
        usleep(250_000)
      } catch is PostgresError {
        throw StorageFault(
          .inputOutput,
          "\(words.place): the connection was lost while a transaction ended, and nobody can say whether it was kept: \(error.message)"
        )
      }
    }
  }

  /// What was erased leaves the pages of the tables, as far as a vacuum does that.
  private func clean(_ connection: inout PostgresConnection?) {
    guard let database = connection else { return }
    let tables = [
      "claims", "held", "released", "pushed_keys", "pushes", "contents", "agenda", "agenda_lists",
      "federation_uploads",
    ]
    database.patience = nil
    for table in tables { _ = try? database.script("VACUUM \(quoted(schema)).\(table)") }
    database.patience = patience
    if !database.isIdle { connection = nil }
  }

  package func hurry(within time: Duration) { haste.begin(within: time) }

  // MARK: Looking for damage

  package func damage(limit: Int) async throws -> [String] {
    do {
      return try await reading.run { [self] connection in
        let shape = try begin(&connection, "SELECT 1") { try connect() }
        shape.patience = nil
        defer { connection?.patience = patience }
        var found: [String]
        do {
          defer { leave(&connection) }
          found = try SchemaCheck(database: shape, schema: schema).faults(opening("REPEATABLE READ", isLong: true))
        }
        let long = opening("REPEATABLE READ READ ONLY", isLong: true)
        let database = try begin(&connection, "\(long)SELECT 1") { try connect() }
        database.patience = nil
        defer { leave(&connection) }
        do {
          found += try TableTransaction(PostgresSession(database, nil), names: Names()).damage(in: database)
        } catch let error as PostgresError where !found.isEmpty && !error.isLost {
          // Without a table nothing more can be read.
        } catch let fault as StorageFault where fault.code == .corrupt {
          found.append(fault.reason)
        }
        return Array(found.prefix(limit))
      }
    } catch {
      throw StorageFault(error, at: words.place)
    }
  }
}

extension StoreDefinition {
  /// `postgresql`: a schema of a PostgreSQL database.
  package static let postgresql = StoreDefinition(scheme: "postgresql") { address, role, command, makes, _ in
    guard let access = address.database else {
      throw StorageFault(.unsupported, "\(address): nobody says how the database is reached")
    }
    return try PostgresStore(access, role: role, command: command ?? PostgresStore.currentCommand, makes: makes)
  }
}

extension PostgresStore {
  /// The same with what the operator says about it.
  package convenience init(
    _ access: DatabaseAccess, role: StoreRole, command: String = PostgresStore.currentCommand, isCopy: Bool = false,
    makes: Bool = true
  ) throws {
    try self.init(
      try ConnectionWords(access.connection), schema: access.schema, role: role, command: command,
      tuning: PostgresTuning(access), isCopy: isCopy, makes: makes)
  }
}

/// Limits and time-outs of a store.
package struct PostgresTuning: Sendable {
  /// Connections that read at the same time, at most.
  package var readers = 6
  /// How long a statement may take.
  package var statementSeconds = 60
  /// How long is waited for a lock: another one may be writing.
  package var lockSeconds = 30
  /// How long the server waits for us inside a transaction.
  package var idleSeconds = 15
  /// How long an answer is waited for beyond what a statement may take.
  package var answerSeconds = 10
  /// How often a body is run again.
  package var repeats = 5
  /// And for how long beyond the first time, where nobody answers: who has sent something waits meanwhile.
  package var againSeconds = 5
  /// How long is tried to find out whether a transaction was kept.
  package var searchSeconds: Double = 30

  package init() {}

  init(_ access: DatabaseAccess) {
    readers = access.readers
    statementSeconds = access.statementSeconds
    lockSeconds = access.lockSeconds
    idleSeconds = access.idleSeconds
  }

  /// The first words of a transaction: what each statement may take, for this transaction alone.
  ///
  /// - Parameter isLong: whether a statement may take as long as it takes.
  func opening(_ isolation: String, schema: String, isLong: Bool = false) -> String {
    """
    BEGIN ISOLATION LEVEL \(isolation);
    SET LOCAL search_path = \(quoted(schema));
    SET LOCAL statement_timeout = \(isLong ? 0 : statementSeconds * 1000);
    SET LOCAL lock_timeout = \(lockSeconds * 1000);
    SET LOCAL idle_in_transaction_session_timeout = \(idleSeconds * 1000);
    """
  }
}

/// The last numbers that were given. Who writes is alone, so they are counted here and written down in the end.
final class Counters {
  private var numbers: [String: Int64] = [:]
  private var changed: Set<String> = []

  init(_ result: PostgresResult) throws {
    for row in result.rows { numbers[try row["name"]] = try row["last"] }
    for name in ["writes", "events", "documents"] where numbers[name] == nil {
      throw StorageFault(
        .corrupt, "the table counters of the database lacks the row \(name)")
    }
    // Nobody counts so far, and there is always a next one.
    for (name, last) in numbers where !(0..<Int64.max / 2).contains(last) {
      throw StorageFault(
        .corrupt, "the row \(name) of the table counters has \(last)")
    }
  }

  func last(_ name: String) -> Int64 { numbers[name] ?? 0 }

  func next(_ name: String) -> Int64 {
    set(name, last(name) + 1)
    return last(name)
  }

  func set(_ name: String, _ number: Int64) {
    numbers[name] = number
    changed.insert(name)
  }

  /// A statement that writes down what has changed. The names are those of tables.
  var update: String {
    let values = changed.sorted().map { "('\($0)', \(last($0)))" }.joined(separator: ", ")
    return "UPDATE counters SET last = changed.last FROM (VALUES \(values)) AS changed (name, last) "
      + "WHERE counters.name = changed.name;"
  }
}
