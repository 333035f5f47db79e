import CPartialFiles
package import ExposureKeys
import FoundationEssentials
import Glibc
internal import KeyStorage
import SQLite

// A file of which pages are not what was written, where nothing but the pieces of claims, releases and agenda stands on them: these
// have checksums of their own, so they can be read as they are and looked at then.

extension SQLiteStore {
  /// What can be written anew, as far as it is read, because it is looked at afterwards.
  private static let checkedTables: Set<String> = [
    "agenda", "claim_blocks", "claim_filters", "release_blocks", "release_filters",
  ]
  /// With what the names of those begin that have blocks.
  private static let blockTables = ["claim", "release"]

  /// The tables on whose damaged pages something can be saved, and `free pages` and `indexes` where no table is on them; empty where no
  /// page of the file is damaged, and its indexes have what its tables have. Nobody else owns the store meanwhile.
  ///
  /// - Throws: ``StorageFault`` `corrupt` where another table is damaged, which only a copy brings back.
  package static func damagedTables(in folder: String, now: Instant, command: String = SQLiteStore.currentCommand)
    throws -> [String]
  {
    let path = folder + "/" + fileName
    let nothing = StorageFault(.notFound, "\(path): there is no store")
    guard FileManager.default.fileExists(atPath: folder) else { throw nothing }
    let lock = try StoreLock(path: folder + "/" + lockName, command: command, now: now)
    defer { withExtendedLifetime(lock) {} }
    do {
      try takeOver(path)
      try PageChecksums.install()
      try LogOfChanges.check(path)
      guard try PageChecksums.header(of: path) != .damaged else {
        throw StorageFault.damaged(path, "its header was written over")
      }
      guard FileSize.of(path) > 0 else { throw nothing }
      let first = try PageChecksums.damage(of: path, limit: 1).first
      let queue = try openKeepingLog(path)
      defer { try? queue.close() }
      let application = try queue.access { try Int32.fetchOne($0, sql: "PRAGMA application_id") }
      guard application == Schema.applicationID else {
        throw StorageFault(
          .incompatible, "\(path): an SQLite file, but not a store of Keyferry, or its first page is damaged")
      }
      if try queue.access({ try Schema.migrator.hasBeenSuperseded($0) }) {
        throw StorageFault(.later, "\(path): a later version of Keyferry has written this store")
      }
      let found = try queue.access { try first ?? structuralDamage(in: $0) }
      guard let found else { return [] }
      let tables = try queue.access { try unsoundTables(in: $0) }
      let others = tables.filter { !checkedTables.contains($0) }
      guard others.isEmpty else {
        throw StorageFault.damaged(
          path, "\(found), and \(others.joined(separator: ", ")) cannot be read, which nothing but a copy brings back")
      }
      let poorer = Set(try queue.access { try tablesBehindIndexes(in: $0) }).subtracting(checkedTables)
      guard poorer.isEmpty else {
        throw StorageFault.damaged(
          path,
          "\(found), and an index knows of rows that its table does not have or has as they were before, which nothing but a copy brings back"
        )
      }
      if !tables.isEmpty { return tables }
      return first == nil ? ["indexes"] : ["free pages and indexes"]
    } catch {
      throw StorageFault(error, path: path)
    }
  }

  /// Writes the file anew, with what stands on damaged pages as it is, and keeps the old one beside it. Indexes are made anew.
  ///
  /// - Parameter keepsOld: whether the old file stays.
  /// - Returns: under which name the old one is kept.
  /// - Throws: ``StorageFault`` `corrupt` where the damage is in what holds the file together.
  @discardableResult
  package static func rewrite(
    in folder: String, keepingOld keepsOld: Bool = true, now: Instant, command: String = SQLiteStore.currentCommand
  ) throws -> String {
    let path = folder + "/" + fileName
    let lock = try StoreLock(path: folder + "/" + lockName, command: command, now: now)
    defer { withExtendedLifetime(lock) {} }
    let partial = path + ".partial"
    let noted = NotedFile(partial)
    defer { withExtendedLifetime(noted) {} }
    do {
      try takeOver(path)
      try PageChecksums.install()
      // An operator's word would be answered meanwhile, and lost.
      let alone = try StoreUse.exclusive(path)
      defer { withExtendedLifetime(alone) {} }
      removePartial(partial)
      try StoredFile.make(partial)
      try withFile(path) { queue in
        try queue.access { try PageChecksums.readDamage(in: $0) }
        try backUp(as: partial) { try queue.backUp(to: $0) }
      }
      if let first = try damageOfCopy(partial) {
        // Its pages do not hold together; the rows of the tables are copied one by one, as far as what is lost is known otherwise.
        let tables = try withFile(path) { try $0.access { try unreadableTableNames(in: $0) } }
        guard checkedTables.isSuperset(of: tables) else { throw StorageFault.damaged(path, first) }
        removePartial(partial)
        try StoredFile.make(partial)
        guard try copyRows(of: path, into: partial), try damageOfCopy(partial) == nil else {
          throw StorageFault.damaged(path, first)
        }
      }
      return try putInPlace(partial, of: path, keepingOld: keepsOld, now)
    } catch {
      removePartial(partial)
      throw StorageFault(error, path: path)
    }
  }

  private static func withFile<Result>(_ path: String, _ body: (DatabaseQueue) throws -> Result) throws -> Result {
    let queue = try openKeepingLog(path)
    defer { try? queue.close() }
    return try body(queue)
  }

  /// Opens a file so that what stands in its log of changes stays there. Without a log nothing is left beside it.
  private static func openKeepingLog(_ path: String) throws -> DatabaseQueue {
    let hasLog = LogOfChanges.isThere(beside: path)
    let queue = try DatabaseQueue(path: path, options: .store(isReadOnly: false, pageLimit: nil))
    if hasLog { try queue.access { try PageChecksums.keepLog(in: $0) } }
    return queue
  }

  /// The tables that cannot be read to their end, and those of the checked ones whose pages do not hold together.
  private static func unsoundTables(in database: Database) throws -> [String] {
    let unreadable = try unreadableTableNames(in: database)
    let unsound = checkedTables.subtracting(unreadable).filter { table in
      let found = try? String.fetchOne(database, sql: "PRAGMA integrity_check(\"\(table)\")")
      return found != "ok"
    }
    return (unreadable + unsound).sorted()
  }

  /// The tables that have not all that their indexes know of: a page of a table that was not written is as it was before, with rows too few
  /// or with older ones, and its index is newer.
  private static func tablesBehindIndexes(in database: Database) throws -> [String] {
    var tables: [String] = []
    let indexes = try Row.fetchAll(database, sql: "SELECT name, tbl_name FROM sqlite_master WHERE type = 'index'")
    // A table that is the index of its key is not read as such where it is only told to use none.
    let keys = try Row.fetchAll(
      database,
      sql: """
        SELECT tables.name, keys.name AS key FROM sqlite_master AS tables, pragma_index_list(tables.name) AS keys
        WHERE tables.type = 'table' AND keys.origin = 'pk' AND tables.sql LIKE '%WITHOUT ROWID%'
        """
    ).map { try ($0["name"] as String, $0["key"] as String) }
    let keyIndexes = Dictionary(uniqueKeysWithValues: keys)
    for index in indexes {
      let (name, table): (String, String) = try (index["name"], index["tbl_name"])
      let columns = try Row.fetchAll(database, sql: "SELECT cid, name FROM pragma_index_xinfo(?)", arguments: [name])
        .compactMap { column -> String? in
          let (number, name): (Int, String?) = try (column["cid"], column["name"])
          return number == -1 ? "rowid" : name.map { "\"\($0)\"" }
        }.joined(separator: ", ")
      let whole = keyIndexes[table].map { "INDEXED BY \"\($0)\"" } ?? "NOT INDEXED"
      // With a condition SQLite reads the index that is named; without one it may count another. One that cannot be read, or has some
      // rows alone, says nothing.
      let isBeyond = try? Bool.fetchOne(
        database,
        sql: """
          SELECT EXISTS (
            SELECT \(columns) FROM "\(table)" INDEXED BY "\(name)" WHERE true
            EXCEPT SELECT \(columns) FROM "\(table)" \(whole) WHERE true)
          """)
      if isBeyond == true { tables.append(table) }
    }
    return tables
  }

  /// Makes all tables of a file in an empty one, copies their rows, and makes the rest anew. Of blocks that is what can be read; filters
  /// and agenda stay empty, since the repair makes them of the claims.
  ///
  /// - Returns: whether the rows are what such tables may have.
  private static func copyRows(of path: String, into partial: String) throws -> Bool {
    do {
      // In a transaction SQLite writes nothing more behind a page that it could not read, so another connection reads those.
      try withFile(path) { file in
        try file.access { damaged in
          try PageChecksums.readDamage(in: damaged)
          try withFile(partial) {
            try $0.access { try copyRows(of: path, blocksFrom: damaged, into: $0) }
          }
        }
      }
      return true
    } catch let error as DatabaseError where [.corrupt, .constraint].contains(error.resultCode) {
      return false
    }
  }

  private static func copyRows(of path: String, blocksFrom damaged: Database, into database: Database) throws {
    let pages = try StoredPages(path)
    try database.execute(sql: "ATTACH DATABASE ? AS damaged", arguments: [path])
    try database.execute(sql: "PRAGMA foreign_keys = OFF")
    try database.inTransaction(.immediate) {
      func definitions(_ condition: String) throws -> [Row] {
        try Row.fetchAll(
          database,
          sql: "SELECT name, sql FROM damaged.sqlite_master WHERE sql IS NOT NULL AND \(condition) ORDER BY rowid")
      }
      let tables = try definitions("type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'")
      for table in tables { try database.execute(sql: table["sql"]) }
      for table in tables {
        let name: String = try table["name"]
        if checkedTables.contains(name) { continue }
        // With a condition SQLite copies no index as it stands.
        try database.execute(
          sql: "INSERT INTO main.\"\(name)\" SELECT * FROM damaged.\"\(name)\" NOT INDEXED WHERE true")
      }
      for prefix in blockTables {
        let root = try UInt32.fetchOne(
          damaged, sql: "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?",
          arguments: ["\(prefix)_blocks"])
        guard let root else { continue }
        try SavedBlocks(prefix, from: damaged, into: database).copy(TableTree.parts(from: root, in: pages))
      }
      try database.execute(
        sql: """
          DELETE FROM main.sqlite_sequence;
          INSERT INTO main.sqlite_sequence SELECT * FROM damaged.sqlite_sequence;
          PRAGMA main.application_id = \(Schema.applicationID);
          """)
      for other in try definitions("type <> 'table'") { try database.execute(sql: other["sql"]) }
    }
    try database.execute(sql: "DETACH DATABASE damaged")
  }

  /// What does not hold together in a file.
  private static func structuralDamage(in database: Database) throws -> String? {
    do {
      return try String.fetchAll(database, sql: "PRAGMA integrity_check(1)").first { $0 != "ok" }
    } catch let error as DatabaseError where error.resultCode == .corrupt {
      return error.message ?? "its pages do not hold together"
    }
  }

  /// Makes all indexes anew, looks at what holds the file together, and notes that its content is still to be looked at.
  private static func damageOfCopy(_ path: String) throws -> String? {
    let queue = try DatabaseQueue(path: path, options: .store(isReadOnly: false, pageLimit: nil))
    defer { try? queue.close() }
    return try queue.access { database in
      do {
        try database.execute(sql: "REINDEX")
        let found = try structuralDamage(in: database)
        let orphans = try Row.fetchAll(database, sql: "PRAGMA foreign_key_check")
        try database.execute(
          sql: "INSERT OR REPLACE INTO notes (name, value) VALUES (?, ?)",
          arguments: [UnfinishedRepair.noteName, [UInt8(1)]])
        return found ?? (orphans.isEmpty ? nil : "rows refer to others that are not there")
      } catch let error as DatabaseError
        where [.corrupt, .constraint, .notADatabase].contains(error.resultCode)
      {
        return error.message ?? "its pages do not hold together"
      }
    }
  }

  // MARK: Looking

  /// A folder behind whose name this stands has a copy that is looked at, and is removed by whoever meets it.
  static let lookSuffix = ".looked-at"

  /// Gives a copy of the files of the store, so that nothing of the store itself changes, whatever is done with it. Nobody else owns the
  /// store meanwhile.
  ///
  /// - Parameters:
  ///   - room: how many bytes are free in a folder; `nil` where nobody knows.
  ///   - body: is given the folder of the copy, which is removed behind it.
  /// - Throws: ``StorageFault`` `full` where there is no room for a copy that is written anew, `corrupt` where the log of changes is damaged.
  package static func withCopy<Result>(
    of folder: String, now: Instant, command: String = SQLiteStore.currentCommand,
    room: (_ folder: String) -> Int64? = SQLiteStore.freeBytes(in:), _ body: (_ folder: String) async throws -> Result
  ) async throws -> Result {
    let path = folder + "/" + fileName
    let nothing = StorageFault(.notFound, "\(path): there is no store")
    guard FileManager.default.fileExists(atPath: folder) else { throw nothing }
    let lock = try StoreLock(path: folder + "/" + lockName, command: command, now: now)
    defer { withExtendedLifetime(lock) {} }
    let place = path + lookSuffix
    let copy = place + "/" + fileName
    try? FileManager.default.removeItem(atPath: place)
    // A signal removes what has keys; who opens the store next removes the rest.
    let endings = [
      "", "-wal", "-shm", "-journal", ".partial", ".partial-wal", ".partial-shm", ".partial-journal", replacingSuffix,
    ]
    let noted = endings.map { keyferry_partial_note(copy + $0) }
    defer {
      try? FileManager.default.removeItem(atPath: place)
      for number in noted { keyferry_partial_forget(number) }
    }
    do {
      // What is to be in the store's place is the store.
      let isReplaced = FileManager.default.fileExists(atPath: path + replacingSuffix)
      let files: [(from: String, to: String)] =
        isReplaced ? [(path + replacingSuffix, copy)] : [(path, copy), (path + "-wal", copy + "-wal")]
      if !isReplaced { try LogOfChanges.check(path) }
      guard FileManager.default.fileExists(atPath: files[0].from), FileSize.of(files[0].from) > 0 else {
        throw nothing
      }
      let needed = 2 * files.reduce(0) { $0 + FileSize.of($1.from) } + lookRoom
      if let free = room(folder), free < needed {
        throw StorageFault(
          .full,
          "\(path): a look takes a copy of it, which needs \(needed) bytes of room in \(folder), and \(free) are free; nothing was changed"
        )
      }
      guard mkdir(place, 0o700) == 0 else {
        throw StorageFault(.inputOutput, "\(place): \(String(cString: strerror(errno)))")
      }
      try copyUnchanged(files)
    } catch {
      throw StorageFault(error, path: path)
    }
    do {
      return try await body(place)
    } catch let fault as StorageFault {
      throw StorageFault(fault.code, fault.reason.replacing(copy, with: path))
    }
  }

  /// Copies files as they were at one time: an operator may say a word meanwhile.
  private static func copyUnchanged(_ files: [(from: String, to: String)]) throws {
    for _ in 0..<5 {
      let before = files.map { FileState($0.from) }
      for file in files {
        try? FileManager.default.removeItem(atPath: file.to)
        guard FileManager.default.fileExists(atPath: file.from) else { continue }
        try FileManager.default.copyItem(atPath: file.from, toPath: file.to)
      }
      if files.map({ FileState($0.from) }) == before { return }
    }
    throw StorageFault(.held, "\(files[0].from): others write to it all the time")
  }

  /// Which pages of the file are not what was written, as bytes alone tell; nothing is opened.
  package static func damagedPages(in folder: String, limit: Int) throws -> [String] {
    let path = folder + "/" + fileName
    do {
      let found = try LogOfChanges.faults(of: path) + PageChecksums.damage(of: path, limit: limit)
      return try found + PageChecksums.emptied(of: path, limit: max(0, limit - found.count))
    } catch {
      throw StorageFault(error, path: path)
    }
  }

  /// Whether some of what is damaged is nothing that a repair writes anew: tables that cannot be read to their end, and what holds the file
  /// together. Nothing of the file is changed.
  package static func isBeyondRepair(in folder: String) throws -> Bool {
    let path = folder + "/" + fileName
    do {
      try PageChecksums.install()
      try LogOfChanges.check(path)
      guard try PageChecksums.header(of: path) != .damaged else { return true }
      let queue = try DatabaseQueue(path: path, options: .store(isReadOnly: true, pageLimit: nil))
      defer { try? queue.close() }
      return try queue.access { database in
        let unreadable = try unreadableTableNames(in: database)
        guard unreadable.allSatisfy(checkedTables.contains) else { return true }
        if try !SchemaCheck.faults(in: database).lacking.isEmpty { return true }
        if try unreadable.isEmpty && !RowCheck(database, besides: checkedTables).faults().isEmpty { return true }
        if let lost = try? lostRuns(in: database), !lost.isEmpty { return true }
        return try !tablesBehindIndexes(in: database).allSatisfy(checkedTables.contains)
      }
    } catch {
      let fault = StorageFault(error, path: path)
      guard [.corrupt, .incompatible].contains(fault.code) else { throw fault }
      return true
    }
  }

  /// For what a look writes besides.
  private static let lookRoom: Int64 = 16 << 20

  /// Bytes that may still be written where a folder is, without those that are kept for the system.
  package static func freeBytes(in folder: String) -> Int64? {
    var status = statvfs()
    guard statvfs(folder, &status) == 0 else { return nil }
    let (free, isHuge) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return isHuge ? .max : Int64(clamping: free)
  }
}

/// What changes when somebody writes to a file. One of no bytes is none: SQLite makes a log that is empty.
private struct FileState: Equatable {
  private let size: Int64
  private let seconds: Int
  private let nanoseconds: Int

  init(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0, status.st_size > 0 else {
      (size, seconds, nanoseconds) = (-1, 0, 0)
      return
    }
    (size, seconds, nanoseconds) = (Int64(status.st_size), status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
  }
}
