internal import BundleTrust
package import ExposureKeys
package import KeyFormats
package import KeyIntake
internal import KeyNormalization
package import KeyStorage

/// The one way in, for uploads: what a door has let in is admitted and recorded, and is durable before the door answers.
///
/// Of an upload nothing else is kept: no body, and no file of one person's keys.
package struct UploadIntake: Sendable {
  private let source: UploadSource
  private let queue: CommitQueue
  private let clock: @Sendable () -> Instant

  /// - Parameter ledger: of the gateway's own store, or of one that is opened beside it as an operator.
  package init(_ source: UploadSource, ledger: Ledger, clock: @escaping @Sendable () -> Instant) {
    self.source = source
    self.clock = clock
    queue = CommitQueue(ledger: ledger, door: source.name, clock: clock)
  }

  /// What became of an upload that was taken.
  package struct Receipt: Hashable, Sendable {
    /// Keys that were taken, new or known; a repeated one counts once.
    package var accepted: Int
    /// Each key that was dropped, in their order: where it stood, and `rolling period 145, allowed 1...144`.
    package var dropped: [RejectedKey]
  }

  /// Why an upload is refused as a whole.
  package enum Refusal: Error, Hashable, Sendable {
    /// Its keys are not one person's, or none of them can be taken.
    case fault(String)
    /// So many uploads wait that no more are taken now.
    case busy
  }

  /// Admits and records an upload. When this returns, its keys are durable.
  ///
  /// - Parameters:
  ///   - keys: what the door has read, with the keys that were no keys.
  ///   - certificate: lower-case hexadecimal SHA-256 of the certificate that let it in.
  /// - Throws: ``Refusal``, and what the store throws.
  package func accept(_ keys: DecodedDocument, certificate: String?, byteCount: Int) async throws -> Receipt {
    let arrival = Arrival(
      try addressed(keys), named: "upload", from: Sender(name: source.name, origin: source.origin),
      vouching: .operator, at: clock())
    var recorder = BatchCollector()
    var rejected: [RejectedKey] = []
    let summary = try Intake().accept(arrival, by: source.admissionPolicy, into: &recorder) { rejected.append($0) }
    rejected.sort { $0.position < $1.position }
    guard let batch = recorder.batch else { return Receipt(accepted: 0, dropped: rejected) }

    let persons = PersonsKeys(batch)
    guard persons.count > 0 else {
      let faults = rejected.map { "key \($0.position): \($0.detail)" }
      throw Refusal.fault("no key can be taken: \(faults.joined(separator: "; "))")
    }
    if let fault = persons.fault { throw Refusal.fault(fault) }
    try await queue.record(
      AdmittedUpload(
        door: source.name, batch: batch, regions: source.regions, certificate: certificate, byteCount: byteCount,
        rejections: summary.counts.rejections(beside: batch)))
    return Receipt(accepted: persons.count, dropped: rejected)
  }

  /// Takes as long as an upload would, and takes nothing: for requests that only look like one.
  package func pass() async throws { try await queue.pass() }

  /// The keys, for the regions of the door.
  private func addressed(_ keys: DecodedDocument) throws -> DecodedDocument {
    var keys = keys
    var regions = RegionTable()
    guard let number = regions.intern(RegionClaim(origin: nil, visited: source.regions)) else { return keys }
    keys.regions = regions
    for index in keys.keys.indices { keys.keys[index].regions = number }
    return keys
  }
}

/// Keeps what was admitted, to be recorded with other uploads.
private struct BatchCollector: ClaimRecorder {
  private(set) var batch: AdmittedBatch?

  mutating func record(_ batch: AdmittedBatch) -> ImportReceipt {
    self.batch = batch
    return ImportReceipt(beforeRecording: batch)
  }
}

extension KeyCounts {
  /// Those of keys that were no keys: the batch has the others.
  fileprivate func rejections(beside batch: AdmittedBatch) -> [String: Int] {
    var rest = rejections
    for rejection in batch.rejected { rest[rejection.reason.rawValue, default: 0] -= 1 }
    return rest.filter { $0.value > 0 }
  }
}
