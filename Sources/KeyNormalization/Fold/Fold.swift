package import ExposureKeys

/// The outcomes of all keys of a claim set, one at a time in the order of key data and rolling start. A pure function
/// of what was said, the policy, the region and the clock; the order in which claims arrived has no part in it.
///
/// Works through the claims in buckets of key data: besides the claim set itself it needs four bytes a claim.
package struct Beliefs: Sequence, IteratorProtocol {
  private let claims: ClaimSet
  private var judge: BeliefJudge
  private var memory: OutcomeMemory

  private let buckets: KeyBuckets
  private var nextBucket = 0
  /// The claims of one bucket, sorted by key and origin.
  private var bucket = KeyBuckets.Room()
  private var position = 0
  /// The claims about one key.
  private var said: [AdmittedClaim] = []

  /// - Parameter region: the region whose keys are wanted; `nil` wants all.
  package init(of claims: ClaimSet, policy: PublishingPolicy, region: String? = nil, now: Instant) {
    self.init(of: claims, policy: policy, now: now, target: .init(region: region))
  }

  /// - Parameters:
  ///   - needsOrigins: whether `isWanted` looks at the origins.
  ///   - isWanted: whether keys with this destination are wanted; the others are left out.
  package init(
    of claims: ClaimSet, policy: PublishingPolicy, now: Instant, needsOrigins: Bool,
    isWanted: @escaping (KeyDestination) -> Bool
  ) {
    self.init(of: claims, policy: policy, now: now, target: .init(needsOrigins: needsOrigins, isWanted: isWanted))
  }

  private init(of claims: ClaimSet, policy: PublishingPolicy, now: Instant, target: RegionRouter.Target) {
    self.claims = claims
    judge = BeliefJudge(claims: claims, policy: policy, target: target, now: now)
    memory = OutcomeMemory(forClaims: claims.count)
    buckets = KeyBuckets(claims.rows)
  }

  /// What the keys returned so far name.
  package var regions: RegionTable { judge.router.table }

  package mutating func next() -> (subject: KeySubject, outcome: BeliefOutcome)? {
    guard let group = nextGroup() else { return nil }
    let subject = bucket.rows[group.lowerBound].subject
    guard let question = OutcomeMemory.Question(bucket.rows[group]) else { return (subject, outcome(of: group)) }
    let place = memory.place(of: question)
    if let outcome = memory.outcome(of: question, at: place, about: subject) { return (subject, outcome) }
    let outcome = outcome(of: group)
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
    let subject = bucket.rows[start].subject
    position += 1
    while position < bucket.rows.count, bucket.rows[position].subject == subject { position += 1 }
    return start..<position
  }

  private mutating func outcome(of group: Range<Int>) -> BeliefOutcome {
    said.removeAll(keepingCapacity: true)
    for row in bucket.rows[group] { said.append(claims.claim(row)) }
    return judge.outcome(of: said[...])
  }
}

/// Decides about one key at a time: the claims' order, the publishing rules, the regions.
struct BeliefJudge {
  let order: ClaimOrder
  let context: BeliefContext
  var router: RegionRouter

  init(claims: ClaimSet, policy: PublishingPolicy, target: RegionRouter.Target, now: Instant) {
    order = ClaimOrder(policy: policy, claims: claims)
    context = BeliefContext(policy: policy, now: now, origins: claims.names.origins)
    router = RegionRouter(policy: policy, claims: claims, target: target)
  }

  /// What becomes of a key, given the claims about it, sorted by origin.
  mutating func outcome(of said: ArraySlice<AdmittedClaim>) -> BeliefOutcome {
    let decision = Decision.decide(said, by: order, routing: &router)
    let first = outcome(of: decision.first, isContradicted: decision.isContradicted)
    guard case .leaveOut = first else { return first }
    for candidate in Decision.others(said, by: order, routing: &router) {
      let other = outcome(of: candidate, isContradicted: true)
      if case .leaveOut = other { continue }
      return other
    }
    return first
  }

  mutating func outcome(of candidate: Decision.Candidate, isContradicted: Bool) -> BeliefOutcome {
    var belief = Belief(
      candidate, isContradicted: isContradicted, reachesTarget: router.reachesTarget(candidate.regions))
    switch context.judge(&belief) {
    case .leaveOut(let reason): return .leaveOut(reason)
    case .hold(let instant, let reason): return .hold(until: instant, reason)
    case .goOn:
      guard let regions = router.id(of: candidate.regions, origin: candidate.claim.origin) else {
        return .leaveOut(.tooManyRegions)
      }
      belief.said.regions = regions
      return .publish(BelievedKey(belief, about: candidate.claim.subject.key))
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
    for key in keys[position..<end] { buffer.append(audience == .apps ? key.forApps : key.forFederation) }
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
