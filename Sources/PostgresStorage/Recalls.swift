import ExposureKeys
import KeyNormalization
import KeyStorage

extension PostgresTransaction {
  func recalls() throws -> [Recall] {
    try database.rows("SELECT * FROM recalls ORDER BY id").map { row in
      let document: Int64? = try row["document"]
      return Recall(
        request: RecallRequest(
          origin: try row["origin"], since: try row["since"], document: document.map(DocumentID.init),
          source: try row["of_source"]),
        event: EventID(rawValue: try row["event"]), time: try row["time"], claims: try row["claims"], word: try row.word
      )
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
    let number = try counted("recalls")
    try database.run(
      """
      INSERT INTO recalls (id, origin, since, document, of_source, event, time, claims, who, why)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
      """,
      number, request.origin, request.since?.secondsSince1970, request.document?.rawValue, request.source,
      event.id.rawValue, event.time.secondsSince1970, preview.claims, word?.by, word?.reason)
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
    try database.run(
      "DELETE FROM volumes WHERE origin = $4 AND \(arrivals)", with: Self.arguments(request) + [origin])
    try database.run("UPDATE totals SET claims = claims - $1", preview.claims)
    return preview
  }

  func expire(keysExpiredBefore: Instant, contentBytes: Int, at now: Instant) throws -> ExpiryReceipt {
    var receipt = ExpiryReceipt(claims: 0, released: 0, contents: 0)
    let end = keysExpiredBefore.secondsSince1970
    let isOver = "(rolling_start + (said & 255)) * 600 <= $1"

    var standing = 0
    receipt.isUnfinished = try claimRuns().expire(endingBy: end >= 0 ? end / 600 : -1, limit: Self.expiredAtOnce) {
      row in
      receipt.claims += 1
      if row.stands { standing += 1 }
    }
    try database.run("UPDATE totals SET claims = claims - $1", standing)
    try agendaTable().expire(endingBy: end)
    receipt.claims += try delete("held WHERE \(isOver)", [end])
    let releases = try expireReleases(endingBy: end >= 0 ? end / 600 : -1, limit: Self.expiredAtOnce)
    receipt.isUnfinished = receipt.isUnfinished || releases.isUnfinished
    receipt.released = releases.count
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

  private func number(ofOrigin name: String) throws -> Int64? { try numbered(name.uppercased(), in: "origins") }

  /// The documents of the arrivals that a recall means.
  private func arrivals(of recall: RecallRequest) throws -> [Int64: Int64] {
    let rows = try database.rows(
      "SELECT id, document FROM arrivals WHERE \(Self.condition)", with: Self.arguments(recall))
    return Dictionary(try rows.map { (try $0["id"], try $0["document"]) }, uniquingKeysWith: { first, _ in first })
  }

  private static let condition = """
    ($1 IS NULL OR time >= $1) AND ($2 IS NULL OR document = $2)
      AND ($3 IS NULL OR document IN
        (SELECT documents.id FROM documents JOIN sources ON sources.id = documents.source WHERE sources.name = $3))
    """

  private static func arguments(_ recall: RecallRequest) -> [any PostgresArgument] {
    [recall.since?.secondsSince1970, recall.document?.rawValue, recall.source]
  }
}

/// Counts by series which keys it has released; it is asked in ascending order.
private struct ReleaseSearch {
  private var series: [(number: Int64, name: String, search: ClaimSearch)]
  private let database: PostgresConnection
  /// It is empty mostly.
  private let hasTable: Bool
  private var found: [ClaimRow] = []
  private(set) var counts: [String: Int] = [:]

  init(_ transaction: PostgresTransaction) throws {
    series = try transaction.database.rows("SELECT id, name FROM series").map { row in
      (try row["id"], try row["name"], try transaction.releaseRuns(of: try row["id"]).search())
    }
    database = transaction.database
    hasTable = try database.row("SELECT 1 FROM released LIMIT 1") != nil
  }

  mutating func count(_ subject: KeySubject) throws {
    for index in series.indices {
      found.removeAll(keepingCapacity: true)
      try series[index].search.find(subject.key, into: &found)
      let isInTable =
        try hasTable
        && database.row(
          "SELECT 1 FROM released WHERE series = $1 AND key = $2 AND rolling_start = $3", series[index].number,
          subject.key.bytes, subject.rollingStart) != nil
      if isInTable || found.contains(where: { $0.subject == subject }) { counts[series[index].name, default: 0] += 1 }
    }
  }
}
