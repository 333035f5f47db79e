package import ExposureKeys

extension Ledger {
  /// A national back end uploaded: its claims, its audit entry, the keys as they are passed on, and the evidence are
  /// recorded together, or nothing is. When this returns, the upload may be answered.
  ///
  /// - Parameters:
  ///   - source: what claims call it.
  ///   - scope: for whom its tag must be new.
  ///   - admit: records its claims, and says what the document was. It may be run again from the start.
  /// - Returns: what became of it. Where it is not ``FederationReceipt/recorded(_:_:)``, nothing has happened.
  package func federated(
    _ upload: NewFederationUpload, by source: String, tagsOf scope: FederationTagScope, evidence: KeptBytes?,
    at now: Instant, _ admit: @escaping @Sendable (DocumentRecorder) throws -> DocumentFacts
  ) async throws -> FederationReceipt {
    let salt = newSalt()
    return try await transact(.federated, at: now) { page in
      let transaction = page.transaction
      if let known = try transaction.federationUpload(tagged: upload.tag, of: upload.country) {
        return upload.canonicalDigest == known.canonicalDigest ? .repeated(known) : .tagTaken(by: known.country)
      }
      if scope == .gateway, let known = try transaction.federationUpload(tagged: upload.tag, of: nil) {
        return .tagTaken(by: known.country)
      }
      let duplicates = try transaction.knownFederationRows(upload.rows).union(upload.repeatedRows)
      if !duplicates.isEmpty { return .duplicates(duplicates.sorted()) }
      let name = "\(now.day)/\(upload.tag)"
      let stamp = try page.open(.federated, about: "\(source)/\(name)")
      let document = try page.newDocument(name, of: source, stamp, at: now)
      let facts = try admit(DocumentRecorder(transaction, document, stamp))
      try transaction.complete(document, facts, at: now)
      if let evidence { try transaction.keep(evidence.bytes, of: document, until: evidence.end) }
      let recorded = try transaction.add(upload, as: document, at: now)
      try page.close(stamp, .federated, .received(facts, try page.receivedMark(of: document, salt)))
      return .recorded(recorded, facts)
    }
  }

  /// Closes the next download batch, of whole uploads in the order in which they came, where any wait.
  ///
  /// A batch is of today, or of the day of the batch before it where the clock has gone back since: batches never go back
  /// in time, because clients walk from one to the next.
  ///
  /// - Parameters:
  ///   - limit: keys of a batch; an upload with more is a batch by itself.
  ///   - days: the days for which it is kept, behind its own.
  /// - Returns: `nil` where nothing waits.
  package func batched(
    within limit: Int, keptFor days: Int, except rehearsals: Set<String> = [], at now: Instant
  ) async throws -> FederationBatch? {
    try await transact(.batched, at: now) { page in
      let transaction = page.transaction
      var uploads: [FederationUploadID] = []
      var keys = 0
      let waiting = try transaction.waitingFederationUploads(limit: rehearsals.isEmpty ? Self.uploadsOfBatch : .max)
      for upload in waiting.lazy.filter({ !rehearsals.contains($0.country) }).prefix(Self.uploadsOfBatch) {
        if !uploads.isEmpty, upload.keyCount > limit - keys { break }
        uploads.append(upload.id)
        keys += upload.keyCount
        if keys >= limit { break }
      }
      guard !uploads.isEmpty else { return nil }
      let day = max(now.day, try transaction.lastFederationBatch()?.day ?? now.day)
      let stamp = try page.open(.batched, about: "\(uploads.count) uploads of \(keys) keys")
      let end = Day(daysSince1970: day.daysSince1970 + Int64(clamping: days) + 1).start
      let batch = try transaction.addFederationBatch(of: uploads, on: day, until: end, at: now)
      try page.close(stamp, .batched)
      return batch
    }
  }

  /// Uploads of a batch at most: their audit entries are one answer.
  package static var uploadsOfBatch: Int { 500 }
}

extension LedgerPage {
  /// A tag comes again once its upload is kept no more, which can be on the same day where the clock went back.
  fileprivate func newDocument(
    _ name: String, of source: String, _ stamp: EventStamp, at now: Instant
  ) throws -> DocumentID {
    for name in [name, "\(name)#\(stamp.id.rawValue)"] {
      if let new = try transaction.add(documents: [name], of: source, at: now).new.first { return new }
    }
    throw StorageFault(.conflict, "there is a document \(name) of \(source) already")
  }
}

extension NewFederationUpload {
  /// Rows that are another one's, by their place; the first of equal ones is none.
  fileprivate var repeatedRows: Set<Int> {
    var seen: Set<[UInt8]> = []
    return Set(rows.indices.filter { !seen.insert(rows[$0]).inserted })
  }
}
