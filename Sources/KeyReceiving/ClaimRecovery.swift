internal import BundleTrust
package import ExposureKeys
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization
package import KeyPeers
package import KeyStorage

/// Repairs the claims of a store: takes out what is damaged, and reads kept documents again for what was in it. No peer is asked.
///
/// A claim comes back as what it was: of the document that brought it first, in the event that did, and withdrawn where a recall
/// meant it. What does not come back is what uploads brought, and documents of which the bytes are not kept.
package struct ClaimRecovery: Sendable {
  private let sources: [String: SourceSettings]
  private let ownOrigins: Set<String>
  private let expired: Instant

  /// - Parameter expired: claims that were not valid any more then are gone in any case.
  package init(of sources: [SourceSettings], ownOrigins: Set<String>, expiredBefore expired: Instant) {
    self.sources = Dictionary(sources.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    self.ownOrigins = ownOrigins
    self.expired = expired
  }

  /// - Parameters:
  ///   - releases: by series, what its bundles say about what is lost.
  ///   - renewsAll: whether filters and agenda are made anew although they look whole.
  ///   - isKept: whether anything changes; otherwise it is said what would.
  /// - Returns: `nil` where nothing is damaged.
  package func carryOut(
    in ledger: Ledger, releases: [String: RecoveredReleases] = [:], renewingAll renewsAll: Bool = false,
    isKept: Bool, by word: OperatorWord, at now: Instant
  ) async throws -> RepairReceipt? {
    try await ledger.repaired(renewingAll: renewsAll, isKept: isKept, by: word, at: now) { state, damage, restorer in
      var receipt = RepairReceipt(damage: damage, isDone: isKept)
      if !damage.claims.ranges.isEmpty { try restore(damage.claims, in: state, restorer, &receipt) }
      for (series, found) in releases.sorted(by: { $0.key < $1.key }) {
        let count = try restore(found.keys, of: series, in: state, restorer)
        receipt.note(found, restored: count, of: series)
      }
      return receipt
    }
  }

  /// - Returns: how many keys are released again, which were not any more.
  private func restore(
    _ keys: [ReleasedKey], of series: String, in state: any StoredState, _ restorer: ClaimRestorer
  ) throws -> Int {
    let about = Set(keys.map(\.key.key)).sorted()
    let kept = Set(try state.released(by: series, about: about).map(\.lostSubject))
    let lost = keys.filter { !kept.contains($0.lostSubject) }
    try restorer.release(lost, by: series)
    return Set(lost.map(\.lostSubject)).count
  }

  private func restore(
    _ damage: RunDamage, in state: any StoredState, _ restorer: ClaimRestorer, _ receipt: inout RepairReceipt
  ) throws {
    let lost = LostKeys(damage.ranges)
    var documents: [(record: DocumentRecord, events: [EventID])] = []
    for record in try state.documents(of: nil, in: [.recorded], limit: .max) {
      let events = try restorer.arrivals(of: record.id)
      if !events.isEmpty { documents.append((record, events)) }
    }
    // Who said it first has brought it.
    documents.sort { ($0.events[0], $0.record.id) < ($1.events[0], $1.record.id) }
    for (record, events) in documents {
      guard let settings = sources[record.source], let bytes = try state.content(of: record.id) else {
        receipt.notRead[record.source, default: 0] += 1
        continue
      }
      do {
        let claims = try read(record, settings, bytes, events, lost, state)
        receipt.documents += 1
        if record.facts?.reading?.digest != settings.readingMark(ownOrigins: ownOrigins, at: record.arrived).digest {
          receipt.readOtherwise += 1
        }
        for (event, claims) in claims.sorted(by: { $0.key < $1.key }) {
          let (count, otherStarts) = try restorer.putBack(claims, of: record.id, arrivedIn: event)
          receipt.restored += count
          // An operator has admitted them, or else they would wait, or have been discarded.
          let wasDiscarded = record.facts?.rejections[AdmissionReason.otherRollingStart.rawValue] != nil
          guard !otherStarts.isEmpty, !wasDiscarded, let last = events.last else { continue }
          receipt.restored +=
            try restorer.putBack(otherStarts, of: record.id, arrivedIn: last, asReleased: true).count
        }
      } catch {
        guard let fault = DocumentFault(refusing: error) else { throw error }
        receipt.refusals.append(PullReceipt.Refusal(document: "\(record.source)/\(record.name)", fault: fault))
      }
    }
  }

  /// What a document says about keys of which claims are lost, by the events that brought it.
  private func read(
    _ record: DocumentRecord, _ settings: SourceSettings, _ bytes: [UInt8], _ events: [EventID], _ lost: LostKeys,
    _ state: any StoredState
  ) throws -> [EventID: [StatedClaim]] {
    let time = record.arrived
    let verified = try settings.arrival(of: record.name, kept: bytes, at: time, isVerified: true).examine().verify()
    let wasDiscarded = record.facts?.rejections[AdmissionReason.flood.rawValue] != nil
    var collector = LostClaims(
      of: record.id, events, lost, waiting: Set(try state.held(of: record.id)), admitsHeld: !wasDiscarded,
      expired: expired, in: state)
    let intake = Intake(ownOrigins: ownOrigins, usualVolumes: try state.usualVolumes(before: time.day))
    _ = try intake.accept(verified, by: settings.admissionPolicy(at: time), into: &collector)
    return collector.all
  }
}

/// Key data of which claims are lost.
private struct LostKeys {
  /// In order; none overlaps the next one.
  private var ends: [(first: UInt32, last: UInt32)] = []

  init(_ ranges: [LostRange]) {
    for range in ranges.sorted(by: { $0.first < $1.first }) {
      let last = range.end.map { $0 - 1 } ?? .max
      if let before = ends.last, range.first <= before.last {
        ends[ends.count - 1].last = max(before.last, last)
      } else {
        ends.append((range.first, last))
      }
    }
  }

  func has(_ key: TemporaryExposureKey) -> Bool {
    let prefix = UInt32(truncatingIfNeeded: key.high >> 32)
    var (low, high) = (0, ends.count)
    while low < high {
      let middle = (low + high) / 2
      if ends[middle].last < prefix { low = middle + 1 } else { high = middle }
    }
    return low < ends.count && ends[low].first <= prefix
  }
}

/// Gathers what a document says about keys of which claims are lost. Where it came in pieces, each claim is of the event of the
/// claims beside it that are there.
private struct LostClaims: ClaimRecorder {
  private let document: DocumentID
  private let events: [EventID]
  private let lost: LostKeys
  private let waiting: Set<StatedClaim>
  private let admitsHeld: Bool
  private let expired: Instant
  private let state: any StoredState
  private var found: [EventID: [StatedClaim]] = [:]
  /// Of which no neighbour was met so far.
  private var early: [StatedClaim] = []
  private var last: EventID?

  init(
    of document: DocumentID, _ events: [EventID], _ lost: LostKeys, waiting: Set<StatedClaim>, admitsHeld: Bool,
    expired: Instant, in state: any StoredState
  ) {
    self.document = document
    self.events = events
    self.lost = lost
    self.waiting = waiting
    self.admitsHeld = admitsHeld
    self.expired = expired
    self.state = state
    if events.count == 1 { last = events.first }
  }

  var all: [EventID: [StatedClaim]] {
    var all = found
    if !early.isEmpty, let first = events.first { all[first, default: []] += early }
    return all
  }

  mutating func record(_ batch: AdmittedBatch) throws -> ImportReceipt {
    let claims = (batch.claims + (admitsHeld ? batch.held : [])).map { StatedClaim($0, of: batch) }
    let neighbours = events.count == 1 ? [:] : try neighbours(of: claims)
    for claim in claims {
      if let event = neighbours[claim] {
        last = event
        found[event, default: []] += early
        early = []
      } else if lost.has(claim.subject.key), !waiting.contains(claim), claim.end > expired {
        if let last { found[last, default: []].append(claim) } else { early.append(claim) }
      }
    }
    var receipt = ImportReceipt(beforeRecording: batch)
    receipt.new = batch.claims.count
    return receipt
  }

  private func neighbours(of claims: [StatedClaim]) throws -> [StatedClaim: EventID] {
    let kept = try state.claims(broughtBy: document, about: Set(claims.map(\.subject.key)))
    return Dictionary(kept.map { ($0.claim, $0.event) }, uniquingKeysWith: { first, _ in first })
  }
}

extension ReleasedKey {
  fileprivate var lostSubject: KeySubject { KeySubject(key: key.key, rollingStart: key.rollingStartWord) }
}

extension StatedClaim {
  /// When the key is not valid any more.
  fileprivate var end: Instant {
    IntervalNumber(Int64(subject.rollingStart) + Int64(statement.rollingPeriod)).start
  }
}

/// What a repair did; as JSON it is described by `schemas/store-repair.schema.json`.
package struct RepairReceipt: Hashable, Sendable {
  package let damage: StoreDamage
  package let isDone: Bool
  /// Claims that are there again.
  package fileprivate(set) var restored = 0
  /// By series, releases that are there again, look-alikes not counted where they are more than were lost.
  package private(set) var releases: [String: Int] = [:]
  /// By series, bundles that are not there, where something that was released with them may be lost.
  package private(set) var goneBundles: [String: [String]] = [:]
  /// Documents that were read again, and how many of them had been read by another policy than the one that is configured now.
  package fileprivate(set) var documents = 0
  package fileprivate(set) var readOtherwise = 0
  /// By source, documents that brought claims and that could not be read again: their bytes are not kept, or the configuration has
  /// no such source. Uploads are among them.
  package fileprivate(set) var notRead: [String: Int] = [:]
  /// Those that cannot be read or trusted any more.
  package fileprivate(set) var refusals: [PullReceipt.Refusal] = []

  fileprivate init(damage: StoreDamage, isDone: Bool) {
    self.damage = damage
    self.isDone = isDone
  }

  fileprivate mutating func note(_ found: RecoveredReleases, restored: Int, of series: String) {
    let lost = max(0, Int(clamping: damage.releases[series]?.lost ?? 0))
    releases[series] = min(restored, lost)
    // As many as were lost came back, and nothing else, or else nobody knows.
    if restored != lost, !found.gone.isEmpty { goneBundles[series] = found.gone }
  }

  /// How many claims were lost and did not come back.
  package var missing: Int { max(0, damage.lostClaims - restored) }
  /// The same of what series have released.
  package var missingReleases: [String: Int] {
    damage.releases.reduce(into: [:]) { missing, series in
      let count = max(0, Int(clamping: series.value.lost) - (releases[series.key] ?? 0))
      if count > 0 { missing[series.key] = count }
    }
  }
  package var isWhole: Bool { missing == 0 && missingReleases.isEmpty && goneBundles.isEmpty }
}
