package import ExposureKeys
internal import KeyNormalization

extension TableTransaction {
  package func recalls() throws -> [Recall] { try numberedRecalls().map(\.recall) }

  /// Reads every claim once, in the order of keys, so that all claims about a key stand together.
  package func preview(_ recall: RecallRequest) throws -> RecallPreview {
    var preview = RecallPreview()
    guard let origin = try knownNumber(ofOrigin: recall.origin.uppercased()) else { return preview }
    let arrivals = try arrivals(meantBy: recall)
    var documents: Set<Int64> = []
    var subject: KeySubject?
    var isWithdrawn = false
    var isLeft = false
    var releases = try ReleaseSearch(self)

    func finish() throws {
      guard let subject, isWithdrawn, !isLeft else { return }
      preview.keysLeftWithoutClaims += 1
      try releases.count(subject)
    }

    var rows = claimRows()
    while let row = try rows.take() {
      guard row.stands else { continue }
      if row.subject != subject {
        try finish()
        (subject, isWithdrawn, isLeft) = (row.subject, false, false)
      }
      if Int64(row.origin) == origin, let document = arrivals[Int64(row.arrival)] {
        isWithdrawn = true
        preview.claims += 1
        documents.insert(document)
      } else {
        isLeft = true
      }
    }
    try finish()
    preview.documents = Set(documents.map(DocumentID.init))
    preview.releases = releases.counts
    return preview
  }

  package func recall(
    _ request: RecallRequest, in event: EventStamp, by word: Attribution?
  ) throws -> RecallPreview {
    let preview = try preview(request)
    let number = try write(request, claims: preview.claims, in: event, by: word)
    guard preview.claims > 0, let origin = try knownNumber(ofOrigin: request.origin.uppercased()) else {
      return preview
    }
    // An arrival is shared by the uploads of a day, also by those after the recall, so each claim says by itself that it is
    // withdrawn.
    try withdraw(of: origin, meantBy: request, by: try Self.claimNumber(number))
    try forgetVolumes(of: origin, meantBy: request)
    try addToTotal(-preview.claims)
    return preview
  }

  package func hasKeys(expiredBefore limit: Instant) throws -> Bool {
    for table in Self.tablesOfKeys {
      let row = try sql.row(
        "SELECT 1 FROM \(table) WHERE rolling_start <= $1 LIMIT 1", Self.lastExpiredStart(at: limit))
      if row != nil { return true }
    }
    return false
  }

  private static let tablesOfKeys = ["claims", "held", "released", "pushed_keys"]

  /// The latest rolling start of keys that had expired. Each counts as valid for a day, whatever its period: so everything about a key
  /// goes at the same time, and no claim outlives the one that revokes it.
  private static func lastExpiredStart(at limit: Instant) -> Int64 {
    let day = Int64(IntervalNumber.intervalsPerDay)
    let seconds = limit.secondsSince1970
    return seconds >= day * 600 ? seconds / 600 - day : -1
  }

  package func expire(
    keysExpiredBefore limit: Instant, removesKeys: Bool, contentBytes: Int, at now: Instant
  ) throws -> ExpiryReceipt {
    var receipt = ExpiryReceipt(claims: 0, released: 0, contents: 0)
    if removesKeys { try expireKeys(limit, &receipt) }
    try expireRows(keysExpiredBefore: limit, contentBytes: contentBytes, at: now, &receipt)
    return receipt
  }

  private func expireKeys(_ limit: Instant, _ receipt: inout ExpiryReceipt) throws {
    let last = Self.lastExpiredStart(at: limit)
    let removed = try removeClaims(
      """
      rolling_start <= $1 AND key IN (SELECT DISTINCT key FROM claims WHERE rolling_start <= $1 LIMIT $2)
      """, with: [.int(last), expiredAtOnce.sqlValue])
    receipt.claims = removed.all
    receipt.isUnfinished = removed.all >= expiredAtOnce
    // What was published is known for as long as there are claims.
    if receipt.isUnfinished { return }
    // All claims of these hours have expired.
    try forgetAgenda("hour BETWEEN $1 AND $2", AgendaHour.now + 1, (last + Int64(IntervalNumber.intervalsPerDay)) / 6)
    let others = try Self.tablesOfKeys.dropFirst().map {
      try sql.run("DELETE FROM \($0) WHERE rolling_start <= $1", last)
    }
    receipt.claims += others[0]
    receipt.released = others[1] + others[2]
  }

  /// What was there is overwritten, and not only forgotten.
  package func erase(_ key: TemporaryExposureKey, contents: [DocumentID]) throws -> ErasureReceipt {
    hasErased = true
    var receipt = ErasureReceipt()
    receipt.claims = try removeClaims("key = $1", with: [key.sqlValue]).all
    receipt.held = try dropHeld(about: key)
    receipt.released = try eraseReleases(about: key)
    try eraseFromAgenda(key)
    receipt.contents = try contents.filter { try eraseContent(of: $0) }
    return receipt
  }
}

/// Counts which keys each series has released, and with which bundles.
private struct ReleaseSearch {
  private let tables: TableTransaction
  private let series: [(number: Int64, name: String)]
  private(set) var counts: [RecallPreview.KeyRelease: Int] = [:]

  init(_ tables: TableTransaction) throws {
    self.tables = tables
    series = try tables.numberedSeries().map { ($0, $1) }
  }

  mutating func count(_ subject: KeySubject) throws {
    for (number, name) in series {
      let bundles = try tables.bundles(releasedBy: number, about: subject)
      if bundles.isEmpty { continue }
      counts[RecallPreview.KeyRelease(of: subject, by: name, with: bundles), default: 0] += 1
    }
  }
}
