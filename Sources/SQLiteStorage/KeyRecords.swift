import ExposureKeys
import GRDB
import KeyNormalization
import KeyStorage

// What is asked of one key, and what another reading of a document changes.

extension SQLiteTransaction {
  func record(of key: TemporaryExposureKey) throws -> KeyRecord {
    let released = try numberedSeries().flatMap { _, name in
      try self.released(by: name, about: [key]).map { SeriesRelease(series: name, key: $0) }
    }
    return KeyRecord(
      claims: try keptClaims(about: key).sorted(by: KeptClaim.precedes), held: try held(about: [key]),
      released: released)
  }

  func claims(broughtBy document: DocumentID, about keys: Set<TemporaryExposureKey>) throws -> [KeptClaim] {
    try keys.flatMap { try keptClaims(about: $0).filter { $0.document == document } }.sorted(by: KeptClaim.precedes)
  }

  func held(of document: DocumentID) throws -> [StatedClaim] {
    let statement = try RawStatement(database, "SELECT \(ClaimRow.columns) FROM held WHERE document = ?")
    defer { statement.reset() }
    statement.bind(document.rawValue, at: 1)
    var held: [StatedClaim] = []
    while try statement.step() { held.append(try stated(try ClaimRow(statement))) }
    return held.sorted(by: StatedClaim.precedes)
  }

  /// Withdrawn ones included.
  private func keptClaims(about key: TemporaryExposureKey) throws -> [KeptClaim] {
    let arrivals = try RawStatement(database, "SELECT document, event, time FROM arrivals WHERE id = ?1")
    let recalls = try RawStatement(database, "SELECT event FROM recalls WHERE id = ?1")
    return try claimRuns().rows(about: key).map { row in
      arrivals.bind(row.arrival, at: 1)
      recalls.bind(row.recall, at: 1)
      defer {
        arrivals.reset()
        recalls.reset()
      }
      guard try arrivals.step() else {
        throw StorageFault(.corrupt, "a claim refers to arrival \(row.arrival), which is not in the store")
      }
      return KeptClaim(
        claim: try stated(row), document: DocumentID(rawValue: arrivals.int(at: 0)),
        event: EventID(rawValue: arrivals.int(at: 1)), arrived: Instant(secondsSince1970: arrivals.int(at: 2)),
        recall: try !row.stands && recalls.step() ? EventID(rawValue: recalls.int(at: 0)) : nil)
    }
  }

  func held(about keys: [TemporaryExposureKey]) throws -> [HeldClaim] {
    let statement = try RawStatement(database, "SELECT \(ClaimRow.columns), document, reason FROM held WHERE key = ?")
    var held: [HeldClaim] = []
    for key in keys {
      try withBytes(of: key) { bytes in
        defer { statement.reset() }
        statement.bind(key: bytes, at: 1)
        while try statement.step() {
          held.append(
            HeldClaim(
              claim: try stated(try ClaimRow(statement)), document: DocumentID(rawValue: statement.int(at: 6)),
              reason: statement.text(at: 7).flatMap(AdmissionReason.init(rawValue:)) ?? .flood))
        }
      }
    }
    return held.sorted(by: HeldClaim.precedes)
  }

  func stated(_ row: ClaimRow) throws -> StatedClaim {
    StatedClaim(
      subject: row.subject, statement: row.statement,
      origin: row.origin == 0 ? nil : try names.origin(Int64(row.origin), in: database),
      visited: try names.regions(Int64(row.regions), in: database),
      source: try names.source(Int64(row.source), in: database))
  }

  func row(of claim: StatedClaim) throws -> ClaimRow {
    ClaimRow(
      key: claim.subject.key, rollingStart: claim.subject.rollingStart, said: Int32(bitPattern: claim.statement.bits),
      origin: try claim.origin.map { Int32(truncatingIfNeeded: try names.number(ofOrigin: $0, adding: database)) } ?? 0,
      source: Int32(truncatingIfNeeded: try names.number(of: claim.source, adding: database)),
      regions: Int32(truncatingIfNeeded: try names.number(ofRegions: claim.visited, adding: database)))
  }

  // MARK: Reading again

  func reread(
    _ change: ReadingChange, of document: DocumentID, from time: Instant, in event: EventStamp
  ) throws -> Int {
    try requireDocument(document)
    let places = try remove(change.removed, of: document)
    var fresh: [StatedClaim] = []
    var replacing: [Int64: [StatedClaim]] = [:]
    for claim in change.added.sorted(by: StatedClaim.precedes) {
      if let place = places[claim.subject] { replacing[place, default: []].append(claim) } else { fresh.append(claim) }
    }
    try noteLoss(of: try change.removed.map(row))
    if !fresh.isEmpty {
      let arrival = try arrival(of: document, in: EventStamp(id: event.id, time: time))
      replacing[arrival, default: []] += fresh
    }
    var new = 0
    for (arrival, claims) in replacing.sorted(by: { $0.key < $1.key }) {
      new += try add(claims, of: document, arrival: arrival, in: event)
    }
    try noteLoss(of: try change.heldRemoved.map(row))
    for claim in change.heldRemoved {
      _ = try delete(try row(of: claim), from: "held", where: "document", document.rawValue)
    }
    try putAside(try change.heldAdded.map { (try row(of: $0.key), $0.value) }, of: document, in: event)
    return new
  }

  /// - Returns: with which arrival the first claim about each subject came.
  private func remove(_ claims: [StatedClaim], of document: DocumentID) throws -> [KeySubject: Int64] {
    var places: [KeySubject: Int64] = [:]
    let find = try RawStatement(database, "SELECT 1 FROM arrivals WHERE id = ?1 AND document = ?2")
    for claim in claims {
      let row = try row(of: claim)
      guard let place = try claimRuns().rows(about: row.key).first(where: row.isSame) else { continue }
      find.bind(place.arrival, at: 1)
      find.bind(document.rawValue, at: 2)
      defer { find.reset() }
      guard try find.step() else { continue }
      places[claim.subject] = min(places[claim.subject] ?? .max, Int64(place.arrival))
      try claimRuns().change(row.key) { $0.isSame(as: row) ? nil : $0 }
      if place.stands { try count(-1, origin: row.origin, arrival: Int64(place.arrival)) }
    }
    return places
  }

  /// - Returns: how many are new.
  private func add(
    _ claims: [StatedClaim], of document: DocumentID, arrival: Int64, in event: EventStamp
  ) throws -> Int {
    let time = try Int64.fetchOne(database, sql: "SELECT time FROM arrivals WHERE id = ?", arguments: [arrival])
    let recalls = try Row.fetchAll(database, sql: "SELECT id FROM recalls ORDER BY id").map { row -> Int64 in row["id"]
    }
    let words = try self.recalls()
    let source = try String.fetchOne(
      database,
      sql: "SELECT sources.name FROM documents JOIN sources ON sources.id = documents.source WHERE documents.id = ?",
      arguments: [document.rawValue])
    let arrived = Instant(secondsSince1970: time ?? 0)
    var meant: [Int32: Int32] = [:]
    var rows: [ClaimRow] = []
    for claim in claims {
      let row = try row(of: claim)
      rows.append(row)
      guard meant[row.origin] == nil else { continue }
      let index = words.firstIndex { $0.withdraws(claim.origin, of: document, by: source, from: arrived) }
      meant[row.origin] = try index.map { try claimNumber(recalls[$0]) } ?? 0
    }
    // Those about one key data stay in their order.
    let order = rows.indices.sorted {
      rows[$0].key != rows[$1].key ? rows[$0].key < rows[$1].key : $0 < $1
    }
    var receipt = ImportReceipt()
    let aside = try insert(
      order.map { rows[$0] }, arrival: arrival, counting: &receipt, holdsOtherStarts: true,
      recall: { meant[$0.origin] ?? 0 })
    try putAside(aside.map { ($0, .otherRollingStart) }, of: document, in: event)
    return receipt.new
  }

  /// Deletes a row of held claims.
  private func delete(_ row: ClaimRow, from table: String, where column: String, _ number: Int64) throws -> Bool {
    let statement = try RawStatement(
      database,
      """
      DELETE FROM \(table) WHERE key = ?1 AND rolling_start = ?2 AND said = ?3 AND origin = ?4 AND source = ?5
        AND regions = ?6 AND \(column) = ?7
      """)
    statement.bind(number, at: 7)
    return try row.bound(to: statement) { try statement.run() }
  }

  /// What stands is counted.
  private func count(_ change: Int64, origin: Int32, arrival: Int64) throws {
    try database.execute(sql: "UPDATE totals SET claims = claims + ?", arguments: [change])
    try database.execute(
      sql: "DELETE FROM volumes WHERE arrival = ? AND origin = ? AND claims + ? <= 0",
      arguments: [arrival, origin, change])
    try database.execute(
      sql: "UPDATE volumes SET claims = claims + ? WHERE arrival = ? AND origin = ?",
      arguments: [change, arrival, origin])
  }

  // MARK: Erasing

  /// What was there is overwritten, and not only forgotten.
  func erase(_ key: TemporaryExposureKey, contents: [DocumentID]) throws -> ErasureReceipt {
    hasErased = true
    var receipt = ErasureReceipt()
    var standing = 0
    try claimRuns().change(key, isErased: true) { row in
      receipt.claims += 1
      if row.stands { standing += 1 }
      return nil
    }
    try database.execute(sql: "UPDATE totals SET claims = claims - ?", arguments: [standing])
    try SQLiteAgenda(database).erase(key)
    receipt.held = try deleteRows("held WHERE key = ?", key)
    receipt.released += try eraseReleases(of: key)
    for (number, _) in try numberedSeries() {
      receipt.released += try deleteRows("released WHERE series = \(number) AND key = ?", key)
    }
    _ = try rows("UPDATE pushes SET bytes = NULL WHERE id IN (SELECT push FROM pushed_keys WHERE key = ?)", key) { _ in
    }
    receipt.released += try deleteRows("pushed_keys WHERE key = ?", key)
    for document in contents {
      try database.execute(sql: "DELETE FROM contents WHERE document = ?", arguments: [document.rawValue])
      if database.changesCount > 0 { receipt.contents.append(document) }
    }
    try eraseFederated(key)
    return receipt
  }

  private func deleteRows(_ condition: String, _ key: TemporaryExposureKey) throws -> Int {
    _ = try rows("DELETE FROM \(condition)", key) { _ in }
    return database.changesCount
  }

  /// Runs a statement whose only argument is a key.
  private func rows<Result>(
    _ sql: String, _ key: TemporaryExposureKey, _ read: (RawStatement) throws -> Result
  ) throws -> [Result] {
    let statement = try RawStatement(database, sql)
    defer { statement.reset() }
    return try withBytes(of: key) { bytes in
      statement.bind(key: bytes, at: 1)
      var results: [Result] = []
      while try statement.step() { results.append(try read(statement)) }
      return results
    }
  }

  private func numberedSeries() throws -> [(number: Int64, name: String)] {
    try Row.fetchAll(database, sql: "SELECT id, name FROM series ORDER BY name").map { ($0["id"], $0["name"]) }
  }
}
