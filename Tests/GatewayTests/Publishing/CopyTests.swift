import BundleTrust
import ExposureKeys
import Federation
import GatewayTesting
import KeyFormats
import KeyNormalization
import KeyPublishing
import KeyStorage
import Testing

/// A key that comes once more, by another way than its owner's: whoever got it by that way is told of the revocation.
@Suite("Copies of keys")
struct CopyTests {
  private static func series(_ names: String...) -> [SeriesSettings] {
    names.map { name in .sample(name, include: [name]) { $0.ownOrigins = ["DE", "US-VA"] } }
  }

  /// The report types of the revised keys of each series.
  private func revised(_ press: Press) throws -> [[Int32?]] {
    try press.series.map { try press.increments($0.name).flatMap { $0.revisedKeys.map(\.reportType) } }
  }

  private static let revoked = Optional(ReportType.revoked.rawValue)

  // MARK: Uploads

  @Test("an upload of a public key at another endpoint does not keep it from being revoked on any phone")
  func uploadedAgain() async throws {
    try await Press.run(Self.series("DE", "US-VA")) { press in
      try await press.upload(key(1, type: .selfReport), at: "uploads", of: "DE", isProven: true)
      try await press.round(at(10))
      #expect(try press.increments("DE").map(\.keys.count) == [1])
      // With a bare token nothing is said about the test.
      let bare = key(1).with { ($0.reportType, $0.transmissionRisk) = (nil, 8) }
      try await press.upload(bare, at: "va", of: "US-VA", isProven: false)
      try await press.round(at(12))
      #expect(try press.increments("US-VA").map { $0.keys.map(\.reportType) } == [[ReportType.selfReport.rawValue]])
      try await press.upload(key(1, type: .revoked), at: "uploads", of: "DE", isProven: true)
      let receipts = try await press.round(at(14))
      #expect(receipts.allSatisfy { $0.revised == 1 && $0.warnings.isEmpty })
      #expect(try revised(press) == [[Self.revoked], [Self.revoked]])
    }
  }

  @Test("a stranger with a certificate cannot revoke a key that the region's own server has published")
  func pulledBefore() async throws {
    try await Press.run(Self.series("DE")) { press in
      try await press.say([key(1, type: .confirmedTest), key(2, type: .selfReport)], origin: "DE", visited: ["DE"])
      try await press.round(at(10))
      for type in [ReportType.selfReport, .revoked] {
        try await press.upload(key(2, type: type), at: "uploads", of: "DE", isProven: true)
      }
      // The region's own server may.
      try await press.round(at(12))
      #expect(try revised(press) == [[]])
      try await press.say([key(2, type: .revoked)], origin: "DE", visited: ["DE"])
      try await press.round(at(14))
      #expect(try revised(press) == [[Self.revoked]])
    }
  }

  @Test("nor one of another region, nor put another rolling start into its place")
  func pulledFromElsewhere() async throws {
    try await Press.run(Self.series("DE")) { press in
      try await press.say([key(1, type: .confirmedTest), key(2, type: .confirmedTest)], origin: "BE", visited: ["DE"])
      for type in [ReportType.confirmedTest, .revoked] {
        try await press.upload(key(1, type: type), at: "uploads", of: "DE", isProven: true)
      }
      var earlier = key(2, type: .confirmedTest)
      earlier.rollingStart = earlier.rollingStart.map { $0 - 144 }
      try await press.upload(earlier, at: "uploads", of: "DE", isProven: true)
      try await press.round(at(10))
      let published = try press.increments("DE").flatMap(\.keys)
      #expect(Set(published.map(\.subject)) == Set([key(1), key(2)].map(\.subject)))
    }
  }

  @Test("where a revocation is outvoted, the series whose phones keep the key warns, and explains it")
  func outvoted() async throws {
    try await Press.run(Self.series("DE", "US-VA", "FR")) { press in
      // Before any proof it is an upload like any other.
      let bare = key(1).with { $0.reportType = nil }
      try await press.upload(bare, at: "va", of: "US-VA", isProven: false)
      try await press.upload(key(1, type: .selfReport), at: "uploads", of: "DE", isProven: true)
      try await press.round(at(10))
      try await press.upload(key(1, type: .revoked), at: "uploads", of: "DE", isProven: true)
      let receipts = try await press.round(at(12))
      #expect(receipts.map { $0.warnings.map(\.code) } == [[.revocationOutvoted], [.revocationOutvoted], []])
      #expect(receipts.map(\.omissions) == [["revocation-outvoted": 1], [:], ["other-region": 1]])
      #expect(try revised(press) == [[], [], []])
      let key = key(1).key
      let series = press.series
      let answers = try await press.ledger.read { state in
        let record = try state.record(of: key)
        return try SeriesAnswer.all(
          of: key, in: series, from: state, record, bundles: SeriesAnswer.bundles(of: record, from: state), now: at(13))
      }
      #expect(
        answers.map { $0.subjects.map(\.fate) } == [
          [.leftOut(.revocationOutvoted)], [.carried], [.leftOut(.otherRegion)],
        ])
    }
  }

  @Test("a copy goes to no federation gateway as an own key, and takes no key there that its owner keeps at home")
  func pushed() async throws {
    try await Back.run { back in
      let press = back.press
      // Another endpoint's key, and one that is for its origin alone.
      try await press.upload(key(1, type: .selfReport), at: "other", of: "DE", isProven: true)
      try await press.upload(key(1), at: "door", of: "NL", regions: ["NL", "DE"], isProven: false)
      try await press.upload(key(2, type: .selfReport), at: "door", of: "NL", isProven: true)
      try await press.upload(key(2), at: "door", of: "NL", regions: ["NL", "DE"], isProven: false)
      back.settings.doors = ["door"]
      let receipt = try await back.push()
      #expect(back.gateway.keys == [] && receipt.selection.forOriginAlone == 1)
      // Nobody has proven it: an upload like any other.
      try await press.upload(key(3), at: "door", of: "NL", regions: ["NL", "DE"], isProven: false)
      _ = try await back.push(at(1))
      #expect(back.gateway.keys == [key(3).key])
    }
  }

  // MARK: Own keys that come back

  @Test(
    "phones of a region to which a copy alone carried an own key are told of its revocation",
    arguments: [Sender(name: "hub", origin: "NL"), Sender(name: "hub", isRelay: true, carries: ["NL"])])
  func carriedElsewhere(hub: Sender) async throws {
    try await Press.run(Self.series("DE", "FR")) { press in
      try await press.say([(key(1, type: .selfReport), "DE", ["DE"])], source: "own")
      try await press.say([(key(1, type: .selfReport), nil, ["FR"])], source: "hub", from: hub)
      try await press.round(at(10))
      try await press.say([(key(1, type: .revoked), "DE", ["DE"])], source: "own")
      try await press.round(at(12))
      #expect(try revised(press) == [[Self.revoked], [Self.revoked]])
    }
  }

  @Test("an origin that claims the key after its release spends no revision of it")
  func laterClaims() async throws {
    try await Press.run(Self.series("ES", "FR")) { press in
      let relay = Sender(name: "relay", isRelay: true, carries: ["ES"])
      try await press.say([(key(1, type: .selfReport), nil, ["FR"])], source: "relay", from: relay)
      try await press.round(at(10))
      try await press.say([(key(1, type: .revoked), "ES", ["ES", "FR"])])
      try await press.round(at(12))
      #expect(try revised(press) == [[], []])
    }
  }

  /// DE reads FR's bundles, NL reads DE's and FR reads NL's, so each key comes back to its gateway after two others. What
  /// stands in a bundle has no origin: the source's `origin` or `relay` says whose it may be.
  @Test(
    "in a ring of three gateways the revocation of an own key reaches the phones of all of them",
    arguments: [false, true])
  func ring(isRelayed: Bool) async throws {
    let names = ["DE", "NL", "FR"]
    func settings(_ name: String) -> SeriesSettings {
      .sample(name, include: [name]) {
        $0.ownOrigins = [name]
        $0.publishing.publishing.emptyVisited = .all
      }
    }
    try await Press.run(settings("DE")) { first in
      try await Press.run(settings("NL")) { second in
        try await Press.run(settings("FR")) { third in
          let gateways = [first, second, third]
          var revoked: Set<TemporaryExposureKey> = []
          for day in 0..<8 as Range<Int64> {
            for (place, gateway) in gateways.enumerated() {
              let own = Sender(name: "own", origin: names[place])
              func key(of day: Int64, type: ReportType) -> ClaimedKey {
                GatewayTests.key(UInt64(10 * day) + UInt64(place), age: 1 - day, type: type)
              }
              var said = [key(of: day, type: .selfReport)]
              // By then it has come back.
              if day >= 2 {
                said.append(key(of: day - 2, type: .revoked))
                revoked.insert(said[1].key)
              }
              try await gateway.say(said.map { ($0, nil, nil) }, source: "own", from: own, now: at(1, days: day))
            }
            for hour in [4, 8, 12, 16] as [Int64] {
              for (place, gateway) in gateways.enumerated() {
                try await gateway.round(at(hour, days: day))
                let (next, name) = (gateways[(place + 1) % 3], names[place])
                let peer =
                  isRelayed
                  ? Sender(name: name, isRelay: true, carries: [name]) : Sender(name: name, origin: name)
                let keys = try gateway.increments(name).flatMap(\.keys)
                try await next.say(
                  keys.map { ($0, nil, nil) }, source: name, from: peer, now: at(hour, 30, days: day))
              }
            }
          }
          #expect(revoked.count == 18)
          for (place, gateway) in gateways.enumerated() {
            let told = try gateway.increments(names[place]).flatMap(\.revisedKeys)
              .filter { $0.reportType == ReportType.revoked.rawValue }.map(\.key)
            #expect(
              Set(told) == revoked, "\(revoked.subtracting(told).count) revocations are missing at \(names[place])")
          }
        }
      }
    }
  }
}
