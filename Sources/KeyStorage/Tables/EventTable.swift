package import ExposureKeys
internal import KeyNormalization

extension TableTransaction {
  package func events(from start: EventID, limit: Int) throws -> [EventRecord] {
    try sql.rows("SELECT * FROM events WHERE id >= $1 ORDER BY id LIMIT $2", start.rawValue, max(0, limit)).map(
      EventRecord.init)
  }

  package func lastEvent() throws -> EventRecord? {
    try sql.row("SELECT * FROM events ORDER BY id DESC LIMIT 1").map(EventRecord.init)
  }

  package func enter(_ event: NewEvent) throws -> EventStamp {
    let number = try sql.nextNumber(of: "events")
    try sql.run(
      "INSERT INTO events (id, time, kind, subject, who, why) VALUES ($1, $2, $3, $4, $5, $6)", number,
      event.time, event.kind.rawValue, event.subject, event.word?.by, event.word?.reason)
    return EventStamp(id: EventID(rawValue: number), time: event.time)
  }

  // MARK: What waits for the transparency log

  package func queuedEntries(limit: Int) throws -> [QueuedEntry] {
    try sql.rows("SELECT * FROM log_queue ORDER BY id LIMIT $1", max(0, limit))
      .map { row in
        QueuedEntry(
          id: QueuedEntryID(rawValue: try row["id"]), event: EventID(rawValue: try row["event"]), kind: try row["kind"],
          bytes: try row["bytes"])
      }
  }

  package func queueStanding() throws -> (count: Int, since: Instant)? {
    let row = try sql.row(
      """
      SELECT time, (SELECT count(*) FROM log_queue) AS waiting FROM events
      WHERE id = (SELECT event FROM log_queue ORDER BY id LIMIT 1)
      """)
    return try row.map { (try $0["waiting"], try $0["time"]) }
  }

  package func enqueue(_ bytes: [UInt8], kind: String, event: EventID) throws {
    try sql.run(
      "INSERT INTO log_queue (id, event, kind, bytes) VALUES ($1, $2, $3, $4)", try sql.nextNumber(of: "log_queue"),
      event.rawValue, kind, bytes)
  }

  package func dequeue(_ entries: [QueuedEntryID]) throws {
    try sql.inParts(entries.map(\.rawValue.sqlValue)) { list, part in
      try sql.run("DELETE FROM log_queue WHERE id IN \(list)", with: part)
    }
  }

  // MARK: The transparency log itself

  package func logHead(named name: String) throws -> LogHead? {
    try sql.row("SELECT * FROM log_heads WHERE name = $1", name).map { row in
      LogHead(
        LogHead.Tree(size: try row["size"], root: try row["root"]), key: try row["key"], signed: try row["signed"],
        pending: try row["pending"])
    }
  }

  package func moveLog(named name: String, from seen: LogHead.Tree?, to head: LogHead) throws {
    try head.check(follows: seen, present: try logHead(named: name), named: name)
    guard let seen else {
      _ = try sql.run(
        "INSERT INTO log_heads (name, size, root, key, signed, pending) VALUES ($1, $2, $3, $4, $5, $6)", name,
        head.tree.size, head.tree.root, head.key, head.signed, head.pending)
      return
    }
    let count = try sql.run(
      """
      UPDATE log_heads SET size = $1, root = $2, key = $3, signed = $4, pending = $5
      WHERE name = $6 AND size = $7 AND root = $8
      """, head.tree.size, head.tree.root, head.key, head.signed, head.pending, name, seen.size, seen.root)
    guard count == 1 else { throw StorageFault(.conflict, "the log \(name) was moved meanwhile") }
  }

  // MARK: Uploads

  package func uploads(certificate digest: String) throws -> [UploadRecord] {
    try sql.rows(
      """
      SELECT uploads.*, sources.name AS door_name FROM uploads JOIN sources ON sources.id = uploads.door
      WHERE certificate = $1 ORDER BY uploads.id
      """, digest
    ).map { row in
      UploadRecord(
        event: EventID(rawValue: try row["event"]), door: try row["door_name"],
        regions: try JSONColumn.decode([String].self, try row["regions"]), certificate: try row["certificate"])
    }
  }

  package func use(_ token: UsedToken) throws -> Bool {
    guard try !mayBeForgotten(token, knowing: &endOfForgotten) else { return false }
    return try sql.run(
      "INSERT INTO used_tokens (digest, until) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING", token.digest,
      token.end) == 1
  }

  package func note(_ upload: UploadRecord) throws {
    let door = try sourceNumber(upload.door)
    try sql.run(
      "INSERT INTO uploads (id, event, door, regions, certificate) VALUES ($1, $2, $3, $4, $5)",
      try sql.nextNumber(of: "uploads"),
      upload.event.rawValue, door, try JSONColumn.encode(upload.regions), upload.certificate)
  }
}

extension EventRecord {
  fileprivate init(_ row: SQLRow) throws {
    self.init(
      id: EventID(rawValue: try row["id"]),
      event: NewEvent(try row.choice("kind"), about: try row["subject"], by: try row.word, at: try row["time"]))
  }
}
