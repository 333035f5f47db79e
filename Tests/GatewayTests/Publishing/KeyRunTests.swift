import ExposureKeys
import GatewayTesting
import KeyNormalization
import Testing

@testable import KeyPublishing

/// Keys outside of memory are the same keys, in the same order, however many there are.
@Suite struct KeyRunTests {
  /// Key data in which a subject stands in several bundles, and key data under several starts.
  private static func bundles(_ count: Int, keys: Int, seed: UInt64) -> [[ClaimedKey]] {
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in
      var bundle: [KeySubject: ClaimedKey] = [:]
      for _ in 0..<keys {
        let start = Int32.random(in: 0..<3, using: &random) * 144
        var key = ClaimedKey(
          key: TemporaryExposureKey(high: UInt64.random(in: 0..<UInt64(keys), using: &random) << 40, low: 7),
          rollingStartWord: 2_650_000 + start, rollingPeriodWord: 144,
          reportTypeWord: [1, 2, 3, 5].randomElement(using: &random) ?? 1,
          fields: [.rollingStart, .rollingPeriod, .reportType])
        key.isRevised = Bool.random(using: &random)
        bundle[KeySubject(key: key.key, rollingStart: key.rollingStartWord)] = key
      }
      return bundle.values.shuffled(using: &random)
    }
  }

  private static func subject(_ key: ClaimedKey) -> KeySubject {
    KeySubject(key: key.key, rollingStart: key.rollingStartWord)
  }

  /// What the union is, said plainly: the last word about each key, as somebody takes it who has seen nothing before. A
  /// release is older than a revision, and nothing is newer than a revocation.
  private static func union(_ bundles: [[ClaimedKey]]) -> [ClaimedKey] {
    var last: [KeySubject: ClaimedKey] = [:]
    var released: Set<KeySubject> = []
    for bundle in bundles {
      for key in bundle {
        let isOlder = last[subject(key)].map { rank($0) > rank(key) } ?? false
        if !isOlder { last[subject(key)] = key }
        if !key.isRevised { released.insert(subject(key)) }
      }
    }
    return last.values.map { key in
      var key = key
      let isRevoked = key.reportType == ReportType.revoked.rawValue
      key.isRevised = key.isRevised && !(released.contains(subject(key)) && !isRevoked)
      return key
    }.sorted { subject($0) < subject($1) }
  }

  private static func rank(_ key: ClaimedKey) -> Int {
    if !key.isRevised { return 0 }
    return key.reportType == ReportType.revoked.rawValue ? 2 : 1
  }

  @Test(
    "a union is that of all bundles, also where it does not fit into memory", arguments: [1, 2, 3, 7, 100, 1 << 16])
  func union(capacity: Int) throws {
    for (count, keys) in [(0, 0), (1, 1), (1, 900), (2, 500), (9, 300)] {
      let bundles = Self.bundles(count, keys: keys, seed: UInt64(count * 1000 + keys))
      let expected = Self.union(bundles)
      let firsts = expected.indices.filter { $0 == 0 || expected[$0].key != expected[$0 - 1].key }
      for oncePerKeyData in [false, true] {
        var sorter = KeySorter(capacity: capacity)
        for (number, bundle) in bundles.enumerated() {
          for key in bundle { try sorter.add(key, number: UInt32(number)) }
        }
        let union = try sorter.union(oncePerKeyData: oncePerKeyData).keys()
        #expect(union == (oncePerKeyData ? firsts.map { expected[$0] } : expected), "\(count) bundles of \(keys)")
      }
    }
  }

  @Test("what is drained twice is there once, and the sorter takes others")
  func drained() throws {
    let bundle = Self.bundles(1, keys: 40, seed: 4)[0]
    var sorter = KeySorter(capacity: 7)
    for key in bundle { try sorter.add(key) }
    let first = try sorter.union(oncePerKeyData: false)
    let second = try sorter.union(oncePerKeyData: false)
    for key in bundle.prefix(3) { try sorter.add(key) }
    let third = try sorter.union(oncePerKeyData: false)
    #expect(first.count == Set(bundle.map(Self.subject)).count && second.isEmpty && third.count == 3)
  }

  @Test(
    "a run gives back what was put into it, its counts and its shares", arguments: [0, 1, 8191, 8192, 8193, 30_000])
  func run(count: Int) throws {
    var random = SeededRandom(seed: UInt64(count))
    var run = KeyRun()
    var keys: [ClaimedKey] = []
    for place in 0..<count {
      // Every tenth stands there three times in a row.
      let data = UInt64(place % 10 < 3 ? place / 10 * 10 : place)
      var key = ClaimedKey(
        key: TemporaryExposureKey(high: data, low: 0), rollingStartWord: Int32(place), fields: [.rollingStart])
      key.isRevised = Bool.random(using: &random)
      keys.append(key)
      try run.append(key, number: UInt32(place))
    }
    #expect(run.count == count && run.revisedCount == keys.count { $0.isRevised })
    #expect(run.multiplicity == min(count, 3))
    #expect(try run.keys() == keys && run.keys() == keys)
    var numbers: [UInt32] = []
    try run.read { numbers.append($0.number) }
    #expect(numbers == (0..<UInt32(count)).map { $0 })
    for parts in [1, 2, 5] {
      for part in 0..<parts {
        var share: [ClaimedKey] = []
        try KeyShare(run: run, part: part, parts: parts).read { share.append($0.key) }
        #expect(share == stride(from: part, to: count, by: parts).map { keys[$0] }, "\(part) of \(parts)")
      }
    }
  }
}
