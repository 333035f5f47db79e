import ExposureKeys
import KeyNormalization
import KeyStorage

extension PostgresTransaction {
  func numberedRecalls() throws -> [(number: Int64, recall: Recall)] {
    try database.rows("SELECT * FROM recalls ORDER BY id").map { row in
      let document: Int64? = try row["document"]
      let recall = Recall(
        request: RecallRequest(
          origin: try row["origin"], since: try row["since"], document: document.map(DocumentID.init),
          source: try row["of_source"]),
        event: EventID(rawValue: try row["event"]), time: try row["time"], claims: try row["claims"],
        word: try row.word)
      return (try row["id"], recall)
    }
  }

  func write(
    _ request: RecallRequest, claims: Int, in event: EventStamp, by word: OperatorWord?
  ) throws -> Int64 {
    let number = try counted("recalls")
    try database.run(
      """
      INSERT INTO recalls (id, origin, since, document, of_source, event, time, claims, who, why)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
      """,
      number, request.origin, request.since?.secondsSince1970, request.document?.rawValue, request.source,
      event.id.rawValue, event.time.secondsSince1970, claims, word?.by, word?.reason)
    return number
  }

  func expire(keysExpiredBefore: Instant, contentBytes: Int, at now: Instant) throws -> ExpiryReceipt {
    let end = keysExpiredBefore.secondsSince1970
    var receipt = try expireRuns(endingBy: end, limit: Self.expiredAtOnce)
    try agendaTable().expire(endingBy: end)
    receipt.claims += try delete("held WHERE (rolling_start + (said & 255)) * 600 <= $1", [end])
    receipt.released += try delete("released WHERE (rolling_start + rolling_period) * 600 <= $1", [end])
    receipt.released += try delete("pushed_keys WHERE (rolling_start + rolling_period) * 600 <= $1", [end])
    try forgetTokens(at: now)
    receipt.contents = try delete("contents WHERE until <= $1", [now.secondsSince1970])
    receipt.crowdedOut = try delete(
      """
      contents WHERE document IN (SELECT document FROM (
        SELECT document, sum(length(bytes)) OVER (
          ORDER BY documents.state = 'recorded', document DESC ROWS UNBOUNDED PRECEDING) AS total
        FROM contents JOIN documents ON documents.id = contents.document) AS totals WHERE total > $1)
      """, [contentBytes])
    try expireFederated(at: now)
    _ = try delete("pushes WHERE state <> 'staged' AND changed < $1", [end])
    _ = try delete("uploads WHERE event IN (SELECT id FROM events WHERE time < $1)", [end])
    let routine = EventKind.allCases.filter(\.isRoutine).map { "'\($0.rawValue)'" }.joined(separator: ", ")
    _ = try delete(
      "events WHERE time < $1 AND kind IN (\(routine)) AND id NOT IN (SELECT event FROM log_queue)", [end])
    return receipt
  }

  /// The server's clock is every replica's; where it is not as far, a replica's own forgets nothing.
  private func forgetTokens(at now: Instant) throws {
    let server: Int64? = try database.value("SELECT extract(epoch FROM clock_timestamp())::bigint")
    guard let server else { return }
    let end = UsedToken.forgettable(by: now, Instant(secondsSince1970: server)).secondsSince1970
    let last: Int64? = try database.value("SELECT max(until) FROM used_tokens WHERE until <= $1", end)
    guard let last else { return }
    try noteForgottenTokens(endedBy: Instant(secondsSince1970: last))
    endOfForgotten = nil
    _ = try delete("used_tokens WHERE until <= $1", [end])
  }

  private func delete(_ rows: String, _ arguments: [any PostgresArgument]) throws -> Int {
    try database.run("DELETE FROM \(rows)", with: arguments)
  }

  /// Claims that expiry looks at in one transaction.
  private static let expiredAtOnce = 1_000_000
}
