package import ExposureKeys
internal import KeyNormalization

extension TableTransaction {
  /// In the order in which they happened.
  package func numberedRecalls() throws -> [(number: Int64, recall: Recall)] {
    try sql.rows("SELECT * FROM recalls ORDER BY id").map { row in
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

  /// - Parameter claims: how many it withdraws.
  /// - Returns: its number.
  package func write(
    _ request: RecallRequest, claims: Int, in event: EventStamp, by word: Attribution?
  ) throws -> Int64 {
    let number = try sql.nextNumber(of: "recalls")
    try sql.run(
      """
      INSERT INTO recalls (id, origin, since, document, of_source, event, time, claims, who, why)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
      """,
      number, request.origin, request.since, request.document?.rawValue, request.source,
      event.id.rawValue, event.time, claims, word?.by, word?.reason)
    return number
  }

  /// Removes what has ended beside claims and the agenda.
  ///
  /// - Parameter receipt: is added to.
  package func expireRows(
    keysExpiredBefore limit: Instant, contentBytes: Int, at now: Instant, _ receipt: inout ExpiryReceipt
  ) throws {
    try forgetTokens(at: now)
    receipt.contents = try delete("contents WHERE until <= $1", now)
    receipt.crowdedOut = try delete(
      """
      contents WHERE document IN (SELECT document FROM (
        SELECT document, sum(length(bytes)) OVER (
          ORDER BY documents.state = 'recorded', document DESC ROWS UNBOUNDED PRECEDING) AS total
        FROM contents JOIN documents ON documents.id = contents.document) AS totals WHERE total > $1)
      """, contentBytes)
    try expireFederated(at: now)
    _ = try delete("pushes WHERE state <> 'staged' AND changed < $1", limit)
    _ = try delete("uploads WHERE event IN (SELECT id FROM events WHERE time < $1)", limit)
    let routine = words(Set(EventKind.allCases.filter(\.isRoutine)))
    _ = try delete(
      "events WHERE time < $1 AND kind IN \(routine) AND id NOT IN (SELECT event FROM log_queue)", limit)
  }

  private func forgetTokens(at now: Instant) throws {
    let end = UsedToken.forgettable(by: now, try sql.serverTime() ?? now)
    let last: Instant? = try sql.value("SELECT max(until) FROM used_tokens WHERE until <= $1", end)
    guard let last else { return }
    try noteForgottenTokens(endedBy: last)
    endOfForgotten = nil
    _ = try delete("used_tokens WHERE until <= $1", end)
  }

  private func delete(_ rows: String, _ value: any SQLArgument) throws -> Int {
    try sql.run("DELETE FROM \(rows)", value)
  }
}
