import ExposureKeys
import Foundation
import GRDB
import GatewayTesting
import KeyNormalization
import KeyStorage
import Testing

@testable import SQLiteDriver

#if PostgreSQL
  import PostgresDriver
#endif

/// What a round has to look at: the key data that a store notes with everything that changes about claims.
@Suite("Stores: the agenda")
struct AgendaTests {
  private static let ever: ClosedRange<Int64> = 1...1_000_000
  private static let word = Attribution(by: "ada", reason: "a court")

  /// What was noted since an event.
  private static func noted(
    in store: any Store, since event: EventID, endingIn hours: ClosedRange<Int64> = ever
  ) async throws -> Set<TemporaryExposureKey>? {
    try await store.read { try $0.agenda(after: event, endingIn: hours, limit: .max) }.map(Set.init)
  }

  private static func last(_ store: any Store) async throws -> EventID {
    try await store.read { try $0.lastEvent()?.id ?? EventID(rawValue: 0) }
  }

  /// Everything that changes, in its turn; `body` is told of each which key data it is about.
  private static func history(
    on store: any Store, _ body: (String, Set<TemporaryExposureKey>, _ before: EventID) async throws -> Void
  ) async throws {
    let ledger = Ledger(store)
    let documents = try await ledger.discovered(["a", "b", "c", "d"], of: "DE", at: Times.now).map(\.id)
    func step(
      _ name: String, _ keys: Set<TemporaryExposureKey>, _ change: () async throws -> Void
    ) async throws {
      let before = try await last(store)
      try await change()
      try await body(name, keys, before)
    }
    func record(_ batch: AdmittedBatch, _ index: Int) async throws {
      _ = try await ledger.recorded(documents[index], evidence: nil, cursor: nil, at: Times.now) {
        DocumentFacts(try $0.record(batch))
      }
    }
    let first = KeyRecordTests.claims([KeyRecordTests.key(1), KeyRecordTests.key(2)])
    try await step("recorded", Set([1, 2].map { KeyRecordTests.key($0).key })) { try await record(first, 0) }
    try await step("recorded again", []) { try await record(first, 1) }
    // Beyond the usual volume they are held.
    let flood = KeyRecordTests.claims((3..<12).map { KeyRecordTests.key($0) }, from: "flood", usual: 1)
    #expect(!flood.held.isEmpty)
    let all = Set((3..<12).map { KeyRecordTests.key($0).key })
    try await step("held", all) { try await record(flood, 2) }
    let held = Set(try await store.read { try $0.held(of: documents[2]) }.map(\.subject.key))
    try await step("released", held) { _ = try await ledger.heldReleased(documents[2], by: word, at: Times.now) }
    let more = KeyRecordTests.claims((20..<29).map { KeyRecordTests.key($0) }, from: "flood", usual: 1)
    try await step("held again", Set((20..<29).map { KeyRecordTests.key($0).key })) { try await record(more, 3) }
    let left = Set(try await store.read { try $0.held(of: documents[3]) }.map(\.subject.key))
    try await step("discarded", left) { _ = try await ledger.heldDiscarded(documents[3], by: word, at: Times.now) }
    var change = ReadingChange()
    let claim = try #require(
      try await store.read { try $0.record(of: KeyRecordTests.key(1).key) }.claims.first?.claim)
    change.removed = [claim]
    try await step("read otherwise", [KeyRecordTests.key(1).key]) { [change] in
      _ = try await store.write { transaction in
        let stamp = try transaction.enter(NewEvent(.reread, about: "a", at: Times.now))
        return try transaction.reread(change, of: documents[0], from: Times.now, in: stamp)
      }
    }
    try await step("looked at again", [KeyRecordTests.key(77).key]) {
      try await store.write { transaction in
        _ = try transaction.enter(NewEvent(.staged, about: "NL", at: Times.now))
        try transaction.lookAgain(at: [KeyRecordTests.key(77).key])
      }
    }
  }

  @Test("everything that changes about a claim is noted, at once where it may be due", arguments: StoreKind.allCases)
  func changes(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      var names: [String] = []
      try await Self.history(on: store) { name, keys, before in
        names.append(name)
        let noted = try #require(try await Self.noted(in: store, since: before))
        #expect(noted.isSuperset(of: keys), "\(name)")
        // What ends far in the future waits, but not where a claim went away.
        let soon = try #require(try await Self.noted(in: store, since: before, endingIn: 1...2))
        let isLoss = ["discarded", "read otherwise", "looked at again", "released"].contains(name)
        if isLoss { #expect(soon.isSuperset(of: keys), "\(name)") }
      }
      #expect(names.count == 8)
    }
  }

  @Test(
    "a claim is noted for the hour in which it ends, a short one for a whole day's end, too",
    arguments: StoreKind.allCases)
  func hours(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      var keys: [ClaimedKey] = []
      for (number, period) in [(UInt64(1), Int32(144)), (2, 1), (3, 7), (4, 143)] {
        keys.append(KeyRecordTests.key(number, period: period))
      }
      // The start of `KeyRecordTests.key`, in hours, is 2,670,000 / 6.
      let start: Int64 = 445_000
      let ends: [UInt64: Set<Int64>] = [1: [24], 2: [1, 24], 3: [2, 24], 4: [24]]
      _ = try await store.write { [keys] in
        try $0.record(KeyRecordTests.claims(keys), of: try $0.document("a"), at: Times.now)
      }
      let after = try await Self.last(store)
      let marked = EventID(rawValue: after.rawValue + 1000)
      for hour in Int64(0)...26 {
        let asked = (start + hour)...(start + hour)
        let found = try #require(try await Self.noted(in: store, since: marked, endingIn: asked))
        let expected = keys.map(\.key).filter { ends[$0.low]?.contains(hour) ?? false }
        #expect(found == Set(expected), "\(hour)")
      }
    }
  }

  @Test("what comes in large and in small batches is there, in order and once", arguments: StoreKind.allCases)
  func pieces(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      var random = SeededRandom(for: "agenda \(kind)")
      var all: Set<TemporaryExposureKey> = []
      let sizes = kind == .sqlite ? [1, 3, 255, 256, 257, 5000, 1, 2, 1] + Array(repeating: 14, count: 60) : [1, 300]
      for size in sizes {
        let keys = (0..<size).map { _ in
          var key = KeyRecordTests.key(0)
          key.key = TemporaryExposureKey(high: random.next(), low: random.next())
          return key
        }
        all.formUnion(keys.map(\.key))
        _ = try await store.write {
          try $0.record(KeyRecordTests.claims(keys), of: try $0.document("a"), at: Times.now)
        }
      }
      let count = all.count
      let found = try #require(
        try await store.read { try $0.agenda(after: EventID(rawValue: 0), endingIn: Self.ever, limit: count) })
      #expect(found == all.sorted())
      #expect(
        try await store.read { try $0.agenda(after: EventID(rawValue: 0), endingIn: Self.ever, limit: count / 2) }
          == nil)
    }
  }

  @Test("what was forgotten is not taken for nothing", arguments: StoreKind.allCases)
  func sweeping(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      func record(_ number: UInt64) async throws -> EventID {
        _ = try await store.write {
          try $0.record(KeyRecordTests.claims([KeyRecordTests.key(number)]), of: try $0.document("a"), at: Times.now)
        }
        return try await Self.last(store)
      }
      let first = try await record(1)
      for _ in 0..<600 { _ = try await store.write { try $0.enter(NewEvent(.clockSeen, about: "x", at: Times.now)) } }
      let second = try await Self.last(store)
      _ = try await record(2)
      // The end of both keys, in hours.
      let end: Int64 = 445_024
      let later = (end + 1)...(end + 9)
      try await store.write { try $0.sweepAgenda(to: AgendaFloor(event: second, hour: end)) }
      let found = try #require(try await Self.noted(in: store, since: second, endingIn: later))
      #expect(found.contains(KeyRecordTests.key(2).key))
      #expect(try await Self.noted(in: store, since: second, endingIn: 1...end) == nil)
      #expect(try await Self.noted(in: store, since: first, endingIn: later) == nil)
      // A floor never falls.
      try await store.write { try $0.sweepAgenda(to: AgendaFloor(event: first, hour: 1)) }
      #expect(try await Self.noted(in: store, since: first, endingIn: later) == nil)
    }
  }

  #if PostgreSQL
    @Test("after a round PostgreSQL does not tell which keys came together", .enabled(if: StoreKind.hasPostgres))
    func mixing() async throws {
      let schema = PostgresServer.newSchema()
      let server = try PostgresServer.shared
      let store = try PostgresStore(try ConnectionWords(server.words), schema: schema)
      // Of each person every third key, so that the order of key data is another one than that of persons.
      for person in UInt64(0)..<3 {
        let keys = (0..<14).map { KeyRecordTests.key(1 + person + 3 * $0) }
        _ = try await store.write { transaction in
          try transaction.record(KeyRecordTests.claims(keys), of: try transaction.document("a"), at: Times.now)
        }
      }
      func transactions() throws -> String {
        try server.query("SELECT count(DISTINCT xmin::text) FROM \(schema).claims")
      }
      #expect(try transactions() == "3")
      let last = try await Self.last(store)
      // As a round does it that knew the last event. Its numbers are coarse, so the agenda keeps them for longer.
      try await store.write { try $0.sweepAgenda(to: AgendaFloor(event: last, hour: 445_024)) }
      #expect(try transactions() == "1")
      try await store.write {
        try $0.sweepAgenda(to: AgendaFloor(event: EventID(rawValue: last.rawValue | 255), hour: 445_024))
      }
      let places = "SELECT string_agg(encode(key, 'hex'), ',' ORDER BY ctid) FROM \(schema).claims"
      let keys = "SELECT string_agg(encode(key, 'hex'), ',' ORDER BY key) FROM \(schema).claims"
      #expect(try server.query(places) == server.query(keys))
      #expect(try server.query("SELECT count(*) FROM \(schema).agenda") == "0")
      #expect(try await store.damage(limit: 9) == [])
    }
  #endif

  @Test(
    "an erased key is on no agenda, and neither is an hour whose claims have expired", arguments: StoreKind.allCases)
  func erasing(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      try await Self.history(on: store) { _, _, _ in }
      let erased = KeyRecordTests.key(2).key
      _ = try await Ledger(store).erased(erased, digest: "cafe", by: Self.word, at: Times.now) { _ in [] }
      let left = try #require(try await Self.noted(in: store, since: EventID(rawValue: 0)))
      #expect(!left.contains(erased) && left.contains(KeyRecordTests.key(1).key))
      _ = try await store.write { try $0.expire(keysExpiredBefore: Times.days(400), at: Times.now) }
      // What is to be looked at at once stays until it was.
      let rest = try #require(try await Self.noted(in: store, since: EventID(rawValue: 0)))
      #expect(rest.contains(KeyRecordTests.key(77).key) && !rest.contains(KeyRecordTests.key(20).key.flipped))
      #expect(rest.isSubset(of: left))
    }
  }

  @Test("an erased key is on no list of a large batch", arguments: StoreKind.allCases)
  func erasingFromLists(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let keys = (UInt64(1)...300).map { KeyRecordTests.key($0) }
      let last = KeyRecordTests.key(400, period: 1)
      _ = try await store.write {
        try $0.record(KeyRecordTests.claims(keys + [last]), of: try $0.document("a"), at: Times.now)
      }
      for key in [keys[7], last] {
        _ = try await Ledger(store).erased(key.key, digest: "cafe", by: Self.word, at: Times.now) { _ in [] }
      }
      let left = try #require(try await Self.noted(in: store, since: EventID(rawValue: 0)))
      #expect(left == Set(keys.map(\.key)).subtracting([keys[7].key]))
      #expect(try await store.damage(limit: 9) == [])
    }
  }

  @Test("claims about some keys are those of all pages, whatever was recalled and held", arguments: StoreKind.allCases)
  func claims(kind: StoreKind) async throws {
    for round in 0..<4 {
      var arrivals = Arrivals(random: SeededRandom(for: "agenda claims \(kind) \(round)"))
      let batches = arrivals.batches(8)
      let floods = (0..<2).map { _ in admit(arrivals.keys(20), from: Arrivals.sources[0], usual: 1) }
      let keys = Set(arrivals.keys(60).map(\.key.key)).sorted()
      try await withStore(kind) { store in
        try await store.write { transaction in
          for (index, batch) in (batches + floods).enumerated() {
            _ = try transaction.record(batch, of: try transaction.document("\(index)"), at: Times.now)
          }
          try transaction.recall(RecallRequest(origin: "IT"), at: Times.now)
        }
        try await store.read { state throws in
          for part in [keys, Array(keys.prefix(3)), []] {
            let page = try state.claims(about: part)
            let whole = try state.claims(from: .first, limit: .max)
            #expect(page.next == nil)
            let expected = whole.claims.statedClaims.filter { part.contains($0.subject.key) }
            #expect(Set(page.claims.statedClaims) == Set(expected))
            for subject in Set(expected.map(\.subject)) {
              #expect(page.embargo.period(of: subject) == whole.embargo.period(of: subject))
            }
          }
        }
      }
    }
  }

  @Test("released keys are found by their key data", arguments: StoreKind.allCases)
  func released(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let keys =
        (1..<9).map { KeyRecordTests.key($0) }
        + [KeyRecordTests.key(3)].map { key in
          var other = key
          other.rollingStart = 2_670_144
          return other
        }
      try await ledger.staged(
        [NewStaging(NewBundle("NL", 0), [1], releasing: keys.map { NewRelease(key: $0, revisions: 0) })], by: "NL",
        at: Times.now
      ) { _ in [] }
      try await store.read { state throws in
        let asked = [0, 3, 5, 77].map { KeyRecordTests.key($0).key }
        let all = try state.released(by: "NL", from: .first, limit: .max)
        #expect(try state.released(by: "NL", about: asked) == all.filter { asked.contains($0.key.key) })
        #expect(try state.released(by: "NL", about: asked).map(\.key.key.low) == [3, 3, 5])
        #expect(try state.released(by: "travel", about: asked) == [] && state.released(by: "NL", about: []) == [])
      }
    }
  }
}

extension TemporaryExposureKey {
  fileprivate var flipped: TemporaryExposureKey { TemporaryExposureKey(high: ~high, low: ~low) }
}

/// What series have released, where much of it is released again.
@Suite("Stores: much released again")
struct ReleasedAgainTests {
  @Test(
    "thousands of keys go over to another bundle",
    arguments: [StoreKind.memory, .sqlite])
  func manyAgain(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      var random = SeededRandom(for: "released again \(kind)")
      let keys = (0..<20_000).map { number in
        var key = KeyRecordTests.key(0)
        key.key = TemporaryExposureKey(high: random.next(), low: random.next())
        if number % 50 == 0 { key.reportType = ReportType.selfReport.rawValue }
        return key
      }
      func release(_ keys: [ClaimedKey], with ordinal: Int, revisions: Int32) async throws {
        try await ledger.staged(
          [
            NewStaging(
              NewBundle("NL", ordinal), [1],
              releasing: keys.map { NewRelease(key: $0, revisions: revisions, origins: ReleasingOrigins(["NL"])) })
          ], by: "NL", at: Times.now
        ) { _ in [] }
      }
      try await release(keys, with: 0, revisions: 0)
      let start = ContinuousClock.now
      try await release(keys, with: 1, revisions: 0)
      #expect(ContinuousClock.now - start < .seconds(30))
      let revised = keys.filter { $0.reportType == ReportType.selfReport.rawValue }.map { key in
        var key = key
        key.reportType = ReportType.confirmedTest.rawValue
        return key
      }
      try await release(revised, with: 2, revisions: 1)
      let bundles = try await ledger.read { try $0.bundles(of: "NL", in: Set(BundleState.allCases)).map(\.id) }
      let now = try await ledger.read { try $0.released(by: "NL", from: .first, limit: .max) }
      #expect(now.count == keys.count && Set(now.map(\.key.key)) == Set(keys.map(\.key)))
      #expect(now.count { $0.bundle == bundles[2] && $0.revisions == 1 } == revised.count)
      #expect(now.count { $0.bundle == bundles[1] && $0.revisions == 0 } == keys.count - revised.count)
      // Before the revision each was what it had been.
      let before = try await ledger.read { try $0.released(by: "NL", from: .first, limit: .max, before: bundles[2]) }
      #expect(before.count == keys.count && before.allSatisfy { $0.revisions == 0 })
      #expect(
        before.count { $0.key.reportType == ReportType.selfReport.rawValue } == revised.count)
      #expect(try await store.damage(limit: 9) == [])
    }
  }
}
