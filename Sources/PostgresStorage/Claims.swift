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

  init(_ claim: AdmittedClaim, _ numbers: BatchNumbers) {
    self.init(
      key: claim.subject.key, rollingStart: claim.subject.rollingStart,
      said: Int32(bitPattern: claim.statement.bits), origin: numbers.origins[Int(claim.origin.rawValue)],
      source: numbers.source, regions: numbers.regions[Int(claim.regions.rawValue)])
  }

  /// The columns by which rows are found again.
  static let columns = "key, rolling_start, said, origin, source, regions"
}

/// The store's numbers for the names of a batch.
struct BatchNumbers {
  var origins: [Int32]
  var regions: [Int32]
  var source: Int32
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

  /// A number of an arrival or of a recall, as claims have it.
  func claimNumber(_ number: Int64) throws -> Int32 {
    guard let short = Int32(exactly: number), short > 0 else {
      throw StorageFault(.full, "claims: number \(number) of an arrival or a recall, allowed 1...\(Int32.max)")
    }
    return short
  }

  // MARK: Reading

  func claims(from start: TemporaryExposureKey, limit: Int, asOf event: EventID?) throws -> ClaimPage {
    let horizon = try event.map { try lastNumbers(by: $0) } ?? .now
    var rows = try claimRuns().rows(from: start)
    var page = ClaimPageRows(horizon)
    var search = NameSearch(transaction: self)
    while let row = try rows.next() {
      if page.claims.count >= limit, page.isFull(before: row) {
        try addHeld(from: start, before: row.key, asOf: event, to: &page.embargo)
        return ClaimPage(claims: page.claims, embargo: page.embargo, next: row.key)
      }
      try page.take(row, names: &search)
    }
    try addHeld(from: start, before: nil, asOf: event, to: &page.embargo)
    return ClaimPage(claims: page.claims, embargo: page.embargo, next: nil)
  }

  func claims(about keys: [TemporaryExposureKey]) throws -> ClaimPage {
    var page = ClaimPageRows(.now)
    var search = NameSearch(transaction: self)
    for row in try claimRuns().rows(about: keys) { try page.take(row, names: &search) }
    if try database.row("SELECT 1 FROM held LIMIT 1") != nil {
      let held = try database.rows(
        "SELECT \(ClaimRow.columns) FROM held WHERE key = ANY ($1) ORDER BY key", PostgresValue.blobs(keys.map(\.bytes))
      )
      for row in held { page.embargo.add(try ClaimRow(row)) }
    }
    return ClaimPage(claims: page.claims, embargo: page.embargo, next: nil)
  }

  /// What is held for the operator about keys of a page, and was when an event had happened.
  private func addHeld(
    from start: TemporaryExposureKey, before end: TemporaryExposureKey?, asOf event: EventID?,
    to embargo: inout Embargo
  ) throws {
    let rows = try database.rows(
      """
      SELECT \(ClaimRow.columns) FROM held WHERE key >= $1 AND event <= $2 AND ($3 IS NULL OR key < $3) ORDER BY key
      """, start.bytes, event?.rawValue ?? .max, end?.bytes)
    if rows.isEmpty { return }
    var search = try claimRuns().search()
    var found: [ClaimRow] = []
    for row in try rows.map({ try ClaimRow($0) }) {
      found.removeAll(keepingCapacity: true)
      try search.find(row.key, into: &found)
      // A key that nobody claims is in no page.
      if !found.isEmpty { embargo.add(row) }
    }
  }

  func claims(about key: TemporaryExposureKey, asOf event: EventID?) throws -> ClaimSet {
    let horizon = try event.map { try lastNumbers(by: $0) } ?? .now
    var page = ClaimPageRows(horizon)
    var search = NameSearch(transaction: self)
    for row in try claimRuns().rows(about: key) where horizon.has(row) && horizon.stands(row) {
      try page.insert(row, names: &search)
    }
    return page.claims
  }

  func isWithdrawn(_ subject: KeySubject, asOf event: EventID?) throws -> Bool {
    let last = try event.map { try lastNumbers(by: $0).recall } ?? .max
    return try claimRuns().rows(about: subject.key).contains {
      $0.rollingStart == subject.rollingStart && !$0.stands && Int64($0.recall) <= last
    }
  }

  /// The last arrival and the last recall that had happened when an event had. Their numbers go up with those of events.
  private func lastNumbers(by event: EventID) throws -> RowHorizon {
    func last(_ table: String) throws -> Int64 {
      try database.value("SELECT coalesce(max(id), 0) FROM \(table) WHERE event <= $1", event.rawValue) ?? 0
    }
    return RowHorizon(arrival: try last("arrivals"), recall: try last("recalls"))
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

  func volumes(on day: Day) throws -> [String: Int] {
    let start = day.start.secondsSince1970
    // Numbers of arrivals go up with time, so yesterday's last one is found from the end.
    let rows = try database.rows(
      """
      SELECT \(Self.counted) AS name, sum(volumes.claims)::bigint AS claims
      FROM \(Self.countings)
      WHERE volumes.arrival > coalesce((SELECT id FROM arrivals WHERE time < $1 ORDER BY id DESC LIMIT 1), 0)
        AND arrivals.time BETWEEN $1 AND $1 + 86399
      GROUP BY \(Self.counted)
      """, start)
    return Dictionary(try rows.map { (try $0["name"], try $0["claims"]) }, uniquingKeysWith: { first, _ in first })
  }

  func usualVolumes(before day: Day) throws -> [String: Int] {
    let rows = try database.rows(
      """
      SELECT \(Self.counted) AS name, sum(volumes.claims)::bigint / count(DISTINCT arrivals.time / 86400) AS usual
      FROM \(Self.countings)
      WHERE arrivals.time < $1
      GROUP BY \(Self.counted)
      """, day.start.secondsSince1970)
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

  // MARK: Recording

  func record(_ batch: AdmittedBatch, of document: DocumentID, in event: EventStamp) throws -> ImportReceipt {
    try requireDocument(document)
    var receipt = ImportReceipt(beforeRecording: batch)
    if batch.claims.isEmpty, batch.held.isEmpty { return receipt }
    let numbers = try numbers(of: batch)
    let aside = try insert(
      ClaimRow.sorted(batch.claims.map { ClaimRow($0, numbers) }), of: document, in: event, counting: &receipt,
      holdsOtherStarts: true)
    let rows = zip(batch.held, batch.heldReasons).map { (row: ClaimRow($0, numbers), reason: $1) }
    let known = try putAside(rows, of: document, in: event)
    receipt.heldForOperator -= known
    receipt.known += known
    _ = try putAside(aside.map { ($0, .otherRollingStart) }, of: document, in: event)
    return receipt
  }

  func releaseHeld(of document: DocumentID, in event: EventStamp) throws -> ImportReceipt {
    try requireDocument(document)
    let condition = "document = $1 AND reason <> '\(AdmissionReason.documentRefused.rawValue)'"
    let rows = try database.rows("SELECT \(ClaimRow.columns) FROM held WHERE \(condition)", document.rawValue)
      .map { try ClaimRow($0) }
    try database.run("DELETE FROM held WHERE \(condition)", document.rawValue)
    try noteLoss(of: rows)

    var receipt = ImportReceipt()
    receipt.received = rows.count
    _ = try insert(rows.sorted(by: <), of: document, in: event, counting: &receipt, holdsOtherStarts: false)
    if var facts = try self.document(document)?.facts {
      facts.counts.heldWasReleased(new: receipt.new)
      try setFacts(facts, of: document)
    }
    return receipt
  }

  func forgetRefused(of document: DocumentID) throws {
    try noteLossOfHeld(of: document)
    try database.run(
      "DELETE FROM held WHERE document = $1 AND reason = $2", document.rawValue,
      AdmissionReason.documentRefused.rawValue)
  }

  func discardHeld(of document: DocumentID) throws -> Int {
    try requireDocument(document)
    let holds = try holds(of: document)
    try noteLossOfHeld(of: document)
    let count = try database.run("DELETE FROM held WHERE document = $1", document.rawValue)
    if var facts = try self.document(document)?.facts {
      facts.counts.heldWasDiscarded(holds)
      try setFacts(facts, of: document)
    }
    return count
  }

  private func noteLossOfHeld(of document: DocumentID) throws {
    try noteLoss(
      of: try database.rows("SELECT \(ClaimRow.columns) FROM held WHERE document = $1", document.rawValue)
        .map { try ClaimRow($0) })
  }

  private func numbers(of batch: AdmittedBatch) throws -> BatchNumbers {
    let counters = try counting()
    return BatchNumbers(
      origins: try batch.origins.enumerated().map { index, name in
        index == 0 ? 0 : try names.number(ofOrigin: name, adding: database, counters)
      },
      regions: try batch.visited.map { try names.number(ofRegions: $0, adding: database, counters) },
      source: try names.number(of: batch.source, adding: database, counters))
  }

  private func insert(
    _ rows: [ClaimRow], of document: DocumentID, in event: EventStamp, counting receipt: inout ImportReceipt,
    holdsOtherStarts: Bool
  ) throws -> [ClaimRow] {
    if rows.isEmpty { return [] }
    let arrival = try arrival(of: document, in: event)
    return try insert(rows, arrival: arrival, counting: &receipt, holdsOtherStarts: holdsOtherStarts)
  }

  /// Adds the rows that are new, as a run; see ``ArrivingClaims``.
  ///
  /// - Parameter isNews: whether they count as having come with the arrival, and not before.
  /// - Returns: the rows that are for the operator.
  func insert(
    _ rows: [ClaimRow], arrival: Int64, counting receipt: inout ImportReceipt, holdsOtherStarts: Bool,
    isNews: Bool = true, recall: (ClaimRow) throws -> Int32 = { _ in 0 }
  ) throws -> [ClaimRow] {
    let claims = try claimRuns()
    let arriving = try ArrivingClaims(
      rows, there: try claims.rows(about: rows), arrival: try claimNumber(arrival), holdsOtherStarts: holdsOtherStarts,
      recall: recall)
    receipt.new += arriving.new.count
    receipt.known += arriving.known
    receipt.heldForOperator += arriving.aside.count
    let volumes = arriving.standing.sorted { $0.key < $1.key }
    if isNews, !volumes.isEmpty {
      try database.run(
        """
        INSERT INTO volumes (arrival, origin, claims) SELECT $1, origin, claims FROM unnest($2, $3) AS new (origin, claims)
        ON CONFLICT (arrival, origin) DO UPDATE SET claims = volumes.claims + excluded.claims
        """, arrival, PostgresValue.ints(volumes.map { Int64($0.key) }), PostgresValue.ints(volumes.map(\.value)))
    }
    if !volumes.isEmpty {
      try database.run("UPDATE totals SET claims = claims + $1", volumes.reduce(0) { $0 + $1.value })
    }
    try claims.add(arriving.new)
    try note(arriving.new)
    try claims.merge(after: arriving.new.count)
    return arriving.aside
  }

  /// - Returns: how many are known already, so that nobody has to decide about them.
  @discardableResult
  func putAside(
    _ rows: [(row: ClaimRow, reason: AdmissionReason)], of document: DocumentID, in event: EventStamp
  ) throws -> Int {
    if rows.isEmpty { return 0 }
    var search = try claimRuns().search()
    var found: [ClaimRow] = []
    let rows = rows.sorted { $0.row < $1.row }
    try note(rows.map(\.row))
    let unknown = try rows.filter { row, _ in
      found.removeAll(keepingCapacity: true)
      try search.find(row.key, into: &found)
      return !found.contains(where: row.isSame)
    }
    func numbers(_ number: (ClaimRow) -> Int32) -> PostgresValue { .ints(unknown.map { Int64(number($0.row)) }) }
    if !unknown.isEmpty {
      try database.run(
        """
        INSERT INTO held (document, \(ClaimRow.columns), event, reason)
          SELECT $1, \(ClaimRow.columns), $2, reason
          FROM unnest($3, $4, $5, $6, $7, $8, $9) AS aside (\(ClaimRow.columns), reason)
        ON CONFLICT (document, \(ClaimRow.columns)) DO NOTHING
        """, document.rawValue, event.id.rawValue, PostgresValue.blobs(unknown.map(\.row.key.bytes)),
        numbers(\.rollingStart), numbers(\.said), numbers(\.origin), numbers(\.source), numbers(\.regions),
        PostgresValue.texts(unknown.map(\.reason.rawValue)))
    }
    return rows.count - unknown.count
  }

  func arrival(of document: DocumentID, in event: EventStamp) throws -> Int64 {
    let known: Int64? = try database.value(
      "SELECT id FROM arrivals WHERE document = $1 AND event = $2", document.rawValue, event.id.rawValue)
    if let known { return known }
    let number = try counted("arrivals")
    try database.run(
      "INSERT INTO arrivals (id, document, event, time) VALUES ($1, $2, $3, $4)", number, document.rawValue,
      event.id.rawValue, event.time.secondsSince1970)
    return number
  }
}
