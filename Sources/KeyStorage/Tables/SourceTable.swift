internal import ExposureKeys
internal import KeyNormalization

extension TableTransaction {
  // MARK: Sources

  package func sources() throws -> [SourceRecord] {
    try sql.rows("SELECT * FROM sources ORDER BY name").map(SourceRecord.init)
  }

  package func source(named name: String) throws -> SourceRecord? {
    try sql.row("SELECT * FROM sources WHERE name = $1", name).map(SourceRecord.init)
  }

  package func setCursor(_ cursor: String?, of source: String) throws {
    let number = try sourceNumber(source)
    try sql.run("UPDATE sources SET cursor = $1 WHERE id = $2", cursor, number)
  }

  package func setAttempt(_ attempt: SourceAttempt, of source: String) throws {
    let number = try sourceNumber(source)
    guard var record = try self.source(named: source) else { return }
    record.note(attempt)
    try sql.run(
      """
      UPDATE sources SET last_attempt = $1, last_success = $2, failures = $3, next_attempt = $4, fault_code = $5,
        fault_reason = $6 WHERE id = $7
      """,
      record.lastAttempt, record.lastSuccess, record.failures,
      record.nextAttempt, record.lastFault?.code.rawValue, record.lastFault?.reason, number)
  }

  package func sourceNumber(_ name: String) throws -> Int64 {
    try interned(name, in: "sources")
  }

  /// The number of a name in a table of names, which is added when it is new.
  package func interned(_ name: String, in table: String) throws -> Int64 {
    if let number = try numbered(name, in: table) { return number }
    let number = try sql.nextNumber(of: table)
    try sql.run("INSERT INTO \(table) (id, name) VALUES ($1, $2)", number, name)
    return number
  }

  package func numbered(_ name: String, in table: String) throws -> Int64? {
    try sql.value("SELECT id FROM \(table) WHERE name = $1", name)
  }

  // MARK: Pauses

  package func pauses() throws -> [Pause] {
    try sql.rows("SELECT * FROM pauses ORDER BY kind DESC, name").map { row in
      Pause(try Pause.Subject(row), since: try row["since"], reason: try row["reason"], by: try row["who"])
    }
  }

  package func pause(_ pause: Pause) throws {
    let subject = pause.subject.normalized
    if case .source(let name) = subject { _ = try sourceNumber(name) }
    try sql.run(
      """
      INSERT INTO pauses (kind, name, since, reason, who) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (kind, name) DO UPDATE SET since = excluded.since, reason = excluded.reason, who = excluded.who
      """,
      subject.columns.kind, subject.columns.name, pause.since, pause.reason, pause.by)
  }

  package func resume(_ subject: Pause.Subject) throws -> Bool {
    let subject = subject.normalized.columns
    return try sql.run("DELETE FROM pauses WHERE kind = $1 AND name = $2", subject.kind, subject.name) > 0
  }

  // MARK: Notes

  package func note(named name: String) throws -> [UInt8]? {
    try sql.value("SELECT value FROM notes WHERE name = $1", name)
  }

  package func setNote(_ value: [UInt8]?, named name: String) throws {
    if let value {
      try sql.run(
        """
        INSERT INTO notes (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
        """, name, value)
    } else {
      try sql.run("DELETE FROM notes WHERE name = $1", name)
    }
  }
}

extension Pause.Subject {
  fileprivate init(_ row: SQLRow) throws {
    let (kind, name): (String, String) = (try row["kind"], try row["name"])
    switch kind {
    case "source": self = .source(name)
    case "origin": self = .origin(name)
    default: throw StorageFault(.corrupt, "kind \(kind.prefix(40)) of pauses is none that a store has")
    }
  }

  fileprivate var columns: (kind: String, name: String) {
    switch self {
    case .source(let name): ("source", name)
    case .origin(let name): ("origin", name)
    }
  }
}

extension SourceRecord {
  fileprivate init(_ row: SQLRow) throws {
    self.init(
      name: try row["name"], cursor: try row["cursor"], lastAttempt: try row["last_attempt"],
      lastSuccess: try row["last_success"], failures: try row["failures"],
      nextAttempt: try row["next_attempt"], lastFault: try row.fault)
  }
}
