import ExposureKeys
import KeyNormalization
import KeyStorage
import SQLite

/// One transaction of the database, for the time of its body.
final class SQLiteTransaction: ClaimTables {
  let database: Database
  var names: Names
  /// Whether the log of changes has to go as well, which has what was deleted.
  var hasErased = false
  /// When the last token ended that was forgotten, once somebody has asked for it.
  var endOfForgotten: Instant??

  /// The filters that are known of the state before; `nil` where none are read.
  let filters: [Int32: RunFilters]?
  /// All claims, once somebody has asked for them.
  var runs: ClaimRuns?
  /// What series have released, by their numbers, once somebody has asked for it.
  var releases: [Int64: ClaimRuns] = [:]
  let releaseNames: ReleaseNames
  /// Whether it may change anything.
  var isWriting: Bool { filters != nil }

  /// - Parameter filters: `nil` for who only reads.
  init(_ database: Database, names: Names, filters: [Int32: RunFilters]? = nil) {
    self.database = database
    self.names = names
    self.filters = filters
    releaseNames = ReleaseNames(database)
  }

  // MARK: Sources

  func sources() throws -> [SourceRecord] {
    try Row.fetchAll(database, sql: "SELECT * FROM sources ORDER BY name").map(SourceRecord.init)
  }

  func source(named name: String) throws -> SourceRecord? {
    try Row.fetchOne(database, sql: "SELECT * FROM sources WHERE name = ?", arguments: [name]).map(SourceRecord.init)
  }

  func setCursor(_ cursor: String?, of source: String) throws {
    let number = try sourceNumber(source)
    try database.execute(sql: "UPDATE sources SET cursor = ? WHERE id = ?", arguments: [cursor, number])
  }

  func setAttempt(_ attempt: SourceAttempt, of source: String) throws {
    let number = try sourceNumber(source)
    guard var record = try self.source(named: source) else { return }
    record.note(attempt)
    try database.execute(
      sql: """
        UPDATE sources SET last_attempt = ?, last_success = ?, failures = ?, next_attempt = ?, fault_code = ?,
          fault_reason = ? WHERE id = ?
        """,
      arguments: [
        record.lastAttempt?.secondsSince1970, record.lastSuccess?.secondsSince1970, record.failures,
        record.nextAttempt?.secondsSince1970, record.lastFault?.code.rawValue, record.lastFault?.reason, number,
      ])
  }

  func sourceNumber(_ name: String) throws -> Int64 {
    try interned(name, in: "sources")
  }

  /// The number of a name in a table of names, which is added when it is new.
  func interned(_ name: String, in table: String) throws -> Int64 {
    if let number = try numbered(name, in: table) { return number }
    try database.execute(sql: "INSERT INTO \(table) (name) VALUES (?)", arguments: [name])
    return database.lastInsertedRowID
  }

  func numbered(_ name: String, in table: String) throws -> Int64? {
    let statement = try database.cachedStatement(sql: "SELECT id FROM \(table) WHERE name = ?")
    return try Int64.fetchOne(statement, arguments: [name])
  }

  // MARK: Pauses

  func pauses() throws -> [Pause] {
    try Row.fetchAll(database, sql: "SELECT * FROM pauses ORDER BY kind DESC, name").map { row in
      let name: String = try row["name"]
      return try Pause(
        row["kind"] == "origin" ? .origin(name) : .source(name), since: row.time("since"), reason: row["reason"],
        by: row["who"])
    }
  }

  func pause(_ pause: Pause) throws {
    let subject = pause.subject.normalized
    if case .source(let name) = subject { _ = try sourceNumber(name) }
    try database.execute(
      sql: "INSERT OR REPLACE INTO pauses (kind, name, since, reason, who) VALUES (?, ?, ?, ?, ?)",
      arguments: [
        subject.columns.kind, subject.columns.name, pause.since.secondsSince1970, pause.reason, pause.by,
      ])
  }

  func resume(_ subject: Pause.Subject) throws -> Bool {
    let subject = subject.normalized.columns
    try database.execute(
      sql: "DELETE FROM pauses WHERE kind = ? AND name = ?", arguments: [subject.kind, subject.name])
    return database.changesCount > 0
  }

  // MARK: Notes

  func note(named name: String) throws -> [UInt8]? {
    try [UInt8].fetchOne(database, sql: "SELECT value FROM notes WHERE name = ?", arguments: [name])
  }

  func setNote(_ value: [UInt8]?, named name: String) throws {
    if let value {
      try database.execute(
        sql: "INSERT OR REPLACE INTO notes (name, value) VALUES (?, ?)", arguments: [name, value])
    } else {
      try database.execute(sql: "DELETE FROM notes WHERE name = ?", arguments: [name])
    }
  }
}

extension Pause.Subject {
  fileprivate var columns: (kind: String, name: String) {
    switch self {
    case .source(let name): ("source", name)
    case .origin(let name): ("origin", name)
    }
  }
}

extension SourceRecord {
  fileprivate init(_ row: Row) throws {
    try self.init(
      name: row["name"], cursor: row["cursor"], lastAttempt: row.optionalTime("last_attempt"),
      lastSuccess: row.optionalTime("last_success"), failures: row["failures"],
      nextAttempt: row.optionalTime("next_attempt"), lastFault: row.fault)
  }
}
