internal import BundleTrust
package import ExposureKeys
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization
package import KeyPeers
package import KeyStorage

/// Reads the documents of a source again, from the bytes that are kept, by the policy that is configured now. No peer is
/// asked.
///
/// Each document is judged as at the time when it came, so that the policy alone makes a difference. What was decided about
/// a claim stays: what is held or was discarded stays so, and recalls hold for what is read now. Documents whose bytes are
/// not kept, or that nobody stands behind any more, stay as they were read.
package struct Rereading: Sendable {
  private let source: SourceSettings
  private let ownOrigins: Set<String>

  package init(of source: SourceSettings, ownOrigins: Set<String>) {
    self.source = source
    self.ownOrigins = ownOrigins
  }

  /// What would change.
  package func preview(in state: any StoredState) throws -> RereadReceipt {
    try run(in: state, isDone: false) { _, _ in }
  }

  /// Replaces what the documents were read to say, in one transaction.
  package func carryOut(in ledger: Ledger, by word: Attribution, at now: Instant) async throws -> RereadReceipt {
    try await ledger.reread(source.name, by: word, at: now) { state, replacer in
      try run(in: state, isDone: true) { document, reading in
        try replacer.replace(document, reading.change, from: document.arrived) { reading.facts(new: $0) }
      }
    }
  }

  private func run(
    in state: any StoredState, isDone: Bool, _ apply: (DocumentRecord, DocumentReading) throws -> Void
  ) throws -> RereadReceipt {
    var receipt = RereadReceipt(source: source.name, policy: source.reading.name, isDone: isDone)
    let digest = source.readingMark(ownOrigins: ownOrigins, at: Instant(secondsSince1970: 0)).digest
    for document in try state.documents(of: source.name, in: [.recorded], limit: .max) {
      guard let facts = document.facts, facts.received > 0 else { continue }
      guard facts.reading?.digest != digest else {
        receipt.alreadyRead += 1
        continue
      }
      guard let bytes = try state.content(of: document.id) else {
        receipt.notKept += 1
        continue
      }
      do {
        let reading = try read(document, facts, bytes, state)
        receipt.add(reading, before: facts)
        try apply(document, reading)
      } catch {
        guard let fault = DocumentFault(refusing: error) else { throw error }
        receipt.refusals.append(PullReceipt.Refusal(document: document.name, fault: fault))
      }
    }
    return receipt
  }

  private func read(
    _ document: DocumentRecord, _ facts: DocumentFacts, _ bytes: [UInt8], _ state: any StoredState
  ) throws -> DocumentReading {
    let reading = try KeptReading(of: document, bytes, from: source, ownOrigins: ownOrigins, in: state)
    let summary = reading.summary
    var newFacts = facts
    newFacts.counts = summary.counts
    newFacts.vouchedBy = summary.voucher
    newFacts.reading = source.readingMark(ownOrigins: ownOrigins, at: document.arrived)
    return DocumentReading(
      reading.collector, newFacts,
      discarded: DiscardedClaims(facts, admissible: summary.counts.new + summary.counts.held),
      of: document.id, kept: try state.keptClaims(about: reading.keys), held: try state.held(of: document.id))
  }
}

/// What the kept bytes of a document say, as at the time when it came.
struct KeptReading {
  /// Also those that are rejected now.
  private(set) var keys: Set<TemporaryExposureKey> = []
  private(set) var collector = ReadingCollector()
  let summary: IntakeSummary

  /// - Throws: why the document cannot be read, or why its signer or host is not trusted.
  init(
    of document: DocumentRecord, _ bytes: [UInt8], from source: SourceSettings, ownOrigins: Set<String>,
    in state: any StoredState
  ) throws {
    let time = document.arrived
    let arrival = source.arrival(of: document.name, kept: bytes, at: time, isVerified: true)
    let verified = try arrival.examine().verify()
    var keys: Set<TemporaryExposureKey> = []
    _ = try verified.decode { chunk, _ in
      for offset in 0..<chunk.keys.count { keys.insert(chunk.keys[offset].key) }
    }
    var collector = ReadingCollector()
    let intake = Intake(ownOrigins: ownOrigins, usualVolumes: try state.usualVolumes(before: time.day, of: source.name))
    summary = try intake.accept(verified, by: source.admissionPolicy(at: time), into: &collector)
    (self.keys, self.collector) = (keys, collector)
  }
}

/// Gathers what a document is read to say.
struct ReadingCollector: ClaimRecorder {
  private(set) var claims: Set<StatedClaim> = []
  private(set) var held: [StatedClaim: AdmissionReason] = [:]

  mutating func record(_ batch: AdmittedBatch) -> ImportReceipt {
    for claim in batch.claims { claims.insert(StatedClaim(claim, of: batch)) }
    for (claim, reason) in zip(batch.held, batch.heldReasons) { held[StatedClaim(claim, of: batch)] = reason }
    var receipt = ImportReceipt(beforeRecording: batch)
    receipt.new = batch.claims.count
    return receipt
  }
}

/// What the operator has discarded of a document. Its claims are in no table, and their number is.
struct DiscardedClaims {
  private(set) var counts: [AdmissionReason: Int] = [:]
  /// Whether the policy admits as many claims as it did; otherwise nobody knows which are new and which were discarded.
  private let admitsAsMany: Bool

  /// - Parameters:
  ///   - facts: of the reading before.
  ///   - admissible: how many claims the policy admits now.
  init(_ facts: DocumentFacts, admissible: Int) {
    for reason in [AdmissionReason.flood, .otherRollingStart] {
      if let count = facts.rejections[reason.rawValue], count > 0 { counts[reason] = count }
    }
    let before = facts.counts.new + facts.counts.known + facts.counts.held + counts.values.reduce(0, +)
    admitsAsMany = admissible == before
  }

  var isAny: Bool { !counts.isEmpty }

  /// Whether claims of which nobody knows why they were not admitted are just those that were discarded.
  func are(_ claims: Set<StatedClaim>) -> Bool {
    !counts.isEmpty && admitsAsMany && claims.count == counts.values.reduce(0, +)
  }

  /// For a claim that is not held by the reading itself.
  var reason: AdmissionReason { counts[.flood] != nil ? .flood : .otherRollingStart }
}

/// What one document is read to say now, beside what it was read to say.
private struct DocumentReading {
  var change = ReadingChange()
  /// Claims that it brought and that are read as they were.
  var same = 0
  /// Claims that the operator has discarded.
  private var dropped = 0
  private var newFacts: DocumentFacts

  /// What becomes of a claim was decided about its key and origin.
  private struct Place: Hashable {
    var subject: KeySubject
    var origin: String?

    init(_ claim: StatedClaim) { (subject, origin) = (claim.subject, claim.origin) }
  }

  /// - Parameter kept: all claims about the document's key data.
  init(
    _ read: ReadingCollector, _ facts: DocumentFacts, discarded: DiscardedClaims, of document: DocumentID,
    kept: [KeptClaim], held: [StatedClaim]
  ) {
    newFacts = facts
    let oldClaims = Set(kept.filter { $0.document == document }.map(\.claim))
    // The same claim coming in again changes nothing, also one that was withdrawn.
    let known = Set(kept.map(\.claim))
    let oldHeld = Set(held)
    let (admitted, waiting) = (Set(oldClaims.map(Place.init)), Set(held.map(Place.init)))
    var claims = read.claims
    var held: Set<StatedClaim> = []
    for claim in read.held.keys where !claims.contains(claim) {
      // The operator has released it, or it was no flood then.
      if admitted.contains(Place(claim)) { claims.insert(claim) } else { held.insert(claim) }
    }
    for claim in claims where !admitted.contains(Place(claim)) && !known.contains(claim) {
      guard waiting.contains(Place(claim)) || !discarded.counts.isEmpty else { continue }
      claims.remove(claim)
      held.insert(claim)
    }
    // What was discarded stays so. Where something else may be among it, the operator is asked again: nothing is lost.
    let unexplained = held.filter { !waiting.contains(Place($0)) }
    if discarded.are(unexplained) {
      held.subtract(unexplained)
      for claim in unexplained {
        newFacts.counts.rejections[(read.held[claim] ?? discarded.reason).rawValue, default: 0] += 1
        dropped += 1
      }
    }
    let removed = oldClaims.subtracting(claims)
    let added = claims.subtracting(known)
    // Nobody but the first origin says when a key began to be used.
    let starts = KnownStarts(kept.filter { $0.recall == nil && !removed.contains($0.claim) })
    let aside = added.filter(starts.isOtherOrigins)
    claims.subtract(aside)
    held.formUnion(aside)
    change.removed = removed.sorted(by: StatedClaim.precedes)
    change.added = added.subtracting(aside).sorted(by: StatedClaim.precedes)
    change.heldRemoved = oldHeld.subtracting(held).sorted(by: StatedClaim.precedes)
    // What the operator has to decide about waits on, whatever made it wait first.
    for claim in held.subtracting(oldHeld) {
      change.heldAdded[claim] = aside.contains(claim) ? .otherRollingStart : read.held[claim] ?? .flood
    }
    same = claims.intersection(oldClaims).count
    let all = newFacts.counts.new + newFacts.counts.held
    newFacts.counts.held = held.count
    newFacts.counts.known = max(0, all - held.count - dropped)
    newFacts.counts.new = 0
  }

  func facts(new: Int) -> DocumentFacts {
    var facts = newFacts
    let brought = min(facts.counts.known, same + new)
    facts.counts.known -= brought
    facts.counts.new = brought
    return facts
  }
}

/// Which origin was the first to name key data, and under which rolling starts.
private struct KnownStarts {
  private let claims: [TemporaryExposureKey: [KeptClaim]]

  /// - Parameter claims: those that stand.
  init(_ claims: [KeptClaim]) { self.claims = Dictionary(grouping: claims, by: \.claim.subject.key) }

  /// Whether another origin was the first to name the claim's key data, and under another rolling start.
  func isOtherOrigins(_ claim: StatedClaim) -> Bool {
    guard let known = claims[claim.subject.key] else { return false }
    let first = known.min {
      ($0.event, $0.claim.subject.rollingStart) < ($1.event, $1.claim.subject.rollingStart)
    }
    guard let start = first?.claim.subject.rollingStart, start != claim.subject.rollingStart else { return false }
    return !known.contains { $0.claim.subject.rollingStart == start && $0.claim.origin == claim.origin }
  }
}

/// What reading the documents of a source again changes; as JSON it is described by `schemas/reread.schema.json`.
package struct RereadReceipt: Hashable, Sendable {
  package let source: String
  /// The name of the policy that is configured now.
  package let policy: String
  package let isDone: Bool
  /// Documents that were read again, and how many of these say something else now.
  package fileprivate(set) var documents = 0
  package fileprivate(set) var changedDocuments = 0
  /// Those that were read by this policy already, and those whose bytes are not kept.
  package fileprivate(set) var alreadyRead = 0
  package fileprivate(set) var notKept = 0
  /// Those that cannot be read or trusted any more.
  package fileprivate(set) var refusals: [PullReceipt.Refusal] = []
  /// Claims that stay, go, come, and are put aside for the operator.
  package fileprivate(set) var same = 0
  package fileprivate(set) var removed = 0
  package fileprivate(set) var added = 0
  package fileprivate(set) var putAside = 0
  /// Keys of which a document said nothing and says something now, the other way round, or something else.
  package fileprivate(set) var gained = Keys()
  package fileprivate(set) var lost = Keys()
  package fileprivate(set) var otherwise = Keys()
  /// By the code of the reason.
  package fileprivate(set) var rejectionsBefore: [String: Int] = [:]
  package fileprivate(set) var rejectionsNow: [String: Int] = [:]

  package struct Keys: Hashable, Sendable {
    package fileprivate(set) var count = 0
    /// The first of them, for `explain`.
    package fileprivate(set) var example: TemporaryExposureKey?
    /// By origin; the lost one has no name.
    package fileprivate(set) var origins: [String: Int] = [:]

    fileprivate mutating func add(_ subject: KeySubject, _ origin: String?) {
      count += 1
      example = example ?? subject.key
      origins[origin ?? "", default: 0] += 1
    }
  }

  fileprivate init(source: String, policy: String, isDone: Bool) {
    self.source = source
    self.policy = policy
    self.isDone = isDone
  }

  package var isEmpty: Bool { removed == 0 && added == 0 && putAside == 0 }

  fileprivate mutating func add(_ reading: DocumentReading, before: DocumentFacts) {
    let change = reading.change
    documents += 1
    if !change.isEmpty { changedDocuments += 1 }
    same += reading.same
    removed += change.removed.count
    added += change.added.count
    putAside += change.heldAdded.count
    rejectionsBefore.merge(before.rejections, uniquingKeysWith: +)
    rejectionsNow.merge(reading.facts(new: 0).rejections, uniquingKeysWith: +)
    struct Place: Hashable {
      var subject: KeySubject
      var origin: String?
    }
    let old = Set(change.removed.map { Place(subject: $0.subject, origin: $0.origin) })
    let new = Set(change.added.map { Place(subject: $0.subject, origin: $0.origin) })
    func sorted(_ places: Set<Place>) -> [Place] {
      places.sorted { ($0.subject, $0.origin ?? "") < ($1.subject, $1.origin ?? "") }
    }
    for place in sorted(new.subtracting(old)) { gained.add(place.subject, place.origin) }
    for place in sorted(old.subtracting(new)) { lost.add(place.subject, place.origin) }
    for place in sorted(old.intersection(new)) { otherwise.add(place.subject, place.origin) }
  }
}
