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
  private let held: HeldUploadSource
  private let ledger: Ledger
  private let queue: CommitQueue
  private let clock: @Sendable () -> Instant

  /// - Parameter ledger: of the gateway's own store, or of one that is opened beside it as an operator.
  package init(_ source: HeldUploadSource, ledger: Ledger, clock: @escaping @Sendable () -> Instant) {
    held = source
    self.ledger = ledger
    self.clock = clock
    queue = CommitQueue(ledger: ledger, source: source, clock: clock)
  }

  package init(_ source: UploadSource, ledger: Ledger, clock: @escaping @Sendable () -> Instant) {
    self.init(HeldUploadSource(source), ledger: ledger, clock: clock)
  }

  /// What became of an upload that was taken.
  package struct Receipt: Hashable, Sendable {
    /// Keys that were taken, new or known; a repeated one counts once.
    package var accepted: Int
    /// Each key that was dropped, in their order: where it stood, and `rolling period 145, allowed 1...144`.
    package var dropped: [RejectedKey]
    /// Those of the accepted ones that were not known.
    package var inserted: Int
    /// What was recorded.
    package var recorded: [RevisableKey] = []
  }

  /// Why an upload is refused as a whole.
  package enum Refusal: Error, Hashable, Sendable {
    /// Its keys are not one person's.
    case fault(String)
    /// None of its keys can be taken.
    case noKeys(String)
    /// It says something about keys that are known, and may not.
    case revision(RevisionFault)
    /// What let it in was used before.
    case usedToken
    /// So many uploads wait that no more are taken now.
    case busy
  }

  /// Admits and records an upload. When this returns, its keys are durable.
  ///
  /// - Parameters:
  ///   - keys: what the door has read, with the keys that were no keys.
  ///   - regions: those that its keys are for; `nil` is what the door says.
  ///   - proof: what its sender shows to say something new about known keys; `nil` where nothing is asked for.
  ///   - certificate: lower-case hexadecimal SHA-256 of the certificate that let it in.
  ///   - token: what let it in, where that lets in once; it is used when its keys are durable, and not before.
  /// - Throws: ``Refusal``, and what the store throws.
  package func accept(
    _ keys: DecodedDocument, for regions: [String]? = nil, proof: RevisionProof? = nil, certificate: String?,
    token: UsedToken? = nil, byteCount: Int
  ) async throws -> Receipt {
    for _ in 0..<Self.attempts {
      do {
        return try await acceptOnce(
          keys, for: regions, proof: proof, certificate: certificate, token: token, byteCount: byteCount)
      } catch is CommitQueue.Overtaken {
        // What it may say is judged anew, by what the other one has said.
      }
    }
    throw Refusal.busy
  }

  /// Each time another upload of the same keys has come first, of which few can.
  private static let attempts = 8

  private func acceptOnce(
    _ keys: DecodedDocument, for regions: [String]?, proof: RevisionProof?, certificate: String?, token: UsedToken?,
    byteCount: Int
  ) async throws -> Receipt {
    let (now, source) = (clock(), held.value)
    let regions = regions ?? source.regions
    var upload = addressed(keys, to: regions)
    var revised = 0
    var places: [Int: Int] = [:]
    var known: [TemporaryExposureKey: [ClaimedKey]]?
    if let proof {
      let said = try await said(about: keys.keys)
      known = Dictionary(keys.keys.map { ($0.key, said[$0.key] ?? []) }) { first, _ in first }
      let revisions: UploadRevisions
      do throws(RevisionFault) {
        revisions = try UploadRevisions(keys.keys, known: keys.keys.map { said[$0.key] ?? [] }, proof: proof)
      } catch {
        throw Refusal.revision(error)
      }
      let kept = (revisions.new + revisions.revised).sorted()
      if kept.isEmpty, !keys.keys.isEmpty {
        // Nothing of it is new.
        try await queue.pass(redeeming: token)
        let dropped = keys.rejections.map { RejectedKey($0, of: "upload", at: .decode) }
        return Receipt(accepted: 0, dropped: dropped, inserted: 0)
      }
      revised = revisions.revised.count
      let all = keys.places
      upload.keys = kept.map { upload.keys[$0] }
      places = Dictionary(zip(upload.places, kept.map { all[$0] })) { first, _ in first }
    }
    let arrival = Arrival(
      upload, named: "upload", from: Sender(name: source.name, origin: source.origin), vouching: .operator, at: now)
    var recorder = BatchCollector()
    var rejected: [RejectedKey] = []
    let summary = try Intake().accept(arrival, by: source.admissionPolicy(at: now), into: &recorder) {
      rejected.append($0)
    }
    rejected = rejected.map { key in
      key.step == .admit ? places[key.position].map(key.placed) ?? key : key
    }.sorted { $0.position < $1.position }
    guard let batch = recorder.batch else {
      if token != nil { try await queue.pass(redeeming: token) }
      return Receipt(accepted: 0, dropped: rejected, inserted: 0)
    }

    let persons = PersonsKeys(batch)
    guard persons.count > 0 else {
      let faults = rejected.map { "key \($0.position): \($0.detail)" }
      throw Refusal.noKeys("no key can be taken: \(faults.joined(separator: "; "))")
    }
    if let fault = persons.fault { throw Refusal.fault(fault) }
    try await queue.record(
      AdmittedUpload(
        door: source.name, batch: batch, regions: regions, certificate: certificate,
        isProven: certificate != nil && proof?.isIssued == true, byteCount: byteCount,
        rejections: summary.counts.rejections(beside: batch), token: token, known: known))
    return Receipt(
      accepted: persons.count, dropped: rejected, inserted: max(0, persons.count - revised),
      recorded: proof == nil ? [] : upload.keys.compactMap(RevisableKey.init))
  }

  /// Takes as long as an upload would, and takes nothing: for requests that only look like one.
  ///
  /// - Parameter token: what let in somebody without keys; it is used from then on.
  package func pass(redeeming token: UsedToken? = nil) async throws { try await queue.pass(redeeming: token) }

  private func addressed(_ keys: DecodedDocument, to names: [String]) -> DecodedDocument {
    var keys = keys
    var regions = RegionTable()
    guard let number = regions.intern(RegionClaim(origin: nil, visited: names)) else { return keys }
    keys.regions = regions
    for index in keys.keys.indices { keys.keys[index].regions = number }
    return keys
  }

  private func said(about keys: [ClaimedKey]) async throws -> [TemporaryExposureKey: [ClaimedKey]] {
    let (keys, door) = (Set(keys.map(\.key)), held.value.name)
    return try await ledger.read { try $0.said(about: keys, at: door) }
  }
}

extension DecodedDocument {
  /// Where each key stood among all that were sent.
  fileprivate var places: [Int] {
    let lost = Set(rejections.map(\.position.index))
    return Array((0..<keys.count + lost.count).lazy.filter { !lost.contains($0) })
  }
}

extension RevisableKey {
  fileprivate init?(_ key: ClaimedKey) {
    guard let start = key.rollingStart, let period = key.rollingPeriod else { return nil }
    self.init(key: key.key, rollingStart: start, rollingPeriod: period)
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
