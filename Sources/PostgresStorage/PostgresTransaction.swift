import ExposureKeys
import KeyNormalization
import KeyStorage

/// One transaction of the database, for the time of its body.
final class PostgresTransaction: ClaimTables {
  let database: PostgresConnection
  var names: Names
  /// Whether the tables are to be vacuumed, which have what was deleted.
  var hasErased = false
  /// When the last token ended that was forgotten, once somebody has asked for it.
  var endOfForgotten: Instant??
  /// `nil` for who only reads.
  private let counters: Counters?

  /// The filters that are known of the state before; `nil` where none are read.
  let filters: [Int32: RunFilters]?
  /// All claims, once somebody has asked for them.
  var runs: ClaimRuns?
  /// What series have released, by their numbers, once somebody has asked for it.
  var releases: [Int64: ClaimRuns] = [:]
  let releaseNames: ReleaseNames
  /// Whether it may change anything.
  var isWriting: Bool { filters != nil }

  /// The rows of the runs that were asked for.
  var segments: [SegmentTables: PostgresSegments] = [:]

  /// - Parameters:
  ///   - counters: `nil` for who only reads, as is `filters`.
  init(
    _ database: PostgresConnection, names: Names, counters: Counters? = nil, filters: [Int32: RunFilters]? = nil
  ) {
    self.database = database
    self.names = names
    self.counters = counters
    self.filters = filters
    releaseNames = ReleaseNames(database, counters)
  }

  /// Sends what waits to be written; before the end.
  func finish() throws {
    for tables in segments.values { try tables.flush() }
  }

  /// - Throws: ``StorageFault`` in a transaction that reads.
  func counting() throws -> Counters { try Self.writing(counters) }

  static func writing(_ counters: Counters?) throws -> Counters {
    guard let counters else { throw StorageFault(.held, "nothing is written in a transaction that reads") }
    return counters
  }

  /// The next number of a table.
  func counted(_ table: String) throws -> Int64 { try counting().next(table) }

  // MARK: Sources

  func sources() throws -> [SourceRecord] {
    try database.rows("SELECT * FROM sources ORDER BY name").map(SourceRecord.init)
  }

  func source(named name: String) throws -> SourceRecord? {
    try database.row("SELECT * FROM sources WHERE name = $1", name).map(SourceRecord.init)
  }

  func setCursor(_ cursor: String?, of source: String) throws {
    let number = try sourceNumber(source)
    try database.run("UPDATE sources SET cursor = $1 WHERE id = $2", cursor, number)
  }

  func setAttempt(_ attempt: SourceAttempt, of source: String) throws {
    let number = try sourceNumber(source)
    guard var record = try self.source(named: source) else { return }
    record.note(attempt)
    try database.run(
      """
      UPDATE sources SET last_attempt = $1, last_success = $2, failures = $3, next_attempt = $4, fault_code = $5,
        fault_reason = $6 WHERE id = $7
      """,
      record.lastAttempt?.secondsSince1970, record.lastSuccess?.secondsSince1970, record.failures,
      record.nextAttempt?.secondsSince1970, record.lastFault?.code.rawValue, record.lastFault?.reason, number)
  }

  func sourceNumber(_ name: String) throws -> Int64 {
    try interned(name, in: "sources")
  }

  /// The number of a name in a table of names, which is added when it is new.
  func interned(_ name: String, in table: String) throws -> Int64 {
    if let number = try numbered(name, in: table) { return number }
    let number = try counted(table)
    try database.run("INSERT INTO \(table) (id, name) VALUES ($1, $2)", number, name)
    return number
  }

  func numbered(_ name: String, in table: String) throws -> Int64? {
    try database.value("SELECT id FROM \(table) WHERE name = $1", name)
  }

  // MARK: Pauses

  func pauses() throws -> [Pause] {
    try database.rows("SELECT * FROM pauses ORDER BY kind DESC, name").map { row in
      let (kind, name): (String, String) = (try row["kind"], try row["name"])
      return Pause(
        kind == "origin" ? .origin(name) : .source(name), since: try row["since"], reason: try row["reason"],
        by: try row["who"])
    }
  }

  func pause(_ pause: Pause) throws {
    let subject = pause.subject.normalized
    if case .source(let name) = subject { _ = try sourceNumber(name) }
    try database.run(
      """
      INSERT INTO pauses (kind, name, since, reason, who) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (kind, name) DO UPDATE SET since = excluded.since, reason = excluded.reason, who = excluded.who
      """,
      subject.columns.kind, subject.columns.name, pause.since.secondsSince1970, pause.reason, pause.by)
  }

  func resume(_ subject: Pause.Subject) throws -> Bool {
    let subject = subject.normalized.columns
    return try database.run("DELETE FROM pauses WHERE kind = $1 AND name = $2", subject.kind, subject.name) > 0
  }

  // MARK: Notes

  func note(named name: String) throws -> [UInt8]? {
    try database.value("SELECT value FROM notes WHERE name = $1", name)
  }

  func setNote(_ value: [UInt8]?, named name: String) throws {
    if let value {
      try database.run(
        """
        INSERT INTO notes (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
        """, name, value)
    } else {
      try database.run("DELETE FROM notes WHERE name = $1", name)
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
  fileprivate init(_ row: PostgresRow) throws {
    self.init(
      name: try row["name"], cursor: try row["cursor"], lastAttempt: try row["last_attempt"],
      lastSuccess: try row["last_success"], failures: try row["failures"],
      nextAttempt: try row["next_attempt"], lastFault: try row.fault)
  }
}
