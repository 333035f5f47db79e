package import ExposureKeys
package import KeyNormalization

/// What the gateway needs from a store. Everything happens in transactions: a body that throws leaves nothing behind.
///
/// A body runs without suspension and may run on any thread. Implementations pass the contract suite in `StorageTests`.
package protocol KeyStorage: Sendable {
  /// Runs `body` on one state of the store, which does not change meanwhile.
  func read<Result: Sendable>(_ body: @escaping @Sendable (any StoredState) throws -> Result) async throws -> Result

  /// Runs `body`, and keeps what it did when it returns. One body at a time.
  func write<Result: Sendable>(_ body: @escaping @Sendable (any StorageTransaction) throws -> Result) async throws
    -> Result
}

/// One state of the store, to read.
package protocol StoredState: AnyObject {
  // MARK: Receiving

  /// Every source that was ever asked or paused, by name.
  func sources() throws -> [SourceRecord]
  func source(named name: String) throws -> SourceRecord?
  /// Documents in the order in which they were discovered.
  ///
  /// - Parameters:
  ///   - source: `nil` is all.
  ///   - states: which states.
  ///   - limit: the newest this many.
  func documents(of source: String?, in states: Set<DocumentState>, limit: Int) throws -> [DocumentRecord]
  func document(_ id: DocumentID) throws -> DocumentRecord?
  func document(named name: String, of source: String) throws -> DocumentRecord?
  /// The bytes as they were received: of a quarantined document, or the evidence of a recorded one, while they are kept.
  func content(of document: DocumentID) throws -> [UInt8]?
  /// How many documents of a source are in each state, and the sum of their counts.
  func summary(of source: String) throws -> SourceSummary

  /// Claims in the order of their key data, about `limit` of them and never a part of one key's, from `start` on.
  /// Withdrawn claims are left out.
  func claims(from start: TemporaryExposureKey, limit: Int) throws -> ClaimPage
  /// Everything that is said about one key, withdrawn claims left out.
  func claims(about key: TemporaryExposureKey) throws -> ClaimSet
  func claimCount() throws -> Int
  /// How many keys each origin sent on an average day with any, for the flood rule.
  func usualVolumes() throws -> [String: Int]

  func pauses() throws -> [Pause]
  func recalls() throws -> [Recall]
  /// What a recall would withdraw, without doing it.
  func preview(_ recall: RecallRequest) throws -> RecallPreview

  // MARK: Publishing

  /// Bundles of a series in the order in which they were staged; `nil` is all series.
  func bundles(of series: String?, in states: Set<BundleState>) throws -> [BundleRecord]
  /// The bytes of a staged bundle; `nil` once it was published.
  func content(of bundle: BundleID) throws -> [UInt8]?
  /// What a series has released, in the order of key data and rolling start, from `start` on, at most `limit`.
  func released(by series: String, from start: TemporaryExposureKey, limit: Int) throws -> [ReleasedKey]
  /// A value that the gateway keeps under a name: a series' secret, the time of its last round.
  func note(named name: String) throws -> [UInt8]?
}

/// One state of the store, to change.
package protocol StorageTransaction: StoredState {
  // MARK: Receiving

  /// Adds the documents that the source did not have yet, as `discovered`, in this order.
  ///
  /// - Returns: all of them as they stand, in the order asked for.
  @discardableResult
  func discover(_ names: [String], of source: String, at now: Instant) throws -> [DocumentRecord]
  /// Moves a document to another state. `fault` is kept for `quarantined` and `givenUp`.
  func move(
    _ document: DocumentID, to state: DocumentState, fault: DocumentFault?, nextAttempt: Instant?, at now: Instant)
    throws
  /// Keeps the bytes of a document until `end`.
  func keep(_ bytes: [UInt8], of document: DocumentID, until end: Instant) throws
  /// Adds the claims that are new; held claims are put aside for the operator.
  func record(_ batch: AdmittedBatch, of document: DocumentID, at now: Instant) throws -> ImportReceipt
  /// The document is recorded: its facts and what became of its keys.
  func complete(_ document: DocumentID, _ facts: DocumentFacts, at now: Instant) throws
  /// Moves the cursor of a source: what its peer has to be asked next. Belongs in the transaction that records.
  func setCursor(_ cursor: String?, of source: String) throws
  /// Remembers how an attempt to reach a source ended.
  func setAttempt(_ attempt: SourceAttempt, of source: String) throws

  /// Admits what was put aside for the operator.
  func releaseHeld(of document: DocumentID, at now: Instant) throws -> ImportReceipt
  /// Drops what was put aside for the operator.
  func discardHeld(of document: DocumentID) throws -> Int

  func pause(_ pause: Pause) throws
  /// - Returns: whether it was paused.
  @discardableResult
  func resume(_ subject: Pause.Subject) throws -> Bool
  /// Withdraws claims. They stay known, so that the same ones coming in again change nothing.
  @discardableResult
  func recall(_ request: RecallRequest, at now: Instant) throws -> RecallPreview

  /// Removes keys, evidence and the bytes of quarantined documents whose time is over. Receipts stay.
  ///
  /// - Parameter keysExpiredBefore: claims and released keys that were not valid any more then.
  @discardableResult
  func expire(keysExpiredBefore: Instant, at now: Instant) throws -> ExpiryReceipt

  // MARK: Publishing

  /// Adds a bundle as `staged`, with its bytes.
  func stage(_ bundle: NewBundle, _ content: [UInt8], at now: Instant) throws -> BundleRecord
  /// The keys that a series releases with a bundle; a key released earlier is replaced.
  func release(_ keys: [ReleasedKey], by series: String) throws
  /// Moves a bundle to another state; `published` drops the bytes.
  func move(_ bundle: BundleID, to state: BundleState, at now: Instant) throws
  func setNote(_ value: [UInt8]?, named name: String) throws
}
