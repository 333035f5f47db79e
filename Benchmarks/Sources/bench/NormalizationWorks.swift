import ExposureKeys
import GatewayTesting
import KeyNormalization

/// Claims of five sources, a third of them about keys that another source has named before.
let normalizationWorks = [
  Preparation("claims admitted and recorded") { count in
    let sources = ClaimSources(count)
    return [
      .ours { sources.record().count },
      .yardstick("Set of key data and rolling start") {
        var subjects: Set<KeySubject> = []
        for claims in sources.claims { for claim in claims { subjects.insert(claim.subject) } }
        return subjects.isEmpty && count > 0 ? 0 : count
      },
    ]
  },
  Preparation("distinct keys of five sources") { count in
    let sources = ClaimSources(count)
    let recorded = sources.record()
    let keys = sources.claims.map { claims in claims.map(\.key) }
    let distinct = Set(keys.joined()).count
    return [
      .ours {
        // What the fold goes through, but for its rules.
        var beliefs = Beliefs(of: recorded, policy: PublishingPolicy(), now: sources.now)
        return beliefs.countKeys() == distinct ? count : 0
      },
      .yardstick("Set of 16-byte keys", reach: 8) {
        var set: Set<TemporaryExposureKey> = []
        for keys in keys { for key in keys { set.insert(key) } }
        return set.count == distinct ? count : 0
      },
    ]
  },
  Preparation("claims folded") { count in
    let sources = ClaimSources(count)
    let recorded = sources.record()
    return [
      .ours {
        let believed = fold(recorded, policy: PublishingPolicy(), now: sources.now)
        return believed.receipt.isBalanced ? recorded.count : 0
      },
      .yardstick("Dictionary of claims by key") {
        var subjects: [KeySubject: [ClaimedKey]] = [:]
        for claims in sources.claims { for claim in claims { subjects[claim.subject, default: []].append(claim) } }
        return subjects.values.reduce(0) { $0 + $1.count }
      },
    ]
  },
]

private struct ClaimSources: Sendable {
  let claims: [[ClaimedKey]]
  let now = Instant(secondsSince1970: RandomKeys.usualDay.start.secondsSince1970)

  init(_ count: Int) {
    var random = SeededRandom(seed: 5)
    var known: [ClaimedKey] = []
    var claims: [[ClaimedKey]] = Array(repeating: [], count: 5)
    for number in 0..<count {
      var claim: ClaimedKey
      // A source says a thing about a key once, so that every claim is a new one.
      if number % 3 == 2, let earlier = known.popLast() {
        claim = earlier
        claim.transmissionRisk = Int32(number % 8)
      } else {
        claim = ClaimedKey(key: TemporaryExposureKey(high: random.next(), low: random.next()))
        claim.rollingStart = Int32(RandomKeys.usualDay.firstInterval.rawValue - 144 * Int64(1 + number % 14))
        claim.rollingPeriod = 144
        claim.transmissionRisk = Int32(number % 8)
        claim.reportType = 1
        claim.daysSinceOnset = Int32(number % 10)
        if number % 3 == 1 { known.append(claim) }
      }
      claims[number % 5].append(claim)
    }
    self.claims = claims
  }

  /// Through the door, chunk by chunk, into a set.
  func record() -> ClaimSet {
    var set = ClaimSet()
    for (number, claims) in claims.enumerated() {
      var admission = Admission(
        source: Source(name: "\(number)", origin: "\(number)"), policy: ReadingPolicy(), now: now)
      claims.withUnsafeBufferPointer { all in
        for start in stride(from: 0, to: all.count, by: 2048) {
          let chunk = UnsafeBufferPointer(rebasing: all[start..<min(start + 2048, all.count)])
          set.record(admission.admit(chunk, regions: RegionTable(), firstIndex: start))
        }
      }
    }
    return set
  }
}

extension ClaimedKey {
  fileprivate var subject: KeySubject { KeySubject(key: key, rollingStart: rollingStartWord) }
}
