package import ExposureKeys
internal import KeyNormalization

/// What became of a batch.
package struct PushSettlement: Hashable, Sendable {
  package var state: PushState
  package var keys: [PushedKey]

  package init(_ state: PushState, _ keys: [PushedKey]) {
    self.state = state
    self.keys = keys
  }
}

extension Ledger {
  /// A batch is about to be sent to a destination: from now on it is sent as it is until there is an answer.
  ///
  /// - Parameter keys: those of the batch, in its order.
  package func pushStaged(
    _ push: NewPush, _ content: [UInt8], keys: [PushedKey], at now: Instant
  ) async throws -> PushRecord {
    try await transact(.pushStaged, at: now) { page in
      let record = try page.transaction.stage(push, content, at: now)
      let batched = keys.enumerated().map { position, key in
        var key = key
        (key.state, key.push, key.position, key.changed) = (.batched, record.id, position, now)
        return key
      }
      try page.transaction.note(batched, to: push.destination)
      try page.enter(.pushStaged, about: "\(push.destination)/\(push.tag)")
      return record
    }
  }

  /// The destination has answered, or it is known that it took nothing.
  package func pushSettled(_ push: PushRecord, _ settlement: PushSettlement, at now: Instant) async throws {
    try await transact(.pushSettled, at: now) { page in
      try page.transaction.move(push.id, to: settlement.state, at: now)
      try page.transaction.note(settlement.keys, to: push.push.destination)
      try page.enter(.pushSettled, about: "\(push.push.destination)/\(push.push.tag)")
    }
  }

  /// What the destination refused is to be sent again; it is noted that an operator said so.
  ///
  /// - Returns: how many keys.
  package func pushRetryAsked(_ destination: String, by word: Attribution, at now: Instant) async throws -> Int {
    try await transact(.pushRetryAsked, at: now) { page in
      let count = try page.makePending(.refused, at: destination, now)
      try page.enter(.pushRetryAsked, about: destination, by: word)
      return count
    }
  }

  /// What the destination is said to have is to be offered anew, since it has lost it, or never had it; it is noted that an
  /// operator said so. Batches that wait for their answer stay as they are.
  ///
  /// - Returns: how many keys.
  package func pushRepeatAsked(_ destination: String, by word: Attribution, at now: Instant) async throws -> Int {
    try await transact(.pushRepeatAsked, at: now) { page in
      let count = try page.makePending(.stored, at: destination, now)
      try page.enter(.pushRepeatAsked, about: destination, by: word)
      return count
    }
  }

  /// How pushing to a destination went.
  package func pushAttempted(_ attempt: PushAttempt, destination: String, at now: Instant) async throws {
    try await transact(.pushAttempted, at: now) { page in
      try page.change([NoteChange(.push(destination: destination), try encoded(attempt))])
      try page.enter(.pushAttempted, about: destination)
    }
  }
}

extension LedgerPage {
  /// The keys in that state are to be sent.
  fileprivate func makePending(_ state: PushedKeyState, at destination: String, _ now: Instant) throws -> Int {
    let all = try transaction.pushedKeys(to: destination, from: TemporaryExposureKey(high: 0, low: 0), before: nil)
    let again = all.filter { $0.state == state }.map { key in
      var key = key
      (key.state, key.failures, key.reason, key.changed) = (.pending, 0, nil, now)
      return key
    }
    try transaction.note(again, to: destination)
    return again.count
  }
}
