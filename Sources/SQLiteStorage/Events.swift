import ExposureKeys
import Foundation
import KeyStorage
import SQLite

extension SQLiteTransaction {
  func events(from start: EventID, limit: Int) throws -> [EventRecord] {
    try Row.fetchAll(
      database, sql: "SELECT * FROM events WHERE id >= ? ORDER BY id LIMIT ?",
      arguments: [start.rawValue, max(0, limit)]
    ).map(EventRecord.init)
  }

  func lastEvent() throws -> EventRecord? {
    try Row.fetchOne(database, sql: "SELECT * FROM events ORDER BY id DESC LIMIT 1").map(EventRecord.init)
  }

  func enter(_ event: NewEvent) throws -> EventStamp {
    let statement = try database.cachedStatement(
      sql: "INSERT INTO events (time, kind, subject, who, why) VALUES (?, ?, ?, ?, ?)")
    try statement.execute(arguments: [
      event.time.secondsSince1970, event.kind.rawValue, event.subject, event.word?.by, event.word?.reason,
    ])
    return EventStamp(id: EventID(rawValue: database.lastInsertedRowID), time: event.time)
  }

  // MARK: What waits for the transparency log

  func queuedEntries(limit: Int) throws -> [QueuedEntry] {
    try Row.fetchAll(database, sql: "SELECT * FROM log_queue ORDER BY id LIMIT ?", arguments: [max(0, limit)])
      .map { row in
        try QueuedEntry(
          id: QueuedEntryID(rawValue: row["id"]), event: EventID(rawValue: row["event"]), kind: row["kind"],
          bytes: row["bytes"])
      }
  }

  func queueStanding() throws -> (count: Int, since: Instant)? {
    let row = try Row.fetchOne(
      database,
      sql: """
        SELECT time, (SELECT count(*) FROM log_queue) AS waiting FROM events
        WHERE id = (SELECT event FROM log_queue ORDER BY id LIMIT 1)
        """)
    return try row.map { try ($0["waiting"], $0.time("time")) }
  }

  func enqueue(_ bytes: [UInt8], kind: String, event: EventID) throws {
    try database.execute(
      sql: "INSERT INTO log_queue (event, kind, bytes) VALUES (?, ?, ?)",
      arguments: [event.rawValue, kind, bytes])
  }

  func dequeue(_ entries: [QueuedEntryID]) throws {
    let statement = try database.cachedStatement(sql: "DELETE FROM log_queue WHERE id = ?")
    for entry in entries { try statement.execute(arguments: [entry.rawValue]) }
  }

  // MARK: The transparency log itself

  func logHead(named name: String) throws -> LogHead? {
    try Row.fetchOne(database, sql: "SELECT * FROM log_heads WHERE name = ?", arguments: [name]).map { row in
      try LogHead(
        LogHead.Tree(size: row["size"], root: row["root"]), key: row["key"], signed: row["signed"],
        pending: row["pending"])
    }
  }

  func moveLog(named name: String, from seen: LogHead.Tree?, to head: LogHead) throws {
    try head.check(follows: seen, present: try logHead(named: name), named: name)
    guard let seen else {
      return try database.execute(
        sql: "INSERT INTO log_heads (name, size, root, key, signed, pending) VALUES (?, ?, ?, ?, ?, ?)",
        arguments: [name, head.tree.size, head.tree.root, head.key, head.signed, head.pending])
    }
    try database.execute(
      sql: """
        UPDATE log_heads SET size = ?, root = ?, key = ?, signed = ?, pending = ?
        WHERE name = ? AND size = ? AND root = ?
        """,
      arguments: [
        head.tree.size, head.tree.root, head.key, head.signed, head.pending, name, seen.size,
        seen.root,
      ])
    guard database.changesCount == 1 else { throw StorageFault(.conflict, "the log \(name) was moved meanwhile") }
  }

  // MARK: Uploads

  func uploads(certificate digest: String) throws -> [UploadRecord] {
    try Row.fetchAll(
      database,
      sql: """
        SELECT uploads.*, sources.name AS door_name FROM uploads JOIN sources ON sources.id = uploads.door
        WHERE certificate = ? ORDER BY uploads.id
        """, arguments: [digest]
    ).map { row in
      try UploadRecord(
        event: EventID(rawValue: row["event"]), door: row["door_name"],
        regions: try JSONColumn.decode([String].self, row["regions"]), certificate: row["certificate"])
    }
  }

  func use(_ token: UsedToken) throws -> Bool {
    guard try !mayBeForgotten(token, knowing: &endOfForgotten) else { return false }
    try database.execute(
      sql: "INSERT OR IGNORE INTO used_tokens (digest, until) VALUES (?, ?)",
      arguments: [Array(token.digest), token.end.secondsSince1970])
    return database.changesCount == 1
  }

  func note(_ upload: UploadRecord) throws {
    let door = try sourceNumber(upload.door)
    try database.execute(
      sql: "INSERT INTO uploads (event, door, regions, certificate) VALUES (?, ?, ?, ?)",
      arguments: [upload.event.rawValue, door, try JSONColumn.encode(upload.regions), upload.certificate])
  }
}

extension EventRecord {
  fileprivate init(_ row: Row) throws {
    try self.init(
      id: EventID(rawValue: row["id"]),
      event: NewEvent(row.choice("kind"), about: row["subject"], by: row.word, at: row.time("time")))
  }
}
