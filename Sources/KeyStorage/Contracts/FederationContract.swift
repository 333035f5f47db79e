package import ExposureKeys
package import KeyNormalization

/// What the federation gateway asks: what countries uploaded, and the batches that others download.
package protocol FederationState: AnyObject {
  /// The upload that has a tag: of one country, or, with `nil`, of whichever.
  func federationUpload(tagged tag: String, of country: String?) throws -> FederationUpload?
  /// Which of these rows are known, by their place; see ``NewFederationUpload/rows``.
  func knownFederationRows(_ rows: [[UInt8]]) throws -> Set<Int>
  /// Uploads that can go into a batch, oldest first: they have keys, are in no batch, were not withdrawn, nothing of them is held as too
  /// much, and neither their country nor their source is paused.
  func waitingFederationUploads(limit: Int) throws -> [FederationUpload]
  /// The upload that a document holds; `nil` for a document of another kind, or one whose upload is not kept any more.
  func federationUpload(of document: DocumentID) throws -> FederationUpload?
  /// How many uploads with keys are in no batch and were not withdrawn, and how many keys they have: those that wait, and those
  /// that are kept back.
  func unbatchedFederationUploads() throws -> (uploads: Int, keys: Int)
  func federationBatch(_ id: FederationBatchID) throws -> FederationBatch?
  /// Those of a batch in their order, withdrawn ones included.
  func federationUploads(in batch: FederationBatchID) throws -> [FederationUpload]
  /// The keys of an upload as they are passed on; `nil` where they are gone.
  func federationKeys(of upload: FederationUploadID) throws -> [UInt8]?
  func federationBatch(of day: Day, number: Int) throws -> FederationBatch?
  /// The first batch of a day, or of a later one.
  func firstFederationBatch(since day: Day) throws -> FederationBatch?
  func federationBatch(behind batch: FederationBatchID) throws -> FederationBatch?
  func lastFederationBatch() throws -> FederationBatch?
  /// What came since a day, by day and country, in this order.
  func federationDays(since day: Day) throws -> [FederationDay]
}

/// What the federation gateway changes.
package protocol FederationChanges: AnyObject {
  /// - Throws: ``StorageFault`` `conflict` where the country's tag or a row is taken.
  func add(_ upload: NewFederationUpload, as document: DocumentID, at now: Instant) throws -> FederationUpload
  /// Closes the next batch of a day, of these uploads.
  ///
  /// - Parameter end: how long it is kept, and its uploads with it.
  func addFederationBatch(
    of uploads: [FederationUploadID], on day: Day, until end: Instant, at now: Instant
  ) throws -> FederationBatch
  /// Uploads are passed on no more.
  func withdrawFederationUploads(
    _ uploads: FederationSelection, because reason: FederationUpload.Withdrawal
  ) throws
}

/// Which uploads are meant.
package enum FederationSelection: Hashable, Sendable {
  case recalled(RecallRequest)
  case document(DocumentID)
}

/// Why claims of an upload are held so that the whole upload waits. What is held because another origin has named a key
/// first concerns this gateway's belief, and not what the country said.
package enum FederationHolds {
  package static let reasons: [AdmissionReason] = [.flood, .tooManyKeysADay]

  /// - Parameter holds: those of a document, by their code.
  static func keepBack(_ holds: [String: Int]) -> Bool { reasons.contains { holds[$0.rawValue, default: 0] > 0 } }
}
