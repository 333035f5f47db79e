package import ExposureKeys

/// What receiving asks: how far each source is, and what became of its documents.
package protocol ReceivingState: AnyObject {
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
  /// Recorded documents of a source some of whose keys were rejected for this reason, and whose bytes are kept.
  func documents(of source: String, rejecting reason: String) throws -> [DocumentRecord]
  /// The documents that wait for the operator: refused ones in quarantine, and recorded ones of which claims are held.
  ///
  /// - Parameter limit: how many of them, what changed last first.
  func waitingDocuments(limit: Int) throws -> WaitingDocuments
  /// How many claims of a document are put aside for the operator, by the code of the reason; what a refused document says is not
  /// among them. They are counted, so that it takes the longer the more there are.
  func holds(of document: DocumentID) throws -> [String: Int]
  func document(_ id: DocumentID) throws -> DocumentRecord?
  func document(named name: String, of source: String) throws -> DocumentRecord?
  /// The bytes as they were received: of a quarantined document, or the evidence of a recorded one, while they are kept.
  func content(of document: DocumentID) throws -> [UInt8]?
  /// What salts the log's commitment to a document; `nil` where its bytes are not kept any more: it is gone with them.
  func salt(of document: DocumentID) throws -> [UInt8]?
  /// The documents whose bytes are kept, by number, with how many bytes there are of each.
  func keptContents() throws -> [(document: DocumentID, byteCount: Int)]
  /// How many documents of a source are in each state, and the sum of their counts.
  func summary(of source: String) throws -> SourceSummary
  /// The uploads that came with this certificate, by the digest of it.
  func uploads(certificate digest: String) throws -> [UploadRecord]
}

extension ReceivingState {
  /// A document as the operator sees it.
  package func waiting(_ document: DocumentRecord) throws -> WaitingDocument {
    WaitingDocument(document, holds: try holds(of: document.id))
  }
}

/// A document that may wait for the operator.
@dynamicMemberLookup
package struct WaitingDocument: Hashable, Sendable {
  package let record: DocumentRecord
  /// How many of its claims are put aside for the operator, by the code of the reason.
  package let holds: [String: Int]
  /// How many those are.
  package var held: Int { holds.values.reduce(0, +) }

  package init(_ record: DocumentRecord, holds: [String: Int]) { (self.record, self.holds) = (record, holds) }

  package subscript<Value>(dynamicMember member: KeyPath<DocumentRecord, Value>) -> Value { record[keyPath: member] }
}

/// Some of the documents that wait for the operator, and how many there are.
package struct WaitingDocuments: Hashable, Sendable {
  /// What changed last first.
  package let newest: [WaitingDocument]
  package let count: Int

  package init(newest: [WaitingDocument], count: Int) { (self.newest, self.count) = (newest, count) }
}

/// What receiving changes.
package protocol ReceivingChanges: AnyObject {
  /// Adds the documents that the source did not have yet, as `discovered`, in this order.
  func add(documents names: [String], of source: String, at now: Instant) throws -> DiscoveredDocuments
  /// Moves a document to another state. `fault` is kept for `quarantined` and `givenUp`.
  func move(
    _ document: DocumentID, to state: DocumentState, fault: DocumentFault?, nextAttempt: Instant?, at now: Instant)
    throws
  /// Keeps the bytes of a document until `end`.
  func keep(_ bytes: StoredBytes, of document: DocumentID, until end: Instant) throws
  /// Keeps what salts the log's commitment to a document for as long as its bytes; nothing, where these are not kept.
  func keep(salt: [UInt8], of document: DocumentID) throws
  /// The document is recorded: its facts and what became of its keys.
  func complete(_ document: DocumentID, _ facts: DocumentFacts, at now: Instant) throws
  /// Moves the cursor of a source: what its peer has to be asked next.
  func setCursor(_ cursor: String?, of source: String) throws
  /// Remembers how an attempt to reach a source ended.
  func setAttempt(_ attempt: SourceAttempt, of source: String) throws
  /// Remembers that a token was used, until it has ended; see ``UsedToken``.
  ///
  /// - Returns: whether this is the first time. It is not where the store may have forgotten an earlier one.
  func use(_ token: UsedToken) throws -> Bool
  /// Remembers an upload, without anything of its keys.
  func note(_ upload: UploadRecord) throws
}
