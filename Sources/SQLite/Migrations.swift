/// The steps that lead to the tables of a file, each taken once. The file has a list of those that were taken.
package struct Migrations: Sendable {
  /// When it is looked whether rows refer to others that are there.
  package enum ForeignKeyChecks: Sendable {
    /// At each statement.
    case immediate
    /// At the end of the step, which may make tables anew.
    case deferred
  }

  private struct Step: Sendable {
    let name: String
    let checks: ForeignKeyChecks
    let body: @Sendable (Database) throws -> Void
  }

  private var steps: [Step] = []
  /// The name that the list has had since the first version.
  package static let list = "grdb_migrations"

  package init() {}

  package mutating func registerMigration(
    _ name: String, foreignKeyChecks: ForeignKeyChecks = .deferred,
    _ body: @escaping @Sendable (Database) throws -> Void
  ) {
    steps.append(Step(name: name, checks: foreignKeyChecks, body: body))
  }

  /// The steps that were taken.
  package func appliedIdentifiers(_ database: Database) throws -> Set<String> {
    guard try database.tableExists(Self.list) else { return [] }
    return Set(try String.fetchAll(database, sql: "SELECT identifier FROM \(Self.list)"))
  }

  package func hasCompletedMigrations(_ database: Database) throws -> Bool {
    let applied = try appliedIdentifiers(database)
    return steps.allSatisfy { applied.contains($0.name) }
  }

  /// Whether steps were taken that are not known here.
  package func hasBeenSuperseded(_ database: Database) throws -> Bool {
    try !appliedIdentifiers(database).subtracting(steps.map(\.name)).isEmpty
  }

  /// Takes the steps that were not taken yet, each in a transaction.
  ///
  /// - Parameter last: the last one that is taken; `nil` for all.
  package func migrate(_ pool: DatabasePool, upTo last: String? = nil) throws {
    try pool.writeWithoutTransaction { try migrate($0, upTo: last) }
  }

  /// The same for who has the turn on a connection, in no transaction.
  package func migrate(_ database: Database, upTo last: String? = nil) throws {
    try database.execute(sql: "CREATE TABLE IF NOT EXISTS \(Self.list) (identifier TEXT NOT NULL PRIMARY KEY)")
    let applied = try appliedIdentifiers(database)
    for step in steps {
      if !applied.contains(step.name) { try take(step, in: database) }
      if step.name == last { return }
    }
  }

  private func take(_ step: Step, in database: Database) throws {
    // SQLite changes that outside of transactions alone.
    if step.checks == .deferred { try database.execute(sql: "PRAGMA foreign_keys = OFF") }
    defer { if step.checks == .deferred { try? database.execute(sql: "PRAGMA foreign_keys = ON") } }
    try database.inTransaction(.immediate) {
      try step.body(database)
      try database.execute(sql: "INSERT INTO \(Self.list) (identifier) VALUES (?)", arguments: [step.name])
      if step.checks == .deferred, let orphan = try Row.fetchOne(database, sql: "PRAGMA foreign_key_check") {
        let (table, parent): (String, String) = (try orphan["table"], try orphan["parent"])
        throw DatabaseError(
          resultCode: .constraint, message: "a row of \(table) refers to one of \(parent) that is not there")
      }
    }
  }
}
