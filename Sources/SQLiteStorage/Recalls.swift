import ExposureKeys
import KeyNormalization
import KeyStorage
import SQLite

extension SQLiteTransaction {
  func numberedRecalls() throws -> [(number: Int64, recall: Recall)] {
    try Row.fetchAll(database, sql: "SELECT * FROM recalls ORDER BY id").map { row in
      let document: Int64? = try row["document"]
      let recall = try Recall(
        request: RecallRequest(
          origin: row["origin"], since: row.optionalTime("since"), document: document.map(DocumentID.init),
          source: row["of_source"]),
        event: EventID(rawValue: row["event"]), time: row.time("time"), claims: row["claims"], word: row.word)
      return (try row["id"], recall)
    }
  }

  func write(
    _ request: RecallRequest, claims: Int, in event: EventStamp, by word: OperatorWord?
  ) throws -> Int64 {
    try database.execute(
      sql: """
        INSERT INTO recalls (origin, since, document, of_source, event, time, claims, who, why)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        request.origin, request.since?.secondsSince1970, request.document?.rawValue, request.source,
        event.id.rawValue, event.time.secondsSince1970, claims, word?.by, word?.reason,
      ])
    return database.lastInsertedRowID
  }

  func expire(keysExpiredBefore: Instant, contentBytes: Int, at now: Instant) throws -> ExpiryReceipt {
    let end = keysExpiredBefore.secondsSince1970
    var receipt = try expireRuns(endingBy: end, limit: StoreTuning.expiredAtOnce)
    try SQLiteAgenda(database).expire(endingBy: end)
    receipt.claims += try delete("held WHERE (rolling_start + (said & 255)) * 600 <= ?", [end])
    receipt.released += try delete("released WHERE (rolling_start + rolling_period) * 600 <= ?", [end])
    receipt.released += try delete("pushed_keys WHERE (rolling_start + rolling_period) * 600 <= ?", [end])
    try forgetTokens(endedBy: UsedToken.forgettable(by: now).secondsSince1970)
    receipt.contents = try delete("contents WHERE until <= ?", [now.secondsSince1970])
    receipt.crowdedOut = try delete(
      """
      contents WHERE document IN (SELECT document FROM (
        SELECT document, sum(length(bytes)) OVER (
          ORDER BY documents.state = 'recorded', document DESC ROWS UNBOUNDED PRECEDING) AS total
        FROM contents JOIN documents ON documents.id = contents.document) WHERE total > ?)
      """, [contentBytes])
    try expireFederated(at: now)
    _ = try delete("pushes WHERE state <> 'staged' AND changed < ?", [end])
    _ = try delete("uploads WHERE event IN (SELECT id FROM events WHERE time < ?)", [end])
    let routine = EventKind.allCases.filter(\.isRoutine).map { "'\($0.rawValue)'" }.joined(separator: ", ")
    _ = try delete(
      "events WHERE time < ? AND kind IN (\(routine)) AND id NOT IN (SELECT event FROM log_queue)", [end])
    return receipt
  }

  private func forgetTokens(endedBy end: Int64) throws {
    let last = try Int64.fetchOne(
      database, sql: "SELECT max(until) FROM used_tokens WHERE until <= ?", arguments: [end])
    guard let last else { return }
    try noteForgottenTokens(endedBy: Instant(secondsSince1970: last))
    endOfForgotten = nil
    _ = try delete("used_tokens WHERE until <= ?", [end])
  }

  private func delete(_ rows: String, _ arguments: StatementArguments) throws -> Int {
    try database.execute(sql: "DELETE FROM \(rows)", arguments: arguments)
    return database.changesCount
  }
}
