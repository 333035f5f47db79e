import ExposureKeys
import GRDB
import KeyNormalization
import KeyStorage

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

  init(_ claim: AdmittedClaim, _ numbers: BatchNumbers) {
    self.init(
      key: claim.subject.key, rollingStart: claim.subject.rollingStart, said: Int32(bitPattern: claim.statement.bits),
      origin: numbers.origins[Int(claim.origin.rawValue)], source: numbers.source,
      regions: numbers.regions[Int(claim.regions.rawValue)])
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

extension SQLiteTransaction {
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
    if try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM held)") ?? false {
      let statement = try RawStatement(database, "SELECT \(ClaimRow.columns) FROM held WHERE key = ?1")
      for key in keys {
        try withBytes(of: key) { bytes in
          statement.bind(key: bytes, at: 1)
          while try statement.step() { page.embargo.add(try ClaimRow(statement)) }
          statement.reset()
        }
      }
    }
    return ClaimPage(claims: page.claims, embargo: page.embargo, next: nil)
  }

  /// What is held for the operator about keys of a page, and was when an event had happened.
  private func addHeld(
    from start: TemporaryExposureKey, before end: TemporaryExposureKey?, asOf event: EventID?,
    to embargo: inout Embargo
  ) throws {
    let statement = try RawStatement(
      database, "SELECT \(ClaimRow.columns) FROM held WHERE key >= ? AND event <= ? ORDER BY key")
    defer { statement.reset() }
    try withBytes(of: start) { bytes in
      statement.bind(key: bytes, at: 1)
      statement.bind(event?.rawValue ?? .max, at: 2)
      var search: ClaimSearch?
      var found: [ClaimRow] = []
      while try statement.step() {
        let row = try ClaimRow(statement)
        if let end, row.key >= end { return }
        var known = try search ?? claimRuns().search()
        found.removeAll(keepingCapacity: true)
        try known.find(row.key, into: &found)
        search = known
        // A key that nobody claims is in no page.
        if !found.isEmpty { embargo.add(row) }
      }
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
      try Int64.fetchOne(
        database, sql: "SELECT ifnull(max(id), 0) FROM \(table) WHERE event <= ?", arguments: [event.rawValue]) ?? 0
    }
    return RowHorizon(arrival: try last("arrivals"), recall: try last("recalls"))
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

  func volumes(on day: Day) throws -> [String: Int] {
    let start = day.start.secondsSince1970
    // Numbers of arrivals go up with time, so yesterday's last one is found from the end.
    let rows = try Row.fetchAll(
      database,
      sql: """
        SELECT \(Self.counted) AS name, sum(volumes.claims) AS claims
        FROM \(Self.countings)
        WHERE volumes.arrival > ifnull((SELECT id FROM arrivals WHERE time < :start ORDER BY id DESC LIMIT 1), 0)
          AND arrivals.time BETWEEN :start AND :start + 86399
        GROUP BY \(Self.counted)
        """, arguments: ["start": start])
    return Dictionary(rows.map { ($0["name"], $0["claims"]) }, uniquingKeysWith: { first, _ in first })
  }

  func usualVolumes(before day: Day) throws -> [String: Int] {
    let rows = try Row.fetchAll(
      database,
      sql: """
        SELECT \(Self.counted) AS name, sum(volumes.claims) / count(DISTINCT arrivals.time / 86400) AS usual
        FROM \(Self.countings)
        WHERE arrivals.time < ?
        GROUP BY \(Self.counted)
        """, arguments: [day.start.secondsSince1970])
    return Dictionary(rows.map { ($0["name"], $0["usual"]) }, uniquingKeysWith: { first, _ in first })
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
    return rows.map {
      ArrivedClaims(
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
    return Dictionary(rows.map { ($0["source"], $0.time("time")) }, uniquingKeysWith: max)
  }
  /// Whose a volume is; where the origin is lost, that of ``OriginVolumes/lostOrigin(of:)``.
  private static let counted = "ifnull(origins.name, '\(OriginVolumes.lostOrigin(of: ""))' || sources.name)"
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
    let condition = "document = ? AND reason <> '\(AdmissionReason.documentRefused.rawValue)'"
    let statement = try RawStatement(database, "SELECT \(ClaimRow.columns) FROM held WHERE \(condition)")
    defer { statement.reset() }
    statement.bind(document.rawValue, at: 1)
    var rows: [ClaimRow] = []
    while try statement.step() { rows.append(try ClaimRow(statement)) }
    statement.reset()
    try database.execute(sql: "DELETE FROM held WHERE \(condition)", arguments: [document.rawValue])
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
    try database.execute(
      sql: "DELETE FROM held WHERE document = ? AND reason = ?",
      arguments: [document.rawValue, AdmissionReason.documentRefused.rawValue])
  }

  func discardHeld(of document: DocumentID) throws -> Int {
    try requireDocument(document)
    let holds = try holds(of: document)
    try noteLossOfHeld(of: document)
    try database.execute(sql: "DELETE FROM held WHERE document = ?", arguments: [document.rawValue])
    let count = database.changesCount
    if var facts = try self.document(document)?.facts {
      facts.counts.heldWasDiscarded(holds)
      try setFacts(facts, of: document)
    }
    return count
  }

  private func noteLossOfHeld(of document: DocumentID) throws {
    let statement = try RawStatement(database, "SELECT \(ClaimRow.columns) FROM held WHERE document = ?")
    defer { statement.reset() }
    statement.bind(document.rawValue, at: 1)
    var rows: [ClaimRow] = []
    while try statement.step() { rows.append(try ClaimRow(statement)) }
    try noteLoss(of: rows)
  }

  private func numbers(of batch: AdmittedBatch) throws -> BatchNumbers {
    BatchNumbers(
      origins: try batch.origins.enumerated().map { index, name in
        index == 0 ? 0 : Int32(truncatingIfNeeded: try names.number(ofOrigin: name, adding: database))
      },
      regions: try batch.visited.map {
        Int32(truncatingIfNeeded: try names.number(ofRegions: $0, adding: database))
      },
      source: Int32(truncatingIfNeeded: try names.number(of: batch.source, adding: database)))
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
  /// - Parameters:
  ///   - isNews: whether they count as having come with the arrival, and not before.
  ///   - recall: the number of the recall that means a claim; 0 is none.
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
    for (origin, count) in arriving.standing.sorted(by: { $0.key < $1.key }) where isNews {
      try database.execute(
        sql: """
          INSERT INTO volumes (arrival, origin, claims) VALUES (?, ?, ?)
          ON CONFLICT (arrival, origin) DO UPDATE SET claims = claims + excluded.claims
          """, arguments: [arrival, origin, count])
    }
    try database.execute(
      sql: "UPDATE totals SET claims = claims + ?", arguments: [arriving.standing.values.reduce(0, +)])
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
    let statement = try RawStatement(
      database,
      """
      INSERT INTO held (document, \(ClaimRow.columns), event, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (document, \(ClaimRow.columns)) DO NOTHING
      """)
    statement.bind(document.rawValue, at: 1)
    statement.bind(event.id.rawValue, at: 8)
    var known = 0
    var found: [ClaimRow] = []
    let rows = rows.sorted { $0.row < $1.row }
    try note(rows.map(\.row))
    for (row, reason) in rows {
      found.removeAll(keepingCapacity: true)
      try search.find(row.key, into: &found)
      if found.contains(where: row.isSame) {
        known += 1
        continue
      }
      try statement.bind(text: reason.rawValue, at: 9) {
        _ = try row.bound(to: statement, from: 2) { try statement.run() }
      }
    }
    return known
  }

  func arrival(of document: DocumentID, in event: EventStamp) throws -> Int64 {
    let selection = try database.cachedStatement(sql: "SELECT id FROM arrivals WHERE document = ? AND event = ?")
    if let number = try Int64.fetchOne(selection, arguments: [document.rawValue, event.id.rawValue]) {
      return number
    }
    try database.execute(
      sql: "INSERT INTO arrivals (document, event, time) VALUES (?, ?, ?)",
      arguments: [document.rawValue, event.id.rawValue, event.time.secondsSince1970])
    return database.lastInsertedRowID
  }
}
