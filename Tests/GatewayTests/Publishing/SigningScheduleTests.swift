import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyNormalization
import KeyPublishing
import KeyStorage
import Testing

/// Which key signs when, and what happens when another one takes over.
@Suite struct SigningScheduleTests {
  static func series(_ identities: [ScheduledIdentity]) -> SeriesSettings {
    .sample(identities: identities) { $0.makesSince = true }
  }

  @Test func theKeyThatBeganLastSigns() async throws {
    let identities = ["a", "b", "c", "d"].map { makeIdentity($0) }
    let series = Self.series([
      ScheduledIdentity(identity: identities[2], from: at(9), until: at(11)),
      ScheduledIdentity(identity: identities[0]),
      ScheduledIdentity(identity: identities[3], from: at(13)),
      ScheduledIdentity(identity: identities[1], from: at(6)),
    ])
    for (hour, version) in [(Int64(4), "a"), (6, "b"), (10, "c"), (12, "b"), (14, "d")] {
      try await Press.run(series) { press in
        try await press.say([key(1)])
        try await press.round(at(hour))
        #expect(try press.manifest("NL").bundles.map(\.keyVersion).allSatisfy { $0 == version })
        #expect(try press.manifest("NL").keys.last?.version == version)
        #expect(try press.manifest("NL").keys.last?.publicKey.hasPrefix("-----BEGIN PUBLIC KEY") == true)
      }
    }
  }

  /// Loud, and only for the series without a key.
  @Test func withoutAValidKeyNothingIsPublished() async throws {
    let ended = [
      ScheduledIdentity(identity: identity, until: at(10)),
      ScheduledIdentity(identity: makeIdentity("v9"), from: at(0, days: 3)),
    ]
    try await Press.run([.sample("NL", identities: ended), .sample("none", identities: []), .sample("DE")]) { press in
      try await press.say([key(1)])
      let receipts = try await press.publisher.round(now: at(10))
      #expect(receipts.map(\.fault?.code) == ["no-signing-key", "no-signing-key", nil])
      #expect(receipts[0].fault?.reason.contains("begins at 2020-12-07T00:00:00Z") == true)
      #expect(try press.files().allSatisfy { $0.hasPrefix("DE/") })
    }
  }

  @Test(arguments: [(29, true), (30, true), (31, false)])
  func theEndIsAnnounced(days: Int64, isWarned: Bool) async throws {
    let series = Self.series([
      ScheduledIdentity(identity: identity, until: at(20)),
      ScheduledIdentity(identity: makeIdentity("v2"), from: at(19), until: at(10, days: days)),
    ])
    try await Press.run(series) { press in
      let receipt = try await press.round(at(10))[0]
      #expect(receipt.warnings.contains { $0.code == .signingKeyEnds } == isWarned)
    }
  }

  /// A gap in which no key is valid is an end.
  @Test func aGapIsAnEnd() async throws {
    let series = Self.series([
      ScheduledIdentity(identity: identity, until: at(20)),
      ScheduledIdentity(identity: makeIdentity("v2"), from: at(21)),
    ])
    try await Press.run(series) { press in
      let warnings = try await press.round(at(10))[0].warnings
      #expect(warnings.map(\.code) == [.signingKeyEnds])
    }
  }

  @Test func whenAKeyTakesOverEverythingChangesAtOnce() async throws {
    let next = makeIdentity("v2")
    let series = Self.series([
      ScheduledIdentity(identity: identity, until: at(20)), ScheduledIdentity(identity: next, from: at(15)),
    ])
    try await Press.run(series) { press in
      for number in [UInt64(1), 2, 3] {
        try await press.say([key(number)])
        try await press.round(at(8 + 2 * Int64(number)))
      }
      let (index, files, contents) = try (press.index("NL"), press.files(), press.increments("NL").map(\.keys))
      // At its time, and not with the next window.
      let receipt = try await press.round(at(15))[0]
      #expect(receipt.signedAgain == 5 && receipt.window == nil)
      let again = try press.index("NL")
      #expect(again.count == 3 && Set(again).isDisjoint(with: index))
      #expect(try press.increments("NL").map(\.keys) == contents)
      #expect(try press.increments("NL").allSatisfy { $0.header.signatureInfos == [next.info] })
      #expect(try press.manifest("NL").bundles.filter(\.isListed).allSatisfy { $0.keyVersion == "v2" })
      #expect(try press.listed("NL", .increment).map(\.ordinal) == [3, 4, 5])
      // Cached indexes name the old files for a while.
      #expect(try files.isSubset(of: press.files()))
      #expect(try await press.round(at(15, 30))[0].signedAgain == 0)
      #expect(try press.index("NL") == again)

      try await press.say([key(4)])
      try await press.round(at(16))
      #expect(try Array(press.index("NL").prefix(3)) == again)
      #expect(try press.listed("NL", .day).map(\.keys) == [4])
      try await press.round(at(15, days: 1))
      #expect(try press.files().isDisjoint(with: index))
    }
  }

  /// The operator replaced the key file and forgot the version.
  @Test func anotherKeyUnderTheSameNameIsAnotherKey() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1)])
      try await press.round(at(10))
      let other = makeIdentity("v1")
      press.series = [.sample(identities: [ScheduledIdentity(identity: other)])]
      #expect(try await press.round(at(10, 30))[0].signedAgain == 2)
      #expect(try press.increments("NL").map(\.keys) == [[key(1)]])
    }
  }
}
