package import BundleTrust
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
  /// The origin of keys that name none; in capitals.
  private let sendersOrigin: String?
  private var volumes: OriginVolumes?

  /// The origins met so far; the first is the lost one.
  private var origins: [OriginEntry]
  private var originNames: [String]
  private var originNumbers: [String: Int] = [:]
  /// What the document's region claims say, by their number.
  private var readings: [RegionReading?] = []
  private var visitedSets: [[String]] = []
  private var chunkNumber = 0
  private var statements = StatementMemory()

  private let judgesOfKeys: [AdmissionRules.KeyJudge]
  private let judgesOfStatements: [AdmissionRules.StatementJudge]
  private let judgesOfVolumes: [AdmissionRules.VolumeJudge]

  /// - Parameters:
  ///   - document: that somebody vouches for the document whose keys are to be judged.
  ///   - own: the gateway's own origins, when `sender` is a peer; their keys are recognised when they come back.
  ///   - volumes: how many keys of each origin the sender sends, for the flood rule; `nil` where that is not known.
  package init(
    of document: VerifiedDocument, from sender: Sender, policy: ReadingPolicy, own: Set<String> = [],
    volumes: OriginVolumes? = nil, rules: AdmissionRules = .standard, now: Instant
  ) {
    source = Source(sender, vouchedForBy: document)
    self.policy = policy
    self.own = Set(own.map { $0.uppercased() })
    self.volumes = volumes
    context = AdmissionContext(policy: policy, now: now)
    judgesOfKeys = rules.ofKeys
    judgesOfStatements = rules.ofStatements
    judgesOfVolumes = rules.ofVolumes
    let own = sender.isRelay ? nil : sender.origin.map(RegionName.normalized)
    sendersOrigin = own
    // The lost origin.
    let lost = OriginVolumes.lostOrigin(of: sender.name)
    let standing = OriginStanding(isAllowed: sender.isRelay || policy.takes(origin: nil, from: own))
    origins = [OriginEntry(standing: standing, volume: OriginVolume(of: lost, volumes, policy))]
    originNames = [lost]
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
      let answer = judge(key, of: region)
      if case .reject(let reason, let value) = answer.verdict {
        batch.rejected.append(AdmissionRejection(index: firstIndex + offset, reason: reason, value: value))
        continue
      }
      origins[region.origin].volume.admitted += 1
      let claim = AdmittedClaim(
        subject: KeySubject(key: key.key, rollingStart: answer.rollingStart), statement: answer.statement,
        regions: self.number(ofVisited: region, number: number, in: &batch),
        origin: self.number(ofOrigin: region.origin, in: &batch), source: SourceID(rawValue: 0))
      if case .holdForOperator(let reason) = answer.verdict {
        batch.hold(claim, because: reason)
        if batch.exceeded == nil, let limit = origins[region.origin].volume.limit, limit.reason == reason {
          batch.exceeded = ExceededLimit(of: originNames[region.origin], limit)
        }
      } else {
        batch.claims.append(claim)
      }
      if !answer.allowances.isEmpty { answer.allowances.count(in: &allowances) }
    }
    for allowance in Allowance.allCases where allowances[Int(allowance.rawValue)] > 0 {
      batch.allowances[allowance] = allowances[Int(allowance.rawValue)]
    }
    return batch
  }

  /// Whether volumes count, so that claims which were known are to be told by ``correct(volumes:)``.
  package var countsVolumes: Bool { volumes != nil }

  /// Corrects how much of each origin has come today, and what may come: a claim that was known already is no volume, and an
  /// operator may have raised the limit.
  package mutating func correct(volumes today: VolumesToday) {
    // Also of an origin that is met later.
    volumes?.today = today
    for number in origins.indices { origins[number].volume = OriginVolume(of: originNames[number], volumes, policy) }
  }

  /// Asks every rule, in their order, until one rejects the claim.
  @inline(__always)
  private mutating func judge(_ key: ClaimedKey, of region: RegionReading) -> StatementMemory.Answer {
    var verdict = AdmissionVerdict.admit
    for judge in judgesOfKeys {
      verdict.add(judge.apply(key.key, key.rollingStart, context))
      if verdict.isRejection { return StatementMemory.Answer(verdict) }
    }
    let said = StatedFields(key)
    let place = statements.place(of: said)
    var answer: StatementMemory.Answer
    if let known = statements.answer(to: said, at: place) {
      answer = known
    } else {
      answer = judge(said, of: region)
      statements.remember(answer, to: said, at: place)
    }
    verdict.add(answer.verdict)
    for judge in judgesOfVolumes where !verdict.isRejection {
      verdict.add(judge.apply(origins[region.origin].volume, context))
    }
    answer.verdict = verdict
    return answer
  }

  /// Asks the rules about what is said, whichever the key.
  private func judge(_ said: StatedFields, of region: RegionReading) -> StatementMemory.Answer {
    var reading = Reading(
      said: said.tidied, allowances: region.allowances, origin: origins[region.origin].standing,
      regions: region.standing)
    if said.hasUnknownFields { reading.allowances.insert(.unknownFieldsDropped) }
    var verdict = AdmissionVerdict.admit
    for judge in judgesOfStatements {
      verdict.add(judge.apply(&reading, context))
      if verdict.isRejection { return StatementMemory.Answer(verdict) }
    }
    do throws(Statement.Misfit) {
      return StatementMemory.Answer(
        statement: try Statement(reading.said), rollingStart: reading.said.rollingStartWord,
        allowances: reading.allowances, verdict: verdict)
    } catch {
      return StatementMemory.Answer(.reject(.notRepresentable, value: error.value))
    }
  }

  // MARK: Regions

  private struct OriginEntry: Sendable {
    var standing: OriginStanding
    var volume = OriginVolume()
    /// Its number in the batch of chunk `chunk`.
    var batchNumber: UInt32 = 0
    var chunk = 0
  }

  /// What one region claim of the document says.
  private struct RegionReading: Sendable {
    var origin: Int
    /// A position in `visitedSets`; -1 where no regions are named.
    var visited = -1
    var standing = RegionStanding()
    var allowances = AllowanceSet()
    var batchNumber: UInt32 = 0
    var chunk = 0
  }

  private mutating func read(_ claim: RegionClaim, number: Int) -> RegionReading {
    var allowances = AllowanceSet()
    var visited = claim.visited.map { Set($0.map { $0.uppercased() }).subtracting([""]).sorted() }
    if visited != claim.visited { allowances.insert(.regionsTidied) }
    var reading = RegionReading(origin: origin(of: claim, allowances: &allowances))
    reading.standing = take(&visited, allowances: &allowances)
    reading.allowances = allowances
    if let visited {
      reading.visited = visitedSets.count
      visitedSets.append(visited)
    }
    readings[number] = reading
    return reading
  }

  /// Drops the names that do not count. Where none is left, the claim must not look as if it had named none.
  private func take(_ visited: inout [String]?, allowances: inout AllowanceSet) -> RegionStanding {
    guard let named = visited, !named.isEmpty else { return RegionStanding() }
    var standing = RegionStanding(count: named.count)
    guard named.count <= ReadingPolicy.maximumRegions else { return standing }
    let known = named.filter(policy.knows)
    let allowed = policy.regions.map { regions in known.filter(regions.contains) } ?? known
    standing.areUnknown = known.isEmpty
    standing.areNotAllowed = allowed.isEmpty
    if known.count < named.count { allowances.insert(.regionsUnknown) }
    if allowed.count < known.count { allowances.insert(.regionsNotAllowed) }
    visited = allowed
    return standing
  }

  private mutating func origin(of claim: RegionClaim, allowances: inout AllowanceSet) -> Int {
    let stated = claim.origin.flatMap { $0.isEmpty ? nil : $0 }
    guard !source.isRelay, let name = stated?.uppercased() ?? sendersOrigin else {
      allowances.insert(.originLost)
      return 0
    }
    if stated == nil { allowances.insert(.originAssumed) }
    return number(ofOriginNamed: name)
  }

  private mutating func number(ofOriginNamed name: String) -> Int {
    if let number = originNumbers[name] { return number }
    let standing = OriginStanding(
      isKnown: name == sendersOrigin || policy.knows(region: name),
      isAllowed: policy.takes(origin: name, from: sendersOrigin), isExcluded: policy.excludedOrigins.contains(name),
      isOwn: own.contains(name))
    origins.append(OriginEntry(standing: standing, volume: OriginVolume(of: name, volumes, policy)))
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

extension OriginVolume {
  /// - Parameter volumes: `nil` where nobody counts.
  fileprivate init(of name: String, _ volumes: OriginVolumes?, _ policy: ReadingPolicy) {
    self.init()
    guard let volumes else { return }
    admitted = volumes.today.keys[name] ?? 0
    limit = policy.volumeLimit(usual: volumes.usual[name] ?? 0)?.raised(to: volumes.today.raisedLimit)
  }
}

/// The claims of one chunk that the rules admitted, as the reading policy reads them. Only ``Admission`` makes one.
package struct AdmittedBatch: Sendable {
  package private(set) var source: Source
  /// How many keys were judged.
  package private(set) var received: Int
  /// The admitted claims; their numbers refer to this batch.
  package internal(set) var claims: [AdmittedClaim] = []
  /// The claims that an operator has to decide about.
  package private(set) var held: [AdmittedClaim] = []
  /// Why, for each of them.
  package private(set) var heldReasons: [AdmissionReason] = []
  /// The first limit that any of them exceeded.
  package internal(set) var exceeded: ExceededLimit?
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

  mutating func hold(_ claim: AdmittedClaim, because reason: AdmissionReason) {
    held.append(claim)
    heldReasons.append(reason)
  }

  /// Takes what came behind it from the same source.
  ///
  /// - Returns: `false` where the numbers of both do not mean the same names, and nothing was taken.
  package mutating func append(_ next: AdmittedBatch) -> Bool {
    guard source == next.source, origins == next.origins, visited == next.visited else { return false }
    received += next.received
    claims += next.claims
    held += next.held
    heldReasons += next.heldReasons
    exceeded = exceeded ?? next.exceeded
    rejected += next.rejected
    allowances.merge(next.allowances, uniquingKeysWith: +)
    return true
  }

  /// The same, but that an operator decides about all of it.
  package func heldForOperator(beyond exceeded: ExceededLimit) -> AdmittedBatch {
    var batch = self
    batch.exceeded = exceeded
    for claim in claims { batch.hold(claim, because: exceeded.limit.reason) }
    batch.claims = []
    return batch
  }

  /// Its claims by what their upload showed about each key: one batch for each standing. The first one has the counts of keys
  /// that were not admitted.
  package func split(by standing: (KeySubject) -> UploadStanding?) -> [AdmittedBatch] {
    let standings = (claims + held).map { standing($0.subject) }
    let kinds = [nil, .proven, .copy].filter(standings.contains)
    guard kinds.count > 1 else {
      var batch = self
      batch.source.upload = kinds.first ?? nil
      return [batch]
    }
    var rest = received
    var parts = kinds.map { kind in
      var part = AdmittedBatch(source: source, received: 0)
      part.source.upload = kind
      (part.origins, part.visited) = (origins, visited)
      for (index, claim) in claims.enumerated() where standings[index] == kind { part.claims.append(claim) }
      for (index, claim) in held.enumerated() where standings[claims.count + index] == kind {
        part.hold(claim, because: heldReasons[index])
      }
      part.received = part.claims.count + part.held.count
      rest -= part.received
      return part
    }
    parts[0].received += rest
    (parts[0].rejected, parts[0].allowances, parts[0].exceeded) = (rejected, allowances, exceeded)
    return parts
  }

  /// What is left of it where its document was refused: nothing is admitted, and what can still delay a key at `now` is
  /// held.
  package func ofRefusedDocument(at now: Instant) -> AdmittedBatch {
    var batch = self
    batch.claims = []
    batch.held = []
    batch.heldReasons = []
    for claim in claims + held where PublishingPolicy.latestRelease(of: claim.subject) > now {
      batch.hold(claim, because: .documentRefused)
    }
    return batch
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

/// How statements of a document were read and judged before. It knows no key data, and a rule about statements is given
/// nothing else than what it knows. A table of fixed size in which a newer entry replaces an older one.
private struct StatementMemory: Sendable {
  struct Answer {
    /// 0 bits where it is rejected.
    let statement: Statement
    let rollingStart: Int32
    let allowances: AllowanceSet
    var verdict: AdmissionVerdict
  }

  private struct Entry {
    let asked: StatedFields
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
  func answer(to said: StatedFields, at place: Int) -> Answer? {
    guard let entry = entries[place], entry.asked == said else { return nil }
    return entry.answer
  }

  mutating func remember(_ answer: Answer, to said: StatedFields, at place: Int) {
    entries[place] = Entry(asked: said, answer: answer)
  }

  @inline(__always)
  func place(of said: StatedFields) -> Int {
    func pair(_ high: Int32, _ low: UInt32) -> UInt64 { UInt64(UInt32(bitPattern: high)) << 32 | UInt64(low) }
    let times = pair(said.rollingStartWord, UInt32(bitPattern: said.rollingPeriodWord))
    let kinds = pair(said.transmissionRiskWord, UInt32(bitPattern: said.reportTypeWord))
    let rest = pair(said.daysSinceOnsetWord, said.regions.rawValue ^ said.fields.rawValue << 24)
    let hash = seed.mix(seed.mix(times, kinds), rest)
    return Int(truncatingIfNeeded: hash ^ hash >> 32) & (entries.count - 1)
  }
}

extension StatementMemory.Answer {
  /// Of a claim that is rejected.
  init(_ verdict: AdmissionVerdict) {
    self.init(statement: Statement(bits: 0), rollingStart: 0, allowances: AllowanceSet(), verdict: verdict)
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
