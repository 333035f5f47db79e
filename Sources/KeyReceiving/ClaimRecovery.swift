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
/// meant it, or may have meant it. What does not come back is what uploads brought, and documents of which the bytes are not kept.
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
      var receipt = RepairReceipt(damage: damage)
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
    let kept = Set(try state.released(by: series, about: about).map(\.subject))
    let lost = keys.filter { !kept.contains($0.subject) }
    try restorer.release(lost, by: series)
    return Set(lost.map(\.subject)).count
  }

  private func restore(
    _ damage: RunDamage, in state: any StoredState, _ restorer: ClaimRestorer, _ receipt: inout RepairReceipt
  ) throws {
    let lost = LostKeys(damage.ranges)
    let recalls = try state.recalls()
    var documents: [(record: DocumentRecord, events: [ArrivalStamp])] = []
    for record in try state.documents(of: nil, in: [.recorded], limit: .max) {
      let events = try restorer.arrivals(of: record.id)
      if !events.isEmpty { documents.append((record, events)) }
    }
    // What retention would have taken by now, each once.
    var gone: Set<StatedClaim> = []
    // Who said it first has brought it.
    documents.sort { ($0.events[0].id, $0.record.id) < ($1.events[0].id, $1.record.id) }
    for (record, events) in documents {
      guard let bytes = try state.content(of: record.id) else {
        receipt.notRead[record.source, default: 0] += 1
        continue
      }
      guard let settings = sources[record.source] else {
        receipt.ofNoSource[record.source, default: 0] += 1
        continue
      }
      do {
        var (claims, past) = try read(record, settings, bytes, events.map(\.id), lost, state)
        receipt.documents += 1
        for claim in past where !gone.contains(claim) {
          let kept = try state.record(of: claim.subject.key).claims
          if !kept.contains(where: { $0.claim == claim }) { gone.insert(claim) }
        }
        if record.facts?.reading?.digest != settings.readingMark(ownOrigins: ownOrigins, at: record.arrived).digest {
          receipt.readOtherwise += 1
        }
        let doubtful = withdrawDoubtful(&claims, of: record, events, recalls)
        for (event, claims) in claims.sorted(by: { $0.key < $1.key }) {
          let (count, otherStarts) = try restorer.putBack(claims, of: record.id, arrivedIn: event)
          receipt.restored += count
          receipt.doubtful += min(count, claims.count { doubtful.contains($0) })
          // An operator has admitted them, or else they would wait, or have been discarded.
          let wasDiscarded = record.facts?.rejections[AdmissionReason.otherRollingStart.rawValue] != nil
          guard !otherStarts.isEmpty, !wasDiscarded, let last = events.last?.id else { continue }
          receipt.restored +=
            try restorer.putBack(otherStarts, of: record.id, arrivedIn: last, asReleased: true).count
        }
      } catch {
        guard let fault = DocumentFault(refusing: error) else { throw error }
        receipt.refusals.append(PullReceipt.Refusal(document: "\(record.source)/\(record.name)", fault: fault))
      }
    }
    receipt.past = min(gone.count, receipt.missing)
  }

  /// Nobody knows in which of a document's events a lost claim came. Where a recall means one of them and not another, it may have been
  /// withdrawn: so it is, since a claim that is missing can be said again, and a key that is published cannot be taken back.
  ///
  /// - Returns: those that may have stood.
  private func withdrawDoubtful(
    _ claims: inout [EventID: [StatedClaim]], of record: DocumentRecord, _ events: [ArrivalStamp], _ recalls: [Recall]
  ) -> Set<StatedClaim> {
    guard events.count > 1, !recalls.isEmpty else { return [] }
    // By origin, the first event that a recall means, where there are others.
    var meant: [String?: EventID?] = [:]
    var doubtful: Set<StatedClaim> = []
    var moved: [EventID: [StatedClaim]] = [:]
    for (event, said) in claims.sorted(by: { $0.key < $1.key }) {
      for claim in said {
        if meant[claim.origin] == nil {
          let withdrawn = events.filter { event in
            recalls.contains { $0.hasWithdrawn(claim.origin, of: record.id, by: record.source, thatCameIn: event) }
          }
          meant[claim.origin] = .some(withdrawn.count < events.count ? withdrawn.first?.id : nil)
        }
        guard let first = meant[claim.origin] ?? nil else {
          moved[event, default: []].append(claim)
          continue
        }
        doubtful.insert(claim)
        moved[first, default: []].append(claim)
      }
    }
    claims = moved
    return doubtful
  }

  /// What a document says about keys of which claims are lost, by the events that brought it; and what retention would have taken.
  private func read(
    _ record: DocumentRecord, _ settings: SourceSettings, _ bytes: [UInt8], _ events: [EventID], _ lost: LostKeys,
    _ state: any StoredState
  ) throws -> (lost: [EventID: [StatedClaim]], past: [StatedClaim]) {
    let time = record.arrived
    let verified = try settings.arrival(of: record.name, kept: bytes, at: time, isVerified: true).examine().verify()
    let wasDiscarded = record.facts?.rejections[AdmissionReason.flood.rawValue] != nil
    var collector = LostClaims(
      of: record.id, events, lost, waiting: Set(try state.held(of: record.id)), admitsHeld: !wasDiscarded,
      expired: expired, in: state)
    let intake = Intake(
      ownOrigins: ownOrigins, usualVolumes: try state.usualVolumes(before: time.day, of: record.source))
    _ = try intake.accept(verified, by: settings.admissionPolicy(at: time), into: &collector)
    return (collector.all, collector.past)
  }
}

/// Key data of which claims are lost.
struct LostKeys {
  private let ranges: [LostRange]
  /// In order; none overlaps the next one.
  private var ends: [(first: UInt32, last: UInt32)] = []

  init(_ ranges: [LostRange]) {
    self.ranges = ranges
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

  /// Whether expiry had not come to a claim: it stood in what is lost, if it stood anywhere.
  func had(_ claim: StatedClaim) -> Bool {
    has(claim.subject.key) && ranges.contains { $0.has(claim.subject.key) && $0.firstEnd <= claim.endInterval }
  }
}

/// Gathers what a document says about keys of which claims are lost.
private struct LostClaims: ClaimRecorder {
  private let waiting: Set<StatedClaim>
  private let admitsHeld: Bool
  private let lost: LostKeys
  private let expired: Instant
  private var line: ArrivalLine
  /// What would have been removed by now, if it was there.
  private(set) var past: [StatedClaim] = []

  init(
    of document: DocumentID, _ events: [EventID], _ lost: LostKeys, waiting: Set<StatedClaim>, admitsHeld: Bool,
    expired: Instant, in state: any StoredState
  ) {
    self.lost = lost
    self.waiting = waiting
    self.admitsHeld = admitsHeld
    self.expired = expired
    line = ArrivalLine(events) { try state.claims(broughtBy: document, about: $0) }
  }

  var all: [EventID: [StatedClaim]] { line.all }

  mutating func record(_ batch: AdmittedBatch) throws -> ImportReceipt {
    let claims = (batch.claims + (admitsHeld ? batch.held : [])).map { StatedClaim($0, of: batch) }
    try line.add(claims.map { ($0, isLost($0)) })
    past += claims.filter { $0.end <= expired && lost.had($0) && !waiting.contains($0) }
    var receipt = ImportReceipt(beforeRecording: batch)
    receipt.new = batch.claims.count
    return receipt
  }

  private func isLost(_ claim: StatedClaim) -> Bool {
    lost.has(claim.subject.key) && claim.end > expired && !waiting.contains(claim)
  }
}

/// In which event each lost claim of a document came. Where it came in pieces, that is the event of the claim in front of it that is
/// there; in front of the first one, of the one behind.
///
/// The store is asked about a few claims around each lost one, and about more only where none of these is there.
struct ArrivalLine {
  typealias Question = (Set<TemporaryExposureKey>) throws -> [KeptClaim]

  private let events: [EventID]
  private let ask: Question
  private var found: [EventID: [StatedClaim]] = [:]
  /// Of which no claim in front was met so far.
  private var early: [StatedClaim] = []
  /// The event of the last claim that was met.
  private var last: EventID?
  /// What the document says behind that, in its order.
  private var line: [(claim: StatedClaim, isLost: Bool)] = []

  private static let fewest = 16
  private static let longest = 65_536

  init(_ events: [EventID], asking ask: @escaping Question) {
    self.events = events
    self.ask = ask
    if events.count == 1 { last = events.first }
  }

  /// The lost claims by their events.
  var all: [EventID: [StatedClaim]] {
    var all = found
    if !early.isEmpty, let first = events.first { all[first, default: []] += early }
    return all
  }

  /// - Parameter claims: in the order of the document, and whether each is lost, unless it is met.
  mutating func add(_ claims: [(claim: StatedClaim, isLost: Bool)]) throws {
    if events.count == 1, let event = events.first {
      let lost = claims.filter(\.isLost).map(\.claim)
      if !lost.isEmpty { found[event, default: []] += lost }
      return
    }
    let start = line.count
    line += claims
    let places = line.indices[start...].filter { line[$0].isLost }
    if !places.isEmpty || !early.isEmpty {
      try place(places)
    } else if line.count > Self.longest {
      try place([line.count])
      line = []
    }
  }

  /// - Parameter places: in front of each it is to be known which event was the last, and whether what stands there is met.
  private mutating func place(_ places: [Int]) throws {
    var events: [Int: EventID] = [:]
    var isAsked = [Bool](repeating: false, count: line.count)
    func look(_ wanted: some Sequence<Int>) throws {
      let places = wanted.filter { $0 < line.count && !isAsked[$0] }
      guard !places.isEmpty else { return }
      let kept = try ask(Set(places.map { line[$0].claim.subject.key }))
      let known = Dictionary(kept.map { ($0.claim, $0.event) }, uniquingKeysWith: { first, _ in first })
      for place in places {
        isAsked[place] = true
        if let event = known[line[place].claim] { events[place] = event }
      }
    }
    // In front of the first claim that is met nobody says which event it was.
    var (start, end) = (0, Self.fewest)
    while last == nil, events.isEmpty, start < line.count {
      try look(start..<min(end, line.count))
      (start, end) = (end, end * 4)
    }
    var (open, width) = (places, Self.fewest)
    while !open.isEmpty {
      var wanted: [Int] = []
      for place in open { wanted += max(wanted.last.map { $0 + 1 } ?? 0, place - width)..<place + 1 }
      try look(wanted)
      var met = events.keys.sorted()[...]
      var before: Int?
      open.removeAll { place in
        while let next = met.first, next < place { (before, met) = (next, met.dropFirst()) }
        return place <= width || before.map { $0 >= place - width } ?? false
      }
      width *= 4
    }
    for (place, one) in line.enumerated() {
      if let event = events[place] {
        last = event
        if !early.isEmpty { found[event, default: []] += early }
        early = []
      } else if one.isLost {
        if let last { found[last, default: []].append(one.claim) } else { early.append(one.claim) }
      }
    }
    // What was asked about once is not met later either.
    let known = events.keys.max() ?? -1
    line = line.indices.filter { $0 > known && !isAsked[$0] }.map { (line[$0].claim, false) }
  }
}

extension StatedClaim {
  /// When the key is not valid any more.
  fileprivate var end: Instant { IntervalNumber(endInterval).start }
  fileprivate var endInterval: Int64 { Int64(subject.rollingStart) + Int64(statement.rollingPeriod) }
}

/// What a repair did; as JSON it is described by `schemas/store-repair.schema.json`.
package struct RepairReceipt: Hashable, Sendable {
  package let damage: StoreDamage
  /// Claims that are there again.
  package fileprivate(set) var restored = 0
  /// Of these, how many are withdrawn since their document came in several pieces, of which a recall means one and not another.
  package fileprivate(set) var doubtful = 0
  /// Claims that stood in what was lost, and that retention takes in any case.
  package fileprivate(set) var past = 0
  /// By series, releases that are there again.
  package private(set) var releases: [String: Int] = [:]
  /// By series, bundles that are not there, where something that was released with them may be lost.
  package private(set) var goneBundles: [String: [String]] = [:]
  /// Documents that were read again, and how many of them had been read by another policy than the one that is configured now.
  package fileprivate(set) var documents = 0
  package fileprivate(set) var readOtherwise = 0
  /// By source, documents that brought claims and that could not be read again, since their bytes are not kept. Uploads are among them.
  package fileprivate(set) var notRead: [String: Int] = [:]
  /// By source, those whose bytes are kept, and of which the configuration does not say how they are read.
  package fileprivate(set) var ofNoSource: [String: Int] = [:]
  /// Those that cannot be read or trusted any more.
  package fileprivate(set) var refusals: [PullReceipt.Refusal] = []

  fileprivate init(damage: StoreDamage) { self.damage = damage }

  fileprivate mutating func note(_ found: RecoveredReleases, restored: Int, of series: String) {
    let lost = max(0, Int(clamping: damage.releases[series]?.lost ?? 0))
    releases[series] = min(restored, lost)
    // As many as were lost came back, and nothing else, or else nobody knows.
    if restored != lost, !found.gone.isEmpty { goneBundles[series] = found.gone }
  }

  /// How many claims were lost, would still be kept, and did not come back.
  package var missing: Int { max(0, damage.lostClaims - restored - past) }
  /// The same of what series have released.
  package var missingReleases: [String: Int] {
    damage.releases.reduce(into: [:]) { missing, series in
      let count = max(0, Int(clamping: series.value.lost) - (releases[series.key] ?? 0))
      if count > 0 { missing[series.key] = count }
    }
  }
  package var isWhole: Bool { missing == 0 && missingReleases.isEmpty && goneBundles.isEmpty }
}
