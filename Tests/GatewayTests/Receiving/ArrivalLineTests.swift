import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage
import Testing

@testable import KeyReceiving

/// In which event each lost claim of a document came that came in pieces.
@Suite struct ArrivalLineTests {
  private static func claim(_ number: Int) -> StatedClaim {
    StatedClaim(
      subject: KeySubject(key: TemporaryExposureKey(high: 1, low: UInt64(number)), rollingStart: 2_670_000),
      statement: Statement(bits: 0), origin: "DE", visited: nil,
      source: Source(name: "de", origin: "DE", provenance: .signed(by: "v1")))
  }

  /// A document, what of it is there, and what is lost.
  private struct Sample {
    var claims: [StatedClaim] = []
    var isLost: [Bool] = []
    /// Of those that are there, the event.
    var kept: [TemporaryExposureKey: KeptClaim] = [:]
    let events: [EventID]

    init(_ count: Int, pieces: Int, lost: Int, others: Int, _ random: inout SeededRandom) {
      events = (0..<pieces).map { EventID(rawValue: Int64(10 + 3 * $0)) }
      let share = Int.random(in: 0...1, using: &random) * others
      for number in 0..<count {
        let claim = ArrivalLineTests.claim(number)
        claims.append(claim)
        // Damage takes neighbours by key data, which are anywhere in a document; another document has brought some of it.
        isLost.append(Int.random(in: 0..<1000, using: &random) < lost)
        let isOthers = Int.random(in: 0..<1000, using: &random) < share
        if !isOthers, !isLost[number] || Int.random(in: 0..<4, using: &random) == 0 {
          kept[claim.subject.key] = KeptClaim(
            claim: claim, document: DocumentID(rawValue: 1), event: events[number * pieces / count],
            arrived: Instant(secondsSince1970: 0), recall: nil)
        }
      }
    }

    /// The plain way, which looks at all of it.
    var expected: [EventID: [StatedClaim]] {
      var (all, early, last): ([EventID: [StatedClaim]], [StatedClaim], EventID?) = ([:], [], nil)
      for (claim, isLost) in zip(claims, isLost) {
        if let there = kept[claim.subject.key] {
          last = there.event
          all[there.event, default: []] += early
          early = []
        } else if isLost {
          if let last { all[last, default: []].append(claim) } else { early.append(claim) }
        }
      }
      if !early.isEmpty { all[events[0], default: []] += early }
      return all.filter { !$0.value.isEmpty }
    }
  }

  @Test(arguments: 0..<60) func itSaysWhatTheWholeSays(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let lost = [1, 10, 300, 1000][seed % 4]
    let sample = Sample(
      Int.random(in: 1..<3000, using: &random), pieces: Int.random(in: 1...5, using: &random), lost: lost,
      others: [0, 900, 1000][seed % 3], &random)
    // Of one piece all came in one event, and nobody asks which.
    guard sample.events.count > 1 else { return }
    var asked = 0
    var line = ArrivalLine(sample.events) { keys in
      asked += keys.count
      return keys.compactMap { sample.kept[$0] }
    }
    var rest = zip(sample.claims, sample.isLost).map { (claim: $0, isLost: $1) }[...]
    while !rest.isEmpty {
      let part = rest.prefix(Int.random(in: 1...700, using: &random))
      try line.add(Array(part))
      rest = rest.dropFirst(part.count)
    }
    let found = line.all.filter { !$0.value.isEmpty }.mapValues { $0.map(\.subject.key.low) }
    #expect(found == sample.expected.mapValues { $0.map(\.subject.key.low) })
    // Nothing is asked about twice.
    #expect(asked <= sample.claims.count)
  }

  /// 53,000 claims of which 60 are lost were asked about one by one: 72 seconds.
  @Test func whatIsAskedGrowsWithWhatIsLost() throws {
    var random = SeededRandom(seed: 7)
    let sample = Sample(53_000, pieces: 20, lost: 1, others: 0, &random)
    let count = sample.isLost.count { $0 }
    #expect(count > 20 && count < 120)
    var (asked, questions) = (0, 0)
    var line = ArrivalLine(sample.events) { keys in
      (asked, questions) = (asked + keys.count, questions + 1)
      return keys.compactMap { sample.kept[$0] }
    }
    let all = zip(sample.claims, sample.isLost).map { (claim: $0, isLost: $1) }
    for start in stride(from: 0, to: all.count, by: 4096) {
      try line.add(Array(all[start..<min(start + 4096, all.count)]))
    }
    #expect(line.all.filter { !$0.value.isEmpty } == sample.expected)
    #expect(asked <= 20 * count + 100, "\(asked) of \(all.count) for \(count)")
    #expect(questions <= 20)
  }
}
