import ExposureKeys
import KeyNormalization
import KeyStorage

extension PostgresTransaction {
  func pushes(to destination: String?, in states: Set<PushState>) throws -> [PushRecord] {
    var condition = "state = ANY ($1)"
    var arguments: [any PostgresArgument] = [PostgresValue.texts(states.map(\.rawValue).sorted())]
    if let destination {
      condition += " AND destinations.name = $2"
      arguments.append(destination)
    }
    return try database.rows(
      """
      SELECT pushes.*, destinations.name AS destination_name
      FROM pushes JOIN destinations ON destinations.id = pushes.destination WHERE \(condition) ORDER BY pushes.id
      """, with: arguments
    ).map(PushRecord.init)
  }

  func pushCount(to destination: String, since start: Instant) throws -> Int {
    try database.value(
      """
      SELECT count(*) FROM pushes JOIN destinations ON destinations.id = pushes.destination
      WHERE destinations.name = $1 AND staged >= $2
      """, destination, start.secondsSince1970) ?? 0
  }

  func content(of push: PushID) throws -> [UInt8]? {
    try database.value("SELECT bytes FROM pushes WHERE id = $1", push.rawValue)
  }

  func pushedKeys(
    to destination: String, from start: TemporaryExposureKey, before end: TemporaryExposureKey?
  ) throws -> [PushedKey] {
    guard let number = try numbered(destination, in: "destinations") else { return [] }
    var condition = "destination = $1 AND key >= $2"
    var arguments: [any PostgresArgument] = [number, start.bytes]
    if let end {
      condition += " AND key < $3"
      arguments.append(end.bytes)
    }
    return try pushedKeys("\(condition) ORDER BY key, rolling_start", arguments)
  }

  func keys(of push: PushID) throws -> [PushedKey] {
    try pushedKeys("push = $1 AND state = 'batched' ORDER BY position", [push.rawValue])
  }

  func pushes(of key: TemporaryExposureKey) throws -> [KeyPush] {
    let names = try database.rows("SELECT id, name FROM destinations ORDER BY name")
    return try names.flatMap { row in
      let (number, name): (Int64, String) = (try row["id"], try row["name"])
      return try pushedKeys("destination = $1 AND key = $2 ORDER BY rolling_start", [number, key.bytes])
        .map { KeyPush(destination: name, key: $0) }
    }
  }

  func pushedKeyCounts(to destination: String) throws -> [PushedKeyState: Int] {
    guard let number = try numbered(destination, in: "destinations") else { return [:] }
    let rows = try database.rows(
      "SELECT state, count(*) AS keys FROM pushed_keys WHERE destination = $1 GROUP BY state", number)
    return Dictionary(
      try rows.map { (try $0.choice("state") as PushedKeyState, try $0["keys"] as Int) }, uniquingKeysWith: +)
  }

  func stage(_ push: NewPush, _ content: [UInt8], at now: Instant) throws -> PushRecord {
    let destination = try interned(push.destination, in: "destinations")
    let isTaken = try database.row(
      "SELECT 1 FROM pushes WHERE destination = $1 AND tag = $2", destination, push.tag)
    if isTaken != nil { throw StorageFault.tagTaken(push) }
    let id = try counted("pushes")
    try database.run(
      """
      INSERT INTO pushes (id, destination, tag, signature, media_type, key_count, digest, state, staged, changed, bytes)
      VALUES ($1, $2, $3, $4, $5, $6, $7, 'staged', $8, $9, $10)
      """,
      id, destination, push.tag, push.signature, push.mediaType, push.keyCount, push.digest, now.secondsSince1970,
      now.secondsSince1970, content)
    return PushRecord(
      id: PushID(rawValue: id), push: push, state: .staged, staged: now, changed: now)
  }

  func move(_ push: PushID, to state: PushState, at now: Instant) throws {
    let changed = try database.run(
      """
      UPDATE pushes SET state = $1, changed = $2, bytes = CASE WHEN $1 = 'staged' THEN bytes END WHERE id = $3
      """, state.rawValue, now.secondsSince1970, push.rawValue)
    if changed == 0 { throw StorageFault.noPush(push) }
  }

  func note(_ keys: [PushedKey], to destination: String) throws {
    if keys.isEmpty { return }
    let number = try interned(destination, in: "destinations")
    // Most keys of a batch name the same countries.
    var texts: [[String]: String] = [:]
    let visited = try keys.map { key in
      let text = try texts[key.row.visited] ?? JSONColumn.encode(key.row.visited)
      texts[key.row.visited] = text
      return text
    }
    func numbers(_ number: (PushedKey) -> Int64?) -> PostgresValue { .ints(keys.map(number)) }
    // One statement must not name a row twice: what is said last of a key holds.
    try database.run(
      """
      INSERT INTO pushed_keys (destination, key, rolling_start, rolling_period, transmission_risk, report_type,
        days_since_onset, visited, state, push, position, stored_type, failures, reason, changed)
      SELECT DISTINCT ON (key, rolling_start) $1, key, rolling_start, rolling_period, transmission_risk, report_type,
        days_since_onset, visited, state, push, position, stored_type, failures, reason, changed
      FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) WITH ORDINALITY
        AS said (key, rolling_start, rolling_period, transmission_risk, report_type, days_since_onset, visited, state, push,
          position, stored_type, failures, reason, changed, place)
      ORDER BY key, rolling_start, place DESC
      ON CONFLICT (destination, key, rolling_start) DO UPDATE SET rolling_period = excluded.rolling_period,
        transmission_risk = excluded.transmission_risk, report_type = excluded.report_type,
        days_since_onset = excluded.days_since_onset, visited = excluded.visited, state = excluded.state,
        push = excluded.push, position = excluded.position, stored_type = excluded.stored_type,
        failures = excluded.failures, reason = excluded.reason, changed = excluded.changed
      """, number, PostgresValue.blobs(keys.map(\.subject.key.bytes)), numbers { Int64($0.subject.rollingStart) },
      numbers { Int64($0.row.rollingPeriod) }, numbers { Int64($0.row.transmissionRisk) },
      numbers { Int64($0.row.reportType) }, numbers { Int64($0.row.daysSinceOnset) }, PostgresValue.texts(visited),
      PostgresValue.texts(keys.map(\.state.rawValue)), numbers { $0.push?.rawValue }, numbers { Int64($0.position) },
      numbers { $0.storedType.map(Int64.init) }, numbers { Int64($0.failures) },
      PostgresValue.texts(keys.map(\.reason)),
      numbers { $0.changed.secondsSince1970 })
  }

  private func pushedKeys(_ condition: String, _ arguments: [any PostgresArgument]) throws -> [PushedKey] {
    let rows = try database.rows("SELECT * FROM pushed_keys WHERE \(condition)", with: arguments)
    var keys: [PushedKey] = []
    var lists: [String: [String]] = [:]
    for row in rows {
      let text: String = try row["visited"]
      let visited = try lists[text] ?? JSONColumn.decode([String].self, text)
      lists[text] = visited
      keys.append(try PushedKey(row, visited: visited))
    }
    return keys
  }
}

extension PushRecord {
  fileprivate init(_ row: PostgresRow) throws {
    self.init(
      id: PushID(rawValue: try row["id"]),
      push: NewPush(
        destination: try row["destination_name"], tag: try row["tag"], signature: try row["signature"],
        mediaType: try row["media_type"], keyCount: try row["key_count"], digest: try row["digest"]),
      state: try row.choice("state"), staged: try row["staged"], changed: try row["changed"])
  }
}

extension PushedKey {
  fileprivate init(_ row: PostgresRow, visited: [String]) throws {
    let push: Int64? = try row["push"]
    self.init(
      subject: KeySubject(key: try row["key"], rollingStart: try row["rolling_start"]),
      row: Row(
        rollingPeriod: try row["rolling_period"], transmissionRisk: try row["transmission_risk"],
        reportType: try row["report_type"], daysSinceOnset: try row["days_since_onset"], visited: visited),
      state: try row.choice("state"), push: push.map(PushID.init), position: try row["position"],
      storedType: try row["stored_type"], failures: try row["failures"], reason: try row["reason"],
      changed: try row["changed"])
  }
}
