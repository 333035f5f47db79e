public import ExposureKeys

/// The outcomes of all keys of a claim set, one at a time in the order of key data and rolling start. A pure function
/// of what was said, the policy, the region and the clock; the order in which claims arrived has no part in it.
///
/// Works through the claims in buckets of key data: besides the claim set itself it needs four bytes a claim.
public struct Beliefs: Sequence, IteratorProtocol {
  private let claims: ClaimSet
  private var judge: BeliefJudge

  private let buckets: KeyBuckets
  private var nextBucket = 0
  /// The claims of one bucket, sorted by key and origin.
  private var bucket: [AdmittedClaim] = []
  private var room = KeyBuckets.SortRoom()
  private var position = 0

  /// - Parameter region: the region whose keys are wanted; `nil` wants all.
  public init(of claims: ClaimSet, policy: PublishingPolicy, region: String? = nil, now: Instant) {
    self.claims = claims
    judge = BeliefJudge(claims: claims, policy: policy, target: .init(region: region), now: now)
    buckets = KeyBuckets(claims.storage)
  }

  /// - Parameters:
  ///   - needsOrigins: whether `isWanted` looks at the origins.
  ///   - isWanted: whether keys with this destination are wanted; the others are left out.
  public init(
    of claims: ClaimSet, policy: PublishingPolicy, now: Instant, needsOrigins: Bool,
    isWanted: @escaping (KeyDestination) -> Bool
  ) {
    self.claims = claims
    let target = RegionRouter.Target(needsOrigins: needsOrigins, isWanted: isWanted)
    judge = BeliefJudge(claims: claims, policy: policy, target: target, now: now)
    buckets = KeyBuckets(claims.storage)
  }

  /// What the keys returned so far name.
  public var regions: RegionTable { judge.router.table }

  public mutating func next() -> (subject: KeySubject, outcome: BeliefOutcome)? {
    while position == bucket.count {
      guard nextBucket < buckets.count else { return nil }
      buckets.read(nextBucket, of: claims.storage, into: &bucket, by: &room)
      nextBucket += 1
      position = 0
    }
    let subject = bucket[position].subject
    var end = position + 1
    while end < bucket.count, bucket[end].subject == subject { end += 1 }
    defer { position = end }
    return (subject, judge.outcome(of: bucket[position..<end]))
  }
}

/// Decides about one key at a time: the claims' order, the publishing rules, the regions.
struct BeliefJudge {
  let order: ClaimOrder
  let context: BeliefContext
  var router: RegionRouter

  init(claims: ClaimSet, policy: PublishingPolicy, target: RegionRouter.Target, now: Instant) {
    order = ClaimOrder(policy: policy, claims: claims)
    context = BeliefContext(policy: policy, now: now)
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
      belief.key.regions = regions
      return .publish(BelievedKey(belief))
    }
  }
}

/// The published keys of a fold, in the order of key data and rolling start. Only a fold makes one.
public struct BelievedKeys: Sendable {
  public let keys: [BelievedKey]
  /// What the keys name.
  public let regions: RegionTable
  public let receipt: BeliefReceipt
  /// When the first of the held keys may go out.
  public let nextRelease: Instant?

  init(keys: [BelievedKey], regions: RegionTable, receipt: BeliefReceipt, nextRelease: Instant?) {
    self.keys = keys
    self.regions = regions
    self.receipt = receipt
    self.nextRelease = nextRelease
  }

  /// Who reads the keys.
  public enum Audience: Sendable {
    case apps, federation
  }

  /// Appends keys from `position` on, as many as there is room for, and returns how many those were.
  public func copy(from position: Int, for audience: Audience, to buffer: inout KeyBuffer) -> Int {
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
public func fold(
  _ claims: ClaimSet, policy: PublishingPolicy, region: String? = nil, now: Instant
) -> BelievedKeys {
  var beliefs = Beliefs(of: claims, policy: policy, region: region, now: now)
  var keys: [BelievedKey] = []
  var receipt = BeliefReceipt()
  var nextRelease: Instant?
  while let (_, outcome) = beliefs.next() {
    receipt.count(outcome)
    switch outcome {
    case .publish(let key): keys.append(key)
    case .hold(let instant, _): nextRelease = nextRelease.map { min($0, instant) } ?? instant
    case .leaveOut: break
    }
  }
  return BelievedKeys(keys: keys, regions: beliefs.regions, receipt: receipt, nextRelease: nextRelease)
}

/// Claim numbers by the leading bits of their key data: one counting sort of four bytes a claim. About a hundred claims
/// a bucket; a sender who crowds one bucket makes it a larger sort, no more.
struct KeyBuckets {
  private let shift: UInt64
  private var numbers: ContiguousArray<UInt32>
  private var ends: ContiguousArray<Int>

  var count: Int { ends.count }

  init(_ claims: SegmentedClaims) {
    var bits: UInt64 = 0
    while bits < 20, claims.count >> bits > 128 { bits += 1 }
    shift = 64 - bits
    numbers = ContiguousArray(repeating: 0, count: claims.count)
    ends = ContiguousArray(repeating: 0, count: 1 << bits)
    for claim in claims { ends[Int(claim.key.key.high >> shift)] += 1 }
    var start = 0
    for bucket in ends.indices {
      let size = ends[bucket]
      ends[bucket] = start
      start += size
    }
    for (number, claim) in claims.enumerated() {
      let bucket = Int(claim.key.key.high >> shift)
      numbers[ends[bucket]] = UInt32(number)
      ends[bucket] += 1
    }
  }

  /// The claims of one bucket, sorted by key data, rolling start and origin.
  func read(_ bucket: Int, of claims: SegmentedClaims, into result: inout [AdmittedClaim], by room: inout SortRoom) {
    room.entries.removeAll(keepingCapacity: true)
    room.claims.removeAll(keepingCapacity: true)
    result.removeAll(keepingCapacity: true)
    let start = bucket == 0 ? 0 : ends[bucket - 1]
    for position in start..<ends[bucket] {
      let claim = claims[Int(numbers[position])]
      room.entries.append(SortRoom.Entry(claim, position: UInt32(room.claims.count)))
      room.claims.append(claim)
    }
    room.entries.sort()
    for entry in room.entries { result.append(room.claims[Int(entry.position)]) }
  }

  /// Room for sorting, kept from bucket to bucket.
  struct SortRoom {
    fileprivate var claims: [AdmittedClaim] = []
    fileprivate var entries: [Entry] = []

    fileprivate struct Entry: Comparable {
      let high: UInt64
      let low: UInt64
      /// Rolling start, then origin.
      let rest: UInt64
      let position: UInt32

      init(_ claim: AdmittedClaim, position: UInt32) {
        high = claim.key.key.high
        low = claim.key.key.low
        let start = UInt32(bitPattern: claim.key.rollingStartWord) ^ 0x8000_0000
        rest = UInt64(start) << 32 | UInt64(claim.origin.rawValue)
        self.position = position
      }

      static func < (left: Self, right: Self) -> Bool {
        if left.high != right.high { return left.high < right.high }
        if left.low != right.low { return left.low < right.low }
        return left.rest < right.rest
      }
    }
  }
}
