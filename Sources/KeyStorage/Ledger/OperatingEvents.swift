package import ExposureKeys
package import KeyNormalization

extension Ledger {
  // MARK: Words of the operator

  /// A source or an origin stands still from now on.
  ///
  /// - Parameter name: what people call the subject: `destination efgs-upload`; `nil` where it is what it is.
  package func paused(
    _ subject: Pause.Subject, called name: String? = nil, by word: Attribution, at now: Instant
  ) async throws {
    try await transact(.paused, at: now) { page in
      let pause = Pause(subject.normalized, since: now, reason: word.reason, by: word.by)
      try page.transaction.pause(pause)
      try page.enter(.paused, about: name ?? pause.subject.text, by: word)
    }
  }

  /// A paused source or origin goes on.
  ///
  /// - Returns: whether it was paused.
  package func resumed(
    _ subject: Pause.Subject, called name: String? = nil, by word: Attribution, at now: Instant
  ) async throws -> Bool {
    try await transact(.resumed, at: now) { page in
      guard try page.transaction.resume(subject) else { return false }
      try page.enter(.resumed, about: name ?? subject.normalized.text, by: word)
      return true
    }
  }

  /// What an origin said is withdrawn.
  package func recalled(
    _ request: RecallRequest, by word: Attribution, at now: Instant
  ) async throws -> RecallPreview {
    try await transact(.recalled, at: now) { page in
      let stamp = try page.open(.recalled, about: request.text, by: word)
      let effect = try page.transaction.recall(request, in: stamp, by: word)
      try page.transaction.withdrawFederationUploads(.recalled(request), because: .recalled)
      try page.close(stamp, .recalled, .recalled(request, effect, word))
      return effect
    }
  }

  /// Documents of a source were read again, by another policy, and say what they say now and nothing else.
  ///
  /// - Parameter read: reads them, and tells what changes. It may be run again.
  /// - Returns: what `read` returned.
  package func reread<Result: Sendable>(
    _ source: String, by word: Attribution, at now: Instant,
    _ read: @escaping @Sendable (any StoredState, DocumentReplacer) throws -> Result
  ) async throws -> Result {
    try await transact(.reread, at: now) { page in
      let stamp = try page.open(.reread, about: Pause.Subject.source(source).text, by: word)
      let replacer = DocumentReplacer(page.transaction, stamp)
      let result = try read(page.transaction, replacer)
      try page.close(stamp, .reread, .reread(source: source, word))
      return result
    }
  }

  /// Everything about one key was removed, but for what is published.
  ///
  /// - Parameters:
  ///   - digest: the SHA-256 of the key data in lower-case hexadecimal, since the event must not have it.
  ///   - contents: finds the documents in whose kept bytes the key is. It may be run again.
  package func erased(
    _ key: TemporaryExposureKey, digest: String, by word: Attribution, at now: Instant,
    contents: @escaping @Sendable (any StoredState) throws -> [DocumentID]
  ) async throws -> ErasureReceipt {
    try await transact(.erased, at: now) { page in
      let receipt = try page.transaction.erase(key, contents: try contents(page.transaction))
      if !receipt.isEmpty {
        var erasures = try page.transaction.erasures()
        erasures.note(digest, contents: receipt.contents, at: now)
        try page.change([NoteChange(.erasures, try encoded(erasures))])
        try page.enter(.erased, about: "key with SHA-256 \(digest)", by: word, saying: .erased(word))
      }
      return receipt
    }
  }

  /// Claims of a document that were put aside are admitted.
  package func heldReleased(
    _ document: DocumentID, by word: Attribution, at now: Instant
  ) async throws -> ImportReceipt {
    try await transact(.heldReleased, at: now) { page in
      let stamp = try page.open(.heldReleased, about: try page.subject(document), by: word)
      let receipt = try page.transaction.releaseHeld(of: document, in: stamp)
      try page.close(stamp, .heldReleased)
      return receipt
    }
  }

  /// Claims of a document that were put aside are dropped.
  ///
  /// - Returns: how many.
  package func heldDiscarded(_ document: DocumentID, by word: Attribution, at now: Instant) async throws -> Int {
    try await transact(.heldDiscarded, at: now) { page in
      let holds = try page.transaction.holds(of: document)
      let count = try page.transaction.discardHeld(of: document)
      if FederationHolds.keepBack(holds) {
        try page.transaction.withdrawFederationUploads(.document(document), because: .discarded)
      }
      try page.enter(
        .heldDiscarded, about: try page.subject(document), by: word, saying: .heldDiscarded(count: count, word))
      return count
    }
  }

  /// A refused document is not tried again, and delays no key any more.
  package func discarded(_ document: DocumentID, by word: Attribution, at now: Instant) async throws {
    try await transact(.discarded, at: now) { page in
      guard let record = try page.transaction.document(document) else { throw StorageFault.noDocument(document) }
      try page.transaction.move(document, to: .givenUp, fault: record.fault, nextAttempt: nil, at: now)
      try page.transaction.forgetRefused(of: document)
      try page.enter(.discarded, about: try page.subject(document), by: word, saying: .discarded(word))
    }
  }

  /// A refused document is to be tried again by the next pull, with the bytes that are kept or fetched again. What has
  /// changed under its name waits for this word; it is noted that it was said.
  package func retryAsked(_ document: DocumentID, by word: Attribution, at now: Instant) async throws {
    try await transact(.retryAsked, at: now) { page in
      guard let record = try page.transaction.document(document) else { throw StorageFault.noDocument(document) }
      var fault = record.fault
      if fault?.code.rawValue == EventKind.changedUnderItsName.rawValue, let reason = fault?.reason {
        fault = DocumentFault(code: .retryAsked, reason: "\(reason); an operator asked for another attempt")
      }
      try page.transaction.move(document, to: .quarantined, fault: fault, nextAttempt: now, at: now)
      try page.enter(.retryAsked, about: try page.subject(document), by: word)
    }
  }

  /// Up to so many new keys of each origin are taken from a source today, whatever its policy holds for the operator. What is
  /// held stays held until ``heldReleased(_:by:at:)``.
  ///
  /// - Throws: ``StorageFault`` with `conflict` if today's limit is not lower.
  package func limitRaised(
    of source: String, to keys: Int, by word: Attribution, at now: Instant
  ) async throws {
    try await transact(.limitRaised, at: now) { page in
      var record = try page.transaction.volumeRecord(of: source)
      if let limit = [record.held(on: now.day)?.limit, record.raisedLimit(on: now.day)].compactMap(\.self).max(),
        keys <= limit
      {
        throw StorageFault(
          .conflict, "today's limit of \(source) is \(limit) keys already; --keys must be more")
      }
      record.raised = .init(on: now.day, to: keys)
      try page.change([NoteChange(.volumes(source: source), try encoded(record))])
      try page.enter(.limitRaised, about: "source \(source), to \(keys) keys", by: word)
    }
  }

  /// The system's clock is right, says the operator, although it stepped.
  package func clockAccepted(_ clock: ClockWord, by word: Attribution, at now: Instant) async throws {
    try await transact(.clockAccepted, at: now) { page in
      try page.change([NoteChange(.clockWord, try encoded(clock))])
      try page.enter(.clockAccepted, about: "the clock", by: word, saying: .clockAccepted(word))
    }
  }

  /// This store begins beside series that were published before, whatever an older one knew of them. It publishes nothing before
  /// ``beginningEnded(by:at:)``.
  package func begun(beside series: [String], by word: Attribution, at now: Instant) async throws {
    try await transact(.begun, at: now) { page in
      let beginning = StoreBeginning(beside: series, since: now, by: word)
      try page.change([NoteChange(.begun, try encoded(beginning))])
      try page.enter(.begun, about: "the store, beside \(series.joined(separator: ", "))", by: word)
    }
  }

  /// What an older store knew was said again: what this one began beside is published from now on.
  ///
  /// - Returns: how it began; `nil` where nothing waited for this, and nothing was done.
  @discardableResult
  package func beginningEnded(by word: Attribution, at now: Instant) async throws -> StoreBeginning? {
    guard try await read({ try $0.beginning() })?.waits == true else { return nil }
    return try await transact(.begun, at: now) { page in
      guard var beginning = try page.transaction.beginning() else {
        throw StorageFault(.conflict, "the store did not begin anew")
      }
      beginning.waits = false
      try page.change([NoteChange(.begun, try encoded(beginning))])
      try page.enter(.begun, about: "\(beginning.series.joined(separator: ", ")), to be published", by: word)
      return beginning
    }
  }

  /// A replica gives its work to the others, and takes none, until it returns.
  ///
  /// - Returns: whether it was not drained before.
  package func replicaDrained(_ replica: ReplicaName, by word: Attribution, at now: Instant) async throws -> Bool {
    try await transact(.replicaDrained, at: now) { page in
      var drained = try page.transaction.drainedReplicas()
      guard !drained.contains(where: { $0.name == replica }) else { return false }
      drained.append(DrainedReplica(replica, since: now, by: word))
      try page.change([NoteChange(.drainedReplicas, try encoded(drained.sorted { $0.name < $1.name }))])
      try page.enter(.replicaDrained, about: "replica \(replica)", by: word)
      return true
    }
  }

  /// A replica takes its share of the work again.
  ///
  /// - Returns: whether it was drained.
  package func replicaReturned(_ replica: ReplicaName, by word: Attribution, at now: Instant) async throws -> Bool {
    try await transact(.replicaReturned, at: now) { page in
      let drained = try page.transaction.drainedReplicas()
      let left = drained.filter { $0.name != replica }
      guard left.count < drained.count else { return false }
      try page.change([NoteChange(.drainedReplicas, left.isEmpty ? nil : try encoded(left))])
      try page.enter(.replicaReturned, about: "replica \(replica)", by: word)
      return true
    }
  }

  // MARK: Housekeeping

  /// Whether the store can be written to: commits that are as durable as an upload's, and need as much room. Nothing happens, and
  /// no event is written.
  ///
  /// - Throws: what an upload would be answered with.
  package func probed(door: String, at now: Instant) async throws {
    // What an upload needs of the store is tried and taken back, and then a commit with room of its own is not.
    struct TakenBack: Error {}
    do {
      try await transact(.uploaded, at: now) { page in
        _ = try page.transaction.claims(from: TemporaryExposureKey(high: 0, low: 0), limit: 1)
        try page.pass(door: door, at: now)
        throw TakenBack()
      }
    } catch is TakenBack {}
    for value in [[UInt8](repeating: 0, count: 1 << 14), []] {
      try await transact(.uploaded, at: now) { page in try page.change([NoteChange(.probe, value)]) }
    }
  }

  /// The clock was looked at, and the next process is to know what was seen.
  ///
  /// - Parameter replica: whose clock, where several share the store.
  package func clockSeen(_ record: ClockJudge.Record, of replica: ReplicaName? = nil) async throws {
    try await transact(.clockSeen, at: record.last.wall) { page in
      try page.change([NoteChange(.clock(replica: replica), try encoded(record))])
      try page.enter(.clockSeen, about: record.doubt == nil ? "the clock is sound" : "the clock is in doubt")
    }
  }

  /// What has been kept long enough is removed.
  ///
  /// - Parameters:
  ///   - keysExpiredBefore: claims and released keys that were not valid any more then.
  ///   - contentBytes: the most that the bytes of documents may take.
  ///   - forgetsAgenda: whether no series asks what there is to be looked at: what could be by now is forgotten, too.
  package func expired(
    keysExpiredBefore: Instant, contentBytes: Int = .max, forgetsAgenda: Bool = false, at time: SoundTime
  ) async throws -> ExpiryReceipt {
    // Uploads do not wait while all keys are read, which finds something once a day.
    let removesKeys = try await read { try $0.hasKeys(expiredBefore: keysExpiredBefore) }
    return try await transact(.expired, at: time.instant) { page in
      let receipt = try page.transaction.expire(
        keysExpiredBefore: keysExpiredBefore, removesKeys: removesKeys, contentBytes: contentBytes, at: time.instant)
      try page.forgetUploadHours(at: time.instant)
      if forgetsAgenda, let last = try page.transaction.lastEvent()?.id {
        try page.transaction.sweepAgenda(to: AgendaFloor(event: last, hour: time.instant.secondsSince1970 / 3600))
      }
      try page.change([NoteChange(.retention, Array("\(time.instant.secondsSince1970)".utf8))])
      if receipt != ExpiryReceipt(claims: 0, released: 0, contents: 0) {
        let room =
          receipt.crowdedOut > 0
          ? "; bytes of \(receipt.crowdedOut) documents that retention.evidence-bytes leaves no room for" : ""
        try page.enter(.expired, about: "\(ExpiryWords.start)\(keysExpiredBefore)\(room)")
      }
      return receipt
    }
  }

  /// The transparency log has these entries.
  ///
  /// - Parameter log: its name, and how many entries it has now.
  package func logged(
    _ entries: [QueuedEntryID], of log: (name: String, size: Int)? = nil, at now: Instant
  ) async throws {
    if entries.isEmpty { return }
    try await transact(.logged, at: now) { page in
      try page.transaction.dequeue(entries)
      if let log { try page.change([NoteChange(.logSize(name: log.name), Array("\(log.size)".utf8))]) }
      try page.enter(.logged, about: "\(entries.count) entries")
    }
  }
}

/// How the event says which keys were removed.
package enum ExpiryWords {
  static let start = "keys that expired before "

  /// Until when what was removed had expired; `nil` for what says it otherwise.
  package static func instant(in subject: String) -> Instant? {
    guard subject.hasPrefix(start) else { return nil }
    return Instant(subject.dropFirst(start.utf8.count).prefix { $0 != ";" })
  }
}

/// Where what another reading of documents changes is written down. One transaction owns it.
package final class DocumentReplacer {
  private let transaction: any StoreTransaction
  private let stamp: EventStamp
  fileprivate private(set) var documents: [DocumentID] = []

  fileprivate init(_ transaction: any StoreTransaction, _ stamp: EventStamp) {
    self.transaction = transaction
    self.stamp = stamp
  }

  /// - Parameters:
  ///   - time: when the document came.
  ///   - facts: what the document is, given how many claims are new.
  package func replace(
    _ document: DocumentRecord, _ change: ReadingChange, from time: Instant, _ facts: (_ new: Int) -> DocumentFacts
  ) throws {
    let new = try transaction.reread(change, of: document.id, from: time, in: stamp)
    // The document came into its state when it was fetched, and asking for it again counts from there.
    try transaction.complete(document.id, facts(new), at: document.changed)
    documents.append(document.id)
  }
}

extension Pause.Subject {
  /// For people.
  package var text: String {
    switch self {
    case .source(let name): "source \(name)"
    case .origin(let name): "origin \(name)"
    }
  }
}

extension RecallRequest {
  /// What is recalled: `origin DE, document 17, of source travel, since 2020-12-01T00:00:00Z`.
  fileprivate var text: String {
    [
      Pause.Subject.origin(origin).normalized.text, document.map { "document \($0.rawValue)" },
      source.map { "of source \($0)" }, since.map { "since \($0)" },
    ].compactMap(\.self).joined(separator: ", ")
  }
}

extension FaultCode {
  /// An operator asked for another attempt, and it was not made yet.
  static let retryAsked = FaultCode(rawValue: "retry-asked")
}
