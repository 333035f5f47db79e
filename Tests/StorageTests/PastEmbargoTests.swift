import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage
import Testing

/// What was known at an event does not depend on what came later.
@Suite("Stores: validity as it was known at an event")
struct PastEmbargoTests {
  @Test("a claim that came later delays nothing then", arguments: StoreKind.allCases)
  func later(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      var moments: [EventID] = []
      for (name, period) in [("a", Int32(100)), ("b", 144)] {
        var key = ClaimedKey(key: TemporaryExposureKey(high: 1, low: 9))
        (key.rollingStart, key.rollingPeriod) = (Int32(Times.now.day.firstInterval.rawValue), period)
        let batch = admit([(key: key, region: RegionClaim(origin: "DE"))], from: Arrivals.sources[0])
        let document = try await ledger.discovered([name], of: "DE", at: Times.now)[0]
        _ = try await ledger.recorded(document.id, evidence: nil, cursor: nil, at: Times.now) {
          DocumentFacts(try $0.record(batch))
        }
        moments.append(try #require(try await store.read { try $0.lastEvent() }?.id))
      }
      @Sendable func hold(_ page: ClaimPage) -> Instant? {
        var policy = PublishingPolicy()
        policy.holdMinutes = 120
        var beliefs = Beliefs(
          of: page.claims, policy: policy, embargo: page.embargo, now: Times.now.day.start, needsOrigins: false
        ) { _ in true }
        guard case .hold(let end, _)? = beliefs.next()?.outcome else { return nil }
        return end
      }
      let ends = try await store.read { [moments] state in
        try moments.map { hold(try state.claims(from: .first, limit: 10, asOf: $0)) }
      }
      let start = Times.now.day.start.secondsSince1970
      #expect(ends.map { $0?.secondsSince1970 } == [start + 100 * 600 + 7200, start + 144 * 600 + 7200])
    }
  }
}
