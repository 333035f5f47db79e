package import ExposureKeys
internal import KeyNormalization

extension ClaimTables {
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

    var rows = try claimRuns().rows()
    while let row = try rows.next() {
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
    _ request: RecallRequest, in event: EventStamp, by word: OperatorWord?
  ) throws -> RecallPreview {
    let preview = try preview(request)
    let number = try write(request, claims: preview.claims, in: event, by: word)
    guard preview.claims > 0, let origin = try knownNumber(ofOrigin: request.origin.uppercased()) else {
      return preview
    }
    let meant = Set(try arrivals(meantBy: request).keys)
    let recall = try Self.claimNumber(number)
    // An arrival is shared by the uploads of a day, also by those after the recall, so each claim says by itself that it is
    // withdrawn.
    try claimRuns().changeAll { row in
      guard row.stands, Int64(row.origin) == origin, meant.contains(Int64(row.arrival)) else { return false }
      row.recall = recall
      return true
    }
    try forgetVolumes(of: origin, meantBy: request)
    try addToTotal(-preview.claims)
    return preview
  }

  /// Takes out of the runs what has ended.
  ///
  /// - Parameters:
  ///   - end: in seconds since 1970.
  ///   - limit: how many rows of each kind at the most, about; the next call goes on.
  package func expireRuns(endingBy end: Int64, limit: Int) throws -> ExpiryReceipt {
    var receipt = ExpiryReceipt(claims: 0, released: 0, contents: 0)
    let interval = end >= 0 ? end / 600 : -1
    var standing = 0
    receipt.isUnfinished = try claimRuns().expire(endingBy: interval, limit: limit) { row in
      receipt.claims += 1
      if row.stands { standing += 1 }
    }
    if standing != 0 { try addToTotal(-standing) }
    for (series, _) in try numberedSeries() {
      let rest = try releaseRuns(of: series).expire(endingBy: interval, limit: limit) { _ in receipt.released += 1 }
      receipt.isUnfinished = receipt.isUnfinished || rest
    }
    return receipt
  }

  /// What was there is overwritten, and not only forgotten.
  package func erase(_ key: TemporaryExposureKey, contents: [DocumentID]) throws -> ErasureReceipt {
    var receipt = ErasureReceipt()
    var standing = 0
    try claimRuns().change(key, isErased: true) { row in
      receipt.claims += 1
      if row.stands { standing += 1 }
      return nil
    }
    try addToTotal(-standing)
    receipt.held = try dropHeld(about: key)
    for (series, _) in try numberedSeries() {
      try releaseRuns(of: series).change(key, isErased: true) { _ in
        receipt.released += 1
        return nil
      }
    }
    receipt.released += try eraseRows(about: key)
    receipt.contents = try contents.filter { try eraseContent(of: $0) }
    return receipt
  }
}

/// Counts which keys each series has released, and with which bundles; it is asked in ascending order.
private struct ReleaseSearch<Tables: ClaimTables> {
  private let tables: Tables
  private var series: [(number: Int64, name: String, hasTable: Bool, search: ClaimSearch)]
  private var found: [ClaimRow] = []
  private(set) var counts: [RecallPreview.KeyRelease: Int] = [:]

  init(_ tables: Tables) throws {
    self.tables = tables
    series = try tables.numberedSeries().map { number, name in
      (
        number, name, try tables.hasReleasesInTable(of: number), try tables.releaseRuns(of: number).search()
      )
    }
  }

  mutating func count(_ subject: KeySubject) throws {
    for index in series.indices {
      found.removeAll(keepingCapacity: true)
      try series[index].search.find(subject.key, into: &found)
      var bundles = found.first { $0.subject == subject }.map(ReleaseRow.bundles) ?? []
      if series[index].hasTable {
        bundles.formUnion(try tables.bundlesInTable(by: series[index].number, about: subject))
      }
      if bundles.isEmpty { continue }
      counts[RecallPreview.KeyRelease(of: subject, by: series[index].name, with: bundles), default: 0] += 1
    }
  }
}
