/// One connection to a file, whose users wait for each other.
package final class DatabaseQueue: Sendable {
  private let connection: Connection

  /// - Throws: ``DatabaseError``.
  package init(path: String, options: Database.Options = Database.Options()) throws {
    connection = try Connection(path: path, options: options, label: "keyferry file")
  }

  /// In no transaction.
  package func access<Result>(_ body: (Database) throws -> Result) rethrows -> Result { try connection.access(body) }

  /// In one transaction that sees one state of the file.
  package func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
    try connection.access { database in try database.inTransaction(.deferred) { try body(database) } }
  }

  /// In one transaction.
  package func write<Result>(_ body: (Database) throws -> Result) throws -> Result {
    try connection.access { database in try database.inTransaction(.immediate) { try body(database) } }
  }

  // The same in a task.

  package func access<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    try await connection.access(body)
  }

  package func read<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    try await connection.access { database in try database.inTransaction(.deferred) { try body(database) } }
  }

  package func write<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    try await connection.access { database in try database.inTransaction(.immediate) { try body(database) } }
  }

  /// Writes everything that the file has, its log of changes included, into another one.
  package func backUp(to other: DatabaseQueue) throws {
    try read { database in try other.access { try database.backUp(to: $0) } }
  }

  package func close() throws { try connection.close() }
}
