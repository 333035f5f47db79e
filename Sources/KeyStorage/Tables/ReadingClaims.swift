package import ExposureKeys
package import KeyNormalization

extension TableTransaction {
  package func claims(from start: TemporaryExposureKey, limit: Int, asOf event: EventID?) throws -> ClaimPage {
    var rows = claimRows(from: start)
    var page = ClaimPageRows(try event.map(horizon) ?? .now)
    while let row = try rows.take() {
      if page.claims.count >= limit, page.isFull(before: row) {
        try addHeld(from: start, before: row.key, asOf: event, to: &page.embargo)
        return ClaimPage(claims: page.claims, embargo: page.embargo, next: row.key)
      }
      try page.take(row, names: self)
    }
    try addHeld(from: start, before: nil, asOf: event, to: &page.embargo)
    return ClaimPage(claims: page.claims, embargo: page.embargo, next: nil)
  }

  package func claims(about keys: [TemporaryExposureKey]) throws -> ClaimPage {
    var page = ClaimPageRows(.now)
    for row in try claimRows(about: keys) { try page.take(row, names: self) }
    for held in try heldRows(about: keys) { page.embargo.add(held.row) }
    return ClaimPage(claims: page.claims, embargo: page.embargo, next: nil)
  }

  /// What is held for the operator about keys of a page, and was when an event had happened.
  private func addHeld(
    from start: TemporaryExposureKey, before end: TemporaryExposureKey?, asOf event: EventID?,
    to embargo: inout Embargo
  ) throws {
    // A key without claims is in no page.
    let claimed = "AND EXISTS (SELECT 1 FROM claims WHERE claims.key = held.key)"
    try eachHeld(from: start, before: end, asOf: event, and: claimed) { embargo.add($0) }
  }

  package func claims(about key: TemporaryExposureKey, asOf event: EventID?) throws -> ClaimSet {
    let horizon = try event.map(horizon) ?? .now
    var page = ClaimPageRows(horizon)
    for row in try claimRows(about: [key]) where horizon.has(row) && horizon.stands(row) {
      try page.insert(row, names: self)
    }
    return page.claims
  }

  package func isWithdrawn(_ subject: KeySubject, asOf event: EventID?) throws -> Bool {
    let last = try event.map { try horizon(at: $0).recall } ?? .max
    return try claimRows(about: [subject.key]).contains {
      $0.rollingStart == subject.rollingStart && !$0.stands && Int64($0.recall) <= last
    }
  }

  // MARK: With what came with them

  package func record(of key: TemporaryExposureKey) throws -> KeyRecord {
    let released = try numberedSeries().flatMap { _, name in
      try self.released(by: name, about: [key]).map { SeriesRelease(series: name, key: $0) }
    }
    return KeyRecord(claims: try keptClaims(about: [key]), held: try held(about: [key]), released: released)
  }

  package func keptClaims(about keys: Set<TemporaryExposureKey>) throws -> [KeptClaim] {
    try keptClaims(about: keys.sorted())
  }

  package func claims(
    broughtBy document: DocumentID, about keys: Set<TemporaryExposureKey>
  ) throws -> [KeptClaim] {
    try keptClaims(about: keys.sorted(), broughtBy: document)
  }

  /// Withdrawn ones included.
  ///
  /// - Parameter document: `nil` is whichever.
  private func keptClaims(
    about keys: [TemporaryExposureKey], broughtBy document: DocumentID? = nil
  ) throws -> [KeptClaim] {
    var arrivals: [Int32: (document: DocumentID, stamp: ArrivalStamp)] = [:]
    var recalls: [Int64: EventID]?
    var kept: [KeptClaim] = []
    for row in try claimRows(about: keys) {
      guard let arrival = try arrivals[row.arrival] ?? arrival(numbered: Int64(row.arrival)) else {
        throw StorageFault(.corrupt, "a claim refers to arrival \(row.arrival), which is not in the store")
      }
      arrivals[row.arrival] = arrival
      if let document, arrival.document != document { continue }
      if !row.stands, recalls == nil {
        recalls = Dictionary(try numberedRecalls().map { ($0.number, $0.recall.event) }) { first, _ in first }
      }
      kept.append(
        KeptClaim(
          claim: try stated(row), document: arrival.document, event: arrival.stamp.id, arrived: arrival.stamp.time,
          recall: row.stands ? nil : recalls?[Int64(row.recall)]))
    }
    return kept.sorted(by: KeptClaim.precedes)
  }

  package func held(of document: DocumentID) throws -> [StatedClaim] {
    try heldRows(of: document, .all).map(stated).sorted(by: StatedClaim.precedes)
  }

  package func held(about keys: [TemporaryExposureKey]) throws -> [HeldClaim] {
    try heldRows(about: Set(keys).sorted()).map { row, document, reason in
      HeldClaim(claim: try stated(row), document: document, reason: reason)
    }.sorted(by: HeldClaim.precedes)
  }

  /// The names behind a row's numbers.
  package func stated(_ row: ClaimRow) throws -> StatedClaim {
    return StatedClaim(
      subject: row.subject, statement: row.statement, origin: row.origin == 0 ? nil : try self.origin(row.origin),
      visited: try regions(row.regions), source: try source(row.source))
  }

  /// The row of a claim, whose names are added where they are new.
  package func row(of claim: StatedClaim) throws -> ClaimRow {
    ClaimRow(
      key: claim.subject.key, rollingStart: claim.subject.rollingStart, said: Int32(bitPattern: claim.statement.bits),
      origin: try claim.origin.map(number(ofOrigin:)) ?? 0, source: try number(of: claim.source),
      regions: try number(ofRegions: claim.visited))
  }
}
