import ExposureKeys
import GatewayTesting
import KeyStorage
import Testing

@Suite("Stores: bundles, released keys, notes")
struct PublishingTests {
  @Test("stage, publish, expire and remove bundles", arguments: StoreKind.allCases)
  func bundles(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ids = try await store.write { transaction in
        let first = try transaction.stage(NewBundle("NL", 0), [1, 2, 3], at: Times.now)
        #expect(
          first
            == BundleRecord(
              id: first.id, bundle: NewBundle("NL", 0), state: .staged, changed: Times.now, published: nil))
        let day = try transaction.stage(NewBundle("NL", 0, kind: .day), [4], at: Times.now)
        let other = try transaction.stage(NewBundle("travel", 0), [5], at: Times.now)
        return [first.id, day.id, other.id]
      }
      await #expect(throws: StorageFault.placeTaken(NewBundle("NL", 0))) {
        try await store.write { try $0.stage(NewBundle("NL", 0), [9], at: Times.days(1)) }
      }
      try await store.read { state throws in
        #expect(try state.content(of: ids[0]) == [1, 2, 3])
        #expect(try state.bundles(of: "NL", in: [.staged]).map(\.id) == [ids[0], ids[1]])
        #expect(try state.bundles(of: nil, in: [.staged, .removed]).map(\.id) == ids)
        #expect(try state.bundles(of: "NL", in: [.published]).isEmpty)
      }
      for (state, day) in [(BundleState.published, 1), (.expired, 15), (.removed, 16), (.published, 17)] {
        try await store.write { try $0.move(ids[0], to: state, at: Times.days(Int64(day))) }
        let records = try await store.read { try $0.bundles(of: "NL", in: [state]) }
        #expect(
          records == [
            BundleRecord(
              id: ids[0], bundle: NewBundle("NL", 0), state: state, changed: Times.days(Int64(day)),
              published: Times.days(1))
          ])
        #expect(try await store.read { try $0.content(of: ids[0]) } == nil)
      }
      #expect(try await store.read { try $0.content(of: ids[1]) } == [4])
      let missing = BundleID(rawValue: 50)
      await #expect(throws: StorageFault.noBundle(missing)) {
        try await store.write { try $0.move(missing, to: .published, at: Times.now) }
      }
    }
  }

  @Test("how bundles were made is kept with them", arguments: StoreKind.allCases)
  func recipes(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let (ids, stamp) = try await store.write { transaction in
        let old = try transaction.stage(NewBundle("NL", 0), [1], at: Times.now).id
        let ids = try (1...2).map { try transaction.stage(NewBundle("NL", $0), [2], at: Times.now).id }
        let stamp = try transaction.enter(NewEvent(.staged, about: "NL", at: Times.days(1)))
        try transaction.keep(NewRecipe(round: [7, 0], bundles: [[8], []]), of: ids, stagedIn: stamp)
        return ([old] + ids, stamp)
      }
      try await store.read { state throws in
        #expect(try state.recipe(of: ids[0]) == nil)
        #expect(
          try state.recipe(of: ids[1])
            == StagedRecipe(event: stamp, first: ids[1], last: ids[2], round: [7, 0], bundle: [8]))
        #expect(
          try state.recipe(of: ids[2])
            == StagedRecipe(event: stamp, first: ids[1], last: ids[2], round: [7, 0], bundle: []))
      }
    }
  }

  @Test("what was released before a bundle is known later", arguments: StoreKind.allCases)
  func releasedBefore(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      var random = SeededRandom(for: "released before")
      var history: [(bundle: BundleID, released: [ReleasedKey])] = []
      for ordinal in 0..<12 {
        let bundle = try await store.write { try $0.stage(NewBundle("NL", ordinal), [1], at: Times.now).id }
        let before = try await store.read { try $0.released(by: "NL", from: .first, limit: .max) }
        history.append((bundle, before))
        var keys: [ReleasedKey] = []
        for number in UInt64(0)..<20 where random.once(in: 4) {
          var key = ClaimedKey(key: TemporaryExposureKey(high: number, low: 1))
          (key.rollingStart, key.rollingPeriod, key.transmissionRisk) = (2_650_000, 144, Int32(ordinal))
          if random.once(in: 2) { key.reportType = 1 }
          var release = ReleasedKey(key: key, bundle: bundle, origins: ReleasingOrigins(["NL"]))
          if let known = before.first(where: { $0.key.key == key.key }) {
            // It goes out again as it was, or is revised, once.
            if known.revisions == 0, random.once(in: 2) { release.revisions = 1 } else { release = known }
            release.bundle = bundle
          }
          keys.append(release)
        }
        try await store.write { [keys] in try $0.release(keys, by: "NL") }
      }
      for (bundle, released) in history {
        let then = try await store.read { try $0.released(by: "NL", from: .first, limit: .max, before: bundle) }
        #expect(then.map(\.key) == released.map(\.key) && then.map(\.revisions) == released.map(\.revisions))
        #expect(then.map(\.origins) == released.map(\.origins))
        let part = try await store.read {
          try $0.released(by: "NL", from: TemporaryExposureKey(high: 5, low: 0), limit: 3, before: bundle)
        }
        #expect(part.map(\.key) == Array(released.map(\.key).filter { $0.key.high >= 5 }.prefix(3)))
      }
    }
  }

  @Test(
    "bytes of any length come back as they were, and fewer than were promised leave nothing",
    arguments: StoreKind.allCases)
  func largeContents(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      var ordinal = 0
      for count in [0, 1, 4096, StoredBytes.pieceSize, StoredBytes.pieceSize + 1, 3 * StoredBytes.pieceSize - 7] {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 >> 9) }
        let bundle = NewBundle("NL", ordinal)
        ordinal += 1
        let id = try await store.write { try $0.stage(bundle, StoredBytes(bytes), at: Times.now).id }
        #expect(try await store.read { try $0.content(of: id) } == bytes)
      }
      let (before, cut) = (try await store.snapshot(), NewBundle("NL", ordinal))
      let promised = StoredBytes(count: StoredBytes.pieceSize + 9) { offset, room in offset == 0 ? room.count : 0 }
      let fault = await #expect(throws: StorageFault.self) {
        try await store.write { try $0.stage(cut, promised, at: Times.now) }
      }
      #expect(fault?.code == .inputOutput)
      #expect(try await store.snapshot() == before)
    }
  }

  @Test("a key released again replaces the earlier one", arguments: StoreKind.allCases)
  func released(kind: StoreKind) async throws {
    var arrivals = Arrivals(random: SeededRandom(for: "released \(kind)"))
    var keys: [KeyPlace: ClaimedKey] = [:]
    for _ in 0..<40 {
      let key = arrivals.key()
      keys[KeyPlace(key)] = key
    }
    let claimed = keys.values.shuffled(using: &arrivals.random)
    // A key without any word is kept as well as one of extremes.
    let bare = ClaimedKey(key: TemporaryExposureKey(high: 1, low: 1))
    var extreme = ClaimedKey(key: TemporaryExposureKey(high: .max, low: .max))
    (extreme.rollingStart, extreme.rollingPeriod, extreme.transmissionRisk) = (.max, .min, .max)
    let odd = [bare, extreme]
    try await withStore(kind) { store in
      let ids = try await store.write { transaction in
        let first = try transaction.stage(NewBundle("NL", 0), [1], at: Times.now)
        let second = try transaction.stage(NewBundle("NL", 1), [1], at: Times.now)
        var withTables = claimed
        for index in withTables.indices {
          withTables[index].regions = RegionClaim.ID(rawValue: 3)
          withTables[index].unknownFields = 8
        }
        try transaction.release((withTables + odd).map { ReleasedKey(key: $0, bundle: first.id) }, by: "NL")
        return (first.id, second.id)
      }
      let sorted = (claimed + odd).sorted { KeyPlace($0) < KeyPlace($1) }
      #expect(
        try await store.read { try $0.released(by: "NL", from: .first, limit: .max) }
          == sorted.map { ReleasedKey(key: $0, bundle: ids.0) })
      #expect(try await store.read { try $0.released(by: "travel", from: .first, limit: .max) }.isEmpty)
      let part = try await store.read { try $0.released(by: "NL", from: sorted[20].key, limit: 5) }
      #expect(part.map(\.key) == Array(sorted.filter { $0.key >= sorted[20].key }.prefix(5)))

      var revised = claimed[0]
      (revised.reportType, revised.isRevised) = (5, true)
      let replacement = ReleasedKey(key: revised, bundle: ids.1, revisions: 1)
      try await store.write { try $0.release([replacement], by: "NL") }
      let place = KeyPlace(revised)
      let expected = sorted.map { KeyPlace($0) == place ? replacement : ReleasedKey(key: $0, bundle: ids.0) }
      let after = try await store.read { try $0.released(by: "NL", from: .first, limit: 1000) }
      #expect(after == expected)
      let missing = BundleID(rawValue: 50)
      await #expect(throws: StorageFault.noBundle(missing)) {
        try await store.write { try $0.release([ReleasedKey(key: bare, bundle: missing)], by: "NL") }
      }
    }
  }

  @Test("keep notes by name", arguments: StoreKind.allCases)
  func notes(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      try await store.write { transaction in
        try transaction.setNote([1, 0, 2], named: "secret")
        try transaction.setNote([], named: "empty")
        try transaction.setNote([7], named: "secret")
      }
      #expect(try await store.read { try $0.note(named: "secret") } == [7])
      #expect(try await store.read { try $0.note(named: "empty") } == [])
      try await store.write { try $0.setNote(nil, named: "secret") }
      #expect(try await store.read { try $0.note(named: "secret") } == nil)
    }
  }
}

struct KeyPlace: Hashable, Comparable {
  var key: TemporaryExposureKey
  var rollingStart: Int32

  init(_ key: ClaimedKey) { (self.key, rollingStart) = (key.key, key.rollingStartWord) }

  static func < (left: Self, right: Self) -> Bool {
    left.key != right.key ? left.key < right.key : left.rollingStart < right.rollingStart
  }
}
