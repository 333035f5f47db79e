import ExposureKeys
import KeyNormalization

@testable import KeyStorage

// The contract of stores is tested below the ledger, one operation at a time.

extension Store {
  func write<Result: Sendable>(
    _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
  ) async throws -> Result {
    try await write(as: LedgerAuthority(.local), body)
  }
}

/// Each with an event of its own.
extension StoreTransaction {
  @discardableResult
  func discover(_ names: [String], of source: String, at now: Instant) throws -> [DocumentRecord] {
    try add(documents: names, of: source, at: now).all
  }

  func record(_ batch: AdmittedBatch, of document: DocumentID, at now: Instant) throws -> ImportReceipt {
    try record(batch, of: document, in: try enter(NewEvent(.recorded, about: "a batch", at: now)))
  }

  func releaseHeld(of document: DocumentID, at now: Instant) throws -> ImportReceipt {
    try releaseHeld(of: document, in: try enter(NewEvent(.heldReleased, about: "a document", at: now)))
  }

  @discardableResult
  func recall(_ request: RecallRequest, at now: Instant) throws -> RecallPreview {
    try recall(request, in: try enter(NewEvent(.recalled, about: "an origin", at: now)), by: nil)
  }
}
