import ExposureKeys
import GatewayTesting
import KeyNormalization
import Testing

@testable import KeyStorage

@Suite("Stores: what lets in once")
struct UsedTokenTests {
  private struct Stop: Error {}

  private static func token(_ byte: UInt8, until end: Instant = Times.days(2)) -> UsedToken {
    UsedToken(digest: [UInt8](repeating: byte, count: 32), end: end)
  }

  private static func upload(_ low: UInt64, by token: UsedToken?) -> AdmittedUpload {
    var key = ClaimedKey(key: TemporaryExposureKey(high: 7, low: low))
    (key.rollingStart, key.rollingPeriod) = (2_670_000, 144)
    let batch = admit(
      [(key, RegionClaim(origin: "NL", visited: ["NL"]))],
      from: Source(name: "uploads", origin: "NL", provenance: .assertedByOperator))
    return AdmittedUpload(
      door: "uploads", batch: batch, regions: ["NL"], certificate: nil, byteCount: 9, token: token)
  }

  @Test("a token is used once, until it ends, and not where nothing is kept", arguments: StoreKind.allCases)
  func once(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      await #expect(throws: Stop.self) {
        try await store.write { transaction in
          _ = try transaction.use(Self.token(1))
          throw Stop()
        }
      }
      #expect(try await store.write { try $0.use(Self.token(1)) })
      #expect(try await store.write { try !$0.use(Self.token(1, until: Times.days(9))) })
      #expect(try await store.write { try $0.use(Self.token(2, until: Times.days(9))) })
      // A day longer than it lets in.
      for (day, isFree) in [(Int64(1), false), (2, false), (3, true)] {
        _ = try await store.write { try $0.expire(keysExpiredBefore: Times.now, at: Times.days(day)) }
        #expect(try await store.write { try $0.use(Self.token(1, until: Times.days(4))) } == isFree, "\(day)")
        #expect(try await store.write { try !$0.use(Self.token(2)) })
      }
    }
  }

  @Test(
    "a clock that is far ahead lets nobody in twice, and who comes with a newer token is let in",
    arguments: StoreKind.allCases)
  func wrongClock(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      #expect(try await store.write { try $0.use(Self.token(1)) })
      for years in [Int64(1), 30] {
        _ = try await store.write { try $0.expire(keysExpiredBefore: Times.now, at: Times.days(years * 365)) }
        #expect(try await store.write { try !$0.use(Self.token(1)) }, "\(years)")
      }
      // Whether it was used nobody knows any more.
      #expect(try await store.write { try !$0.use(Self.token(2)) })
      #expect(try await store.write { try $0.use(Self.token(3, until: Times.after(2 * 86_400 + 1))) })
      // A clock that is right again changes nothing about it, and what is forgotten later neither.
      _ = try await store.write { try $0.expire(keysExpiredBefore: Times.now, at: Times.days(1)) }
      #expect(try await store.write { try !$0.use(Self.token(1)) && !$0.use(Self.token(3)) })
      #expect(try await store.read { try $0.endOfForgottenTokens } == Times.days(2))
    }
  }

  // MARK: What uploads show

  private static func upload(
    _ lows: [UInt64], at door: String, isProven: Bool, type: Int32? = nil, period: Int32 = 144,
    known: [TemporaryExposureKey: [ClaimedKey]]? = nil
  ) -> AdmittedUpload {
    let keys = lows.map { low in
      var key = ClaimedKey(key: TemporaryExposureKey(high: 7, low: low))
      (key.rollingStart, key.rollingPeriod, key.reportType) = (2_670_000, period, type)
      return (key, RegionClaim(origin: "NL", visited: ["NL"]))
    }
    let batch = admit(keys, from: Source(name: door, origin: "NL", provenance: .assertedByOperator))
    return AdmittedUpload(
      door: door, batch: batch, regions: ["NL"], certificate: nil, isProven: isProven, byteCount: 9, known: known)
  }

  @Test(
    "an upload of a key that another one has proven is a copy, whatever it shows itself; one that came before is none",
    arguments: StoreKind.allCases)
  func copies(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      func standings(_ low: UInt64) async throws -> Set<String> {
        let key = TemporaryExposureKey(high: 7, low: low)
        return try await store.read { state in
          Set(
            (try state.keptClaims(about: [key]).map(\.claim) + state.held(about: [key]).map(\.claim)).map {
              "\($0.source.name) \($0.source.upload?.rawValue ?? "-")"
            })
        }
      }
      func commit(_ uploads: AdmittedUpload..., limit: VolumeLimit? = nil) async throws {
        let committed = try await ledger.committed(uploads, within: limit, door: uploads[0].door, at: Times.now)
        #expect(committed.outcomes == uploads.map { _ in .recorded } && committed.receipt.isBalanced)
      }
      // Without a proof there is nothing to be a copy of.
      try await commit(Self.upload([1], at: "b", isProven: false))
      try await commit(Self.upload([1, 2], at: "a", isProven: true))
      // Of one upload some keys are known, and others are not.
      try await commit(Self.upload([2, 3], at: "b", isProven: false, type: 1))
      // Another certificate proves nothing about keys that are proven.
      try await commit(Self.upload([2, 4], at: "c", isProven: true))
      // The owner's next word, at the same endpoint.
      try await commit(Self.upload([2], at: "a", isProven: true, type: 5))
      #expect(try await standings(1) == ["b -", "a proven"])
      #expect(try await standings(2) == ["a proven", "b copy", "c copy"])
      #expect(try await standings(3) == ["b -"])
      #expect(try await standings(4) == ["c proven"])
      // In one commit, the later one is the copy.
      try await commit(Self.upload([5], at: "a", isProven: true), Self.upload([5], at: "a", isProven: false, type: 1))
      #expect(try await standings(5) == ["a proven", "a copy"])
      // What waits for the operator was proven, too, and what is withdrawn has been.
      var policy = ReadingPolicy()
      policy.mostKeysADay = 0
      let none = policy.volumeLimit(usual: 0)
      try await commit(Self.upload([6], at: "a", isProven: true), limit: none)
      try await commit(Self.upload([6], at: "b", isProven: false), limit: none)
      #expect(try await standings(6) == ["a proven", "b copy"])
      _ = try await ledger.recalled(
        RecallRequest(origin: "NL"), by: Attribution(by: "ada", reason: "a test"), at: Times.after(86_400))
      try await commit(Self.upload([4], at: "b", isProven: false))
      #expect(try await standings(4) == ["c proven", "b copy"])
      // Nor does a certificate prove anything about a key that a source has brought, even where it is held.
      let document = try await ledger.discovered(["pulled"], of: "BE", at: Times.now)[0].id
      func pulled(_ lows: ClosedRange<UInt64>, usual: Int?) -> AdmittedBatch {
        let keys = lows.map { low in
          var key = ClaimedKey(key: TemporaryExposureKey(high: 7, low: low))
          (key.rollingStart, key.rollingPeriod) = (2_670_000, 144)
          return (key, RegionClaim(origin: "BE", visited: ["NL"]))
        }
        return admit(
          keys, from: Source(name: "BE", origin: "BE", provenance: .assertedByOperator), usual: usual)
      }
      let (admitted, held) = (pulled(10...10, usual: nil), pulled(11...19, usual: 1))
      #expect(admitted.held.isEmpty && !held.held.isEmpty)
      _ = try await ledger.recorded(document, evidence: nil, cursor: nil, at: Times.now) {
        DocumentFacts(try $0.record(admitted) + $0.record(held))
      }
      for subject in (admitted.claims + held.held.prefix(2)).map(\.subject) {
        try await commit(Self.upload([subject.key.low], at: "a", isProven: true, type: 5))
        #expect(try await standings(subject.key.low) == ["BE -", "a copy"])
      }
      // A copy is nothing that the owner has said.
      let key = TemporaryExposureKey(high: 7, low: 2)
      let said = try await store.read { try $0.said(about: [key], at: "b")[key] ?? [] }
      #expect(said == [])
    }
  }

  @Test("copies of a key overtake no upload of its owner in the same commit", arguments: StoreKind.allCases)
  func copiesOvertakeNobody(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let key = TemporaryExposureKey(high: 7, low: 1)
      _ = try await ledger.committed(
        [Self.upload([1], at: "a", isProven: true, type: 2, known: [key: []])], door: "a", at: Times.now)
      let known = try await store.read { try $0.said(about: [key], at: "a") }
      let uploads = [
        Self.upload([1], at: "a", isProven: false, type: 1, period: 143),
        Self.upload([1], at: "a", isProven: true, type: 5, known: known),
      ]
      #expect(try await ledger.committed(uploads, door: "a", at: Times.now).outcomes == [.recorded, .recorded])
      let said = try await store.read { try $0.said(about: [key], at: "a")[key] ?? [] }
      #expect(Set(said.map(\.reportType)) == [2, 5])
    }
  }

  private static func revision(_ low: UInt64, type: Int32, known: [ClaimedKey], by token: UsedToken) -> AdmittedUpload {
    var key = ClaimedKey(key: TemporaryExposureKey(high: 7, low: low))
    (key.rollingStart, key.rollingPeriod, key.reportType) = (2_670_000, 144, type)
    let batch = admit(
      [(key, RegionClaim(origin: "NL", visited: ["NL"]))],
      from: Source(name: "uploads", origin: "NL", provenance: .assertedByOperator))
    return AdmittedUpload(
      door: "uploads", batch: batch, regions: ["NL"], certificate: nil, byteCount: 9, token: token,
      known: [key.key: known])
  }

  @Test(
    "an upload that another one has overtaken since it was judged is not kept, and its token is not used",
    arguments: StoreKind.allCases)
  func overtaken(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let key = TemporaryExposureKey(high: 7, low: 1)
      _ = try await ledger.committed(
        [Self.revision(1, type: 2, known: [], by: Self.token(1))], door: "uploads", at: Times.now)
      let known = try await store.read { try $0.said(about: [key], at: "uploads")[key] ?? [] }
      #expect(known.count == 1)
      // Judged before the first one came; two of one commit; and one that came between.
      for (uploads, expected) in [
        ([Self.revision(1, type: 1, known: [], by: Self.token(2))], [.overtaken]),
        (
          [
            Self.revision(1, type: 1, known: known, by: Self.token(2)),
            Self.revision(1, type: 5, known: known, by: Self.token(3)),
          ], [.recorded, .overtaken]
        ),
        ([Self.revision(1, type: 5, known: known, by: Self.token(3))], [.overtaken]),
      ] as [([AdmittedUpload], [CommittedUploads.Outcome])] {
        let outcomes = try await ledger.committed(uploads, door: "uploads", at: Times.now).outcomes
        #expect(outcomes == expected)
      }
      #expect(try await store.read { try $0.claimCount() } == 2)
      // The token of the one that was not kept lets in.
      #expect(try await store.write { try $0.use(Self.token(3)) })
    }
  }

  @Test(
    "of uploads that share a commit each token lets in one; nothing of the others is kept",
    arguments: StoreKind.allCases)
  func commits(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      let first = try await ledger.committed(
        [Self.upload(1, by: Self.token(1)), Self.upload(2, by: Self.token(1)), Self.upload(3, by: nil)],
        redeeming: [Self.token(1), Self.token(2), Self.token(2)], door: "uploads", at: Times.now)
      #expect(first.outcomes == [.recorded, .usedToken, .recorded] && first.receipt.new == 2)
      #expect(first.redeemed == [false, true, false])
      #expect(try await store.read { try $0.claimCount() } == 2)
      let events = try await store.read { try $0.events(from: EventID(rawValue: 0), limit: 10) }.count
      // Where nobody is let in, nothing has happened.
      let second = try await ledger.committed([Self.upload(4, by: Self.token(2))], door: "uploads", at: Times.now)
      #expect(second.outcomes == [.usedToken] && second.redeemed.isEmpty)
      #expect(try await store.read { try $0.claimCount() } == 2)
      #expect(try await store.read { try $0.events(from: EventID(rawValue: 0), limit: 10) }.count == events)
    }
  }
}
