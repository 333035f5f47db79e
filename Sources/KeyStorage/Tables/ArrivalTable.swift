package import ExposureKeys
package import KeyNormalization

extension ClaimRow {
  static let identityColumns = "key, rolling_start, said, origin, source, regions"
  static let columnNames = identityColumns.split(separator: ", ").map(String.init)
  static let allColumns = columnNames + ["arrival", "recall"]

  /// The six columns that tell one claim from another.
  var identity: [SQLValue] {
    [
      key.sqlValue, rollingStart.sqlValue, said.sqlValue, origin.sqlValue, source.sqlValue, regions.sqlValue,
    ]
  }

  /// Reads the six columns from the first one on.
  init(_ row: SQLRow) throws {
    self.init(
      key: try row[0], rollingStart: try row[1], said: try row[2], origin: try row[3], source: try row[4],
      regions: try row[5])
  }
}

extension TableTransaction {
  // MARK: What is held

  /// In the order of key data, without having all at once.
  ///
  /// - Parameters:
  ///   - end: `nil` is to the last.
  ///   - event: as it was when this event had happened; `nil` is now.
  package func eachHeld(
    from start: TemporaryExposureKey, before end: TemporaryExposureKey?, asOf event: EventID?,
    and condition: String = "",
    _ body: (ClaimRow) throws -> Void
  ) throws {
    let values: [any SQLArgument] = [start, event?.rawValue ?? .max, end]
    try sql.each(
      """
      SELECT \(ClaimRow.identityColumns) FROM held WHERE key >= $1 AND event <= $2 AND ($3 IS NULL OR key < $3) \(condition)
      ORDER BY key
      """, with: values.map(\.sqlValue)
    ) { try body(try ClaimRow($0)) }
  }

  /// In the order of key data.
  ///
  /// - Parameter keys: in order, each once.
  package func heldRows(
    about keys: [TemporaryExposureKey]
  ) throws -> [(row: ClaimRow, document: DocumentID, reason: AdmissionReason)] {
    guard try sql.row("SELECT 1 FROM held LIMIT 1") != nil else { return [] }
    var held: [(row: ClaimRow, document: DocumentID, reason: AdmissionReason)] = []
    try sql.inParts(keys.map(\.sqlValue)) { list, part in
      try sql.each(
        "SELECT \(ClaimRow.identityColumns), document, reason FROM held WHERE key IN \(list) ORDER BY key", with: part
      ) { row in
        held.append((try ClaimRow(row), DocumentID(rawValue: try row["document"]), try row.choice("reason")))
      }
    }
    return held
  }

  package func heldRows(of document: DocumentID, _ part: HeldPart) throws -> [ClaimRow] {
    try sql.rows(
      "SELECT \(ClaimRow.identityColumns) FROM held WHERE document = $1\(part.condition)", document.rawValue
    ).map { try ClaimRow($0) }
  }

  /// Those that are held already stay as they are.
  package func hold(
    _ rows: [(row: ClaimRow, reason: AdmissionReason)], of document: DocumentID, in event: EventStamp
  ) throws {
    try sql.insert(
      into: "held", ["document"] + ClaimRow.columnNames + ["event", "reason"],
      rows.map { [.int(document.rawValue)] + $0.row.identity + [.int(event.id.rawValue), .text($0.reason.rawValue)] },
      "ON CONFLICT (document, \(ClaimRow.identityColumns)) DO NOTHING")
  }

  /// - Returns: how many there were.
  package func dropHeld(of document: DocumentID, _ part: HeldPart) throws -> Int {
    try sql.run("DELETE FROM held WHERE document = $1\(part.condition)", document.rawValue)
  }

  package func dropHeld(_ rows: [ClaimRow], of document: DocumentID) throws {
    for row in rows {
      try sql.run(
        """
        DELETE FROM held WHERE document = $1 AND key = $2 AND rolling_start = $3 AND said = $4 AND origin = $5
          AND source = $6 AND regions = $7
        """, with: [.int(document.rawValue)] + row.identity)
    }
  }

  /// - Returns: how many there were.
  package func dropHeld(about key: TemporaryExposureKey) throws -> Int {
    try sql.run("DELETE FROM held WHERE key = $1", key.bytes)
  }

  // MARK: Arrivals

  /// The number of an arrival, which is added when it is new.
  package func arrival(of document: DocumentID, in event: EventStamp) throws -> Int64 {
    if let known = try knownArrival(of: document, in: event.id) { return known }
    let number = try sql.nextNumber(of: "arrivals")
    try sql.run(
      "INSERT INTO arrivals (id, document, event, time) VALUES ($1, $2, $3, $4)", number, document.rawValue,
      event.id.rawValue, event.time)
    return number
  }

  /// `nil` where the document brought nothing in this event.
  package func knownArrival(of document: DocumentID, in event: EventID) throws -> Int64? {
    try sql.value(
      "SELECT id FROM arrivals WHERE document = $1 AND event = $2", document.rawValue, event.rawValue)
  }

  package func arrival(numbered number: Int64) throws -> (document: DocumentID, stamp: ArrivalStamp)? {
    try sql.row(
      """
      SELECT document, event, arrivals.time AS time, kind FROM arrivals LEFT JOIN events ON events.id = event
      WHERE arrivals.id = $1
      """, number
    ).map { (DocumentID(rawValue: try $0["document"]), try ArrivalStamp($0)) }
  }

  package func arrivals(of document: DocumentID) throws -> [ArrivalStamp] {
    try sql.rows(
      """
      SELECT event, arrivals.time AS time, kind FROM arrivals LEFT JOIN events ON events.id = event WHERE document = $1
      ORDER BY event
      """, document.rawValue
    ).map(ArrivalStamp.init)
  }

  /// The documents of the arrivals that a recall means, by the numbers of these.
  package func arrivals(meantBy recall: RecallRequest) throws -> [Int64: Int64] {
    let rows = try sql.rows("SELECT id, document FROM arrivals WHERE \(meantByRecall)", with: meaning(recall))
    return Dictionary(try rows.map { (try $0["id"], try $0["document"]) }, uniquingKeysWith: { first, _ in first })
  }

  func withdraw(of origin: Int64, meantBy recall: RecallRequest, by number: Int32) throws {
    try sql.run(
      """
      UPDATE claims SET recall = $5
      WHERE recall = 0 AND origin = $4 AND arrival IN (SELECT id FROM arrivals WHERE \(meantByRecall))
      """, with: meaning(recall) + [.int(origin), number.sqlValue])
  }

  /// Withdrawn claims do not count for the usual volume.
  package func forgetVolumes(of origin: Int64, meantBy recall: RecallRequest) throws {
    try sql.run(
      "DELETE FROM volumes WHERE origin = $4 AND arrival IN (SELECT id FROM arrivals WHERE \(meantByRecall))",
      with: meaning(recall) + [.int(origin)])
  }

  private func meaning(_ recall: RecallRequest) -> [SQLValue] {
    [recall.since.sqlValue, .int(recall.document?.rawValue), .text(recall.source)]
  }

  /// The last arrival and the last recall that had happened when an event had. Their numbers go up with those of events.
  package func horizon(at event: EventID) throws -> RowHorizon {
    func last(_ table: String) throws -> Int64 {
      try sql.value("SELECT coalesce(max(id), 0) FROM \(table) WHERE event <= $1", event.rawValue) ?? 0
    }
    return RowHorizon(arrival: try last("arrivals"), recall: try last("recalls"))
  }

  // MARK: Counts

  /// Adds to the number of all claims that stand.
  package func addToTotal(_ claims: Int) throws {
    try sql.run("UPDATE totals SET claims = claims + $1", claims)
  }

  /// Counts claims as having come with an arrival.
  ///
  /// - Parameter claims: in the order of origins; not empty.
  package func addVolumes(_ claims: [(origin: Int32, count: Int64)], of arrival: Int64) throws {
    try sql.insert(
      into: "volumes", ["arrival", "origin", "claims"],
      claims.map { [.int(arrival), $0.origin.sqlValue, .int($0.count)] },
      "ON CONFLICT (arrival, origin) DO UPDATE SET claims = volumes.claims + excluded.claims")
  }

  /// So many claims less have come with an arrival.
  package func take(_ count: Int, fromVolumeOf origin: Int32, _ arrival: Int64) throws {
    try sql.run(
      "DELETE FROM volumes WHERE arrival = $1 AND origin = $2 AND claims <= $3", arrival, origin, count)
    try sql.run(
      "UPDATE volumes SET claims = claims - $3 WHERE arrival = $1 AND origin = $2", arrival, origin, count)
  }

  package func claimCount() throws -> Int {
    try sql.value("SELECT claims FROM totals") ?? 0
  }

  package func claimCount(broughtBy document: DocumentID) throws -> Int {
    try sql.value(
      """
      SELECT CAST(coalesce(sum(volumes.claims), 0) AS bigint) FROM arrivals JOIN volumes ON volumes.arrival = arrivals.id
      WHERE arrivals.document = $1
      """, document.rawValue) ?? 0
  }

  package func volumes(on day: Day, of source: String) throws -> [String: Int] {
    let start = day.start
    // Numbers of arrivals go up with time, so yesterday's last one is found from the end.
    let rows = try sql.rows(
      """
      SELECT \(countedFor) AS name, CAST(sum(volumes.claims) AS bigint) AS claims
      FROM \(countings)
      WHERE volumes.arrival > coalesce((SELECT id FROM arrivals WHERE time < $1 ORDER BY id DESC LIMIT 1), 0)
        AND arrivals.time BETWEEN $1 AND $1 + 86399 AND sources.name = $2
      GROUP BY \(countedFor)
      """, start, source)
    return Dictionary(try rows.map { (try $0["name"], try $0["claims"]) }, uniquingKeysWith: { first, _ in first })
  }

  package func usualVolumes(before day: Day, of source: String) throws -> [String: Int] {
    let rows = try sql.rows(
      """
      SELECT \(countedFor) AS name, CAST(sum(volumes.claims) AS bigint) / count(DISTINCT arrivals.time / 86400) AS usual
      FROM \(countings)
      WHERE arrivals.time < $1 AND sources.name = $2
      GROUP BY \(countedFor)
      """, day.start, source)
    return Dictionary(try rows.map { (try $0["name"], try $0["usual"]) }, uniquingKeysWith: { first, _ in first })
  }

  package func arrivals(since start: Instant) throws -> [ArrivedClaims] {
    let rows = try sql.rows(
      """
      SELECT arrivals.time / 86400 AS day, origins.name AS origin, sources.name AS source, CAST(sum(volumes.claims) AS bigint) AS claims
      FROM arrivals JOIN volumes ON volumes.arrival = arrivals.id JOIN origins ON origins.id = volumes.origin
        JOIN documents ON documents.id = arrivals.document JOIN sources ON sources.id = documents.source
      WHERE arrivals.time >= $1 AND volumes.origin > 0
      GROUP BY 1, 2, 3
      """, start)
    return try rows.map {
      ArrivedClaims(
        day: Day(daysSince1970: try $0["day"]), origin: try $0["origin"], source: try $0["source"],
        claims: try $0["claims"])
    }.sorted(by: ArrivedClaims.precedes)
  }

  package func newestArrivals() throws -> [String: Instant] {
    let rows = try sql.rows(
      """
      SELECT sources.name AS source, max(arrivals.time) AS time
      FROM arrivals JOIN documents ON documents.id = arrivals.document JOIN sources ON sources.id = documents.source
      WHERE EXISTS (SELECT 1 FROM volumes WHERE volumes.arrival = arrivals.id AND volumes.origin > 0)
      GROUP BY 1
      """)
    return Dictionary(try rows.map { (try $0["source"], try $0["time"]) }, uniquingKeysWith: max)
  }
}

private let meantByRecall = """
  ($1 IS NULL OR time >= $1) AND ($2 IS NULL OR document = $2)
    AND ($3 IS NULL OR document IN
      (SELECT documents.id FROM documents JOIN sources ON sources.id = documents.source WHERE sources.name = $3))
  """

/// Whose a volume is; where the origin is lost, that of ``OriginVolumes/lostOrigin(of:)``.
private let countedFor = "coalesce(origins.name, '\(OriginVolumes.lostOrigin(of: ""))' || sources.name)"
private let countings = """
  volumes JOIN arrivals ON arrivals.id = volumes.arrival LEFT JOIN origins ON origins.id = volumes.origin
    JOIN documents ON documents.id = arrivals.document JOIN sources ON sources.id = documents.source
  """

extension HeldPart {
  fileprivate var condition: String {
    switch self {
    case .all: ""
    case .refused: " AND reason = '\(AdmissionReason.documentRefused.rawValue)'"
    case .admissible: " AND reason <> '\(AdmissionReason.documentRefused.rawValue)'"
    }
  }
}

extension ArrivalStamp {
  fileprivate init(_ row: SQLRow) throws {
    self.init(id: EventID(rawValue: try row["event"]), time: try row["time"], kind: try row["kind"])
  }
}
