import ExposureKeys
import KeyNormalization
import KeyStorage

extension ClaimRow {
  /// Reads the six columns from the first one on.
  init(_ row: PostgresRow) throws {
    self.init(
      key: try row[0], rollingStart: try row[1], said: try row[2], origin: try row[3], source: try row[4],
      regions: try row[5])
  }
}

extension PostgresTransaction {
  /// All claims.
  func claimRuns() throws -> ClaimRuns {
    if let runs { return runs }
    let read = try ClaimRuns(segments(.claims), filters: filters)
    runs = read
    return read
  }

  func segments(_ tables: SegmentTables) throws -> PostgresSegments {
    if let known = segments[tables] { return known }
    let new = PostgresSegments(database, tables, counters: isWriting ? try counting() : nil)
    segments[tables] = new
    return new
  }

  // MARK: What is held

  func eachHeld(
    from start: TemporaryExposureKey, before end: TemporaryExposureKey?, asOf event: EventID?,
    _ body: (ClaimRow) throws -> Void
  ) throws {
    let rows = try database.rows(
      """
      SELECT \(ClaimRow.columns) FROM held WHERE key >= $1 AND event <= $2 AND ($3 IS NULL OR key < $3) ORDER BY key
      """, start.bytes, event?.rawValue ?? .max, end?.bytes)
    for row in rows { try body(try ClaimRow(row)) }
  }

  func heldRows(
    about keys: [TemporaryExposureKey]
  ) throws -> [(row: ClaimRow, document: DocumentID, reason: AdmissionReason)] {
    guard try database.row("SELECT 1 FROM held LIMIT 1") != nil else { return [] }
    return try database.rows(
      "SELECT \(ClaimRow.columns), document, reason FROM held WHERE key = ANY ($1) ORDER BY key",
      PostgresValue.blobs(keys.map(\.bytes))
    ).map { row in
      (
        try ClaimRow(row), DocumentID(rawValue: try row[6]), AdmissionReason(rawValue: try row[7]) ?? .flood
      )
    }
  }

  func heldRows(of document: DocumentID, _ part: HeldPart) throws -> [ClaimRow] {
    try database.rows(
      "SELECT \(ClaimRow.columns) FROM held WHERE document = $1\(part.condition)", document.rawValue
    ).map { try ClaimRow($0) }
  }

  func hold(
    _ rows: [(row: ClaimRow, reason: AdmissionReason)], of document: DocumentID, in event: EventStamp
  ) throws {
    func numbers(_ number: (ClaimRow) -> Int32) -> PostgresValue { .ints(rows.map { Int64(number($0.row)) }) }
    try database.run(
      """
      INSERT INTO held (document, \(ClaimRow.columns), event, reason)
        SELECT $1, \(ClaimRow.columns), $2, reason
        FROM unnest($3, $4, $5, $6, $7, $8, $9) AS aside (\(ClaimRow.columns), reason)
      ON CONFLICT (document, \(ClaimRow.columns)) DO NOTHING
      """, document.rawValue, event.id.rawValue, PostgresValue.blobs(rows.map(\.row.key.bytes)),
      numbers(\.rollingStart), numbers(\.said), numbers(\.origin), numbers(\.source), numbers(\.regions),
      PostgresValue.texts(rows.map(\.reason.rawValue)))
  }

  func dropHeld(of document: DocumentID, _ part: HeldPart) throws -> Int {
    try database.run("DELETE FROM held WHERE document = $1\(part.condition)", document.rawValue)
  }

  func dropHeld(_ rows: [ClaimRow], of document: DocumentID) throws {
    func numbers(_ number: (ClaimRow) -> Int32) -> PostgresValue { .ints(rows.map { Int64(number($0)) }) }
    try database.run(
      """
      DELETE FROM held USING unnest($2, $3, $4, $5, $6, $7) AS gone (\(ClaimRow.columns))
      WHERE held.document = $1 AND held.key = gone.key AND held.rolling_start = gone.rolling_start AND held.said = gone.said
        AND held.origin = gone.origin AND held.source = gone.source AND held.regions = gone.regions
      """, document.rawValue, PostgresValue.blobs(rows.map(\.key.bytes)), numbers(\.rollingStart), numbers(\.said),
      numbers(\.origin), numbers(\.source), numbers(\.regions))
  }

  func dropHeld(about key: TemporaryExposureKey) throws -> Int {
    try database.run("DELETE FROM held WHERE key = $1", key.bytes)
  }

  // MARK: Arrivals

  func arrival(of document: DocumentID, in event: EventStamp) throws -> Int64 {
    if let known = try knownArrival(of: document, in: event.id) { return known }
    let number = try counted("arrivals")
    try database.run(
      "INSERT INTO arrivals (id, document, event, time) VALUES ($1, $2, $3, $4)", number, document.rawValue,
      event.id.rawValue, event.time.secondsSince1970)
    return number
  }

  private func knownArrival(of document: DocumentID, in event: EventID) throws -> Int64? {
    try database.value(
      "SELECT id FROM arrivals WHERE document = $1 AND event = $2", document.rawValue, event.rawValue)
  }

  func arrival(numbered number: Int64) throws -> (document: DocumentID, stamp: ArrivalStamp)? {
    try database.row(
      """
      SELECT document, event, arrivals.time AS time, kind FROM arrivals LEFT JOIN events ON events.id = event
      WHERE arrivals.id = $1
      """, number
    ).map { (DocumentID(rawValue: try $0["document"]), try ArrivalStamp($0)) }
  }

  func arrivals(meantBy recall: RecallRequest) throws -> [Int64: Int64] {
    let rows = try database.rows("SELECT id, document FROM arrivals WHERE \(Self.meant)", with: Self.arguments(recall))
    return Dictionary(try rows.map { (try $0["id"], try $0["document"]) }, uniquingKeysWith: { first, _ in first })
  }

  func forgetVolumes(of origin: Int64, meantBy recall: RecallRequest) throws {
    try database.run(
      "DELETE FROM volumes WHERE origin = $4 AND arrival IN (SELECT id FROM arrivals WHERE \(Self.meant))",
      with: Self.arguments(recall) + [origin])
  }

  private static let meant = """
    ($1 IS NULL OR time >= $1) AND ($2 IS NULL OR document = $2)
      AND ($3 IS NULL OR document IN
        (SELECT documents.id FROM documents JOIN sources ON sources.id = documents.source WHERE sources.name = $3))
    """

  private static func arguments(_ recall: RecallRequest) -> [any PostgresArgument] {
    [recall.since?.secondsSince1970, recall.document?.rawValue, recall.source]
  }

  func horizon(at event: EventID) throws -> RowHorizon {
    func last(_ table: String) throws -> Int64 {
      try database.value("SELECT coalesce(max(id), 0) FROM \(table) WHERE event <= $1", event.rawValue) ?? 0
    }
    return RowHorizon(arrival: try last("arrivals"), recall: try last("recalls"))
  }

  // MARK: Counts

  func addToTotal(_ claims: Int) throws {
    try database.run("UPDATE totals SET claims = claims + $1", claims)
  }

  func addVolumes(_ claims: [(origin: Int32, count: Int64)], of arrival: Int64) throws {
    try database.run(
      """
      INSERT INTO volumes (arrival, origin, claims) SELECT $1, origin, claims FROM unnest($2, $3) AS new (origin, claims)
      ON CONFLICT (arrival, origin) DO UPDATE SET claims = volumes.claims + excluded.claims
      """, arrival, PostgresValue.ints(claims.map { Int64($0.origin) }), PostgresValue.ints(claims.map(\.count)))
  }

  func take(_ count: Int, fromVolumeOf origin: Int32, _ arrival: Int64) throws {
    try database.run(
      "DELETE FROM volumes WHERE arrival = $1 AND origin = $2 AND claims <= $3", arrival, origin, count)
    try database.run(
      "UPDATE volumes SET claims = claims - $3 WHERE arrival = $1 AND origin = $2", arrival, origin, count)
  }

  func claimCount() throws -> Int {
    try database.value("SELECT claims FROM totals") ?? 0
  }

  func claimCount(broughtBy document: DocumentID) throws -> Int {
    try database.value(
      """
      SELECT coalesce(sum(volumes.claims), 0)::bigint FROM arrivals JOIN volumes ON volumes.arrival = arrivals.id
      WHERE arrivals.document = $1
      """, document.rawValue) ?? 0
  }

  func volumes(on day: Day, of source: String) throws -> [String: Int] {
    let start = day.start.secondsSince1970
    // Numbers of arrivals go up with time, so yesterday's last one is found from the end.
    let rows = try database.rows(
      """
      SELECT \(Self.counted) AS name, sum(volumes.claims)::bigint AS claims
      FROM \(Self.countings)
      WHERE volumes.arrival > coalesce((SELECT id FROM arrivals WHERE time < $1 ORDER BY id DESC LIMIT 1), 0)
        AND arrivals.time BETWEEN $1 AND $1 + 86399 AND sources.name = $2
      GROUP BY \(Self.counted)
      """, start, source)
    return Dictionary(try rows.map { (try $0["name"], try $0["claims"]) }, uniquingKeysWith: { first, _ in first })
  }

  func usualVolumes(before day: Day, of source: String) throws -> [String: Int] {
    let rows = try database.rows(
      """
      SELECT \(Self.counted) AS name, sum(volumes.claims)::bigint / count(DISTINCT arrivals.time / 86400) AS usual
      FROM \(Self.countings)
      WHERE arrivals.time < $1 AND sources.name = $2
      GROUP BY \(Self.counted)
      """, day.start.secondsSince1970, source)
    return Dictionary(try rows.map { (try $0["name"], try $0["usual"]) }, uniquingKeysWith: { first, _ in first })
  }

  func arrivals(since start: Instant) throws -> [ArrivedClaims] {
    let rows = try database.rows(
      """
      SELECT arrivals.time / 86400 AS day, origins.name AS origin, sources.name AS source, sum(volumes.claims)::bigint AS claims
      FROM arrivals JOIN volumes ON volumes.arrival = arrivals.id JOIN origins ON origins.id = volumes.origin
        JOIN documents ON documents.id = arrivals.document JOIN sources ON sources.id = documents.source
      WHERE arrivals.time >= $1 AND volumes.origin > 0
      GROUP BY 1, 2, 3
      """, start.secondsSince1970)
    return try rows.map {
      ArrivedClaims(
        day: Day(daysSince1970: try $0["day"]), origin: try $0["origin"], source: try $0["source"],
        claims: try $0["claims"])
    }.sorted(by: ArrivedClaims.precedes)
  }

  func newestArrivals() throws -> [String: Instant] {
    let rows = try database.rows(
      """
      SELECT sources.name AS source, max(arrivals.time) AS time
      FROM arrivals JOIN documents ON documents.id = arrivals.document JOIN sources ON sources.id = documents.source
      WHERE EXISTS (SELECT 1 FROM volumes WHERE volumes.arrival = arrivals.id AND volumes.origin > 0)
      GROUP BY 1
      """)
    return Dictionary(try rows.map { (try $0["source"], try $0["time"]) }, uniquingKeysWith: max)
  }

  /// Whose a volume is; where the origin is lost, that of ``OriginVolumes/lostOrigin(of:)``.
  private static let counted = "coalesce(origins.name, '\(OriginVolumes.lostOrigin(of: ""))' || sources.name)"
  private static let countings = """
    volumes JOIN arrivals ON arrivals.id = volumes.arrival LEFT JOIN origins ON origins.id = volumes.origin
      JOIN documents ON documents.id = arrivals.document JOIN sources ON sources.id = documents.source
    """
}

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
  fileprivate init(_ row: PostgresRow) throws {
    self.init(id: EventID(rawValue: try row["event"]), time: try row["time"], kind: try row["kind"])
  }
}
