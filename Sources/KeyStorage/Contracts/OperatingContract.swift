package import ExposureKeys

/// What operating asks: what stands still, what was withdrawn, and what happened.
package protocol OperatingState: AnyObject {
  /// Whether there is a key that was no longer valid then. It reads every key if there is none, so ask in a transaction that only reads.
  func hasKeys(expiredBefore limit: Instant) throws -> Bool

  func pauses() throws -> [Pause]
  func recalls() throws -> [Recall]
  /// What a recall would withdraw, without doing it.
  func preview(_ recall: RecallRequest) throws -> RecallPreview

  /// What happened, in the order of the numbers, from `start` on, at most `limit`.
  func events(from start: EventID, limit: Int) throws -> [EventRecord]
  /// The last thing that happened; `nil` in an empty store.
  func lastEvent() throws -> EventRecord?
  /// What waits for the transparency log, oldest first.
  func queuedEntries(limit: Int) throws -> [QueuedEntry]
  /// How much waits for the transparency log, and since when the oldest does; `nil` where nothing waits.
  func queueStanding() throws -> (count: Int, since: Instant)?
}

/// What operating changes.
package protocol OperatingChanges: AnyObject {
  /// Writes down that something happens, and gives it its number: greater than every one before, and never given twice.
  /// Numbers may be left out.
  func enter(_ event: NewEvent) throws -> EventStamp
  /// Puts an entry behind all that wait for the transparency log.
  func enqueue(_ bytes: [UInt8], kind: String, event: EventID) throws
  /// Takes entries off the queue, once the log has them.
  func dequeue(_ entries: [QueuedEntryID]) throws

  func pause(_ pause: Pause) throws
  /// - Returns: whether it was paused.
  @discardableResult
  func resume(_ subject: Pause.Subject) throws -> Bool

  /// Removes keys, evidence, the bytes of quarantined documents, what is kept of uploads, and routine events whose time
  /// is over. Receipts stay, and every event that brought or withdrew a claim. Of very many claims some stay for the next call,
  /// and the receipt says so.
  ///
  /// - Parameters:
  ///   - keysExpiredBefore: claims and released keys that were not valid any more then.
  ///   - removesKeys: `false` if ``OperatingState/hasKeys(expiredBefore:)`` found none; then no table of keys is read.
  ///   - contentBytes: the bytes of documents take no more than this: those of recorded documents go first, then those of
  ///     refused ones, and of each the oldest.
  @discardableResult
  func expire(
    keysExpiredBefore: Instant, removesKeys: Bool, contentBytes: Int, at now: Instant
  ) throws -> ExpiryReceipt
}

extension OperatingChanges {
  /// Removes what has been kept long enough, and nothing for want of room.
  @discardableResult
  package func expire(
    keysExpiredBefore: Instant, contentBytes: Int = .max, at now: Instant
  ) throws -> ExpiryReceipt {
    try expire(keysExpiredBefore: keysExpiredBefore, removesKeys: true, contentBytes: contentBytes, at: now)
  }
}
