package import ExposureKeys
package import KeyNormalization

extension Ledger {
  // MARK: Words of the operator

  /// A source or an origin stands still from now on.
  package func paused(_ subject: Pause.Subject, by word: OperatorWord, at now: Instant) async throws {
    try await transact(.paused, at: now) { page in
      let pause = Pause(subject.normalized, since: now, reason: word.reason, by: word.by)
      try page.transaction.pause(pause)
      try page.enter(.paused(pause.subject, word), about: pause.subject.text, by: word)
    }
  }

  /// A paused source or origin goes on.
  ///
  /// - Returns: whether it was paused.
  package func resumed(_ subject: Pause.Subject, by word: OperatorWord, at now: Instant) async throws -> Bool {
    try await transact(.resumed, at: now) { page in
      guard try page.transaction.resume(subject) else { return false }
      try page.enter(.resumed(subject.normalized, word), about: subject.normalized.text, by: word)
      return true
    }
  }

  /// What an origin said is withdrawn.
  package func recalled(
    _ request: RecallRequest, by word: OperatorWord, at now: Instant
  ) async throws -> RecallPreview {
    try await transact(.recalled, at: now) { page in
      let stamp = try page.open(.recalled, about: Pause.Subject.origin(request.origin).normalized.text, by: word)
      let effect = try page.transaction.recall(request, in: stamp, by: word)
      try page.close(stamp, .recalled(request, effect, word))
      return effect
    }
  }

  /// Claims of a document that were put aside are admitted.
  package func heldReleased(
    _ document: DocumentID, by word: OperatorWord, at now: Instant
  ) async throws -> ImportReceipt {
    try await transact(.heldReleased, at: now) { page in
      let stamp = try page.open(.heldReleased, about: try page.subject(document), by: word)
      let receipt = try page.transaction.releaseHeld(of: document, in: stamp)
      try page.close(stamp, .heldReleased(document, new: receipt.new, word))
      return receipt
    }
  }

  /// Claims of a document that were put aside are dropped.
  ///
  /// - Returns: how many.
  package func heldDiscarded(_ document: DocumentID, by word: OperatorWord, at now: Instant) async throws -> Int {
    try await transact(.heldDiscarded, at: now) { page in
      let count = try page.transaction.discardHeld(of: document)
      try page.enter(.heldDiscarded(document, count: count, word), about: try page.subject(document), by: word)
      return count
    }
  }

  /// A refused document is not tried again.
  package func discarded(_ document: DocumentID, by word: OperatorWord, at now: Instant) async throws {
    try await transact(.discarded, at: now) { page in
      guard let record = try page.transaction.document(document) else { throw StorageFault.noDocument(document) }
      try page.transaction.move(document, to: .givenUp, fault: record.fault, nextAttempt: nil, at: now)
      try page.enter(.discarded(document, word), about: try page.subject(document), by: word)
    }
  }

  /// A refused document whose bytes are not kept is to be fetched again by the next pull.
  package func retryAsked(_ document: DocumentID, by word: OperatorWord, at now: Instant) async throws {
    try await transact(.retryAsked, at: now) { page in
      guard let record = try page.transaction.document(document) else { throw StorageFault.noDocument(document) }
      try page.transaction.move(document, to: .quarantined, fault: record.fault, nextAttempt: now, at: now)
      try page.enter(.retryAsked(document, word), about: try page.subject(document), by: word)
    }
  }

  // MARK: Housekeeping

  /// What has been kept long enough is removed.
  ///
  /// - Parameter keysExpiredBefore: claims and released keys that were not valid any more then.
  package func expired(keysExpiredBefore: Instant, at now: Instant) async throws -> ExpiryReceipt {
    try await transact(.expired, at: now) { page in
      let receipt = try page.transaction.expire(keysExpiredBefore: keysExpiredBefore, at: now)
      if receipt != ExpiryReceipt(claims: 0, released: 0, contents: 0) {
        try page.enter(.expired(receipt), about: "keys that expired before \(keysExpiredBefore)")
      }
      return receipt
    }
  }

  /// The transparency log has these entries.
  package func logged(_ entries: [QueuedEntryID], at now: Instant) async throws {
    if entries.isEmpty { return }
    try await transact(.logged, at: now) { page in
      try page.transaction.dequeue(entries)
      try page.enter(.logged(entries), about: "\(entries.count) entries")
    }
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
