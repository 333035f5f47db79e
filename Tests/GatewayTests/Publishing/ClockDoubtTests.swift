import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyPublishing
import KeyReceiving
import KeyStorage
import Testing

/// What a clock that steps 20 days ahead for a moment does to a gateway: nothing. Each thing is shown to happen when the
/// same time is believed.
@Suite("A clock in doubt holds") struct ClockDoubtTests {
  /// Looks at a clock that went well since ten o'clock, then is 20 days ahead for a minute.
  private static func looks() -> (before: ClockLook, doubted: ClockLook, believed: ClockLook) {
    var judge = ClockJudge()
    func reading(_ wall: Instant, _ uptime: Int64) -> ClockReading {
      ClockReading(wall: wall, uptime: uptime, boot: "one")
    }
    _ = judge.look(reading(at(10), 0))
    let before = judge.look(reading(at(10, 1), 60))
    let ahead = reading(at(10, 2, days: 20), 120)
    let doubted = judge.look(ahead)
    // The operator says that it is so.
    let isHeeded = judge.heed(ClockWord(ahead), at: ahead)
    #expect(isHeeded)
    return (before, doubted, judge.look(reading(at(10, 3, days: 20), 180)))
  }

  private func run(
    _ identities: [ScheduledIdentity]? = nil,
    _ body: (inout Press, (before: ClockLook, doubted: ClockLook, believed: ClockLook)) async throws -> Void
  ) async throws {
    let looks = Self.looks()
    #expect(looks.before.doubt == nil && looks.doubted.doubt != nil && looks.believed.doubt == nil)
    try await Press.run(.sample(identities: identities)) { press in
      try await press.say([key(1), key(2)])
      let receipt = try await press.publisher.round(at: looks.before)[0]
      #expect(receipt.fault == nil && receipt.published == 2)
      try await body(&press, looks)
    }
  }

  @Test("windows: the next one is over by the time that has passed") func windows() async throws {
    try await run { press, looks in
      try await press.say([key(3)])
      let doubted = try await press.publisher.round(at: looks.doubted)[0]
      #expect(doubted.fault == nil && doubted.bundles.isEmpty)
      #expect(doubted.nextWindow == at(12))
      #expect(try press.index("NL").count == 1)
      #expect(try await press.publisher.round(at: looks.believed)[0].nextWindow == at(12, days: 20))
    }
  }

  @Test("unlisting and removal of files") func unlisting() async throws {
    try await run { press, looks in
      let (index, files) = (try press.index("NL"), try press.files())
      for _ in 0..<2 {
        let doubted = try await press.publisher.round(at: looks.doubted)[0]
        #expect(doubted.fault == nil && doubted.expired == 0 && doubted.removed == 0)
      }
      #expect(try press.index("NL") == index && press.files() == files)
      let believed = try await press.publisher.round(at: looks.believed)[0]
      #expect(believed.expired > 0)
      #expect(try press.index("NL").isEmpty)
    }
  }

  /// What the store remembers of the clock is lost with it; the folder is not.
  @Test("a clock that is behind what a folder shows, after the store was lost") func lostStore() async throws {
    try await Press.run(.sample()) { press in
      for hour: Int64 in [10, 12, 14] {
        try await press.say([key(UInt64(hour))])
        try await press.round(at(hour))
      }
      let folder = LocalFolder(press.root)
      func shown(_ store: any Store) async throws -> Instant? {
        let times = await ShownTimes(in: folder, of: ["NL", "other"])
        return try await Ledger(store).read { try times.latest(beside: $0) }
      }
      #expect(try await shown(press.base) == nil)
      #expect(try await shown(MemoryStore()) == at(14))

      // One figure of the manifest is damaged: the other one counts.
      let path = SeriesManifest.path(of: "NL")
      let whole = try press.bytes(path)
      var manifest = try SeriesManifest(document: whole)
      manifest.written = 9_000_000_000
      try folder.put(try manifest.document, at: path)
      #expect(try await shown(MemoryStore()) == at(14))
      manifest.written = at(13).secondsSince1970
      try folder.put(try manifest.document, at: path)
      #expect(try await shown(MemoryStore()) == at(13))
      try folder.put(Array("no manifest".utf8), at: path)
      #expect(try await shown(MemoryStore()) == nil)
      try folder.put(whole, at: path)

      // The clock is at nine: nothing is unlisted, and no window is opened again.
      let behind = ClockReading(wall: at(9), uptime: 50, boot: "two")
      let clock = GatewayClock(continuing: nil, shownByFolder: try await shown(MemoryStore())) { behind }
      let look = clock.look()
      #expect(look.now == at(14) && look.sound == nil && look.doubt != nil)
      let other = Press(base: MemoryStore(), root: press.root, series: press.series)
      try await other.say([key(20)])
      let index = try press.index("NL")
      let receipt = try await other.publisher.round(at: look)[0]
      #expect(receipt.fault == nil && receipt.bundles.isEmpty)
      #expect(receipt.nextWindow == at(16))
      #expect(try press.index("NL") == index)
      // It is known to the store now.
      #expect(try await shown(other.base) == nil)
    }
  }

  @Test("the end of a signing key") func signingKeys() async throws {
    try await run([ScheduledIdentity(identity: identity, until: at(0, days: 10))]) { press, looks in
      #expect(try await press.publisher.round(at: looks.doubted)[0].fault == nil)
      let receipt = try await press.publisher.round(at: looks.believed)[0]
      #expect(receipt.fault?.code == "no-signing-key")
    }
  }

  @Test("retention, which needs a second look a day later as well") func retention() async throws {
    try await run { press, looks in
      let claims = try await press.ledger.read { try $0.claimCount() }
      // Neither a clock in doubt nor one look at a sound one removes anything.
      for look in [looks.doubted, looks.believed] { #expect(look.settled == nil) }
      #expect(looks.doubted.sound == nil && looks.believed.sound != nil)
      #expect(try await press.ledger.read { try $0.claimCount() } == claims)
      var judge = ClockJudge()
      _ = judge.look(ClockReading(wall: looks.believed.now, uptime: 0, boot: "two"))
      let dayLater = ClockReading(
        wall: Instant(secondsSince1970: looks.believed.now.secondsSince1970 + 86_460), uptime: 86_460, boot: "two")
      let second = judge.look(dayLater)
      let settled = try #require(second.settled)
      let receipt = try await Retention().carryOut(in: press.ledger, at: settled)
      #expect(receipt?.claims == claims && claims > 0)
    }
  }

  /// What is gone does not come back when the right time does.
  @Test func aTimeToComeRemovesNothing() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1)])
      try await press.round(at(10))
      let files = try press.files()
      let later = at(10, days: 40)
      let ahead = try await press.publisher.round(at: ClockLook(toldByOperator: later, isAhead: true))[0]
      #expect(ahead.expired == 0 && ahead.removed == 0 && ahead.fault == nil)
      #expect(try press.files().isSuperset(of: files) && press.index("NL").count >= 1)
      let told = ClockLook(toldByOperator: later, isAhead: true)
      #expect(told.sound == nil && told.settled == nil && told.doubt == nil)
      #expect(try await press.publisher.round(at: ClockLook(toldByOperator: later))[0].expired > 0)
    }
  }

  /// What a round has published by the right clock is not due again after one that was ahead.
  @Test func everybodyNamesOneWindow() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1)])
      try await press.round(at(10))
      try await press.say([key(2)])
      _ = try await press.publisher.round(at: ClockLook(toldByOperator: at(12, days: 5)))
      let (settings, now) = (press.series[0], at(10, 40))
      let preview = try await press.publisher.preview(series: settings.name, now: now)
      let status = try await press.ledger.read { state in
        try SeriesStatus(of: settings, in: state, now: now)
      }
      #expect(!preview.isDue && preview.window.instant == at(12) && status.nextWindow == at(12))
      // It is told, except to who looks back.
      #expect(status.faults.contains { $0.contains("which is still to come") })
      let past = try await press.ledger.read { state in
        try SeriesStatus(of: settings, in: state, now: now, isNamed: true)
      }
      #expect(!past.faults.contains { $0.contains("which is still to come") })
      let receipt = try await press.publisher.round(at: ClockLook(toldByOperator: now))[0]
      #expect(receipt.window == nil && receipt.nextWindow == at(12), "\(receipt)")
      #expect(receipt.warnings.map(\.code) == [.windowAhead])
    }
  }

  /// Seeds 1197, 1266, 1306 and 1423 of the simulation: an app that has a day or an edition as a whole, or goes on behind the
  /// last end that it has seen, never saw what a clock that was right again published into that time.
  @Test(
    "after a clock that was hours ahead, new keys go into a window, a day and an edition that nobody has seen",
    arguments: [false, true])
  func afterAStepAhead(_ losesStore: Bool) async throws {
    let series = SeriesSettings.sample { settings in
      settings.makesDays = true
      settings.makesSince = true
      settings.editionsPerDay = 4
    }
    try await Press.run(series) { press in
      try await press.say([key(1)])
      try await press.round(at(10))
      try await press.say([key(2)])
      // Ten hours ahead: the day is over.
      try await press.round(at(4, days: 1))
      let before = try press.manifest("NL").bundles
      let kinds: Set<String> = [BundleKind.increment.rawValue, BundleKind.day.rawValue, BundleKind.since.rawValue]
      let last = try #require(before.filter { kinds.contains($0.kind) }.map(\.end).max())
      let edition = try #require(before.filter { $0.kind == BundleKind.edition.rawValue }.map(\.end).max())
      #expect(last == at(4, days: 1).secondsSince1970)
      if losesStore {
        press = Press(base: MemoryStore(), root: press.root, series: press.series)
        try await press.say([key(1), key(2)])
      }

      for (number, now) in [(UInt64(3), at(18)), (4, at(20)), (5, at(4, days: 1)), (6, at(6, days: 1))] {
        try await press.say([key(number)])
        try await press.round(now)
        let bundle = try #require(try press.listed("NL", .increment).last)
        #expect(try press.increments("NL").last?.keys == [key(number)])
        #expect(bundle.start >= last && bundle.start >= edition, "\(bundle)")
        #expect(bundle.end >= at(6, days: 1).secondsSince1970, "\(bundle)")
      }
      let increments = try press.listed("NL", .increment).map(\.end)
      #expect(increments == increments.sorted() && Set(increments).count == increments.count)
      // The day that was shown as over has nothing new, and the edition of the new time has all.
      let days = try press.listed("NL", .day).map { ($0.start, $0.keys) }
      #expect(days.map(\.1).reduce(0, +) == 6)
      #expect(days.filter { $0.0 == at(0).secondsSince1970 }.map(\.1) == [1])
      try await press.round(at(12, days: 1))
      let editions = try press.listed("NL", .edition).filter { $0.start >= at(0, days: 1).secondsSince1970 }
      #expect(editions.map(\.keys).reduce(0, +) == 5)
    }
  }

  /// After twenty days nobody shall wait until the time comes again.
  @Test("after a clock that was weeks ahead, new keys go into the next day that nobody has seen")
  func afterALargeStepAhead() async throws {
    try await Press.run(.sample { $0.makesDays = true }) { press in
      try await press.say([key(1)])
      try await press.round(at(10))
      try await press.say([key(2)])
      try await press.round(at(10, days: 6))
      for (number, now) in [(UInt64(3), at(14)), (4, at(16)), (5, at(10, days: 1)), (6, at(10, days: 2))] {
        try await press.say([key(number)])
        try await press.round(now)
      }
      let bundles = try press.listed("NL", .increment)
      let hours: [Int64] = [8, 6 * 24 + 8, 24, 24, 24 + 8, 2 * 24 + 8]
      #expect(bundles.map(\.start) == hours.map { at($0).secondsSince1970 })
      let ends = bundles.map(\.end)
      #expect(Set(ends).count == ends.count && Array(ends[2...]) == ends[2...].sorted())
    }
  }
}
