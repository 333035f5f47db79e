import ExposureKeys
import GatewayTesting
import Testing

@testable import KeyConversion
@testable import KeyPublishing

/// The sort by distribution is the sort by comparison.
@Suite struct KeyOrderTests {
  /// What an attacker, or chance, may make of key data.
  enum Data: CaseIterable {
    case random, sameFront, sameBack, few, equal, sorted, reversed

    func key(_ index: Int, _ random: inout SeededRandom) -> TemporaryExposureKey {
      switch self {
      case .random: TemporaryExposureKey(high: random.next(), low: random.next())
      case .sameFront: TemporaryExposureKey(high: 0xabcd_ef01 << 32 | random.next() >> 32, low: random.next())
      case .sameBack: TemporaryExposureKey(high: random.next() << 20, low: 0)
      case .few: TemporaryExposureKey(high: random.next() & 3, low: random.next() & 3)
      case .equal: TemporaryExposureKey(high: 1, low: 1)
      case .sorted: TemporaryExposureKey(high: UInt64(index) << 40, low: 0)
      case .reversed: TemporaryExposureKey(high: .max - UInt64(index) << 40, low: 0)
      }
    }
  }

  @Test(arguments: Data.allCases, [0, 1, 2, 24, 25, 100, 5000, 30_000])
  func agreesWithComparison(data: Data, count: Int) {
    var random = SeededRandom(for: "KeyOrderTests.agreesWithComparison")
    let keys = (0..<count).map { index in
      var claim = ClaimedKey(key: data.key(index, &random))
      claim.rollingStart = Int32(random.next() & 3)
      if random.once(in: 3) { claim.isRevised = true }
      return claim
    }
    let order = KeyOrder(unknownFields: UnknownFieldTable())
    var sorted = keys
    sorted.withUnsafeMutableBufferPointer { order.sort($0) }
    #expect(sorted == keys.sorted(by: order.precedes))
  }
}
