package import BundleTrust
package import ExposureKeys
package import KeyFormats
package import KeyNormalization

/// A document with the door that it comes through and the policy by which that door reads.
package struct IncomingDocument {
  package let document: SourceDocument
  /// What the operator calls the source: `efgs`, or the file's name.
  package let name: String
  package let policy: Policy
  /// The origin of keys that name none.
  package let origin: String?
  /// Whether the source passes on others' keys and loses their origin.
  package let isRelay: Bool
  /// The origins whose keys a relay may carry; `nil` is any.
  package let carries: Set<String>?

  package init(
    _ document: SourceDocument, name: String, policy: Policy, origin: String? = nil, isRelay: Bool = false,
    carries: Set<String>? = nil
  ) {
    self.document = document
    self.name = name
    self.policy = policy
    self.origin = origin
    self.isRelay = isRelay
    self.carries = carries
  }

  /// Reads the document chunk by chunk, from the start, as its source.
  package func read(
    _ verified: VerifiedDocument, now: Instant,
    _ use: (inout KeyChunk, KeyDocument, inout Admission) throws -> Void
  ) throws -> KeyDocument {
    var admission = Admission(
      of: verified, from: Sender(name: name, isRelay: isRelay, carries: carries, origin: origin),
      policy: policy.reading,
      now: now)
    let reader = try document.open()
    var chunk = KeyChunk()
    while try document.located({ try reader.decoder.decode(into: &chunk) }) {
      try use(&chunk, reader, &admission)
      chunk.advance()
    }
    return reader
  }
}

/// Decode, verify (or the operator vouches), admit, record: every way in ends here.
package struct Intake {
  package private(set) var claims = ClaimSet()
  package private(set) var documents: [IntakeSummary] = []
  package private(set) var headers = HeaderMerge()

  private let trust: SignatureDemand?
  private let now: Instant
  private let report: (RejectedKey) throws -> Void

  /// - Parameters:
  ///   - trust: checks every export's signature first; without a ring the operator vouches for the documents.
  ///   - now: what "in the future" refers to.
  ///   - report: is shown every key that is not admitted.
  package init(
    trusting trust: SignatureDemand? = nil, now: Instant,
    report: @escaping (RejectedKey) throws -> Void = { _ in }
  ) {
    self.trust = trust
    self.now = now
    self.report = report
  }

  /// Takes in a document as a whole or, when this throws, perhaps a part of it.
  package mutating func take(_ incoming: IncomingDocument) throws {
    let name = incoming.document.name
    let verified = try incoming.document.verification(trusting: trust)
    var summary = IntakeSummary(incoming, provenance: Provenance(verified))
    let reader = try incoming.read(verified, now: now) { chunk, reader, admission in
      let batch = admission.admit(chunk, regions: reader.decoder.regions)
      for rejection in chunk.rejections { try summary.reject(RejectedKey(rejection, of: name, at: .decode), report) }
      for rejection in batch.rejected { try summary.reject(RejectedKey(rejection, of: name), report) }
      summary.receipt += claims.record(batch)
    }
    summary.format = reader.format
    summary.notes = reader.decoder.notes
    headers.add(reader.decoder.header)
    documents.append(summary)
  }
}

/// What became of one document's keys. `received = new + known + rejected + heldForOperator`.
package struct IntakeSummary: Sendable {
  package let name: String
  package let source: String
  package let policy: String
  package let origin: String?
  package let isRelay: Bool
  package let provenance: Provenance
  package internal(set) var format = KeyFormat.gaenExport
  /// Of the keys that could be decoded.
  var receipt = ImportReceipt()
  /// How many keys were rejected, by the code of the reason.
  package private(set) var rejections: [String: Int] = [:]
  /// The first of them, for showing.
  package private(set) var shownRejections: [RejectedKey] = []
  package internal(set) var notes = ReadingNotes()

  init(_ incoming: IncomingDocument, provenance: Provenance) {
    self.provenance = provenance
    name = incoming.document.name
    source = incoming.name
    policy = incoming.policy.name
    origin = incoming.origin
    isRelay = incoming.isRelay
  }

  package var received: Int { new + known + heldForOperator + rejected }
  package var new: Int { receipt.new }
  package var known: Int { receipt.known }
  package var heldForOperator: Int { receipt.heldForOperator }
  package var rejected: Int { rejections.values.reduce(0, +) }
  package var allowances: [Allowance: Int] { receipt.allowances }

  mutating func reject(_ key: RejectedKey, _ report: (RejectedKey) throws -> Void) rethrows {
    rejections[key.reason, default: 0] += 1
    if shownRejections.count < RejectedKey.shownCount { shownRejections.append(key) }
    try report(key)
  }
}
