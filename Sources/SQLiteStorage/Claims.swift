import ExposureKeys
import KeyNormalization
import KeyStorage
import SQLite

extension ClaimRow {
  /// Binds the six columns of the row's identity from parameter `first` on, and calls `body` while they are bound.
  func bound<Result>(to statement: RawStatement, from first: Int32 = 1, _ body: () throws -> Result) rethrows -> Result
  {
    try withBytes(of: key) { bytes in
      statement.bind(key: bytes, at: first)
      statement.bind(rollingStart, at: first + 1)
      statement.bind(said, at: first + 2)
      statement.bind(origin, at: first + 3)
      statement.bind(source, at: first + 4)
      statement.bind(regions, at: first + 5)
      return try body()
    }
  }

  /// Reads the six columns from column `first` on.
  init(_ statement: RawStatement, from first: Int32 = 0) throws {
    self.init(
      key: try statement.key(at: first), rollingStart: statement.int32(at: first + 1),
      said: statement.int32(at: first + 2), origin: statement.int32(at: first + 3),
      source: statement.int32(at: first + 4), regions: statement.int32(at: first + 5))
  }
}

extension SQLiteTransaction {
  // MARK: What is held

  func eachHeld(
    from start: TemporaryExposureKey, before end: TemporaryExposureKey?, asOf event: EventID?,
    _ body: (ClaimRow) throws -> Void
  ) throws {
    let statement = try RawStatement(
      database, "SELECT \(ClaimRow.columns) FROM held WHERE key >= ? AND event <= ? ORDER BY key")
    defer { statement.reset() }
    try withBytes(of: start) { bytes in
      statement.bind(key: bytes, at: 1)
      statement.bind(event?.rawValue ?? .max, at: 2)
      while try statement.step() {
        let row = try ClaimRow(statement)
        if let end, row.key >= end { return }
        try body(row)
      }
    }
  }

  func heldRows(
    about keys: [TemporaryExposureKey]
  ) throws -> [(row: ClaimRow, document: DocumentID, reason: AdmissionReason)] {
    guard try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM held)") ?? false else { return [] }
    let statement = try RawStatement(database, "SELECT \(ClaimRow.columns), document, reason FROM held WHERE key = ?")
    var held: [(row: ClaimRow, document: DocumentID, reason: AdmissionReason)] = []
    for key in keys {
      try withBytes(of: key) { bytes in
        defer { statement.reset() }
        statement.bind(key: bytes, at: 1)
        while try statement.step() {
          held.append(
            (
              try ClaimRow(statement), DocumentID(rawValue: statement.int(at: 6)),
              statement.text(at: 7).flatMap(AdmissionReason.init(rawValue:)) ?? .flood
            ))
        }
      }
    }
    return held
  }

  func heldRows(of document: DocumentID, _ part: HeldPart) throws -> [ClaimRow] {
    let statement = try RawStatement(
      database, "SELECT \(ClaimRow.columns) FROM held WHERE document = ?\(part.condition)")
    defer { statement.reset() }
    statement.bind(document.rawValue, at: 1)
    var rows: [ClaimRow] = []
    while try statement.step() { rows.append(try ClaimRow(statement)) }
    return rows
  }

  func hold(
    _ rows: [(row: ClaimRow, reason: AdmissionReason)], of document: DocumentID, in event: EventStamp
  ) throws {
    let statement = try RawStatement(
      database,
      """
      INSERT INTO held (document, \(ClaimRow.columns), event, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (document, \(ClaimRow.columns)) DO NOTHING
      """)
    statement.bind(document.rawValue, at: 1)
    statement.bind(event.id.rawValue, at: 8)
    for (row, reason) in rows {
      try statement.bind(text: reason.rawValue, at: 9) {
        _ = try row.bound(to: statement, from: 2) { try statement.run() }
      }
    }
  }

  func dropHeld(of document: DocumentID, _ part: HeldPart) throws -> Int {
    try database.execute(sql: "DELETE FROM held WHERE document = ?\(part.condition)", arguments: [document.rawValue])
    return database.changesCount
  }

  func dropHeld(_ rows: [ClaimRow], of document: DocumentID) throws {
    let statement = try RawStatement(
      database,
      """
      DELETE FROM held WHERE key = ?1 AND rolling_start = ?2 AND said = ?3 AND origin = ?4 AND source = ?5
        AND regions = ?6 AND document = ?7
      """)
    statement.bind(document.rawValue, at: 7)
    for row in rows { _ = try row.bound(to: statement) { try statement.run() } }
  }

  func dropHeld(about key: TemporaryExposureKey) throws -> Int { try deleteRows("held WHERE key = ?", key) }

  // MARK: Arrivals

  func arrival(of document: DocumentID, in event: EventStamp) throws -> Int64 {
    if let number = try knownArrival(of: document, in: event.id) { return number }
    try database.execute(
      sql: "INSERT INTO arrivals (document, event, time) VALUES (?, ?, ?)",
      arguments: [document.rawValue, event.id.rawValue, event.time.secondsSince1970])
    return database.lastInsertedRowID
  }

  private func knownArrival(of document: DocumentID, in event: EventID) throws -> Int64? {
    let statement = try database.cachedStatement(sql: "SELECT id FROM arrivals WHERE document = ? AND event = ?")
    return try Int64.fetchOne(statement, arguments: [document.rawValue, event.rawValue])
  }

  func arrival(numbered number: Int64) throws -> (document: DocumentID, stamp: ArrivalStamp)? {
    let statement = try database.cachedStatement(
      sql: """
        SELECT document, event, arrivals.time AS time, kind FROM arrivals LEFT JOIN events ON events.id = event
        WHERE arrivals.id = ?
        """)
    return try Row.fetchOne(statement, arguments: [number]).map {
      try (DocumentID(rawValue: $0["document"]), ArrivalStamp($0))
    }
  }

  func arrivals(meantBy recall: RecallRequest) throws -> [Int64: Int64] {
    let rows = try Row.fetchAll(
      database, sql: "SELECT id, document FROM arrivals WHERE \(Self.meant)", arguments: Self.arguments(recall))
    return Dictionary(try rows.map { try ($0["id"], $0["document"]) }, uniquingKeysWith: { first, _ in first })
  }

  func forgetVolumes(of origin: Int64, meantBy recall: RecallRequest) throws {
    try database.execute(
      sql: """
        DELETE FROM volumes WHERE origin = :origin AND arrival IN (SELECT id FROM arrivals WHERE \(Self.meant))
        """, arguments: Self.arguments(recall) + ["origin": origin])
  }

  private static let meant = """
    (:since IS NULL OR time >= :since) AND (:document IS NULL OR document = :document)
      AND (:source IS NULL OR document IN
        (SELECT documents.id FROM documents JOIN sources ON sources.id = documents.source WHERE sources.name = :source))
    """

  private static func arguments(_ recall: RecallRequest) -> StatementArguments {
    ["since": recall.since?.secondsSince1970, "document": recall.document?.rawValue, "source": recall.source]
  }

  func horizon(at event: EventID) throws -> RowHorizon {
    func last(_ table: String) throws -> Int64 {
      try Int64.fetchOne(
        database, sql: "SELECT ifnull(max(id), 0) FROM \(table) WHERE event <= ?", arguments: [event.rawValue]) ?? 0
    }
    return RowHorizon(arrival: try last("arrivals"), recall: try last("recalls"))
  }

  // MARK: Counts

  func addToTotal(_ claims: Int) throws {
    try database.execute(sql: "UPDATE totals SET claims = claims + ?", arguments: [claims])
  }

  func addVolumes(_ claims: [(origin: Int32, count: Int64)], of arrival: Int64) throws {
    for (origin, count) in claims {
      try database.execute(
        sql: """
          INSERT INTO volumes (arrival, origin, claims) VALUES (?, ?, ?)
          ON CONFLICT (arrival, origin) DO UPDATE SET claims = claims + excluded.claims
          """, arguments: [arrival, origin, count])
    }
  }

  func take(_ count: Int, fromVolumeOf origin: Int32, _ arrival: Int64) throws {
    try database.execute(
      sql: "DELETE FROM volumes WHERE arrival = ? AND origin = ? AND claims <= ?", arguments: [arrival, origin, count])
    try database.execute(
      sql: "UPDATE volumes SET claims = claims - ? WHERE arrival = ? AND origin = ?",
      arguments: [count, arrival, origin])
  }

  func claimCount() throws -> Int {
    try Int.fetchOne(database, sql: "SELECT claims FROM totals") ?? 0
  }

  func claimCount(broughtBy document: DocumentID) throws -> Int {
    try Int.fetchOne(
      database,
      sql: """
        SELECT ifnull(sum(volumes.claims), 0) FROM arrivals JOIN volumes ON volumes.arrival = arrivals.id
        WHERE arrivals.document = ?
        """, arguments: [document.rawValue]) ?? 0
  }

  func volumes(on day: Day, of source: String) throws -> [String: Int] {
    let start = day.start.secondsSince1970
    // Numbers of arrivals go up with time, so yesterday's last one is found from the end.
    let rows = try Row.fetchAll(
      database,
      sql: """
        SELECT \(Self.counted) AS name, sum(volumes.claims) AS claims
        FROM \(Self.countings)
        WHERE volumes.arrival > ifnull((SELECT id FROM arrivals WHERE time < :start ORDER BY id DESC LIMIT 1), 0)
          AND arrivals.time BETWEEN :start AND :start + 86399 AND sources.name = :source
        GROUP BY \(Self.counted)
        """, arguments: ["start": start, "source": source])
    return Dictionary(try rows.map { try ($0["name"], $0["claims"]) }, uniquingKeysWith: { first, _ in first })
  }

  func usualVolumes(before day: Day, of source: String) throws -> [String: Int] {
    let rows = try Row.fetchAll(
      database,
      sql: """
        SELECT \(Self.counted) AS name, sum(volumes.claims) / count(DISTINCT arrivals.time / 86400) AS usual
        FROM \(Self.countings)
        WHERE arrivals.time < ? AND sources.name = ?
        GROUP BY \(Self.counted)
        """, arguments: [day.start.secondsSince1970, source])
    return Dictionary(try rows.map { try ($0["name"], $0["usual"]) }, uniquingKeysWith: { first, _ in first })
  }

  func arrivals(since start: Instant) throws -> [ArrivedClaims] {
    let rows = try Row.fetchAll(
      database,
      sql: """
        SELECT arrivals.time / 86400 AS day, origins.name AS origin, sources.name AS source, sum(volumes.claims) AS claims
        FROM arrivals JOIN volumes ON volumes.arrival = arrivals.id JOIN origins ON origins.id = volumes.origin
          JOIN documents ON documents.id = arrivals.document JOIN sources ON sources.id = documents.source
        WHERE arrivals.time >= ? AND volumes.origin > 0
        GROUP BY 1, volumes.origin, documents.source
        """, arguments: [start.secondsSince1970])
    return try rows.map {
      try ArrivedClaims(
        day: Day(daysSince1970: $0["day"]), origin: $0["origin"], source: $0["source"], claims: $0["claims"])
    }.sorted(by: ArrivedClaims.precedes)
  }

  func newestArrivals() throws -> [String: Instant] {
    let rows = try Row.fetchAll(
      database,
      sql: """
        SELECT sources.name AS source, max(arrivals.time) AS time
        FROM arrivals JOIN documents ON documents.id = arrivals.document JOIN sources ON sources.id = documents.source
        WHERE EXISTS (SELECT 1 FROM volumes WHERE volumes.arrival = arrivals.id AND volumes.origin > 0)
        GROUP BY documents.source
        """)
    return Dictionary(try rows.map { try ($0["source"], $0.time("time")) }, uniquingKeysWith: max)
  }

  /// Whose a volume is; where the origin is lost, that of ``OriginVolumes/lostOrigin(of:)``.
  private static let counted = "ifnull(origins.name, '\(OriginVolumes.lostOrigin(of: ""))' || sources.name)"
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
  fileprivate init(_ row: Row) throws {
    try self.init(id: EventID(rawValue: row["event"]), time: row.time("time"), kind: row["kind"])
  }
}
