import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyNormalization
import KeyPublishing
import KeyStorage
import Testing

/// What holds whatever is said, in whatever order, over many rounds.
@Suite struct PublishingLawTests {
  static let origins = ["NL", "DE", "BE", "FR"]

  static func series(_ random: inout SeededRandom) -> [SeriesSettings] {
    var all = ["NL", "DE", "BE"].map { SeriesSettings.sample($0, include: [$0]) }
    all.append(.sample("travel", include: nil) { $0.selection.travellersOnly = true })
    all.append(.sample("rest", include: nil) { $0.selection.exclude = ["NL", "DE"] })
    for index in all.indices {
      all[index].period = random.pick([3600, 7200, 14_400])
      all[index].minimumKeys = random.pick([0, 3, 12])
      all[index].pads = random.once(in: 2)
      all[index].publishesEmptyWindows = random.once(in: 3)
      all[index].makesSince = random.once(in: 3)
      all[index].maximumKeys = random.pick([4, 11, 1000])
      all[index].listedDays = random.pick([1, 2, 14])
      all[index].graceSeconds = random.pick([0, 7200, 86_400])
    }
    return all
  }

  /// - Parameter haveOneStart: whether each key data stands under one rolling start.
  static func claims(_ random: inout SeededRandom, count: Int, haveOneStart: Bool = false) -> [(
    key: ClaimedKey, origin: String?, visited: [String]?
  )] {
    (0..<count).map { _ in
      let type = random.pick(RevisionTests.types)
      let number = UInt64.random(in: 0..<40, using: &random)
      // Ages belong to keys, so that there are few keys with two rolling starts.
      let age = Int64(number % 5) - 1 + (!haveOneStart && random.once(in: 20) ? 1 : 0)
      let visited: [String]? = random.pick([nil, [], ["DE"], ["NL", "BE"], ["FR", "DE", "NL"]])
      return (
        key(number, age: age, period: random.pick([144, 144, 72]), type: type, risk: random.pick([nil, 1, 7])),
        random.once(in: 8) ? nil : random.pick(origins), visited
      )
    }
  }

  /// Receipts add up; indexes only grow at their end and lose what is old at their front; names are never used twice;
  /// each key is released once, in order, and revised once; what is listed is whole, signed and accepted by devices (see
  /// `Press.checkConsistency`).
  @Test(arguments: 0..<3) func randomRounds(number: Int) async throws {
    var random = SeededRandom(for: "random rounds \(number)")
    try await Press.run(Self.series(&random)) { press in
      var indexes: [String: [String]] = [:]
      var everListed: [String: [String: [ClaimedKey]]] = [:]
      var now = at(0)
      let word = Attribution(by: "ada")
      for _ in 0..<10 {
        let count = Int.random(in: 0...10, using: &random)
        try await press.say(Self.claims(&random, count: count), source: random.pick(["a", "b"]), now: at(0, days: 2))
        if random.once(in: 8) {
          try await press.ledger.paused(.origin(random.pick(Self.origins)), by: word, at: now)
        } else if random.once(in: 5) {
          for pause in try await press.ledger.read({ try $0.pauses() }) {
            _ = try await press.ledger.resumed(pause.subject, by: word, at: now)
          }
        }
        if random.once(in: 9) {
          let request = RecallRequest(origin: random.pick(Self.origins))
          _ = try await press.ledger.recalled(request, by: word, at: now)
        }
        now = Instant(secondsSince1970: now.secondsSince1970 + Int64.random(in: 1...20_000, using: &random))
        try await press.checkStatus(now)
        try await press.round(now)
        for settings in press.series {
          let (old, new) = (indexes[settings.name] ?? [], try press.index(settings.name))
          let kept = old.drop { !new.contains($0) }
          #expect(Array(new.prefix(kept.count)) == Array(kept), "an index changed other than at its ends")
          indexes[settings.name] = new
          for path in new { everListed[settings.name, default: [:]][path] = try press.bundle(path).keys }
        }
      }
      for (name, bundles) in everListed {
        let byPath = bundles.sorted { $0.key < $1.key }.flatMap(\.value)
        let released = byPath.filter { !$0.isRevised }.map(\.subject)
        #expect(Set(released).count == released.count, "\(name): a key was released twice")
        let revised = byPath.filter(\.isRevised).map(\.subject)
        #expect(Set(revised).count == revised.count, "\(name): a key was revised twice")
        #expect(Set(revised).isSubset(of: released), "\(name): a key was revised that was not released")
      }
    }
  }

  /// Two gateways that were told the same in another order publish the same `export.bin`. Under which rolling start a key
  /// data stands is decided by who comes first, and by nothing else.
  @Test(arguments: 0..<2) func theOrderOfArrivalChangesNothing(number: Int) async throws {
    var random = SeededRandom(for: "order of arrival \(number)")
    let series = Self.series(&random)
    let waves = (0..<3).map { _ in Self.claims(&random, count: 30, haveOneStart: true) }
    var digests: [[String: String]] = []
    for shuffles in [false, true] {
      try await Press.run(series) { press in
        for (wave, claims) in waves.enumerated() {
          let said = shuffles ? claims.shuffled(using: &random) : claims
          let middle = shuffles ? said.count / 3 : 0
          try await press.say(Array(said[middle...]), source: "a", now: at(0, days: 2))
          try await press.say(Array(said[..<middle]), source: "a", now: at(0, days: 2))
          // Not in the same second either.
          try await press.round(at(4 + 6 * Int64(wave), shuffles ? 17 : 0))
        }
        digests.append(try press.exportDigests())
      }
    }
    #expect(digests[0] == digests[1] && !digests[0].isEmpty)
  }
}

extension Press {
  /// What waits is the same, whether the claims that can have changed are counted or all.
  func checkStatus(_ now: Instant) async throws {
    for settings in series {
      let waiting = try await ledger.read { [program] state in
        try [RoundMode.always, .divided].map { habit in
          let status = try SeriesStatus(of: settings, in: state, now: now, countingFor: program, habit: habit)
          let next = try #require(status.next)
          return [
            next.new, next.revised, next.recalled, next.held, next.waiting, next.paused,
            Int(next.nextRelease?.secondsSince1970 ?? 0),
          ]
        }
      }
      #expect(waiting[0] == waiting[1], "\(settings.name)")
    }
  }

  /// Of everything that was published, by path.
  func exportDigests() throws -> [String: String] {
    var digests: [String: String] = [:]
    for settings in series {
      for bundle in try manifest(settings.name).bundles { digests[bundle.path] = bundle.exportSHA256 }
    }
    return digests
  }
}
