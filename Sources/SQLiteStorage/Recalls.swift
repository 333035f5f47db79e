import ExposureKeys
import GRDB
import KeyNormalization
import KeyStorage

extension SQLiteTransaction {
  func recalls() throws -> [Recall] {
    try Row.fetchAll(database, sql: "SELECT * FROM recalls ORDER BY id").map { row in
      let document: Int64? = row["document"]
      return Recall(
        request: RecallRequest(
          origin: row["origin"], since: row.optionalTime("since"), document: document.map(DocumentID.init),
          source: row["of_source"]),
        event: EventID(rawValue: row["event"]), time: row.time("time"), claims: row["claims"], word: row.word)
    }
  }

  /// Reads every claim once, in the order of keys, so that all claims about a key stand together.
  func preview(_ recall: RecallRequest) throws -> RecallPreview {
    var preview = RecallPreview(claims: 0, documents: 0, keysLeftWithoutClaims: 0, released: [:])
    guard let origin = try number(ofOrigin: recall.origin) else { return preview }
    let arrivals = try arrivals(of: recall)
    var documents: Set<Int64> = []
    var subject: KeySubject?
    var isWithdrawn = false
    var isLeft = false
    var releases = try ReleaseSearch(self)

    func finish() throws {
      guard let subject, isWithdrawn, !isLeft else { return }
      preview.keysLeftWithoutClaims += 1
      try releases.count(subject)
    }

    var rows = try claimRuns().rows()
    while let row = try rows.next() {
      guard row.stands else { continue }
      if row.subject != subject {
        try finish()
        (subject, isWithdrawn, isLeft) = (row.subject, false, false)
      }
      if Int64(row.origin) == origin, let document = arrivals[Int64(row.arrival)] {
        isWithdrawn = true
        preview.claims += 1
        documents.insert(document)
      } else {
        isLeft = true
      }
    }
    try finish()
    preview.documents = documents.count
    preview.released = releases.counts
    return preview
  }

  func recall(_ request: RecallRequest, in event: EventStamp, by word: OperatorWord?) throws -> RecallPreview {
    let preview = try preview(request)
    try database.execute(
      sql: """
        INSERT INTO recalls (origin, since, document, of_source, event, time, claims, who, why)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        request.origin, request.since?.secondsSince1970, request.document?.rawValue, request.source,
        event.id.rawValue, event.time.secondsSince1970, preview.claims, word?.by, word?.reason,
      ])
    let number = database.lastInsertedRowID
    guard preview.claims > 0, let origin = try self.number(ofOrigin: request.origin) else { return preview }
    let meant = Set(try arrivals(of: request).keys)
    let recall = try claimNumber(number)
    // An arrival is shared by the uploads of a day, also by those after the recall, so each claim says by itself that it is
    // withdrawn.
    try claimRuns().changeAll { row in
      guard row.stands, Int64(row.origin) == origin, meant.contains(Int64(row.arrival)) else { return false }
      row.recall = recall
      return true
    }
    let arrivals = "arrival IN (SELECT id FROM arrivals WHERE \(Self.condition))"
    // What was withdrawn is nobody's usual volume.
    try database.execute(
      sql: "DELETE FROM volumes WHERE origin = :origin AND \(arrivals)",
      arguments: Self.arguments(request) + ["origin": origin])
    try database.execute(sql: "UPDATE totals SET claims = claims - ?", arguments: [preview.claims])
    return preview
  }

  func expire(keysExpiredBefore: Instant, contentBytes: Int, at now: Instant) throws -> ExpiryReceipt {
    var receipt = ExpiryReceipt(claims: 0, released: 0, contents: 0)
    let end = keysExpiredBefore.secondsSince1970
    let isOver = "(rolling_start + (said & 255)) * 600 <= ?"

    var standing = 0
    receipt.isUnfinished = try claimRuns().expire(endingBy: end >= 0 ? end / 600 : -1, limit: StoreTuning.expiredAtOnce)
    { row in
      receipt.claims += 1
      if row.stands { standing += 1 }
    }
    try database.execute(sql: "UPDATE totals SET claims = claims - ?", arguments: [standing])
    try SQLiteAgenda(database).expire(endingBy: end)
    receipt.claims += try delete("held WHERE \(isOver)", [end])
    let releases = try expireReleases(endingBy: end >= 0 ? end / 600 : -1, limit: StoreTuning.expiredAtOnce)
    receipt.isUnfinished = receipt.isUnfinished || releases.isUnfinished
    receipt.released = releases.count
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

  private func number(ofOrigin name: String) throws -> Int64? { try numbered(name.uppercased(), in: "origins") }

  /// The documents of the arrivals that a recall means.
  private func arrivals(of recall: RecallRequest) throws -> [Int64: Int64] {
    let rows = try Row.fetchAll(
      database, sql: "SELECT id, document FROM arrivals WHERE \(Self.condition)", arguments: Self.arguments(recall))
    return Dictionary(rows.map { ($0["id"], $0["document"]) }, uniquingKeysWith: { first, _ in first })
  }

  private static let condition = """
    (:since IS NULL OR time >= :since) AND (:document IS NULL OR document = :document)
      AND (:source IS NULL OR document IN
        (SELECT documents.id FROM documents JOIN sources ON sources.id = documents.source WHERE sources.name = :source))
    """

  private static func arguments(_ recall: RecallRequest) -> StatementArguments {
    ["since": recall.since?.secondsSince1970, "document": recall.document?.rawValue, "source": recall.source]
  }
}

/// Counts by series which keys it has released; it is asked in ascending order.
private struct ReleaseSearch {
  private var series: [(number: Int64, name: String, search: ClaimSearch)]
  private let statement: RawStatement
  private var found: [ClaimRow] = []
  private(set) var counts: [String: Int] = [:]

  init(_ transaction: SQLiteTransaction) throws {
    series = try Row.fetchAll(transaction.database, sql: "SELECT id, name FROM series").map { row in
      (row["id"], row["name"], try transaction.releaseRuns(of: row["id"]).search())
    }
    statement = try RawStatement(
      transaction.database, "SELECT 1 FROM released WHERE series = ? AND key = ? AND rolling_start = ?")
  }

  mutating func count(_ subject: KeySubject) throws {
    for index in series.indices {
      found.removeAll(keepingCapacity: true)
      try series[index].search.find(subject.key, into: &found)
      let isInTable = try withBytes(of: subject.key) { bytes in
        statement.bind(series[index].number, at: 1)
        statement.bind(key: bytes, at: 2)
        statement.bind(subject.rollingStart, at: 3)
        defer { statement.reset() }
        return try statement.step()
      }
      if isInTable || found.contains(where: { $0.subject == subject }) { counts[series[index].name, default: 0] += 1 }
    }
  }
}
