internal import Synchronization

/// A file with a log of changes: one connection writes, and others read beside it, each one state of the file.
package final class DatabasePool: Sendable {
  private struct Readers {
    var idle: [Connection] = []
    var count = 0
    var waiting: [CheckedContinuation<Connection?, Never>] = []
    var isClosed = false
  }

  private let writer: Connection
  private let readers = Mutex(Readers())
  private let path: String
  private let options: Database.Options
  private static let readerLimit = 5

  /// - Throws: ``DatabaseError``.
  package init(path: String, options: Database.Options) throws {
    self.path = path
    self.options = options
    writer = try Connection(path: path, options: options, label: "keyferry writer")
    if !options.isReadOnly { try writer.access { try $0.keepLogOfChanges() } }
  }

  // MARK: Writing

  /// In no transaction.
  package func writeWithoutTransaction<Result>(_ body: (Database) throws -> Result) rethrows -> Result {
    try writer.access(body)
  }

  /// In no transaction. One that is left open is rolled back.
  package func writeWithoutTransaction<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    try await writer.access { database in
      defer { database.rollBack() }
      return try body(database)
    }
  }

  /// In one transaction.
  package func write<Result>(_ body: (Database) throws -> Result) throws -> Result {
    try writer.access { database in try database.inTransaction(.immediate) { try body(database) } }
  }

  // MARK: Reading

  /// Of one state of the file.
  package func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
    let known = readers.withLock { $0.isClosed ? nil : $0.idle.popLast() ?? nil }
    let reader = try known ?? makeReader()
    defer { giveBack(reader, isCounted: known != nil) }
    return try reader.access { try Self.reading($0, body) }
  }

  /// The same in a task, which waits where all readers are at work.
  package func read<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    let reader = try await nextReader()
    defer { giveBack(reader, isCounted: true) }
    return try await reader.access { try Self.reading($0, body) }
  }

  private static func reading<Result>(_ database: Database, _ body: (Database) throws -> Result) throws -> Result {
    // There is nothing to be kept, and no statement may keep the state.
    defer { database.rollBack() }
    try database.execute(sql: "BEGIN DEFERRED")
    return try body(database)
  }

  /// One that is idle, a new one where there are few, or the one that is given back next.
  private func nextReader() async throws -> Connection {
    let reader: Connection? = await withCheckedContinuation { continuation in
      let found: Connection?? = readers.withLock { readers in
        if let idle = readers.idle.popLast() { return idle }
        guard readers.count < Self.readerLimit else {
          readers.waiting.append(continuation)
          return nil
        }
        readers.count += 1
        return .some(nil)
      }
      if let found { continuation.resume(returning: found) }
    }
    if let reader { return reader }
    do {
      return try makeReader()
    } catch {
      leavePlace()
      throw error
    }
  }

  private func makeReader() throws -> Connection {
    var options = options
    options.isReadOnly = true
    return try Connection(path: path, options: options, label: "keyferry reader")
  }

  private func giveBack(_ reader: Connection, isCounted: Bool) {
    let next: CheckedContinuation<Connection?, Never>? = readers.withLock { readers in
      if isCounted, !readers.waiting.isEmpty { return readers.waiting.removeFirst() }
      if readers.isClosed { return nil }
      if !isCounted {
        guard readers.count < Self.readerLimit else { return nil }
        readers.count += 1
      }
      readers.idle.append(reader)
      return nil
    }
    next?.resume(returning: reader)
  }

  /// The place of a reader that could not be opened is for the next one.
  private func leavePlace() {
    let next: CheckedContinuation<Connection?, Never>? = readers.withLock { readers in
      if !readers.waiting.isEmpty { return readers.waiting.removeFirst() }
      readers.count -= 1
      return nil
    }
    next?.resume(returning: nil)
  }

  /// Closes all connections. Nobody uses it any more.
  package func close() throws {
    let (idle, waiting) = readers.withLock { readers in
      defer { readers = Readers(isClosed: true) }
      return (readers.idle, readers.waiting)
    }
    // Who still waits reads by a connection that is closed behind it.
    for continuation in waiting { continuation.resume(returning: nil) }
    for reader in idle { try reader.close() }
    try writer.close()
  }

  /// Writes everything that the file has, its log of changes included, into another one.
  package func backUp(to other: DatabaseQueue) throws {
    try read { database in try other.access { try database.backUp(to: $0) } }
  }
}
