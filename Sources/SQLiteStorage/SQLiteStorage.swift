package import ExposureKeys
import Foundation
import GRDB
package import KeyStorage

/// The embedded store: one SQLite file, `keyferry.sqlite`, in a folder of its own.
///
/// One process at a time may write; it holds a lock that goes with it, also when it is killed. Others may read beside
/// it. A write is one transaction: after a crash it is there as a whole or not at all. With the write-ahead log not
/// synchronized at each commit, a power failure may take the last transactions with it, cursors and claims together, so
/// they are fetched again and nothing is lost.
package final class SQLiteStorage: KeyStorage {
  /// The name of the file in its folder.
  package static let fileName = "keyferry.sqlite"
  /// The name of the file that says who may write.
  package static let lockName = "keyferry.lock"

  private let path: String
  private let pool: DatabasePool
  /// `nil` where the store is only read.
  private let isReadOnly: Bool
  private let lock: StoreLock?
  /// What the last transaction that was kept knew.
  private let names = SharedNames()

  /// Opens the store, and makes it where there is none.
  ///
  /// - Parameters:
  ///   - folder: an existing folder.
  ///   - command: what this process is doing, for others that want to write.
  ///   - isReadOnly: whether it is only read, which another process may do beside the one that writes.
  /// - Throws: ``StorageFault``: `held` by another process, `incompatible`, `notFound`, or what the system says.
  ///   - amends: whether it may be written beside the process that has it: a pause, a resumption, a recall or a word about
  ///     a refused document, which add no name that the other would have to know.
  package convenience init(
    folder: String, now: Instant, isReadOnly: Bool = false, amends: Bool = false,
    command: String = SQLiteStorage.currentCommand
  ) throws {
    try self.init(
      folder: folder, now: now, isReadOnly: isReadOnly, amends: amends, command: command, pageLimit: nil)
  }

  /// - Parameter pageLimit: the file has at most this many pages, as on a disk without room for more.
  package init(
    folder: String, now: Instant, isReadOnly: Bool = false, amends: Bool = false,
    command: String = SQLiteStorage.currentCommand, pageLimit: Int?
  ) throws {
    self.isReadOnly = isReadOnly
    let path = folder + "/" + Self.fileName
    self.path = path
    lock = isReadOnly || amends ? nil : try StoreLock(path: folder + "/" + Self.lockName, command: command, now: now)
    do {
      try Self.inspect(path, isReadOnly: isReadOnly)
      pool = try DatabasePool(path: path, configuration: .store(isReadOnly: isReadOnly, pageLimit: pageLimit))
      if !isReadOnly {
        try Schema.migrator.migrate(pool)
        names.latest = try pool.read { try Names.load(from: $0) }
      }
    } catch {
      throw StorageFault(error, path: path)
    }
  }

  /// The right to write is given back after the last connection.
  deinit { try? pool.close() }

  package func read<Result: Sendable>(
    _ body: @escaping @Sendable (any StoredState) throws -> Result
  ) async throws -> Result {
    let known = names.latest
    do {
      return try await pool.read { try body(SQLiteTransaction($0, names: known)) }
    } catch let error as DatabaseError {
      throw StorageFault(error, path: path)
    }
  }

  package func write<Result: Sendable>(
    _ body: @escaping @Sendable (any StorageTransaction) throws -> Result
  ) async throws -> Result {
    guard !isReadOnly else { throw StorageFault(.held, "\(path): the store was opened to be read alone") }
    do {
      // Writers wait for each other, so the names are those of the transaction before this one.
      return try await pool.writeWithoutTransaction { [names] database in
        var end: Names?
        var result: Result?
        try database.inTransaction(.immediate) {
          let transaction = SQLiteTransaction(database, names: names.latest)
          result = try body(transaction)
          end = transaction.names
          return .commit
        }
        guard let end, let result else { throw StorageFault(.inputOutput, "the store did not finish a transaction") }
        names.latest = end
        return result
      }
    } catch let error as DatabaseError {
      throw StorageFault(error, path: path)
    }
  }

  /// The name of this program and its first argument, unless that is an option.
  package static var currentCommand: String {
    let arguments = CommandLine.arguments
    let program = arguments.first?.split(separator: "/").last.map(String.init) ?? "keyferry"
    return ([program] + arguments.dropFirst().prefix(1).filter { !$0.hasPrefix("-") }).joined(separator: " ")
  }

  /// Looks at what is there before anything is changed: whether it is a store, and not one of a later version.
  private static func inspect(_ path: String, isReadOnly: Bool) throws {
    guard FileManager.default.fileExists(atPath: path) else {
      if isReadOnly { throw StorageFault(.notFound, "\(path): there is no store") }
      return
    }
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(10)
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.read { database in
      let isEmpty = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") == 0
      if isEmpty, !isReadOnly { return }
      guard try Int32.fetchOne(database, sql: "PRAGMA application_id") == Schema.applicationID else {
        throw StorageFault(.incompatible, "\(path): an SQLite file, but not a store of Keyferry")
      }
      if try Schema.migrator.hasBeenSuperseded(database) {
        throw StorageFault(.incompatible, "\(path): a later version of Keyferry has written this store")
      }
      if isReadOnly, try !Schema.migrator.hasCompletedMigrations(database) {
        throw StorageFault(.incompatible, "\(path): an earlier version of Keyferry has written this store; pull once")
      }
    }
    try queue.close()
  }
}

extension Configuration {
  fileprivate static func store(isReadOnly: Bool, pageLimit: Int?) -> Configuration {
    var configuration = Configuration()
    configuration.readonly = isReadOnly
    configuration.busyMode = .timeout(10)
    configuration.label = "keyferry"
    configuration.prepareDatabase { database in
      try database.execute(
        sql: """
          PRAGMA page_size = \(StoreTuning.pageSize);
          PRAGMA cache_size = -\(StoreTuning.cacheKibibytes);
          PRAGMA temp_store = MEMORY;
          """)
      if isReadOnly { return }
      try database.execute(
        sql: """
          PRAGMA synchronous = NORMAL;
          PRAGMA wal_autocheckpoint = \(StoreTuning.checkpointPages);
          PRAGMA journal_size_limit = \(StoreTuning.journalBytes);
          """)
      if let pageLimit { try database.execute(sql: "PRAGMA max_page_count = \(pageLimit)") }
    }
    return configuration
  }
}

/// Sizes of pages in bytes, of the cache, and of the log of changes.
///
/// Keys are random: a batch of 75,000 changes nearly every page of a million claims, and of ten million a page for three
/// keys in four. So a claim took 2.4 to 3.8 µs to record in an empty store, 6 µs among a million and 21 µs among ten
/// million, with 6 KB written. A page for every key is the most: among thirty million, 8.6 KB and half as long again of
/// the processor. Batches are written in order, so caches of 8 MB and 256 MB took the same time. Pages of 16 KiB took a
/// fifth less, but write four times as much for a small batch; a log of 512 MB took a fifth less as well. A small table
/// for what is new, merged in order, took a quarter less, with a stop of seven seconds every million claims.
enum StoreTuning {
  static let pageSize = 4096
  static let cacheKibibytes = 65_536
  static let checkpointPages = 16_384
  static let journalBytes = 64 << 20
}
