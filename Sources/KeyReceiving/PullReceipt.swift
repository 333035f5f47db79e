package import ExposureKeys
package import KeyNormalization
internal import KeyStorage

/// What one pull of one source did. `received = new + known + rejected + held`, over the documents that it recorded.
package struct PullReceipt: Hashable, Sendable {
  package enum Outcome: Hashable, Sendable {
    case done
    /// Its operator has paused it.
    case paused
    /// By its schedule, or after a failure, it is not asked before this instant.
    case waiting(until: Instant)
    /// Nothing that was recorded before the fault is lost.
    case failed(DocumentFault)
  }

  package struct Refusal: Hashable, Sendable, Encodable {
    package let document: String
    package let fault: DocumentFault
  }

  package let source: String
  package internal(set) var outcome = Outcome.done
  /// Documents that the peer listed.
  package internal(set) var listed = 0
  package internal(set) var recorded = 0
  /// Documents that were asked for again and have not changed.
  package internal(set) var unchanged = 0
  package internal(set) var refusals: [Refusal] = []
  /// Documents that could not be fetched.
  package internal(set) var failures: [Refusal] = []
  /// What was odd about the peer's answers and yet no fault.
  package internal(set) var notices: [DocumentFault] = []
  package internal(set) var byteCount = 0
  /// Of the keys of all documents that were recorded.
  package internal(set) var counts = KeyCounts()
  package internal(set) var cursor: String?

  init(source: String) { self.source = source }

  mutating func add(_ facts: DocumentFacts) {
    recorded += 1
    byteCount += facts.byteCount
    counts += facts.counts
  }
}

// MARK: JSON

extension PullReceipt: Encodable {
  private enum CodingKeys: String, CodingKey {
    case source, outcome, fault, listed, recorded, unchanged, bytes, received, new, known, rejected, held, rejections,
      allowances, refused, notices, cursor, notFetched, waitingUntil
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(source, forKey: .source)
    switch outcome {
    case .done: try members.encode("done", forKey: .outcome)
    case .paused: try members.encode("paused", forKey: .outcome)
    case .waiting(let instant):
      try members.encode("waiting", forKey: .outcome)
      try members.encode(instant.description, forKey: .waitingUntil)
    case .failed(let fault):
      try members.encode("failed", forKey: .outcome)
      try members.encode(fault, forKey: .fault)
    }
    try members.encode(listed, forKey: .listed)
    try members.encode(recorded, forKey: .recorded)
    try members.encode(unchanged, forKey: .unchanged)
    try members.encode(byteCount, forKey: .bytes)
    try members.encode(counts.received, forKey: .received)
    try members.encode(counts.new, forKey: .new)
    try members.encode(counts.known, forKey: .known)
    try members.encode(counts.rejected, forKey: .rejected)
    try members.encode(counts.held, forKey: .held)
    try members.encode(counts.rejections, forKey: .rejections)
    try members.encode(counts.allowances, forKey: .allowances)
    try members.encode(refusals, forKey: .refused)
    try members.encode(failures, forKey: .notFetched)
    try members.encode(notices, forKey: .notices)
    try members.encodeIfPresent(cursor, forKey: .cursor)
  }
}
