import ExposureKeys
import Foundation
import GatewayTesting
import KeyNormalization
import KeyStorage
import Testing

/// Many claims, of which a batch asks some here and there.
@Suite("Stores: many claims") struct ManyClaimsTests {
  private static func key(_ number: UInt64) -> ClaimedKey {
    var key = KeyRecordTests.key(number)
    key.key = TemporaryExposureKey(high: number &* 0x9e37_79b9_7f4a_7c15, low: number)
    return key
  }

  @Test(
    "what is known is known again, and what is asked about is found, wherever it stands",
    arguments: LongList.isRun ? StoreKind.allCases.filter { $0 != .repeating } : [.sqlite])
  func known(kind: StoreKind) async throws {
    let batches = (0..<20).map { batch in (0..<1500).map { Self.key(UInt64(batch * 1500 + $0 + 1)) } }
    try await withStore(kind) { store in
      let ledger = Ledger(store)
      func record(_ keys: [ClaimedKey], as name: String) async throws -> Int {
        let document = try #require(try await ledger.discovered([name], of: "DE", at: Times.now).first?.id)
        return try await ledger.recorded(document, evidence: nil, cursor: nil, at: Times.now) {
          DocumentFacts(try $0.record(KeyRecordTests.claims(keys)))
        }.new
      }
      for (number, keys) in batches.enumerated() { #expect(try await record(keys, as: "\(number)") == 1500) }
      // Some that are known, and as many that are not.
      let few = (0..<3000).map { Self.key(UInt64($0 * 7 + 1)) }
      #expect(try await record(few, as: "few") == 0)
      #expect(try await record(few + (0..<3000).map { Self.key(UInt64(40_000 + $0)) }, as: "half") == 3000)
      for count in [1, 3, 20, 80] {
        let some = (0..<count).map { Self.key(UInt64($0 * 300 + 2)) } + [Self.key(UInt64(60_000 + count))]
        #expect(try await record(some, as: "\(count)") == 1)
        let page = try await store.read { try $0.claims(about: some.map(\.key).sorted()) }
        #expect(Set(page.claims.statedClaims.map(\.subject.key)) == Set(some.map(\.key)))
      }
      let asked = (stride(from: 5, to: 30_000, by: 11).map { UInt64($0) } + Array(50_000..<51_000)).map {
        Self.key($0).key
      }
      let page = try await store.read { try $0.claims(about: asked.sorted()) }
      #expect(Set(page.claims.statedClaims.map(\.subject.key)) == Set(asked.prefix(asked.count - 1000)))
    }
  }
}
