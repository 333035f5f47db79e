import CPartialFiles
package import ExposureKeys
import FoundationEssentials
import GRDB
import GRDBSQLite
import Glibc
package import KeyStorage
import Synchronization

/// The embedded store: one SQLite file, `keyferry.sqlite`, in a folder of its own.
///
/// One process at a time owns it; that holds a lock that goes with it, also when it is killed. Operators may say a word
/// beside it, and others may read. A write is one transaction: after a crash it is there as a whole or not at all. The
/// write-ahead log is synchronized where a commit promises something to somebody outside (`synchronous = FULL`), and
/// with it all that was written before; a power failure may take what came after that, as a whole and in its order.
///
/// Bodies run on queues of their own, one for writing and one for each reader, and never on a thread of the concurrency pool.
package final class SQLiteStore: Store {
  /// The name of the file in its folder.
  package static let fileName = "keyferry.sqlite"
  /// The name of the file that says who may write.
  package static let lockName = "keyferry.lock"

  package let role: StoreRole
  package var place: String { String(path.dropLast(Self.fileName.utf8.count + 1)) }
  private let path: String
  private let pool: DatabasePool
  /// `nil` where the store is not owned.
  private let lock: StoreLock?
  /// `nil` where the store is owned, and where it is read, once it is open.
  private let use: StoreUse?
  /// Which file was opened.
  private let identity: FileIdentity?
  /// What the last transaction that was kept knew.
  private let names = Mutex(Names())

  /// Opens the store, and makes it where there is none and it is not only read.
  ///
  /// - Parameters:
  ///   - folder: an existing folder.
  ///   - command: what this process is doing, for others that want to write.
  ///   - pageLimit: the file has at most this many pages, as on a disk without room for more.
  ///   - isCopy: whether a copy goes on that was begun; see ``StoreMove``.
  ///   - makes: whether it is made where there is none; otherwise nothing is written then.
  /// - Throws: ``StorageFault``: `held` by another process, `earlier`, `later`, `incompatible`, `notFound`, or what the system says.
  package init(
    folder: String, role: StoreRole = .owner, now: Instant, command: String = SQLiteStore.currentCommand,
    pageLimit: Int? = nil, isCopy: Bool = false, makes: Bool = true
  ) throws {
    self.role = role
    let path = folder + "/" + Self.fileName
    self.path = path
    if !makes { try Self.requireThere(path) }
    let isReadOnly = role == .reader
    lock = role == .owner ? try StoreLock(path: folder + "/" + Self.lockName, command: command, now: now) : nil
    do {
      let opening = try Self.use(path, role)
      defer { withExtendedLifetime(opening) {} }
      use = role == .operator ? opening : nil
      if role == .owner { try Self.takeOver(path) } else { try Self.refuseReplacing(path) }
      try Self.checkReach(path)
      try Self.refuseLogAlone(path)
      let isCurrent = try Self.inspect(path, isReadOnly: isReadOnly)
      // Nobody makes or changes tables beside an owner.
      let makingLock =
        role == .operator && !isCurrent
        ? try StoreLock(path: folder + "/" + Self.lockName, command: command, now: now) : nil
      defer { withExtendedLifetime(makingLock) {} }
      let isNew = !isReadOnly && access(path, F_OK) != 0
      pool = try DatabasePool(path: path, configuration: .store(isReadOnly: isReadOnly, pageLimit: pageLimit))
      if !isReadOnly { try pool.writeWithoutTransaction(Self.keepLog) }
      if isNew { try Self.closeToOthers(path) }
      if !isReadOnly {
        try pool.write { if try Schema.standing(of: $0) == .nothing { try Schema.make(in: $0) } }
        try pool.read { database in
          if !isCopy { try Self.refuseUnfinishedCopy(database, path) }
        }
      }
      if isReadOnly, !isCopy { try pool.read { try Self.refuseUnfinishedCopy($0, path) } }
      identity = FileIdentity(path)
      withExtendedLifetime(lock) {}
    } catch {
      throw StorageFault(error, path: path)
    }
  }

  /// - Throws: ``StorageFault`` `notFound` where there is no file, and none that an interrupted restore puts in its place.
  private static func requireThere(_ path: String) throws {
    guard access(path, F_OK) != 0, errno == ENOENT,
      access(path + replacingSuffix, F_OK) != 0
    else { return }
    try refuseLogAlone(path)
    throw StorageFault(.notFound, "\(path): there is no store")
  }

  /// Where the file is empty or gone, SQLite removes the log of changes beside it, with what was committed to it last.
  ///
  /// - Throws: ``StorageFault`` `corrupt`.
  private static func refuseLogAlone(_ path: String) throws {
    guard hasLog(beside: path), StoredFile.size(of: path) <= 1, access(path + replacingSuffix, F_OK) != 0 else {
      return
    }
    throw StorageFault.damaged(
      path,
      "the file is empty or gone, and its log of changes is still there; keep \(path)-wal with what is left of the file"
    )
  }

  /// Whether changes are in the log of a file.
  private static func hasLog(beside path: String) -> Bool { StoredFile.size(of: path + "-wal") > 0 }

  private static func use(_ path: String, _ role: StoreRole) throws -> StoreUse? {
    switch role {
    case .owner, .replica: nil
    case .operator: try StoreUse.shared(path)
    case .reader: try StoreUse.sharedIfThere(path)
    }
  }

  private static func refuseUnfinishedCopy(_ database: Database, _ path: String) throws {
    let mark = try SQLiteSession(database).row("SELECT 1 FROM notes WHERE name = $1", StoreMove.markName)
    if mark != nil { throw StoreMove.unfinished(path) }
  }

  /// Brings everything into the one file and lets go of it. The store is not to be used any more.
  ///
  /// A store that is merely forgotten loses nothing: what is in its log comes into the file when it is opened again.
  ///
  /// - Throws: ``StorageFault``.
  package func letGo() throws {
    do {
      if role == .owner { _ = try pool.writeWithoutTransaction { try $0.checkpoint(.truncate) } }
      try pool.close()
    } catch {
      throw StorageFault(error, path: path)
    }
  }

  /// The last connection leaves an empty log behind: a process that may only read cannot make one.
  private static func keepLog(_ database: Database) throws {
    var keeps: Int32 = 1
    let code = sqlite3_file_control(database.sqliteConnection, "main", SQLITE_FCNTL_PERSIST_WAL, &keeps)
    guard code == SQLITE_OK else { throw database.error(code) }
  }

  /// What is in a store is for its owner alone; who wants others to read it opens it himself. Files that SQLite makes beside
  /// it have its permissions.
  private static func closeToOthers(_ path: String) throws {
    for ending in ["", "-wal", "-shm"] where chmod(path + ending, 0o600) != 0 && errno != ENOENT {
      throw StorageFault(.inputOutput, "\(path + ending): \(String(cString: strerror(errno)))")
    }
  }

  package func settle() async {
    guard role != .reader else { return }
    try? await pool.writeWithoutTransaction { Self.settle($0) }
  }

  /// Moves what was committed from the log into the file: SQLite reads a log only up to its first damaged place. If another
  /// connection is in the way, that one does it, or the next one.
  private static func settle(_ database: Database) {
    guard let connection = database.sqliteConnection else { return }
    sqlite3_busy_timeout(connection, 250)
    _ = try? database.checkpoint(.truncate)
  }

  /// The right to write is given back after the last connection.
  deinit {
    if role != .reader { pool.unsafeReentrantWrite { Self.settle($0) } }
    try? pool.close()
  }

  package func read<Result: Sendable>(
    _ body: @escaping @Sendable (any StoredState) throws -> Result
  ) async throws -> Result {
    let known = names.withLock { $0 }
    do {
      return try await pool.read { try body(TableTransaction(SQLiteSession($0), names: known)) }
    } catch let error where error is DatabaseError || error is StorageFault {
      throw StorageFault(error, path: path)
    }
  }

  package func write<Result: Sendable>(
    as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result {
    guard role != .reader else { throw StorageFault(.held, "\(path): the store was opened to be read alone") }
    try checkIdentity()
    let result: Result
    do {
      // Writers wait for each other, so the names are those of the transaction before this one, and others' before it.
      result = try await pool.writeWithoutTransaction { [self] database in
        try database.execute(sql: "PRAGMA synchronous = \(authority.durability.synchronous)")
        let (result, transaction) = try database.inOneTransaction {
          let transaction = TableTransaction(SQLiteSession(database), names: names.withLock { $0 })
          return (try body(transaction), transaction)
        }
        names.withLock { $0 = transaction.names }
        // A reader may be in the way; then the pages go when the log is begun anew.
        if transaction.hasErased { _ = try? database.checkpoint(.truncate) }
        return result
      }
    } catch let error where error is DatabaseError || error is StorageFault {
      throw StorageFault(error, path: path)
    }
    // What was written to a file that is gone by now is lost, and nobody may be told otherwise.
    try checkIdentity()
    return result
  }

  package func copy(to path: String) async throws {
    var status = stat()
    guard lstat(path, &status) != 0, errno == ENOENT else {
      throw StorageFault(.conflict, "\(path): there is a file already")
    }
    let folder = StoredFile.folder(of: path)
    guard access(folder, F_OK) == 0 else { throw StorageFault(.inputOutput, "\(path): there is no folder \(folder)") }
    // Somebody else may be making another copy of the same name.
    let partial = "\(path).\(getpid()).partial"
    let noted = NotedFile(partial)
    defer { withExtendedLifetime(noted) {} }
    do {
      // Readable by its owner alone from its first byte.
      try StoredFile.make(partial)
      try Self.backUp(as: partial) { try pool.backup(to: $0) }
      // Nobody can restore a copy of a damaged store, and it might take the place of an older one that is whole.
      if let first = try Self.firstDamage(ofFile: partial) {
        throw StorageFault.damaged(self.path, StorageFault(.corrupt, first).bare(of: partial))
      }
      try Self.publish(partial, as: path)
    } catch {
      Self.removePartial(partial)
      if error is StorageFault { throw error }
      // What is read is the store, and what has no room is the copy.
      let isOfStore = (error as? DatabaseError)?.resultCode == .SQLITE_CORRUPT
      throw StorageFault(error, path: isOfStore ? self.path : path)
    }
  }

  /// Writes everything that a database has, its log of changes included, into one empty file.
  private static func backUp(as path: String, _ body: (DatabaseQueue) throws -> Void) throws {
    let queue = try DatabaseQueue(path: path, configuration: .store(isReadOnly: false, pageLimit: nil))
    defer { try? queue.close() }
    try body(queue)
    try queue.inDatabase { try $0.execute(sql: "PRAGMA journal_mode = DELETE") }
  }

  /// Puts a copy in the place of the store of a folder, of which nobody has the right to write meanwhile. What was there is
  /// kept beside it, under names that end in `-replaced-` and the time.
  ///
  /// - Parameters:
  ///   - copy: a file that ``copy(to:)`` wrote, or a store that was put aside, with the log of changes beside it; it stays.
  ///   - name: what the operator calls it, where that is not its path.
  /// - Returns: under which name what was there is kept; `nil` where nothing was.
  /// - Throws: ``StorageFault``: `held`, `later`, `incompatible`, `corrupt` where the copy is damaged itself, and then nothing has
  ///   changed.
  @discardableResult
  package static func restore(
    from copy: String, named name: String? = nil, into folder: String, now: Instant,
    command: String = SQLiteStore.currentCommand
  ) async throws -> String? {
    let path = folder + "/" + fileName
    let lock = try StoreLock(path: folder + "/" + lockName, command: command, now: now)
    defer { withExtendedLifetime(lock) {} }
    if let identity = FileIdentity(copy), identity == FileIdentity(path) {
      throw StorageFault(.conflict, "\(name ?? copy): it is the store itself, and stays as it is")
    }
    let partial = path + ".partial"
    do {
      try takeOver(path)
      try? FileManager.default.removeItem(atPath: partial)
      let noted = NotedFile(partial)
      defer { withExtendedLifetime(noted) {} }
      do {
        try checkReach(copy)
        try refuseLogAlone(copy)
        guard try inspect(copy, isReadOnly: true) else { throw StorageFault(.notFound, "\(copy): there is no store") }
        try check(copy, thenTakeAs: partial)
      } catch {
        throw StorageFault(error, ofCopy: copy, named: name ?? copy)
      }
      let alone = try StoreUse.exclusive(path)
      let isThere = access(path, F_OK) == 0
      let kept = try putInPlace(partial, of: path, now)
      withExtendedLifetime(alone) {}
      return isThere ? kept : nil
    } catch {
      removePartial(partial)
      // What is wrong with the copy says nothing about the store.
      throw error as? StorageFault ?? StorageFault(error, path: path)
    }
  }

  /// Nobody else has the store open meanwhile; see ``StoreUse``.
  ///
  /// - Returns: under which name what was there is kept.
  private static func putInPlace(_ partial: String, of path: String, _ now: Instant) throws -> String {
    try giveOwner(of: path, to: partial)
    try synchronize(partial)
    let files = FileManager.default
    let kept = path + unusedSuffix(for: path, now)
    let log = StoredFile.size(of: path + "-wal")
    // A transaction that was cut off lies in a journal, where the file had no log.
    for ending in (log > 0 ? ["", "-wal", "-shm"] : [""]) + ["-journal"]
    where files.fileExists(atPath: path + ending) {
      // What is there stays there until the new file is in its place.
      if link(path + ending, kept + ending) != 0 { try files.copyItem(atPath: path + ending, toPath: kept + ending) }
    }
    // From here on it is no partial file, and nobody removes it: whatever happens, it comes into its place.
    guard rename(partial, path + replacingSuffix) == 0 else {
      throw StorageFault(.inputOutput, "\(partial): \(String(cString: strerror(errno)))")
    }
    try synchronize(StoredFile.folder(of: path))
    try finishReplacing(path)
    return kept
  }

  /// Who owns the store, or its folder where there is none, owns what comes into its place: root restores for a service that is
  /// another user. SQLite gives what it makes beside a file the owner of the file.
  static func giveOwner(of path: String, to partial: String) throws {
    guard geteuid() == 0 else { return }
    var status = stat()
    guard stat(path, &status) == 0 || stat(StoredFile.folder(of: path), &status) == 0 else { return }
    guard chown(partial, status.st_uid, status.st_gid) == 0 else {
      throw StorageFault(.inputOutput, "\(partial): \(String(cString: strerror(errno)))")
    }
  }

  /// A file that is whole and is to be in the store's place has this behind its name until it is there.
  private static let replacingSuffix = ".replacing"

  /// Begins to own what is in the folder: ends what an interrupted restore has begun.
  private static func takeOver(_ path: String) throws {
    guard FileManager.default.fileExists(atPath: path + replacingSuffix) else { return }
    let alone = try StoreUse.exclusive(path)
    try finishReplacing(path)
    withExtendedLifetime(alone) {}
  }

  /// Ends what an interrupted restore has begun. Nobody else has the store open meanwhile.
  private static func finishReplacing(_ path: String) throws {
    guard FileManager.default.fileExists(atPath: path + replacingSuffix) else { return }
    // The log of changes goes first, and a journal: they must never be taken for those of the copy.
    for ending in ["-wal", "-shm", "-journal"] where unlink(path + ending) != 0 && errno != ENOENT {
      throw StorageFault(.inputOutput, "\(path + ending): \(String(cString: strerror(errno)))")
    }
    guard rename(path + replacingSuffix, path) == 0 else {
      throw StorageFault(.inputOutput, "\(path): \(String(cString: strerror(errno)))")
    }
    try synchronize(StoredFile.folder(of: path))
  }

  /// Whoever does not own the store waits for who does.
  private static func refuseReplacing(_ path: String) throws {
    guard FileManager.default.fileExists(atPath: path + replacingSuffix) else { return }
    throw StorageFault(
      .held,
      "\(path): a copy is being put in its place; where nobody does that any more, the next start of the gateway ends it"
    )
  }

  private static func removePartial(_ partial: String) {
    for ending in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: partial + ending) }
  }

  /// A name that no file of a store has that was put aside: another one may have been in the same second.
  private static func unusedSuffix(for path: String, _ now: Instant) -> String {
    let suffix = "-replaced-\(now.secondsSince1970)"
    let suffixes = [suffix] + (2...10_000).map { "\(suffix).\($0)" }
    return suffixes.first { suffix in
      ["", "-wal", "-shm", "-journal"].allSatisfy { !FileManager.default.fileExists(atPath: path + suffix + $0) }
    } ?? suffix
  }

  /// Reads a file that nobody has open to its end, and writes what it has into another one.
  ///
  /// - Throws: ``StorageFault`` `corrupt` with its first fault, before anything is written.
  private static func check(_ path: String, thenTakeAs partial: String) throws {
    let hasLog = hasLog(beside: path)
    let queue: DatabaseQueue
    do {
      queue = try DatabaseQueue(path: path, configuration: .store(isReadOnly: true, pageLimit: nil))
    } catch let error as DatabaseError where hasLog && error.resultCode == .SQLITE_CANTOPEN {
      throw StorageFault(
        .inputOutput,
        "\(path): a log of changes lies beside it, \(path)-wal, which cannot be read there: SQLite makes a file"
          + " beside it; copy both into a folder that can be written")
    }
    defer { try? queue.close() }
    // What is damaged ends a transaction.
    if let first = try queue.inDatabase({ try damage(of: path, in: $0, limit: 1) }).first {
      throw StorageFault.damaged(path, first)
    }
    do {
      if hasLog {
        try StoredFile.make(partial)
        try backUp(as: partial) { try queue.backup(to: $0) }
      } else {
        try FileManager.default.copyItem(atPath: path, toPath: partial)
        guard chmod(partial, 0o600) == 0 else {
          throw StorageFault(.inputOutput, "\(partial): \(String(cString: strerror(errno)))")
        }
      }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
      throw error
    } catch {
      throw StorageFault(error, path: partial)
    }
  }

  /// The first fault of a file that nobody writes; `nil` where it is whole.
  private static func firstDamage(ofFile path: String) throws -> String? {
    // Of a file that is opened to be read alone SQLite does not look at what the tables allow.
    let queue = try DatabaseQueue(path: path, configuration: .store(isReadOnly: false, pageLimit: nil))
    defer { try? queue.close() }
    // What is damaged ends a transaction.
    return try queue.inDatabase { try damage(of: path, in: $0, limit: 1) }.first
  }

  private static func synchronize(_ path: String) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StorageFault(.inputOutput, "\(path): it cannot be opened") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw StorageFault(.inputOutput, "\(path): it cannot be synchronized") }
  }

  /// Syncs a file and gives it its name, unless that is taken.
  private static func publish(_ partial: String, as path: String) throws {
    try synchronize(partial)
    // A link never goes over a file that is there.
    guard link(partial, path) == 0 else {
      throw errno == EEXIST
        ? StorageFault(.conflict, "\(path): there is a file already")
        : StorageFault(.inputOutput, "\(path): \(String(cString: strerror(errno)))")
    }
    try FileManager.default.removeItem(atPath: partial)
  }

  package func damage(limit: Int) async throws -> [String] {
    try await pool.read { [path] in try Self.damage(of: path, in: $0, listingAdditions: true, limit: limit) }
  }

  /// - Parameter listsAdditions: whether what somebody has added to the tables is told, which is in nobody's way.
  private static func damage(
    of path: String, in database: Database, listingAdditions listsAdditions: Bool = false, limit: Int
  ) throws -> [String] {
    var faults: [String] = []
    do {
      let shape = try SchemaCheck.faults(in: database)
      faults = shape.lacking + (listsAdditions ? shape.added : [])
      let tables = try unreadableTables(in: database)
      let sql = SQLiteSession(database, isTransaction: false)
      let found: [String] = try sql.rows("PRAGMA integrity_check(\(max(1, limit)))").map { try $0[0] }.filter {
        $0 != "ok"
      }
      let orphans = try sql.rows("PRAGMA foreign_key_check").prefix(limit).map { row -> String in
        let (table, parent): (String, String) = try (row["table"], row["parent"])
        return "a row of \(table) refers to one of \(parent) that is not there"
      }
      // A command that reads claims reads such rows, too, and ends at the first.
      if tables.isEmpty, shape.lacking.isEmpty {
        let check = RowCheck(database)
        faults += try check.sequences()
        let rows = try check.faults()
        if !rows.isEmpty { return Array((faults + rows + found + orphans).prefix(limit)) }
      }
      faults += tables + found + orphans
      faults += try TableTransaction(sql, names: Names()).claimDamage()
      return Array(faults.prefix(limit))
    } catch let error as DatabaseError {
      // What was found before may explain the error: a table is not there.
      return Array((faults + [StorageFault(error, path: path).bareReason]).prefix(limit))
    }
  }

  /// Reads every row of every table, and names those in which that ends early.
  private static func unreadableTables(in database: Database) throws -> [String] {
    let names: [String] = try SQLiteSession(database, isTransaction: false)
      .rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").map { try $0[0] }
    return names.compactMap { name in
      do {
        let statement = try RawStatement(database, "SELECT * FROM \"\(name)\"")
        defer { statement.reset() }
        while try statement.step() { statement.readAll() }
        return nil
      } catch {
        return "the table \(name) cannot be read to its end"
      }
    }
  }

  /// Whether this user may look at the file at all: one that nobody may see is not one that is not there.
  ///
  /// - Throws: ``StorageFault`` `inputOutput`.
  private static func checkReach(_ path: String) throws {
    var status = stat()
    guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
      if errno == ENOENT { return }
      throw StorageFault(.inputOutput, "\(path): \(String(cString: strerror(errno)))")
    }
    // Who opens a pipe waits for whoever writes into it.
    guard [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else {
      throw StorageFault(.incompatible, "\(path): not a file")
    }
  }

  /// Whether the file of this store is still the one that was opened.
  ///
  /// - Throws: ``StorageFault`` `gone`.
  private func checkIdentity() throws {
    guard FileIdentity(path) == identity else {
      throw StorageFault(
        .gone, "\(path) was removed or replaced while it was open: nothing can be recorded; restart the gateway")
    }
  }

  /// The name of this program and its first argument, unless that is an option.
  package static var currentCommand: String {
    let arguments = CommandLine.arguments
    let program = arguments.first?.split(separator: "/").last.map(String.init) ?? "keyferry"
    return ([program] + arguments.dropFirst().prefix(1).filter { !$0.hasPrefix("-") }).joined(separator: " ")
  }

  /// Looks at what is there before anything is changed: nothing, what a process left that was killed while it made a
  /// store, or a store, and not one of a later version.
  ///
  /// - Returns: whether it is a store with all its tables.
  /// - Throws: ``StorageFault``, also for a reader where it is not.
  private static func inspect(_ path: String, isReadOnly: Bool) throws -> Bool {
    let nothing = StorageFault(.notFound, "\(path): there is no store")
    guard FileManager.default.fileExists(atPath: path) else {
      if isReadOnly { throw nothing }
      return false
    }
    return try look(into: path) { database in
      switch try Schema.standing(of: database) {
      case .current: return true
      case .nothing:
        if isReadOnly { throw nothing }
        return false
      case .earlier: throw StorageFault.ofEarlierVersion(path)
      case .later: throw StorageFault(.later, "\(path): a later version of Keyferry has written this store")
      case .foreign: throw StorageFault(.incompatible, "\(path): an SQLite file, but not a store of Keyferry")
      }
    }
  }

  private static func look<Result>(into path: String, _ body: (Database) throws -> Result) throws -> Result {
    func look(_ isReadOnly: Bool) throws -> Result {
      let queue = try DatabaseQueue(path: path, configuration: .connection(isReadOnly: isReadOnly))
      defer { try? queue.close() }
      return try queue.read(body)
    }
    do {
      return try look(true)
    } catch let error as DatabaseError where [.SQLITE_READONLY, .SQLITE_CANTOPEN].contains(error.resultCode) {
      // A process was killed while it wrote: looking begins with undoing what it had not finished.
      return try look(false)
    }
  }
}

/// A file of SQLite that is begun: a signal that ends the process removes it, with what SQLite has beside it.
private final class NotedFile {
  private let numbers: [Int32]

  init(_ path: String) { numbers = ["", "-wal", "-shm", "-journal"].map { keyferry_partial_note(path + $0) } }

  deinit { for number in numbers { keyferry_partial_forget(number) } }
}

/// Which file stands under a path: its device and its number there.
private struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let number: UInt64

  /// `nil` where there is none.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    (device, number) = (UInt64(status.st_dev), UInt64(status.st_ino))
  }
}

extension StoreDefinition {
  /// `folder`: one SQLite file in a folder of its own.
  package static let sqlite = StoreDefinition(scheme: "folder") { address, role, command, makes, now in
    // One process has it, and needs no leases.
    try SQLiteStore(
      folder: address.location, role: role == .replica ? .owner : role, now: now,
      command: command ?? SQLiteStore.currentCommand, makes: makes)
  }
}

extension Durability {
  /// When the write-ahead log is synchronized: at each commit, or not before the pages are moved.
  fileprivate var synchronous: String {
    switch self {
    case .promised: "FULL"
    case .local: "NORMAL"
    }
  }
}

extension Configuration {
  /// A connection waits ten seconds for another one that holds a lock.
  static func connection(isReadOnly: Bool) -> Configuration {
    var configuration = Configuration()
    configuration.readonly = isReadOnly
    configuration.busyMode = .timeout(10)
    configuration.persistentReadOnlyConnections = true
    configuration.label = "keyferry"
    return configuration
  }

  static func store(isReadOnly: Bool, pageLimit: Int?) -> Configuration {
    var configuration = connection(isReadOnly: isReadOnly)
    configuration.prepareDatabase { database in
      let isReadOnly = database.configuration.readonly
      try database.execute(
        sql: """
          PRAGMA page_size = \(StoreTuning.pageSize);
          PRAGMA cache_size = -\(isReadOnly ? StoreTuning.readingKibibytes : StoreTuning.cacheKibibytes);
          PRAGMA temp_store = MEMORY;
          """)
      if isReadOnly { return }
      try database.execute(
        sql: """
          PRAGMA secure_delete = ON;
          PRAGMA wal_autocheckpoint = \(StoreTuning.checkpointPages);
          PRAGMA journal_size_limit = \(StoreTuning.journalBytes);
          """)
      if let pageLimit { try database.execute(sql: "PRAGMA max_page_count = \(pageLimit)") }
    }
    return configuration
  }
}

/// Sizes of pages in bytes, of the caches of the writer and of each reader, and of the log of changes.
enum StoreTuning {
  static let pageSize = 4096
  static let cacheKibibytes = 16_384
  static let readingKibibytes = 8192
  static let checkpointPages = 16_384
  static let journalBytes = 64 << 20
}
