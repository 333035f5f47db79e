import BundleTrust
import ExposureKeys
import GatewayTesting
import KeyNormalization

/// Claims of five sources, a third of them about keys that another source has named before.
struct ClaimSources: Sendable {
  let claims: [[ClaimedKey]]
  let now = Instant(secondsSince1970: RandomKeys.usualDay.start.secondsSince1970)

  init(_ count: Int) {
    var random = SeededRandom(seed: 5)
    var known: [ClaimedKey] = []
    var claims: [[ClaimedKey]] = Array(repeating: [], count: 5)
    for number in 0..<count {
      var claim: ClaimedKey
      // A source says a thing about a key once, so that every claim is a new one.
      if number % 3 == 2, let earlier = known.popLast() {
        claim = earlier
        claim.transmissionRisk = Int32(number % 8)
      } else {
        claim = ClaimedKey(key: TemporaryExposureKey(high: random.next(), low: random.next()))
        claim.rollingStart = Int32(RandomKeys.usualDay.firstInterval.rawValue - 144 * Int64(1 + number % 14))
        claim.rollingPeriod = 144
        claim.transmissionRisk = Int32(number % 8)
        claim.reportType = 1
        claim.daysSinceOnset = Int32(number % 10)
        if number % 3 == 1 { known.append(claim) }
      }
      claims[number % 5].append(claim)
    }
    self.claims = claims
  }

  /// Sixteen bytes a claim.
  var keyData: [UInt8] { claims.joined().flatMap(\.key.bytes) }

  /// What a database is given: a row a claim, with the source as its origin.
  var csv: [UInt8] {
    var rows = Array("key,start,period,risk,type,days,origin\n".utf8)
    for (number, claims) in claims.enumerated() {
      for claim in claims {
        rows += Array(
          "\(claim.key.hex),\(claim.rollingStartWord),\(claim.rollingPeriodWord),\(claim.transmissionRiskWord),".utf8)
        rows += Array("\(claim.reportTypeWord),\(claim.daysSinceOnsetWord),\(number)\n".utf8)
      }
    }
    return rows
  }

  /// Through the door, chunk by chunk, into a set.
  func record() -> ClaimSet {
    var set = ClaimSet()
    for (number, claims) in claims.enumerated() {
      var admission = Admission(
        of: .assertedByOperator(), from: Sender(name: "\(number)", origin: "\(number)"), policy: ReadingPolicy(),
        now: now)
      claims.withUnsafeBufferPointer { all in
        for start in stride(from: 0, to: all.count, by: 2048) {
          let chunk = UnsafeBufferPointer(rebasing: all[start..<min(start + 2048, all.count)])
          set.record(admission.admit(chunk, regions: RegionTable(), firstIndex: start))
        }
      }
    }
    return set
  }
}
