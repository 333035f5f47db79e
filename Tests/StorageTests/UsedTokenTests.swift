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
      for (day, isFree) in [(Int64(1), false), (2, true)] {
        _ = try await store.write { try $0.expire(keysExpiredBefore: Times.now, at: Times.days(day)) }
        #expect(try await store.write { try $0.use(Self.token(1, until: Times.days(3))) } == isFree, "\(day)")
        #expect(try await store.write { try !$0.use(Self.token(2)) })
      }
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
      #expect(first.receipts.map { $0?.new } == [1, nil, 1] && first.redeemed == [false, true, false])
      #expect(try await store.read { try $0.claimCount() } == 2)
      let events = try await store.read { try $0.events(from: EventID(rawValue: 0), limit: 10) }.count
      // Where nobody is let in, nothing has happened.
      let second = try await ledger.committed([Self.upload(4, by: Self.token(2))], door: "uploads", at: Times.now)
      #expect(second.receipts.map { $0?.new } == [nil] && second.redeemed.isEmpty)
      #expect(try await store.read { try $0.claimCount() } == 2)
      #expect(try await store.read { try $0.events(from: EventID(rawValue: 0), limit: 10) }.count == events)
    }
  }
}
