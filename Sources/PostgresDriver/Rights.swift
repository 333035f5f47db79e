package import KeyStorage

/// A right that a role lacks, and the SQL that gives it.
package struct MissingRight: Hashable, Sendable, CustomStringConvertible {
  package let reason: String
  package let sql: String
  /// Whether a gateway can run without it, and something else suffers.
  package let isNeeded: Bool

  package var description: String { "\(reason); this gives it: \(sql)" }
}

/// What the role of a connection may do with a schema. It asks for rights alone, so that it needs none.
struct Rights {
  private let schema: String
  private let role: String
  private let database: String
  private let mayMakeSchemas: Bool
  private let mayMakeTemporary: Bool
  /// `nil` where there is no such schema.
  private let owner: String?
  private let mayUse: Bool
  private let mayAdd: Bool
  private let tables: [Table]
  /// Whether a version with fewer steps has made the tables.

  private struct Table {
    let name: String
    let owner: String
    let mayRead: Bool
    let mayWrite: Bool
    let isOurs: Bool
  }

  init(_ connection: PostgresConnection, schema: String) throws {
    self.schema = schema
    let row = try connection.row(
      """
      SELECT current_user::text AS role, current_database()::text AS database,
        has_database_privilege(current_database(), 'CREATE') AS may_create,
        has_database_privilege(current_database(), 'TEMPORARY') AS may_try,
        n.owner, coalesce(n.may_use, false) AS may_use, coalesce(n.may_add, false) AS may_add
      FROM (SELECT 1) AS one LEFT JOIN (
        SELECT pg_get_userbyid(nspowner)::text AS owner, has_schema_privilege(oid, 'USAGE') AS may_use,
          has_schema_privilege(oid, 'CREATE') AS may_add
        FROM pg_namespace WHERE nspname = $1) AS n ON true
      """, schema)
    guard let row else { throw StorageFault(.inputOutput, "the database does not say what its role may do") }
    role = try row["role"]
    database = try row["database"]
    mayMakeSchemas = try row["may_create"]
    mayMakeTemporary = try row["may_try"]
    owner = try row["owner"]
    mayUse = try row["may_use"]
    mayAdd = try row["may_add"]
    tables = try connection.rows(
      """
      SELECT c.relname::text AS name, pg_get_userbyid(c.relowner)::text AS owner,
        has_table_privilege(c.oid, 'SELECT') AS may_read,
        has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
          AND has_table_privilege(c.oid, 'DELETE') AS may_write,
        pg_has_role(c.relowner, 'USAGE') AS is_ours
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') ORDER BY c.relname
      """, schema
    ).compactMap { row in
      let name: String = try row["name"]
      // What somebody else keeps there is nobody's here; store check names it.
      guard Schema.tableNames.contains(name) else { return nil }
      return Table(
        name: name, owner: try row["owner"], mayRead: try row["may_read"], mayWrite: try row["may_write"],
        isOurs: try row["is_ours"])
    }
  }

  /// What lacks for a role of a store.
  func missing(for use: StoreRole) -> [MissingRight] {
    guard let owner else {
      if mayMakeSchemas || use == .reader { return [] }
      return [
        right(
          "there is no schema \(schema), and the role \(role) may not make one in the database \(database)",
          "CREATE SCHEMA \(quoted(schema)) AUTHORIZATION \(quoted(role))")
      ]
    }
    let schemaRights = use == .reader || isMade ? "USAGE" : "USAGE, CREATE"
    guard mayUse, mayAdd || use == .reader || isMade else {
      let verb = mayUse ? "make tables in it" : "use it"
      return [
        right(
          "the schema \(schema) belongs to \(owner), and the role \(role) may not \(verb)",
          "GRANT \(schemaRights) ON SCHEMA \(quoted(schema)) TO \(quoted(role))")
      ]
    }
    let closed = tables.filter { use == .reader ? !$0.mayRead : !$0.mayRead || !$0.mayWrite }
    if let first = closed.first {
      let rights = use == .reader ? "SELECT" : "SELECT, INSERT, UPDATE, DELETE"
      let others = closed.count > 1 ? " and \(closed.count - 1) more" : ""
      return [
        right(
          "the role \(role) may not \(first.mayRead ? "write" : "read") the table \(schema).\(first.name)\(others)",
          "GRANT \(rights) ON ALL TABLES IN SCHEMA \(quoted(schema)) TO \(quoted(role))")
      ]
    }
    return use == .reader ? [] : useful
  }

  /// What a gateway can run without.
  private var useful: [MissingRight] {
    var missing: [MissingRight] = []
    if let other = tables.first(where: { !$0.isOurs }) {
      missing.append(
        right(
          "the table \(schema).\(other.name) belongs to \(other.owner), so that the role \(role) cannot vacuum it after "
            + "keyferry erase",
          "GRANT \(quoted(other.owner)) TO \(quoted(role))", isNeeded: false))
    }
    if !mayMakeTemporary {
      missing.append(
        right(
          "the role \(role) may make no temporary tables in the database \(database), with which keyferry store check compares",
          "GRANT TEMPORARY ON DATABASE \(quoted(database)) TO \(quoted(role))", isNeeded: false))
    }
    return missing
  }

  private var isMade: Bool { tables.contains { $0.name == Schema.versionTable } }

  private func right(_ reason: String, _ sql: String, isNeeded: Bool = true) -> MissingRight {
    MissingRight(reason: reason, sql: sql, isNeeded: isNeeded)
  }
}

extension PostgresStore {
  /// What the role of a connection string lacks to run a gateway. Nothing is made.
  ///
  /// - Throws: ``StorageFault`` where the database cannot be reached, or stands behind a pooler that cannot be used.
  package static func missingRights(of access: DatabaseAccess) throws -> [MissingRight] {
    let words = try ConnectionWords(access.connection)
    do {
      let database = try connect(words, application: currentCommand)
      try Pooler(connection: database, place: words.place) { try connect(words, application: currentCommand) }.refuse()
      try database.script(PostgresTuning(access).opening("READ COMMITTED", schema: access.schema))
      return try Rights(database, schema: access.schema).missing(for: .owner)
    } catch {
      throw StorageFault(error, at: words.place)
    }
  }
}
