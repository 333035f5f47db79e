import ExposureKeys
import KeyNormalization
import KeyStorage

// What is asked of one key, and what another reading of a document changes.

extension PostgresTransaction {
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
    try database.rows("SELECT \(ClaimRow.columns) FROM held WHERE document = $1", document.rawValue)
      .map { try stated(try ClaimRow($0)) }.sorted(by: StatedClaim.precedes)
  }

  /// Withdrawn ones included.
  private func keptClaims(about key: TemporaryExposureKey) throws -> [KeptClaim] {
    try claimRuns().rows(about: key).map { row in
      let arrival = try database.row("SELECT document, event, time FROM arrivals WHERE id = $1", row.arrival)
      guard let arrival else {
        throw StorageFault(.corrupt, "a claim refers to arrival \(row.arrival), which is not in the store")
      }
      let recall: Int64? =
        row.stands ? nil : try database.value("SELECT event FROM recalls WHERE id = $1", row.recall)
      return KeptClaim(
        claim: try stated(row), document: DocumentID(rawValue: try arrival[0]),
        event: EventID(rawValue: try arrival[1]), arrived: try arrival[2], recall: recall.map(EventID.init))
    }
  }

  func held(about keys: [TemporaryExposureKey]) throws -> [HeldClaim] {
    try database.rows(
      "SELECT \(ClaimRow.columns), document, reason FROM held WHERE key = ANY ($1)",
      PostgresValue.blobs(keys.map(\.bytes))
    ).map { row in
      HeldClaim(
        claim: try stated(try ClaimRow(row)), document: DocumentID(rawValue: try row[6]),
        reason: AdmissionReason(rawValue: try row[7]) ?? .flood)
    }.sorted(by: HeldClaim.precedes)
  }

  func stated(_ row: ClaimRow) throws -> StatedClaim {
    StatedClaim(
      subject: row.subject, statement: row.statement,
      origin: row.origin == 0 ? nil : try names.origin(row.origin, in: database),
      visited: try names.regions(row.regions, in: database), source: try names.source(row.source, in: database))
  }

  func row(of claim: StatedClaim) throws -> ClaimRow {
    let counters = try counting()
    return ClaimRow(
      key: claim.subject.key, rollingStart: claim.subject.rollingStart,
      said: Int32(bitPattern: claim.statement.bits),
      origin: try claim.origin.map { try names.number(ofOrigin: $0, adding: database, counters) } ?? 0,
      source: try names.number(of: claim.source, adding: database, counters),
      regions: try names.number(ofRegions: claim.visited, adding: database, counters))
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
      try deleteHeld(try row(of: claim), of: document)
    }
    try putAside(try change.heldAdded.map { (try row(of: $0.key), $0.value) }, of: document, in: event)
    return new
  }

  /// - Returns: with which arrival the first claim about each subject came.
  private func remove(_ claims: [StatedClaim], of document: DocumentID) throws -> [KeySubject: Int64] {
    var places: [KeySubject: Int64] = [:]
    let arrivals = Set<Int64>(
      try database.rows("SELECT id FROM arrivals WHERE document = $1", document.rawValue).map { try $0[0] })
    for claim in claims {
      let row = try row(of: claim)
      guard let place = try claimRuns().rows(about: row.key).first(where: row.isSame),
        arrivals.contains(Int64(place.arrival))
      else { continue }
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
    let time: Int64? = try database.value("SELECT time FROM arrivals WHERE id = $1", arrival)
    let recalls = try database.rows("SELECT id FROM recalls ORDER BY id").map { row -> Int64 in try row["id"]
    }
    let words = try self.recalls()
    let source: String? = try database.value(
      "SELECT sources.name FROM documents JOIN sources ON sources.id = documents.source WHERE documents.id = $1",
      document.rawValue)
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
  private func deleteHeld(_ row: ClaimRow, of document: DocumentID) throws {
    try database.run(
      """
      DELETE FROM held WHERE document = $1 AND key = $2 AND rolling_start = $3 AND said = $4 AND origin = $5
        AND source = $6 AND regions = $7
      """, document.rawValue, row.key.bytes, row.rollingStart, row.said, row.origin, row.source, row.regions)
  }

  /// What stands is counted.
  private func count(_ change: Int64, origin: Int32, arrival: Int64) throws {
    try database.run("UPDATE totals SET claims = claims + $1", change)
    try database.run(
      "DELETE FROM volumes WHERE arrival = $1 AND origin = $2 AND claims + $3 <= 0", arrival, origin, change)
    try database.run(
      "UPDATE volumes SET claims = claims + $1 WHERE arrival = $2 AND origin = $3", change, arrival, origin)
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
    try database.run("UPDATE totals SET claims = claims - $1", standing)
    try agendaTable().erase(key)
    receipt.held = try deleteRows("held WHERE key = $1", key)
    receipt.released += try eraseReleases(of: key)
    receipt.released += try deleteRows("released WHERE key = $1", key)
    try database.run(
      "UPDATE pushes SET bytes = NULL WHERE id IN (SELECT push FROM pushed_keys WHERE key = $1)", key.bytes)
    receipt.released += try deleteRows("pushed_keys WHERE key = $1", key)
    for document in contents {
      let removed = try database.run("DELETE FROM contents WHERE document = $1", document.rawValue)
      if removed > 0 { receipt.contents.append(document) }
    }
    try eraseFederated(key)
    return receipt
  }

  private func deleteRows(_ condition: String, _ key: TemporaryExposureKey) throws -> Int {
    try database.run("DELETE FROM \(condition)", key.bytes)
  }

  private func numberedSeries() throws -> [(number: Int64, name: String)] {
    try database.rows("SELECT id, name FROM series ORDER BY name").map { (try $0["id"], try $0["name"]) }
  }
}
