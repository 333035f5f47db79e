import ExposureKeys
import GRDB
import KeyNormalization
import KeyStorage

/// A claim as its row has it: numbers in place of names. 40 bytes.
struct ClaimRow: BitwiseCopyable {
  var key: TemporaryExposureKey
  var rollingStart: Int32
  var said: Int32
  var origin: Int32
  var source: Int32
  var regions: Int32

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

  init(key: TemporaryExposureKey, rollingStart: Int32, said: Int32, origin: Int32, source: Int32, regions: Int32) {
    self.key = key
    self.rollingStart = rollingStart
    self.said = said
    self.origin = origin
    self.source = source
    self.regions = regions
  }

  /// Reads the six columns from column `first` on.
  init(_ statement: RawStatement, from first: Int32 = 0) throws {
    key = try statement.key(at: first)
    rollingStart = statement.int32(at: first + 1)
    said = statement.int32(at: first + 2)
    origin = statement.int32(at: first + 3)
    source = statement.int32(at: first + 4)
    regions = statement.int32(at: first + 5)
  }

  init(_ claim: AdmittedClaim, _ numbers: BatchNumbers) {
    key = claim.subject.key
    rollingStart = claim.subject.rollingStart
    said = ClaimWords.pack(claim.statement)
    origin = numbers.origins[Int(claim.origin.rawValue)]
    source = numbers.source
    regions = numbers.regions[Int(claim.regions.rawValue)]
  }

  /// The columns by which rows are found again.
  static let columns = "key, rolling_start, said, origin, source, regions"

  /// The order of the table, as far as it matters: neighbours are written together.
  static func precedes(_ left: ClaimRow, _ right: ClaimRow) -> Bool {
    left.key != right.key ? left.key < right.key : left.rollingStart < right.rollingStart
  }
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
    let horizon = try event.map { try lastNumbers(by: $0) }
    let statement = try RawStatement(
      database,
      """
      SELECT \(ClaimRow.columns), \(ClaimHorizon.standing(horizon)) FROM claims
      WHERE key >= ?1 AND \(ClaimHorizon.arrival(horizon)) ORDER BY key, rolling_start
      """)
    defer { statement.reset() }
    return try withBytes(of: start) { bytes in
      statement.bind(key: bytes, at: 1)
      horizon?.bind(to: statement)
      var page = PageNumbers()
      var embargo = Embargo()
      // Withdrawn claims about the key that is being read. They count for how long it is valid, and for nothing else; a
      // key that nobody claims any more is not in the page.
      var withdrawn: [ClaimRow] = []
      var last: TemporaryExposureKey?
      while try statement.step() {
        let row = try ClaimRow(statement)
        if withdrawn.last?.key != row.key { withdrawn.removeAll(keepingCapacity: true) }
        guard statement.int32(at: 6) != 0 else {
          if last == row.key { embargo.add(row) } else { withdrawn.append(row) }
          continue
        }
        if page.claims.count >= limit, let last, last != row.key {
          try addHeld(from: start, before: row.key, asOf: event, to: &embargo)
          return ClaimPage(claims: page.claims, embargo: embargo, next: row.key)
        }
        last = row.key
        for row in withdrawn { embargo.add(row) }
        withdrawn.removeAll(keepingCapacity: true)
        try page.insert(row, names: &names, database)
      }
      try addHeld(from: start, before: nil, asOf: event, to: &embargo)
      return ClaimPage(claims: page.claims, embargo: embargo, next: nil)
    }
  }

  /// What is held for the operator about keys of a page, and was when an event had happened.
  private func addHeld(
    from start: TemporaryExposureKey, before end: TemporaryExposureKey?, asOf event: EventID?,
    to embargo: inout Embargo
  ) throws {
    let statement = try RawStatement(
      database,
      """
      SELECT \(ClaimRow.columns) FROM held
      WHERE key >= ? AND event <= ? AND EXISTS (SELECT 1 FROM claims WHERE claims.key = held.key) ORDER BY key
      """)
    defer { statement.reset() }
    try withBytes(of: start) { bytes in
      statement.bind(key: bytes, at: 1)
      statement.bind(event?.rawValue ?? .max, at: 2)
      while try statement.step() {
        let row = try ClaimRow(statement)
        if let end, row.key >= end { return }
        embargo.add(row)
      }
    }
  }

  func claims(about key: TemporaryExposureKey, asOf event: EventID?) throws -> ClaimSet {
    let horizon = try event.map { try lastNumbers(by: $0) }
    let statement = try RawStatement(
      database, "SELECT \(ClaimRow.columns) FROM claims WHERE key = ? AND \(ClaimHorizon.condition(horizon))")
    defer { statement.reset() }
    return try withBytes(of: key) { bytes in
      statement.bind(key: bytes, at: 1)
      horizon?.bind(to: statement)
      var page = PageNumbers()
      while try statement.step() { try page.insert(try ClaimRow(statement), names: &names, database) }
      return page.claims
    }
  }

  func isWithdrawn(_ subject: KeySubject, asOf event: EventID?) throws -> Bool {
    let last = try event.map { try lastNumbers(by: $0).recall }
    let statement = try RawStatement(
      database, "SELECT 1 FROM claims WHERE key = ?1 AND rolling_start = ?2 AND recall <= ?3 LIMIT 1")
    defer { statement.reset() }
    return try withBytes(of: subject.key) { bytes in
      statement.bind(key: bytes, at: 1)
      statement.bind(Int64(subject.rollingStart), at: 2)
      statement.bind(last ?? .max, at: 3)
      return try statement.step()
    }
  }

  /// The last arrival and the last recall that had happened when an event had. Their numbers go up with those of events.
  private func lastNumbers(by event: EventID) throws -> ClaimHorizon {
    func last(_ table: String) throws -> Int64 {
      try Int64.fetchOne(
        database, sql: "SELECT ifnull(max(id), 0) FROM \(table) WHERE event <= ?", arguments: [event.rawValue]) ?? 0
    }
    return ClaimHorizon(arrival: try last("arrivals"), recall: try last("recalls"))
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
      batch.claims.map { ClaimRow($0, numbers) }, of: document, in: event, counting: &receipt, holdsOtherStarts: true)
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

    var receipt = ImportReceipt()
    receipt.received = rows.count
    _ = try insert(rows, of: document, in: event, counting: &receipt, holdsOtherStarts: false)
    if var facts = try self.document(document)?.facts {
      facts.counts.heldWasReleased(new: receipt.new)
      try setFacts(facts, of: document)
    }
    return receipt
  }

  func forgetRefused(of document: DocumentID) throws {
    try database.execute(
      sql: "DELETE FROM held WHERE document = ? AND reason = ?",
      arguments: [document.rawValue, AdmissionReason.documentRefused.rawValue])
  }

  func discardHeld(of document: DocumentID) throws -> Int {
    try requireDocument(document)
    let record = try self.document(document)
    try database.execute(sql: "DELETE FROM held WHERE document = ?", arguments: [document.rawValue])
    let count = database.changesCount
    if let record, var facts = record.facts {
      facts.counts.heldWasDiscarded(record.holds)
      try setFacts(facts, of: document)
    }
    return count
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

  /// Writes the rows that are new, in the order of the table.
  ///
  /// - Parameter holdsOtherStarts: whether the operator is asked about a claim of key data that another origin has named
  ///   first, under another rolling start.
  /// - Returns: the rows that are for the operator.
  private func insert(
    _ rows: [ClaimRow], of document: DocumentID, in event: EventStamp, counting receipt: inout ImportReceipt,
    holdsOtherStarts: Bool
  ) throws -> [ClaimRow] {
    if rows.isEmpty { return [] }
    let arrival = try arrival(of: document, in: event)
    return try insert(
      rows.sorted(by: ClaimRow.precedes), arrival: arrival, counting: &receipt, holdsOtherStarts: holdsOtherStarts)
  }

  /// - Parameter rows: in the order in which they are written.
  func insert(
    _ rows: [ClaimRow], arrival: Int64, counting receipt: inout ImportReceipt, holdsOtherStarts: Bool
  ) throws -> [ClaimRow] {
    // Only a claim that is there is passed over; a row that the schema refuses is an error.
    let statement = try RawStatement(
      database,
      """
      INSERT INTO claims (\(ClaimRow.columns), arrival) VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (\(ClaimRow.columns)) DO NOTHING
      """)
    statement.bind(arrival, at: 7)
    let starts = try FirstStarts(database)
    var aside: [ClaimRow] = []
    var newOfOrigins: [Int32: Int64] = [:]
    var new: (origin: Int32, count: Int64) = (0, 0)
    var total = 0
    for row in rows {
      if holdsOtherStarts, try starts.areOthers(than: row), try starts.isOtherOrigins(row) {
        aside.append(row)
        continue
      }
      guard try row.bound(to: statement, { try statement.run() }) else { continue }
      total += 1
      if new.origin != row.origin {
        newOfOrigins[new.origin, default: 0] += new.count
        new = (row.origin, 0)
      }
      new.count += 1
    }
    newOfOrigins[new.origin, default: 0] += new.count
    receipt.new += total
    receipt.known += rows.count - total - aside.count
    receipt.heldForOperator += aside.count
    for (origin, count) in newOfOrigins where count > 0 {
      try database.execute(
        sql: """
          INSERT INTO volumes (arrival, origin, claims) VALUES (?, ?, ?)
          ON CONFLICT (arrival, origin) DO UPDATE SET claims = claims + excluded.claims
          """, arguments: [arrival, origin, count])
    }
    try database.execute(sql: "UPDATE totals SET claims = claims + ?", arguments: [total])
    return aside
  }

  /// - Returns: how many are known already, so that nobody has to decide about them.
  @discardableResult
  func putAside(
    _ rows: [(row: ClaimRow, reason: AdmissionReason)], of document: DocumentID, in event: EventStamp
  ) throws -> Int {
    if rows.isEmpty { return 0 }
    let starts = try FirstStarts(database)
    let statement = try RawStatement(
      database,
      """
      INSERT INTO held (document, \(ClaimRow.columns), event, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (document, \(ClaimRow.columns)) DO NOTHING
      """)
    statement.bind(document.rawValue, at: 1)
    statement.bind(event.id.rawValue, at: 8)
    var known = 0
    for (row, reason) in rows.sorted(by: { ClaimRow.precedes($0.row, $1.row) }) {
      if try starts.isKnown(row) {
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

/// Under which rolling start key data was admitted first, and by whom.
private struct FirstStarts {
  private let other: RawStatement
  private let same: RawStatement
  private let first: RawStatement
  private let own: RawStatement

  init(_ database: Database) throws {
    // A statement of its own: an insertion that reads its own table copies what it reads.
    other = try RawStatement(
      database, "SELECT 1 FROM claims WHERE key = ?1 AND rolling_start <> ?2 AND recall IS NULL LIMIT 1")
    same = try RawStatement(
      database,
      """
      SELECT 1 FROM claims WHERE key = ?1 AND rolling_start = ?2 AND said = ?3 AND origin = ?4 AND source = ?5
      AND regions = ?6
      """)
    first = try RawStatement(
      database,
      "SELECT rolling_start FROM claims WHERE key = ?1 AND recall IS NULL ORDER BY arrival, rolling_start LIMIT 1")
    own = try RawStatement(
      database,
      "SELECT 1 FROM claims WHERE key = ?1 AND rolling_start = ?2 AND origin = ?3 AND recall IS NULL LIMIT 1")
  }

  /// Whether the claim is there, withdrawn or not.
  func isKnown(_ row: ClaimRow) throws -> Bool {
    try row.bound(to: same) {
      defer { same.reset() }
      return try same.step()
    }
  }

  /// Whether the key data is known under another start; nearly none is.
  func areOthers(than row: ClaimRow) throws -> Bool {
    try withBytes(of: row.key) { bytes in
      other.bind(key: bytes, at: 1)
      other.bind(row.rollingStart, at: 2)
      defer { other.reset() }
      return try other.step()
    }
  }

  /// Whether another origin was the first to name this key data, and under another start; not so of a claim that is known.
  func isOtherOrigins(_ row: ClaimRow) throws -> Bool {
    if try isKnown(row) { return false }
    return try withBytes(of: row.key) { bytes in
      first.bind(key: bytes, at: 1)
      defer { first.reset() }
      guard try first.step() else { return false }
      let start = first.int32(at: 0)
      if start == row.rollingStart { return false }
      own.bind(key: bytes, at: 1)
      own.bind(start, at: 2)
      own.bind(row.origin, at: 3)
      defer { own.reset() }
      return try !own.step()
    }
  }
}

extension Embargo {
  fileprivate mutating func add(_ row: ClaimRow) {
    add(ClaimWords.unpack(row.said), about: KeySubject(key: row.key, rollingStart: row.rollingStart))
  }
}

/// Which claims were known at an event: those that had arrived, and that no recall had withdrawn.
private struct ClaimHorizon {
  var arrival: Int64
  var recall: Int64

  /// - Parameter horizon: `nil` is now.
  static func condition(_ horizon: ClaimHorizon?) -> String { "\(arrival(horizon)) AND \(standing(horizon))" }

  static func arrival(_ horizon: ClaimHorizon?) -> String { horizon == nil ? "1" : "arrival <= ?2" }

  static func standing(_ horizon: ClaimHorizon?) -> String {
    horizon == nil ? "recall IS NULL" : "(recall IS NULL OR recall > ?3)"
  }

  func bind(to statement: RawStatement) {
    statement.bind(arrival, at: 2)
    statement.bind(recall, at: 3)
  }
}

/// A set of claims that is filled from rows: the store's numbers become the set's.
private struct PageNumbers {
  var claims = ClaimSet()
  private var origins: [OriginID?] = []
  private var regions: [RegionClaim.ID?] = []
  private var sources: [SourceID?] = []

  mutating func insert(_ row: ClaimRow, names: inout Names, _ database: Database) throws {
    let regionSet =
      try regions[known: row.regions]
      ?? regions.know(row.regions, claims.id(ofVisited: try names.regions(Int64(row.regions), in: database)))
    let origin =
      try origins[known: row.origin]
      ?? origins.know(
        row.origin, row.origin == 0 ? .lost : claims.id(ofOrigin: try names.origin(Int64(row.origin), in: database)))
    let source =
      try sources[known: row.source]
      ?? sources.know(row.source, claims.id(of: try names.source(Int64(row.source), in: database)))
    claims.insert(
      stored: AdmittedClaim(
        subject: KeySubject(key: row.key, rollingStart: row.rollingStart), statement: ClaimWords.unpack(row.said),
        regions: regionSet, origin: origin, source: source))
  }
}

extension Array {
  fileprivate subscript<Wrapped>(known number: Int32) -> Wrapped? where Element == Wrapped? {
    number >= 0 && number < count ? self[Int(number)] : nil
  }

  fileprivate mutating func know<Wrapped>(_ number: Int32, _ element: Wrapped) -> Wrapped where Element == Wrapped? {
    if number >= count { append(contentsOf: repeatElement(nil, count: Int(number) + 1 - count)) }
    if number >= 0 { self[Int(number)] = element }
    return element
  }
}
