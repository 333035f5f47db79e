import ExposureKeys
import KeyNormalization

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
      .yardstick("Set of key data", reach: 8) {
        var keys: Set<TemporaryExposureKey> = []
        for claims in sources.claims { for claim in claims { keys.insert(claim.key) } }
        return keys.isEmpty && count > 0 ? 0 : count
      },
      try .peer("C++ unordered_set of key data", .unorderedSet, reach: 8, input: sources.keyData),
      try .peer("DuckDB, one thread, grouped by key", .duckDB, input: sources.csv),
      .yardstick("Dictionary of claims by key") {
        var subjects: [KeySubject: [ClaimedKey]] = [:]
        for claims in sources.claims { for claim in claims { subjects[claim.subject, default: []].append(claim) } }
        return subjects.values.reduce(0) { $0 + $1.count }
      },
    ]
  },
]

extension ClaimedKey {
  fileprivate var subject: KeySubject { KeySubject(key: key, rollingStart: rollingStartWord) }
}
