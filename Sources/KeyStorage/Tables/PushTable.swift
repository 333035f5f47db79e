package import ExposureKeys
internal import KeyNormalization

extension TableTransaction {
  package func pushes(to destination: String?, in states: Set<PushState>) throws -> [PushRecord] {
    let condition = "state IN \(words(states))" + (destination == nil ? "" : " AND destinations.name = $1")
    return try sql.rows(
      """
      SELECT pushes.*, destinations.name AS destination_name
      FROM pushes JOIN destinations ON destinations.id = pushes.destination WHERE \(condition) ORDER BY pushes.id
      """, with: destination.map { [.text($0)] } ?? []
    ).map(PushRecord.init)
  }

  package func pushCount(to destination: String, since start: Instant) throws -> Int {
    try sql.value(
      """
      SELECT count(*) FROM pushes JOIN destinations ON destinations.id = pushes.destination
      WHERE destinations.name = $1 AND staged >= $2
      """, destination, start) ?? 0
  }

  package func content(of push: PushID) throws -> [UInt8]? {
    try sql.value("SELECT bytes FROM pushes WHERE id = $1", push.rawValue)
  }

  package func pushedKeys(
    to destination: String, from start: TemporaryExposureKey, before end: TemporaryExposureKey?
  ) throws -> [PushedKey] {
    guard let number = try numbered(destination, in: "destinations") else { return [] }
    let order = "ORDER BY key, rolling_start"
    guard let end else { return try pushedKeys("destination = $1 AND key >= $2 \(order)", number, start) }
    return try pushedKeys("destination = $1 AND key >= $2 AND key < $3 \(order)", number, start, end)
  }

  package func keys(of push: PushID) throws -> [PushedKey] {
    try pushedKeys("push = $1 AND state = 'batched' ORDER BY position", push.rawValue)
  }

  package func pushes(of key: TemporaryExposureKey) throws -> [KeyPush] {
    let names = try sql.rows("SELECT id, name FROM destinations ORDER BY name")
    return try names.flatMap { row in
      let (number, name): (Int64, String) = (try row["id"], try row["name"])
      return try pushedKeys("destination = $1 AND key = $2 ORDER BY rolling_start", number, key)
        .map { KeyPush(destination: name, key: $0) }
    }
  }

  package func pushedKeyCounts(to destination: String) throws -> [PushedKeyState: Int] {
    guard let number = try numbered(destination, in: "destinations") else { return [:] }
    let rows = try sql.rows(
      "SELECT state, count(*) AS keys FROM pushed_keys WHERE destination = $1 GROUP BY state", number)
    return Dictionary(
      try rows.map { (try $0.choice("state") as PushedKeyState, try $0["keys"] as Int) }, uniquingKeysWith: +)
  }

  package func stage(_ push: NewPush, _ content: [UInt8], at now: Instant) throws -> PushRecord {
    let destination = try interned(push.destination, in: "destinations")
    let isTaken = try sql.row(
      "SELECT 1 FROM pushes WHERE destination = $1 AND tag = $2", destination, push.tag)
    if isTaken != nil { throw StorageFault.tagTaken(push) }
    let id = try sql.nextNumber(of: "pushes")
    try sql.run(
      """
      INSERT INTO pushes (id, destination, tag, signature, media_type, key_count, digest, state, staged, changed, bytes)
      VALUES ($1, $2, $3, $4, $5, $6, $7, 'staged', $8, $9, $10)
      """,
      id, destination, push.tag, push.signature, push.mediaType, push.keyCount, push.digest, now,
      now, content)
    return PushRecord(
      id: PushID(rawValue: id), push: push, state: .staged, staged: now, changed: now)
  }

  package func move(_ push: PushID, to state: PushState, at now: Instant) throws {
    let changed = try sql.run(
      """
      UPDATE pushes SET state = $1, changed = $2, bytes = CASE WHEN $1 = 'staged' THEN bytes END WHERE id = $3
      """, state.rawValue, now, push.rawValue)
    if changed == 0 { throw StorageFault.noPush(push) }
  }

  package func note(_ keys: [PushedKey], to destination: String) throws {
    if keys.isEmpty { return }
    let number = try interned(destination, in: "destinations")
    // Most keys of a batch name the same countries.
    var texts: [[String]: String] = [:]
    let visited = try keys.map { key in
      let text = try texts[key.row.visited] ?? JSONColumn.encode(key.row.visited)
      texts[key.row.visited] = text
      return text
    }
    // One statement must not name a row twice: the last note about a key holds.
    var last: [KeySubject: Int] = [:]
    for (place, key) in keys.enumerated() { last[key.subject] = place }
    let columns = [
      "destination", "key", "rolling_start", "rolling_period", "transmission_risk", "report_type", "days_since_onset",
      "visited", "state", "push", "position", "stored_type", "failures", "reason", "changed",
    ]
    let rows = keys.indices.filter { last[keys[$0].subject] == $0 }.map { place -> [SQLValue] in
      let key = keys[place]
      let values: [any SQLArgument] = [
        number, key.subject.key, key.subject.rollingStart, key.row.rollingPeriod, key.row.transmissionRisk,
        key.row.reportType, key.row.daysSinceOnset, visited[place], key.state.rawValue, key.push?.rawValue,
        key.position, key.storedType, key.failures, key.reason, key.changed,
      ]
      return values.map(\.sqlValue)
    }
    let changes = columns.dropFirst(3).map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    try sql.insert(
      into: "pushed_keys", columns, rows, "ON CONFLICT (destination, key, rolling_start) DO UPDATE SET \(changes)")
  }

  private func pushedKeys(_ condition: String, _ values: any SQLArgument...) throws -> [PushedKey] {
    var keys: [PushedKey] = []
    var lists: [String: [String]] = [:]
    try sql.each("SELECT * FROM pushed_keys WHERE \(condition)", with: values.map(\.sqlValue)) { row in
      let text: String = try row["visited"]
      let visited = try lists[text] ?? JSONColumn.decode([String].self, text)
      lists[text] = visited
      keys.append(try PushedKey(row, visited: visited))
    }
    return keys
  }
}

extension PushRecord {
  fileprivate init(_ row: SQLRow) throws {
    self.init(
      id: PushID(rawValue: try row["id"]),
      push: NewPush(
        destination: try row["destination_name"], tag: try row["tag"], signature: try row["signature"],
        mediaType: try row["media_type"], keyCount: try row["key_count"], digest: try row["digest"]),
      state: try row.choice("state"), staged: try row["staged"], changed: try row["changed"])
  }
}

extension PushedKey {
  fileprivate init(_ row: SQLRow, visited: [String]) throws {
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
