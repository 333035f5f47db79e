package import ExposureKeys
package import KeyNormalization

/// A store's numbers for the names of a batch.
private struct BatchNumbers {
  let origins: [Int32]
  let regions: [Int32]
  let source: Int32

  init(_ batch: AdmittedBatch, _ tables: TableTransaction) throws {
    origins = try batch.origins.enumerated().map { index, name in index == 0 ? 0 : try tables.number(ofOrigin: name) }
    regions = try batch.visited.map { try tables.number(ofRegions: $0) }
    source = try tables.number(of: batch.source)
  }

  func row(of claim: AdmittedClaim) -> ClaimRow {
    ClaimRow(
      key: claim.subject.key, rollingStart: claim.subject.rollingStart, said: Int32(bitPattern: claim.statement.bits),
      origin: origins[Int(claim.origin.rawValue)], source: source, regions: regions[Int(claim.regions.rawValue)])
  }
}

extension TableTransaction {
  package func record(
    _ batch: AdmittedBatch, of document: DocumentID, in event: EventStamp
  ) throws -> ImportReceipt {
    try requireDocument(document)
    var receipt = ImportReceipt(beforeRecording: batch)
    if batch.claims.isEmpty, batch.held.isEmpty { return receipt }
    let numbers = try BatchNumbers(batch, self)
    let aside = try insert(
      batch.claims.map(numbers.row).sorted(by: <), of: document, in: event, counting: &receipt,
      holdsOtherStarts: true, areCopies: batch.source.upload == .copy)
    let rows = zip(batch.held, batch.heldReasons).map { (row: numbers.row(of: $0), reason: $1) }
    let known = try putAside(rows, of: document, in: event)
    receipt.heldForOperator -= known
    receipt.known += known
    try putAside(aside.map { ($0, .otherRollingStart) }, of: document, in: event)
    return receipt
  }

  // MARK: What is held

  package func releaseHeld(of document: DocumentID, in event: EventStamp) throws -> ImportReceipt {
    try requireDocument(document)
    let rows = try heldRows(of: document, .admissible)
    _ = try dropHeld(of: document, .admissible)
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

  package func forgetRefused(of document: DocumentID) throws {
    try noteLoss(of: try heldRows(of: document, .all))
    _ = try dropHeld(of: document, .refused)
  }

  package func discardHeld(of document: DocumentID) throws -> Int {
    try requireDocument(document)
    let holds = try holds(of: document)
    try noteLoss(of: try heldRows(of: document, .all))
    let count = try dropHeld(of: document, .all)
    if var facts = try self.document(document)?.facts {
      facts.counts.heldWasDiscarded(holds)
      try setFacts(facts, of: document)
    }
    return count
  }

  /// - Returns: how many are known already, so that nobody has to decide about them.
  @discardableResult
  private func putAside(
    _ rows: [(row: ClaimRow, reason: AdmissionReason)], of document: DocumentID, in event: EventStamp
  ) throws -> Int {
    if rows.isEmpty { return 0 }
    let rows = rows.sorted { $0.row < $1.row }
    try note(rows.map(\.row))
    let there = Dictionary(grouping: try claimRows(about: rows.map(\.row).keyData), by: \.key)
    let unknown = rows.filter { row, _ in !(there[row.key]?.contains(where: row.isSame) ?? false) }
    if !unknown.isEmpty { try hold(unknown, of: document, in: event) }
    return rows.count - unknown.count
  }

  // MARK: Rows

  private func insert(
    _ rows: [ClaimRow], of document: DocumentID, in event: EventStamp, counting receipt: inout ImportReceipt,
    holdsOtherStarts: Bool, areCopies: Bool = false
  ) throws -> [ClaimRow] {
    if rows.isEmpty { return [] }
    let arrival = try arrival(of: document, in: event)
    return try insert(
      rows, arrival: arrival, counting: &receipt, holdsOtherStarts: holdsOtherStarts, areCopies: areCopies)
  }

  /// Adds the rows that are new; see ``ArrivingClaims``.
  ///
  /// - Parameters:
  ///   - recall: the number of the recall that means a claim; 0 is none.
  /// - Returns: the rows that are for the operator.
  private func insert(
    _ rows: [ClaimRow], arrival: Int64, counting receipt: inout ImportReceipt, holdsOtherStarts: Bool,
    areCopies: Bool = false, recall: (ClaimRow) throws -> Int32 = { _ in 0 }
  ) throws -> [ClaimRow] {
    let arriving = try ArrivingClaims(
      rows, there: try claimRows(about: rows.keyData), arrival: try Self.claimNumber(arrival),
      holdsOtherStarts: holdsOtherStarts, areCopies: areCopies, recall: recall)
    receipt.new += arriving.new.count
    receipt.known += arriving.known
    receipt.heldForOperator += arriving.aside.count
    let standing = arriving.standing.sorted { $0.key < $1.key }.map { (origin: $0.key, count: $0.value) }
    if !standing.isEmpty {
      try addVolumes(standing, of: arrival)
      try addToTotal(standing.reduce(0) { $0 + Int($1.count) })
    }
    try addClaims(arriving.new)
    try note(arriving.new)
    return arriving.aside
  }

  /// A number of an arrival or of a recall, as claims have it.
  static func claimNumber(_ number: Int64) throws -> Int32 {
    guard let short = Int32(exactly: number), short > 0 else {
      throw StorageFault(.full, "claims: number \(number) of an arrival or a recall, allowed 1...\(Int32.max)")
    }
    return short
  }

  // MARK: Reading again

  package func reread(
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
    let heldRemoved = try change.heldRemoved.map(row)
    try noteLoss(of: heldRemoved)
    if !heldRemoved.isEmpty { try dropHeld(heldRemoved, of: document) }
    try putAside(try change.heldAdded.map { (try row(of: $0.key), $0.value) }, of: document, in: event)
    return new
  }

  /// - Returns: with which arrival the first claim about each subject came.
  private func remove(_ claims: [StatedClaim], of document: DocumentID) throws -> [KeySubject: Int64] {
    var places: [KeySubject: Int64] = [:]
    var ours: [Int32: Bool] = [:]
    // By arrival and origin.
    var standing: [Int32: [Int32: Int]] = [:]
    let asked = try claims.map(row).sorted(by: <)
    let meant = Dictionary(grouping: asked, by: \.key)
    for there in try claimRows(about: asked.keyData) where meant[there.key]?.contains(where: there.isSame) ?? false {
      let isOurs = try ours[there.arrival] ?? (arrival(numbered: Int64(there.arrival))?.document == document)
      ours[there.arrival] = isOurs
      guard isOurs else { continue }
      places[there.subject] = min(places[there.subject] ?? .max, Int64(there.arrival))
      if there.stands { standing[there.arrival, default: [:]][there.origin, default: 0] += 1 }
      try sql.run(
        """
        DELETE FROM claims WHERE key = $1 AND rolling_start = $2 AND said = $3 AND origin = $4 AND source = $5
          AND regions = $6
        """, with: there.identity)
    }
    for (arrival, origins) in standing.sorted(by: { $0.key < $1.key }) {
      for (origin, count) in origins.sorted(by: { $0.key < $1.key }) {
        try addToTotal(-count)
        try take(count, fromVolumeOf: origin, Int64(arrival))
      }
    }
    return places
  }

  /// - Returns: how many are new.
  private func add(
    _ claims: [StatedClaim], of document: DocumentID, arrival: Int64, in event: EventStamp
  ) throws -> Int {
    let (rows, meant) = try rows(of: claims, of: document, from: arrival)
    // Those about one key data stay in their order.
    let order = rows.indices.sorted { rows[$0].key != rows[$1].key ? rows[$0].key < rows[$1].key : $0 < $1 }
    var receipt = ImportReceipt()
    let aside = try insert(
      order.map { rows[$0] }, arrival: arrival, counting: &receipt, holdsOtherStarts: true,
      recall: { meant[$0.origin] ?? 0 })
    try putAside(aside.map { ($0, .otherRollingStart) }, of: document, in: event)
    return receipt.new
  }

  /// The rows of claims that came with an arrival of a document, and by origin the number of the first recall that has withdrawn them;
  /// 0 is none.
  private func rows(
    of claims: [StatedClaim], of document: DocumentID, from arrival: Int64
  ) throws -> (rows: [ClaimRow], meant: [Int32: Int32]) {
    guard let stamp = try self.arrival(numbered: arrival)?.stamp else {
      throw StorageFault(.corrupt, "document \(document.rawValue) has no arrival \(arrival)")
    }
    let source = try self.document(document)?.source
    let recalls = try numberedRecalls()
    var meant: [Int32: Int32] = [:]
    let rows = try claims.map { claim in
      let row = try row(of: claim)
      if meant[row.origin] == nil {
        let first = recalls.first {
          $0.recall.hasWithdrawn(claim.origin, of: document, by: source, thatCameIn: stamp)
        }
        meant[row.origin] = try first.map { try Self.claimNumber($0.number) } ?? 0
      }
      return row
    }
    return (rows, meant)
  }
}
