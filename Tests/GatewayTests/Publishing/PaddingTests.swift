import BundleTrust
import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyNormalization
import KeyPublishing
import KeyStorage
import Testing

/// Look-alikes.
@Suite struct PaddingTests {
  /// RFC 4231, test cases 1 and 2.
  @Test func keyedHash() {
    func hex(_ bytes: [UInt8]) -> String { bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
    #expect(
      hex(KeyedHash(secret: [UInt8](repeating: 0x0b, count: 20)).bytes(for: Array("Hi There".utf8)))
        == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
    #expect(
      hex(KeyedHash(secret: Array("Jefe".utf8)).bytes(for: Array("what do ya want for nothing?".utf8)))
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }

  static func padded(_ name: String = "NL", include: Set<String>? = ["NL"], to minimum: Int) -> SeriesSettings {
    .sample(name, include: include) {
      $0.minimumKeys = minimum
      $0.pads = true
    }
  }

  @Test(arguments: [1, 5, 6, 10, 11, 64, 100]) func everyKeyHasTheSameNumber(minimum: Int) async throws {
    try await Press.run(Self.padded(to: minimum)) { press in
      let keys = (1...5).map { key($0, age: Int64($0), type: $0 == 3 ? .selfReport : .confirmedTest, onset: Int32($0)) }
      try await press.say(keys)
      let receipt = try await press.round(at(10))[0]
      let rounds = (minimum + 4) / 5
      #expect(receipt.published == 5 && receipt.lookalikes == 5 * (rounds - 1))
      let published = try press.increments("NL")[0].keys
      #expect(Set(published.map(\.key)).count == 5 * rounds)
      for real in keys {
        let alike = published.filter { other in real.with { $0.key = other.key } == other }
        #expect(alike.count == rounds && alike.contains(real))
      }
      // The day holds the same.
      #expect(try press.bundle(press.listed("NL", .day)[0].path).keys == published)
    }
  }

  @Test func anEmptyWindowIsNotPadded() async throws {
    try await Press.run(Self.padded(to: 100)) { press in
      try await press.round(at(10))
      #expect(try press.index("NL") == [])
    }
  }

  @Test func withoutPaddingKeysWait() async throws {
    try await Press.run(.sample { $0.minimumKeys = 3 }) { press in
      try await press.say([key(1, type: .selfReport), key(2)])
      let receipt = try await press.round(at(10))[0]
      #expect(receipt.waiting == 2 && receipt.published == 0 && receipt.bundles == [])
      try await press.say([key(3)])
      #expect(try await press.round(at(12))[0].published == 3)
      // Changes of keys that are known do not wait.
      try await press.say([key(1, type: .confirmedTest), key(4)])
      let revision = try await press.round(at(14))[0]
      #expect(revision.revised == 1 && revision.waiting == 1)
      #expect(try press.increments("NL").map(\.keys.count) == [3, 1])
    }
  }

  /// Comparing two series, or two windows, does not tell which keys are real.
  @Test func lookalikesAreEqualInOverlappingSeries() async throws {
    let series = [
      SeriesSettings.sample("all", include: nil) { $0.makesSince = true }, Self.padded("travel", include: nil, to: 30),
      Self.padded("NL", include: ["NL"], to: 24), Self.padded("DE", include: ["DE"], to: 40),
      .sample("late", include: ["NL"]) { $0.minimumKeys = 40 },
    ]
    try await Press.run(series) { press in
      try await press.say((1...3).map { key($0) })
      try await press.say((4...20).map { key($0) }, origin: "DE")
      try await press.say([key(30)], origin: "NL", visited: ["DE"])
      try await press.round(at(10))
      let all = Set(try press.increments("all").flatMap(\.keys))
      let travel = Set(try press.increments("travel").flatMap(\.keys))
      let (netherlands, germany) = (
        Set(try press.increments("NL").flatMap(\.keys)), Set(try press.increments("DE").flatMap(\.keys))
      )
      #expect(netherlands.count == 24 && germany.count >= 40)
      // Every key of a region is in the series of all regions, real or not, and nothing else is.
      #expect(travel == netherlands.union(germany))
      #expect(all == travel)
      #expect(try press.index("late") == [])

      // A series that releases the keys later gives them the same look-alikes.
      try await press.say((31...34).map { key($0) })
      try await press.round(at(12))
      let late = Set(try press.increments("late").flatMap(\.keys))
      #expect(netherlands.isSubset(of: late))
      #expect(late == Set(try press.increments("NL").flatMap(\.keys)))
    }
  }

  /// What becomes of a key becomes of its look-alikes; otherwise the first revision would tell them apart.
  @Test func lookalikesAreRevisedWithTheirKey() async throws {
    try await Press.run(Self.padded(to: 10)) { press in
      try await press.say([key(1, type: .selfReport), key(2)])
      try await press.round(at(10))
      try await press.say([key(1, type: .revoked)])
      let receipt = try await press.round(at(12))[0]
      #expect(receipt.revised == 1 && receipt.lookalikes == 4)
      let bundles = try press.increments("NL")
      let alike = bundles[0].keys.filter { $0.reportType == ReportType.selfReport.rawValue }.map(\.key)
      #expect(bundles[1].revisedKeys.map(\.key).sorted() == alike.sorted() && alike.count == 5)
    }
  }

  /// They are in bundles alone.
  @Test func lookalikesAreNeitherClaimedNorReleased() async throws {
    try await Press.run(Self.padded(to: 50)) { press in
      try await press.say([key(1), key(2)])
      try await press.round(at(10))
      let (claims, released) = try await press.base.read { state in
        let start = TemporaryExposureKey(high: 0, low: 0)
        return (try state.claimCount(), try state.released(by: "NL", from: start, limit: 1000))
      }
      #expect(claims == 2 && Set(released.map(\.key)) == [key(1), key(2)])
    }
  }

  @Test func anotherSecretGivesOtherLookalikes() async throws {
    var published: [Set<TemporaryExposureKey>] = []
    for secret in [UInt8(1), 1, 2] {
      try await Press.run(Self.padded(to: 10)) { press in
        try await press.say([key(1)])
        let publisher = Publisher(ledger: Ledger(press.store), series: press.series, folder: press.folder) { count in
          [UInt8](repeating: secret, count: count)
        }
        _ = try await publisher.round(now: at(10))
        published.append(Set(try press.increments("NL")[0].keys.map(\.key)))
      }
    }
    #expect(published[0] == published[1])
    #expect(published[0].intersection(published[2]) == [key(1).key])
  }
}
