import ExposureKeys
import KeyNormalization
import KeyStorage
import SQLite

extension SQLiteTransaction {
  func pushes(to destination: String?, in states: Set<PushState>) throws -> [PushRecord] {
    var condition = "state IN (\(states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")))"
    var arguments: StatementArguments = []
    if let destination {
      condition += " AND destinations.name = ?"
      arguments += [destination]
    }
    return try Row.fetchAll(
      database,
      sql: """
        SELECT pushes.*, destinations.name AS destination_name
        FROM pushes JOIN destinations ON destinations.id = pushes.destination WHERE \(condition) ORDER BY pushes.id
        """, arguments: arguments
    ).map(PushRecord.init)
  }

  func pushCount(to destination: String, since start: Instant) throws -> Int {
    try Int.fetchOne(
      database,
      sql: """
        SELECT count(*) FROM pushes JOIN destinations ON destinations.id = pushes.destination
        WHERE destinations.name = ? AND staged >= ?
        """, arguments: [destination, start.secondsSince1970]) ?? 0
  }

  func content(of push: PushID) throws -> [UInt8]? {
    try [UInt8].fetchOne(
      database, sql: "SELECT bytes FROM pushes WHERE id = ? AND bytes IS NOT NULL", arguments: [push.rawValue])
  }

  func pushedKeys(
    to destination: String, from start: TemporaryExposureKey, before end: TemporaryExposureKey?
  ) throws -> [PushedKey] {
    guard let number = try numbered(destination, in: "destinations") else { return [] }
    var condition = "destination = ? AND key >= ?"
    var arguments: StatementArguments = [number, start.bytes]
    if let end {
      condition += " AND key < ?"
      arguments += [end.bytes]
    }
    return try pushedKeys("\(condition) ORDER BY key, rolling_start", arguments)
  }

  func keys(of push: PushID) throws -> [PushedKey] {
    try pushedKeys("push = ? AND state = 'batched' ORDER BY position", [push.rawValue])
  }

  func pushes(of key: TemporaryExposureKey) throws -> [KeyPush] {
    let names = try Row.fetchAll(database, sql: "SELECT id, name FROM destinations ORDER BY name")
    return try names.flatMap { row in
      let (number, name): (Int64, String) = try (row["id"], row["name"])
      return try pushedKeys("destination = ? AND key = ? ORDER BY rolling_start", [number, key.bytes])
        .map { KeyPush(destination: name, key: $0) }
    }
  }

  func pushedKeyCounts(to destination: String) throws -> [PushedKeyState: Int] {
    guard let number = try numbered(destination, in: "destinations") else { return [:] }
    let rows = try Row.fetchAll(
      database, sql: "SELECT state, count(*) AS keys FROM pushed_keys WHERE destination = ? GROUP BY state",
      arguments: [number])
    return Dictionary(
      try rows.map { try ($0.choice("state") as PushedKeyState, $0["keys"] as Int) }, uniquingKeysWith: +)
  }

  func stage(_ push: NewPush, _ content: [UInt8], at now: Instant) throws -> PushRecord {
    let destination = try interned(push.destination, in: "destinations")
    try database.execute(
      sql: """
        INSERT INTO pushes (destination, tag, signature, media_type, key_count, digest, state, staged, changed, bytes)
        VALUES (?, ?, ?, ?, ?, ?, 'staged', ?, ?, ?) ON CONFLICT (destination, tag) DO NOTHING
        """,
      arguments: [
        destination, push.tag, push.signature, push.mediaType, push.keyCount, push.digest, now.secondsSince1970,
        now.secondsSince1970, content,
      ])
    if database.changesCount == 0 { throw StorageFault.tagTaken(push) }
    return PushRecord(
      id: PushID(rawValue: database.lastInsertedRowID), push: push, state: .staged, staged: now, changed: now)
  }

  func move(_ push: PushID, to state: PushState, at now: Instant) throws {
    try database.execute(
      sql: """
        UPDATE pushes SET state = :state, changed = :now, bytes = CASE WHEN :state = 'staged' THEN bytes END
        WHERE id = :id
        """, arguments: ["state": state.rawValue, "now": now.secondsSince1970, "id": push.rawValue])
    if database.changesCount == 0 { throw StorageFault.noPush(push) }
  }

  func note(_ keys: [PushedKey], to destination: String) throws {
    if keys.isEmpty { return }
    let number = try interned(destination, in: "destinations")
    let statement = try database.cachedStatement(
      sql: """
        INSERT OR REPLACE INTO pushed_keys (destination, key, rolling_start, rolling_period, transmission_risk, report_type,
          days_since_onset, visited, state, push, position, stored_type, failures, reason, changed)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """)
    // Most keys of a batch name the same countries.
    var texts: [[String]: String] = [:]
    for key in keys {
      let visited = try texts[key.row.visited] ?? JSONColumn.encode(key.row.visited)
      texts[key.row.visited] = visited
      try statement.execute(
        arguments: [
          number, key.subject.key.bytes, key.subject.rollingStart, key.row.rollingPeriod,
          key.row.transmissionRisk, key.row.reportType, key.row.daysSinceOnset, visited, key.state.rawValue,
          key.push?.rawValue, key.position, key.storedType, key.failures, key.reason, key.changed.secondsSince1970,
        ])
    }
  }

  private func pushedKeys(_ condition: String, _ arguments: StatementArguments) throws -> [PushedKey] {
    var keys: [PushedKey] = []
    var lists: [String: [String]] = [:]
    try SQLite.Row.forEach(
      database, sql: "SELECT * FROM pushed_keys WHERE \(condition)", arguments: arguments
    ) { row in
      let text: String = try row["visited"]
      let visited = try lists[text] ?? JSONColumn.decode([String].self, text)
      lists[text] = visited
      keys.append(try PushedKey(row, visited: visited))
    }
    return keys
  }
}

extension PushRecord {
  fileprivate init(_ row: Row) throws {
    try self.init(
      id: PushID(rawValue: row["id"]),
      push: NewPush(
        destination: row["destination_name"], tag: row["tag"], signature: row["signature"],
        mediaType: row["media_type"], keyCount: row["key_count"], digest: row["digest"]),
      state: row.choice("state"), staged: row.time("staged"), changed: row.time("changed"))
  }
}

extension PushedKey {
  fileprivate init(_ row: SQLite.Row, visited: [String]) throws {
    guard let key = TemporaryExposureKey(try row["key"] as [UInt8]) else {
      throw StorageFault(.corrupt, "a pushed key is not sixteen bytes long")
    }
    let push: Int64? = try row["push"]
    try self.init(
      subject: KeySubject(key: key, rollingStart: row["rolling_start"]),
      row: Row(
        rollingPeriod: row["rolling_period"], transmissionRisk: row["transmission_risk"],
        reportType: row["report_type"], daysSinceOnset: row["days_since_onset"], visited: visited),
      state: row.choice("state"), push: push.map(PushID.init), position: row["position"],
      storedType: row["stored_type"], failures: row["failures"], reason: row["reason"], changed: row.time("changed"))
  }
}
