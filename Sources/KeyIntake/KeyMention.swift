package import ExposureKeys
internal import KeyFormats
package import KeyNormalization

/// One place where a document names a key: what its sender said there, and what admission makes of it.
package struct KeyMention: Sendable {
  package enum Reading: Sendable {
    /// As the source's policy reads it.
    case admitted(StatedClaim)
    case heldForOperator
    case rejected(AdmissionReason, detail: String)
  }

  package let document: String
  package let source: String
  package let policy: String
  /// Counted from 0 over all keys of the document.
  package let position: Int
  /// As its sender made it; `regions` has the names.
  package let sent: ClaimedKey
  package let regions: RegionClaim
  package let reading: Reading
  package let allowances: [Allowance]

  /// Reads a document for what it says about one key. Other keys are passed over, so it costs no memory for them; how many
  /// there are is nothing to the rules that ask for it.
  ///
  /// - Parameters:
  ///   - isRefused: whether the document may have a fault: what stands before it is read, and this throws.
  ///   - take: is given each mention with the claims that it makes.
  /// - Throws: `FormatError`, ``FileFault``.
  package static func read(
    _ key: TemporaryExposureKey, in verified: VerifiedArrival, by policy: Policy, _ reading: ReadingPolicy? = nil,
    intake: Intake = Intake(), isRefused: Bool = false, _ take: (KeyMention, AdmittedBatch) -> Void
  ) throws {
    var admission = intake.admission(of: verified, by: reading ?? policy.reading)
    _ = try verified.decode(isRefused: isRefused) { chunk, context in
      for offset in 0..<chunk.keys.count where chunk.keys[offset].key == key {
        let sent = chunk.keys[offset]
        let batch = admission.admit(sent, regions: context.regions)
        let mention = KeyMention(
          verified.arrival, policy, at: chunk.documentIndex(ofKeyAt: offset), sent: sent,
          regions: context.regions[sent.regions], batch)
        take(mention, batch)
      }
    }
  }

  private init(
    _ arrival: Arrival, _ policy: Policy, at position: Int, sent: ClaimedKey, regions: RegionClaim,
    _ batch: AdmittedBatch
  ) {
    document = arrival.name
    source = arrival.sender.name
    self.policy = policy.name
    self.position = position
    self.sent = sent
    self.regions = regions
    allowances = Allowance.allCases.filter { batch.allowances[$0] != nil }
    if let rejection = batch.rejected.first {
      reading = .rejected(rejection.reason, detail: rejection.reason.detail(rejection.value))
    } else {
      reading = batch.claims.first.map { .admitted(StatedClaim($0, of: batch)) } ?? .heldForOperator
    }
  }
}

extension Admission {
  /// Judges one key by itself.
  fileprivate mutating func admit(_ key: ClaimedKey, regions: RegionTable) -> AdmittedBatch {
    withUnsafePointer(to: key) { admit(UnsafeBufferPointer(start: $0, count: 1), regions: regions) }
  }
}
