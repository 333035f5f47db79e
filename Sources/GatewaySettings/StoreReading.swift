internal import BundleTrust
internal import KeyStorage
internal import PolicyFiles

extension GatewayReader {
  /// Where the store is; `nil` is in the folder of `state`, or what is stated is at fault.
  func store(_ section: Section) -> DatabaseAccess? {
    let database = section.needed(
      "postgresql", "a section", missing: "a database; without store, the store is in the folder of state",
      default: "none",
      as: .section, "A PostgreSQL database that holds the store, in place of the folder.")
    guard let section = database?.section() else { return nil }
    defer { section.finish() }
    var access = DatabaseAccess(connection: "")
    let connection = section.neededSecret(
      "connection", missing: "how the database is reached, \(Self.secretForm)",
      "How it is reached, as libpq reads it: `postgresql://keyferry@db.example.org/keyferry`. It may contain the password."
    ) { secret($0, isNeeded: true) }
    let schema =
      section.optional(
        "schema", "small letters, digits, `_`", default: "`\(access.schema)`",
        "The schema of the database that only this store uses. Keyferry creates it if it is missing."
      ).map(schemaName) ?? access.schema
    section.number(
      "readers", &access.readers, in: 2...64, "Connections that read at the same time, beside the one that writes.")
    let limits: ClosedRange<Int64> = 1...3600
    section.duration("statement-limit", &access.statementSeconds, in: limits, "How long one statement may take.")
    section.duration("lock-limit", &access.lockSeconds, in: limits, "How long to wait while another process writes.")
    section.duration(
      "idle-limit", &access.idleSeconds, in: limits, "How long the server waits for this gateway inside a transaction.")
    section.duration(
      "lease", &access.leaseSeconds, in: 3...3600,
      "For how long a replica takes a piece of work. If it is killed, another one takes over after this time.")
    let replica =
      section.optional(
        "replica", "1...63 letters, digits, `.`, `_`, `-`", default: "the name of its machine", as: .word,
        "The name of this process among those that share the database."
      ).map(replicaName) ?? access.replica
    guard let connection, let schema, let replica else { return nil }
    (access.connection, access.schema, access.replica) = (connection.disclosed, schema, replica)
    return access
  }

  private func replicaName(_ setting: Setting) -> ReplicaName? {
    guard let text = setting.text() else { return nil }
    return ReplicaName(text)
      ?? setting.fault("\(setting.shown), allowed 1...63 letters, digits, \".\", \"_\", \"-\"")
  }

  private func schemaName(_ setting: Setting) -> String? {
    guard let text = setting.text() else { return nil }
    let isName = text.unicodeScalars.allSatisfy {
      ("a"..."z").contains($0) || ("0"..."9").contains($0) || $0 == "_"
    }
    guard (1...48).contains(text.utf8.count), isName, text.first?.isNumber == false, !text.hasPrefix("pg_") else {
      return setting.fault("\(setting.shown), allowed 1...48 small letters, digits, \"_\"; not public")
    }
    return text == "public" ? setting.fault("public is everybody's, allowed a schema of the gateway's own") : text
  }
}
