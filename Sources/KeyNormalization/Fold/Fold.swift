package import ExposureKeys

/// Claims that count for nothing but the embargo: of paused sources, held for the operator, recalled. Nobody can know
/// that they are wrong about how long a key is valid.
package struct Embargo: Sendable {
  /// The longest rolling period that they state.
  private var periods: [KeySubject: Int32] = [:]

  package init() {}

  package mutating func add(_ claims: ClaimSet) {
    for row in claims.rows { add(row.statement, about: row.subject) }
  }

  package mutating func add(_ statement: Statement, about subject: KeySubject) {
    periods[subject] = max(periods[subject] ?? 0, statement.rollingPeriod)
  }

  /// How many keys it is about.
  package var count: Int { periods.count }

  /// 0 where there is none.
  package func period(of subject: KeySubject) -> Int32 { periods[subject] ?? 0 }

  fileprivate var isEmpty: Bool { periods.isEmpty }

}

/// The outcomes of all keys of a claim set, one at a time in the order of key data and rolling start. A pure function
/// of what was said, the policy, the region and the clock; the order in which claims arrived has no part in it.
///
/// Works through the claims in buckets of key data: besides the claim set itself it needs four bytes a claim.
package struct Beliefs: Sequence, IteratorProtocol {
  private let claims: ClaimSet
  private var judge: BeliefJudge
  private var memory: OutcomeMemory
  private let embargo: Embargo
  private let hasEmbargo: Bool

  private let buckets: KeyBuckets
  private var nextBucket = 0
  /// The claims of one bucket, sorted by key and origin.
  private var bucket = KeyBuckets.Room()
  private var position = 0
  /// Where the claims about the key that was returned last begin; they end at `position`.
  private var lastStart = 0
  /// The claims about one key.
  private var said: [AdmittedClaim] = []

  /// - Parameter region: the region whose keys are wanted; `nil` wants all.
  package init(
    of claims: ClaimSet, policy: PublishingPolicy, region: String? = nil, embargo: Embargo = Embargo(), now: Instant
  ) {
    self.init(
      of: claims, policy: policy, ownOrigins: [], embargo: embargo, now: now, target: .init(region: region))
  }

  /// - Parameters:
  ///   - ownOrigins: the gateway's own origins. Once all of them that claimed a key revoke it, no other claim outvotes them.
  ///   - embargo: what else is stated about how long keys are valid.
  ///   - needsOrigins: whether `isWanted` looks at the origins.
  ///   - isWanted: whether keys that one origin sends to this destination are wanted. It is asked of each opinion alone:
  ///     a key is wanted where one of them is.
  package init(
    of claims: ClaimSet, policy: PublishingPolicy, ownOrigins: Set<String> = [], embargo: Embargo = Embargo(),
    now: Instant, needsOrigins: Bool, isWanted: @escaping (KeyDestination) -> Bool
  ) {
    self.init(
      of: claims, policy: policy, ownOrigins: ownOrigins, embargo: embargo, now: now,
      target: .init(needsOrigins: needsOrigins, isWanted: isWanted))
  }

  private init(
    of claims: ClaimSet, policy: PublishingPolicy, ownOrigins: Set<String>, embargo: Embargo, now: Instant,
    target: RegionRouter.Target
  ) {
    self.claims = claims
    self.embargo = embargo
    hasEmbargo = !embargo.isEmpty
    judge = BeliefJudge(claims: claims, policy: policy, ownOrigins: ownOrigins, target: target, now: now)
    memory = OutcomeMemory(forClaims: claims.count)
    buckets = KeyBuckets(claims.rows)
  }

  /// What the keys returned so far name.
  package var regions: RegionTable { judge.router.table }

  package mutating func next() -> (subject: KeySubject, outcome: BeliefOutcome)? {
    guard let group = nextGroup() else { return nil }
    let subject = bucket.rows[group.lowerBound].subject
    let stated = hasEmbargo ? embargo.period(of: subject) : 0
    guard let question = OutcomeMemory.Question(bucket.rows[group], statedPeriod: stated) else {
      return (subject, outcome(of: group, statedPeriod: stated))
    }
    let place = memory.place(of: question)
    if let outcome = memory.outcome(of: question, at: place, about: subject) { return (subject, outcome) }
    let outcome = outcome(of: group, statedPeriod: stated)
    memory.remember(outcome, of: question, at: place)
    return (subject, outcome)
  }

  /// Finds the next key and hands no claim on: how many keys the claims are about.
  package mutating func countKeys() -> Int {
    var count = 0
    while nextGroup() != nil { count += 1 }
    return count
  }

  /// Where in the bucket the claims about the next key stand.
  @inline(__always)
  private mutating func nextGroup() -> Range<Int>? {
    while position == bucket.rows.count {
      guard nextBucket < buckets.count else { return nil }
      buckets.read(nextBucket, of: claims, into: &bucket)
      nextBucket += 1
      position = 0
    }
    let start = position
    lastStart = start
    let subject = bucket.rows[start].subject
    position += 1
    while position < bucket.rows.count, bucket.rows[position].subject == subject { position += 1 }
    return start..<position
  }

  // MARK: The key that was returned last

  /// Whose opinions publish it, and who may take it back although its own opinion does not publish it: the own origins
  /// that claim it, and all that claim it where an echo publishes it. The lost origin's name is empty.
  ///
  /// - Parameter isCounted: which claims are asked.
  package mutating func publishingOrigins(where isCounted: (StatedClaim) -> Bool = { _ in true }) -> Set<String> {
    let said = lastClaims(where: isCounted)
    guard let first = said.first, let last = said.last else { return [] }
    if first.origin == last.origin { return [claims.names.origins[Int(first.origin.rawValue)]] }
    var (names, own, others, hasEcho): (Set<String>, Set<String>, Set<String>, Bool) = ([], [], [], false)
    let speakers = judge.speakers
    judge.hear(speakers.deciding(said[...]), longestPeriod: 0) { opinion, _, verdict, origins in
      if opinion.isRevocation { return }
      let name = origins[Int(opinion.origin.rawValue)]
      if case .publish = verdict {
        names.insert(name)
        hasEcho = hasEcho || opinion.isEcho
      } else if speakers.isOwn(opinion.origin) {
        own.insert(name)
      } else if !opinion.isEcho {
        others.insert(name)
      }
    }
    if names.isEmpty { return [] }
    return names.union(own).union(hasEcho ? others : [])
  }

  /// What it would come to by some of its claims alone, for as long as all of them say that it is valid; `nil` where none
  /// of them counts.
  package mutating func outcome(where isCounted: (StatedClaim) -> Bool) -> BeliefOutcome? {
    let said = lastClaims(where: isCounted)
    guard !said.isEmpty else { return nil }
    let longest = bucket.rows[lastStart..<position].map(\.statement.rollingPeriod).max() ?? 0
    let subject = bucket.rows[lastStart].subject
    return judge.outcome(of: said[...], statedPeriod: Swift.max(longest, embargo.period(of: subject)))
  }

  /// Sorted by origin.
  private func lastClaims(where isCounted: (StatedClaim) -> Bool) -> [AdmittedClaim] {
    bucket.rows[lastStart..<position].map(claims.claim).filter { isCounted(claims.stated($0)) }
  }

  private mutating func outcome(of group: Range<Int>, statedPeriod: Int32) -> BeliefOutcome {
    said.removeAll(keepingCapacity: true)
    for row in bucket.rows[group] { said.append(claims.claim(row)) }
    return judge.outcome(of: said[...], statedPeriod: statedPeriod)
  }
}

/// Decides about one key at a time: the opinions, the publishing rules, the regions.
struct BeliefJudge {
  let order: FieldOrder
  let speakers: Speakers
  let context: BeliefContext
  var router: RegionRouter
  private let origins: [String]

  init(
    claims: ClaimSet, policy: PublishingPolicy, ownOrigins: Set<String>, target: RegionRouter.Target, now: Instant
  ) {
    order = FieldOrder(policy)
    speakers = Speakers(policy: policy, names: claims.names, ownOrigins: ownOrigins)
    context = BeliefContext(policy: policy, now: now, origins: claims.names.origins)
    router = RegionRouter(policy: policy, claims: claims, target: target)
    origins = claims.names.origins
  }

  /// What becomes of a key.
  ///
  /// - Parameters:
  ///   - said: the claims about it, sorted by origin, the lost one first. There is at least one.
  ///   - statedPeriod: the longest rolling period that is stated by claims which count for nothing else.
  mutating func outcome(of said: ArraySlice<AdmittedClaim>, statedPeriod: Int32) -> BeliefOutcome {
    let first = said[said.startIndex]
    if said.count == 1 { return outcome(of: first, statedPeriod: statedPeriod) }
    let deciding = speakers.deciding(said)
    var hearing = OpinionSummary()
    hear(deciding, longestPeriod: longestPeriod(of: said, statedPeriod)) { hearing.take($0, $1, $2, origins: $3) }
    return outcome(of: hearing, isContradicted: isContradicted(deciding), about: first.subject.key)
  }

  /// What most keys come to: one claim, which is an opinion by itself.
  private mutating func outcome(of claim: AdmittedClaim, statedPeriod: Int32) -> BeliefOutcome {
    let opinion = Opinion(claim, routing: &router)
    let (belief, verdict) = judge(opinion, longestPeriod: max(statedPeriod, opinion.said.rollingPeriodWord))
    switch verdict {
    case .leaveOut(let reason): return .leaveOut(reason)
    case .elsewhere: return .leaveOut(.otherRegion)
    case .publish(let hold?): return .hold(until: hold.until, hold.reason)
    case .publish(nil):
      return .publish(
        BelievedKey(
          Together(opinion, belief, hold: nil), about: claim.subject.key,
          regions: router.id(of: opinion.route, origin: opinion.origin)))
    }
  }

  /// The longest rolling period of all claims about a key, whether they decide or not.
  func longestPeriod(of said: ArraySlice<AdmittedClaim>, _ statedPeriod: Int32) -> Int32 {
    var longest = statedPeriod
    for claim in said { longest = max(longest, claim.statement.rollingPeriod) }
    return longest
  }

  /// Asks the rules of one opinion after the other.
  mutating func hear(
    _ deciding: Speakers.Deciding, longestPeriod: Int32,
    _ take: (Opinion, Belief, OpinionVerdict, _ origins: [String]) -> Void
  ) {
    hear(deciding.claims, in: deciding, areCopies: false, longestPeriod: longestPeriod, take)
    hear(deciding.copies, in: deciding, areCopies: true, longestPeriod: longestPeriod, take)
  }

  private mutating func hear(
    _ said: ArraySlice<AdmittedClaim>, in deciding: Speakers.Deciding, areCopies: Bool, longestPeriod: Int32,
    _ take: (Opinion, Belief, OpinionVerdict, _ origins: [String]) -> Void
  ) {
    var start = said.startIndex
    while start < said.endIndex {
      var end = start + 1
      while end < said.endIndex, said[end].origin == said[start].origin { end += 1 }
      var opinion = Opinion(of: said[start..<end], by: order, routing: &router)
      opinion.isCopy = areCopies
      opinion.isEcho = areCopies || speakers.isEcho(opinion, in: deciding)
      let (belief, verdict) = judge(opinion, longestPeriod: longestPeriod)
      take(opinion, belief, verdict, origins)
      start = end
    }
  }

  @inline(__always)
  private func judge(_ opinion: Opinion, longestPeriod: Int32) -> (Belief, OpinionVerdict) {
    var belief = Belief(opinion, longestPeriod: longestPeriod, reachesTarget: router.reachesTarget(opinion.route))
    let verdict = context.judge(&belief)
    return (belief, verdict)
  }

  /// Whether the claims that decide do not all say the same.
  func isContradicted(_ deciding: Speakers.Deciding) -> Bool {
    var first: AdmittedClaim?
    for claim in deciding.claims {
      if deciding.echoesRelays, claim.origin == .lost { continue }
      if deciding.echoesOthers, !claim.isRevocation, !speakers.isOwn(claim.origin) { continue }
      if let first, !claim.saysTheSame(as: first) { return true }
      first = claim
    }
    return false
  }

  mutating func outcome(
    of hearing: OpinionSummary, isContradicted: Bool, about key: TemporaryExposureKey
  ) -> BeliefOutcome {
    switch hearing.result(origins: origins) {
    case .leaveOut(let reason): return .leaveOut(reason)
    case .publish(var together):
      if let (until, reason) = together.hold { return .hold(until: until, reason) }
      if isContradicted { together.note(.conflictDecided) }
      let routes = together.furtherRoutes
      let route = routes.isEmpty ? nil : router.union(of: [together.route] + routes)
      let regions = router.id(of: route ?? together.route, origin: together.origin)
      return .publish(BelievedKey(together, about: key, regions: regions))
    }
  }
}

/// The published keys of a fold, in the order of key data and rolling start. Only a fold makes one.
package struct BelievedKeys: Sendable {
  package let keys: [BelievedKey]
  /// What the keys name.
  package let regions: RegionTable
  package let receipt: BeliefReceipt
  /// When the first of the held keys may go out.
  package let nextRelease: Instant?

  init(keys: [BelievedKey], regions: RegionTable, receipt: BeliefReceipt, nextRelease: Instant?) {
    self.keys = keys
    self.regions = regions
    self.receipt = receipt
    self.nextRelease = nextRelease
  }

  /// Who reads the keys.
  package enum Audience: Sendable {
    case apps, federation
  }

  /// Appends keys from `position` on, as many as there is room for, and returns how many those were.
  package func copy(from position: Int, for audience: Audience, to buffer: inout KeyBuffer) -> Int {
    let end = Swift.min(keys.count, position + buffer.capacity - buffer.count)
    guard position < end else { return 0 }
    for key in keys[position..<end] { buffer.append(audience == .apps ? key.forFirstBundle : key.forFederation) }
    return end - position
  }
}

/// What is believed, given all that was said.
///
/// - Parameters:
///   - region: the region whose keys are wanted; `nil` wants all.
///   - now: what "still valid" and "too old" refer to.
package func fold(
  _ claims: ClaimSet, policy: PublishingPolicy, region: String? = nil, now: Instant
) -> BelievedKeys {
  var beliefs = Beliefs(of: claims, policy: policy, region: region, now: now)
  var keys: [BelievedKey] = []
  // Memory that is asked for and not touched costs nothing; growing would touch all of it twice.
  keys.reserveCapacity(claims.count)
  var tally = BeliefTally()
  var nextRelease: Instant?
  while let (_, outcome) = beliefs.next() {
    tally.count(outcome)
    switch outcome {
    case .publish(let key): keys.append(key)
    case .hold(let instant, _): nextRelease = nextRelease.map { min($0, instant) } ?? instant
    case .leaveOut: break
    }
  }
  return BelievedKeys(keys: keys, regions: beliefs.regions, receipt: tally.receipt, nextRelease: nextRelease)
}
