package import ExposureKeys

/// The door: reads the claims of one document by its source's reading policy and admits what the rules admit.
///
/// One value a document, because the numbers of regions belong to it. Only its counts per origin change from chunk to
/// chunk. It costs no memory per key beyond the claims that it returns.
package struct Admission: Sendable {
  package let source: Source
  package let policy: ReadingPolicy

  private let context: AdmissionContext
  private let own: Set<String>
  private let usualVolumes: [String: Int]

  /// The origins met so far; the first is the lost one.
  private var origins: [OriginEntry] = []
  private var originNames = [""]
  private var originNumbers: [String: Int] = [:]
  /// What the document's region claims say, by their number.
  private var readings: [RegionReading?] = []
  private var visitedSets: [[String]] = []
  private var chunkNumber = 0
  private var statements = StatementMemory()

  private let judgesOfKeyData = AdmissionRules.judgesOfKeyData
  private let judgesOfStatements = AdmissionRules.judgesOfStatements
  private let judgesOfVolumes = AdmissionRules.judgesOfVolumes

  /// - Parameters:
  ///   - own: the gateway's own origins, when `source` is a peer; their keys are recognised when they come back.
  ///   - usualVolumes: how many keys each origin sends usually, for the flood rule.
  package init(
    source: Source, policy: ReadingPolicy, own: Set<String> = [], usualVolumes: [String: Int] = [:], now: Instant
  ) {
    self.source = source
    self.policy = policy
    self.own = Set(own.map { $0.uppercased() })
    self.usualVolumes = Dictionary(usualVolumes.map { ($0.uppercased(), $1) }, uniquingKeysWith: max)
    context = AdmissionContext(policy: policy, now: now)
    origins = [OriginEntry(facts: OriginFacts(isAllowed: policy.origins == nil || source.isRelay))]
  }

  /// Judges the keys of one chunk.
  ///
  /// - Parameter regions: the document's table, of this or a later state.
  package mutating func admit(_ chunk: borrowing KeyChunk, regions: RegionTable) -> AdmittedBatch {
    var batch = chunk.keys.withKeys { admit($0, regions: regions) }
    for index in batch.rejected.indices {
      batch.rejected[index].index = chunk.documentIndex(ofKeyAt: batch.rejected[index].index)
    }
    return batch
  }

  /// Judges keys; `firstIndex` is the document's index of the first one.
  package mutating func admit(
    _ keys: UnsafeBufferPointer<ClaimedKey>, regions: RegionTable, firstIndex: Int = 0
  ) -> AdmittedBatch {
    chunkNumber += 1
    var batch = AdmittedBatch(source: source, received: keys.count)
    batch.claims.reserveCapacity(keys.count)
    var allowances = [Int](repeating: 0, count: Allowance.allCases.count)
    if readings.count < regions.claims.count {
      readings += Array(repeating: nil, count: regions.claims.count - readings.count)
    }

    statements.makeRoom(forKeys: keys.count)
    for (offset, key) in keys.enumerated() {
      let number = Int(key.regions.rawValue)
      let region = readings[number] ?? read(regions.claims[number], number: number)
      var reading = Reading(key: key, origin: origins[region.origin].facts)
      let verdict = judge(&reading, of: region)
      if case .reject(let reason, let value) = verdict {
        batch.rejected.append(AdmissionRejection(index: firstIndex + offset, reason: reason, value: value))
        continue
      }
      origins[region.origin].facts.admitted += 1
      reading.key.regions = self.number(ofVisited: region, number: number, in: &batch)
      let claim = AdmittedClaim(
        key: reading.key, origin: self.number(ofOrigin: region.origin, in: &batch), source: SourceID(rawValue: 0))
      if verdict == .admit { batch.claims.append(claim) } else { batch.held.append(claim) }
      if !reading.allowances.isEmpty { reading.allowances.count(in: &allowances) }
    }
    for allowance in Allowance.allCases where allowances[Int(allowance.rawValue)] > 0 {
      batch.allowances[allowance] = allowances[Int(allowance.rawValue)]
    }
    return batch
  }

  /// Asks every rule, in their order, until one does not admit the claim.
  @inline(__always)
  private mutating func judge(_ reading: inout Reading, of region: RegionReading) -> AdmissionVerdict {
    var verdict = context.judge(&reading, by: judgesOfKeyData)
    guard verdict == .admit else { return verdict }
    let place = statements.place(of: reading.key)
    if let known = statements.answer(to: reading.key, at: place) {
      reading.take(known)
      verdict = known.verdict
    } else {
      let asked = reading.key
      reading.key = asked.tidied
      reading.allowances = region.allowances
      if asked.unknownFields != 0 { reading.allowances.insert(.unknownFieldsDropped) }
      verdict = context.judge(&reading, by: judgesOfStatements)
      statements.remember(
        StatementMemory.Answer(key: reading.key, allowances: reading.allowances, verdict: verdict), to: asked, at: place
      )
    }
    return verdict == .admit ? context.judge(&reading, by: judgesOfVolumes) : verdict
  }

  // MARK: Regions

  private struct OriginEntry: Sendable {
    var facts: OriginFacts
    /// Its number in the batch of chunk `chunk`.
    var batchNumber: UInt32 = 0
    var chunk = 0
  }

  /// What one region claim of the document says.
  private struct RegionReading: Sendable {
    var origin: Int
    /// A position in `visitedSets`; -1 where no regions are named.
    var visited = -1
    var allowances = AllowanceSet()
    var batchNumber: UInt32 = 0
    var chunk = 0
  }

  private mutating func read(_ claim: RegionClaim, number: Int) -> RegionReading {
    var allowances = AllowanceSet()
    let visited = claim.visited.map { Set($0.map { $0.uppercased() }).sorted() }
    if visited != claim.visited { allowances.insert(.regionsTidied) }
    var reading = RegionReading(origin: origin(of: claim, allowances: &allowances))
    reading.allowances = allowances
    if let visited {
      reading.visited = visitedSets.count
      visitedSets.append(visited)
    }
    readings[number] = reading
    return reading
  }

  private mutating func origin(of claim: RegionClaim, allowances: inout AllowanceSet) -> Int {
    let stated = claim.origin.flatMap { $0.isEmpty ? nil : $0 }
    guard !source.isRelay, let name = stated ?? source.origin else {
      allowances.insert(.originLost)
      return 0
    }
    if stated == nil { allowances.insert(.originAssumed) }
    return number(ofOriginNamed: name.uppercased())
  }

  private mutating func number(ofOriginNamed name: String) -> Int {
    if let number = originNumbers[name] { return number }
    var facts = OriginFacts(isAllowed: policy.origins?.contains(name) ?? true, isOwn: own.contains(name))
    if let factor = policy.floodFactor, let usual = usualVolumes[name] {
      let (limit, isOverflown) = usual.multipliedReportingOverflow(by: factor)
      facts.floodLimit = isOverflown ? .max : max(policy.floodFloor, limit)
    }
    origins.append(OriginEntry(facts: facts))
    originNames.append(name)
    originNumbers[name] = origins.count - 1
    return origins.count - 1
  }

  private mutating func number(ofOrigin origin: Int, in batch: inout AdmittedBatch) -> OriginID {
    guard origin != 0 else { return .lost }
    if origins[origin].chunk != chunkNumber {
      origins[origin].chunk = chunkNumber
      origins[origin].batchNumber = UInt32(batch.origins.count)
      batch.origins.append(originNames[origin])
    }
    return OriginID(rawValue: origins[origin].batchNumber)
  }

  private mutating func number(
    ofVisited region: RegionReading, number: Int, in batch: inout AdmittedBatch
  ) -> RegionClaim.ID {
    guard region.visited >= 0 else { return .none }
    guard region.chunk != chunkNumber else { return RegionClaim.ID(rawValue: region.batchNumber) }
    readings[number]?.chunk = chunkNumber
    readings[number]?.batchNumber = UInt32(batch.visited.count)
    batch.visited.append(visitedSets[region.visited])
    return RegionClaim.ID(rawValue: UInt32(batch.visited.count - 1))
  }
}

/// The claims of one chunk that the rules admitted, as the reading policy reads them. Only ``Admission`` makes one.
package struct AdmittedBatch: Sendable {
  package let source: Source
  /// How many keys were judged.
  package let received: Int
  /// The admitted claims; their numbers refer to this batch.
  package internal(set) var claims: [AdmittedClaim] = []
  /// The claims that an operator has to decide about.
  package internal(set) var held: [AdmittedClaim] = []
  package internal(set) var rejected: [AdmissionRejection] = []
  package internal(set) var allowances: [Allowance: Int] = [:]

  /// The first one is the lost origin.
  package internal(set) var origins: [String] = [""]
  /// Sets of visited regions; the first stands for none named.
  package internal(set) var visited: [[String]?] = [nil]

  init(source: Source, received: Int) {
    self.source = source
    self.received = received
  }

  /// What the operator decided to admit: the held claims alone.
  package func heldClaimsAdmitted() -> AdmittedBatch {
    var batch = AdmittedBatch(source: source, received: held.count)
    batch.claims = held
    batch.origins = origins
    batch.visited = visited
    return batch
  }
}

/// A claim that was not admitted: where it stood, which rule it broke, and with what.
package struct AdmissionRejection: Hashable, Sendable {
  /// Counted from 0 over all keys of the document, those that could not be decoded included.
  package internal(set) var index: Int
  package let reason: AdmissionReason
  /// The number that broke the rule, where it is one.
  package let value: Int32?

  /// For people: `key 17: rolling-period-out-of-range (145)`. Never key material.
  package var description: String { "key \(index): \(reason.rawValue)" + (value.map { " (\($0))" } ?? "") }
}

/// How statements of a document were read and judged before: the rules of admission, but for a few, look at nothing
/// else. A table of fixed size in which a newer entry replaces an older one.
private struct StatementMemory: Sendable {
  struct Answer {
    let key: ClaimedKey
    let allowances: AllowanceSet
    let verdict: AdmissionVerdict
  }

  private struct Entry {
    let asked: ClaimedKey
    let answer: Answer
  }

  private var entries: [Entry?] = []
  private let seed = HashSeed()

  mutating func makeRoom(forKeys count: Int) {
    guard entries.isEmpty else { return }
    var size = 16
    while size < min(count, 1024) { size *= 2 }
    entries = Array(repeating: nil, count: size)
  }

  @inline(__always)
  func answer(to key: ClaimedKey, at place: Int) -> Answer? {
    guard let entry = entries[place], entry.asked.saysTheSame(as: key) else { return nil }
    return entry.answer
  }

  mutating func remember(_ answer: Answer, to key: ClaimedKey, at place: Int) {
    entries[place] = Entry(asked: key, answer: answer)
  }

  @inline(__always)
  func place(of key: ClaimedKey) -> Int {
    func pair(_ high: Int32, _ low: UInt32) -> UInt64 { UInt64(UInt32(bitPattern: high)) << 32 | UInt64(low) }
    let times = pair(key.rollingStartWord, UInt32(bitPattern: key.rollingPeriodWord))
    let kinds = pair(key.transmissionRiskWord, UInt32(bitPattern: key.reportTypeWord))
    let rest = pair(key.daysSinceOnsetWord, key.regions.rawValue ^ key.fields.rawValue << 24)
    let hash = seed.mix(seed.mix(times, kinds), rest)
    return Int(truncatingIfNeeded: hash ^ hash >> 32) & (entries.count - 1)
  }
}

extension Reading {
  /// Reads the claim as another one that said the same.
  fileprivate mutating func take(_ answer: StatementMemory.Answer) {
    let data = key.key
    key = answer.key
    key.key = data
    allowances = answer.allowances
  }
}

extension AllowanceSet {
  fileprivate func count(in counts: inout [Int]) {
    var rest = rawValue
    while rest != 0 {
      counts[rest.trailingZeroBitCount] += 1
      rest &= rest - 1
    }
  }
}

extension ClaimedKey {
  /// Whether all but the key data is the same; of unknown fields it counts only whether there are any.
  @inline(__always)
  fileprivate func saysTheSame(as other: ClaimedKey) -> Bool {
    rollingStartWord == other.rollingStartWord && rollingPeriodWord == other.rollingPeriodWord
      && transmissionRiskWord == other.transmissionRiskWord && reportTypeWord == other.reportTypeWord
      && daysSinceOnsetWord == other.daysSinceOnsetWord && fields == other.fields && regions == other.regions
      && (unknownFields == 0) == (other.unknownFields == 0)
  }

  /// The same claim with zero in every word that is not stated, and without a place in its document's tables.
  fileprivate var tidied: ClaimedKey {
    var key = self
    let absent = KeyFields.numbers.subtracting(fields)
    if !absent.isEmpty {
      if absent.contains(.rollingStart) { key.rollingStartWord = 0 }
      if absent.contains(.rollingPeriod) { key.rollingPeriodWord = 0 }
      if absent.contains(.transmissionRisk) { key.transmissionRiskWord = 0 }
      if absent.contains(.reportType) { key.reportTypeWord = 0 }
      if absent.contains(.daysSinceOnset) { key.daysSinceOnsetWord = 0 }
    }
    key.unknownFields = 0
    return key
  }
}
