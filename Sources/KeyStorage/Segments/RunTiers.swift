/// Which runs are merged, and when: those of one size once there are ``fanOut`` of them, so that a claim is written again
/// once for every ``fanOut``-fold growth and there are never many runs to ask.
package enum RunTiers {
  /// Runs of one size that stand beside each other at most.
  package static let fanOut = 16
  /// Runs of up to so many claims are small: they have no filters, and the smallest of them takes what comes in small
  /// pieces.
  package static let smallRows: Int64 = 8192
  /// A batch of up to so many claims goes into a small run, among others': who reads the store is not told by a run of its own
  /// which claims came together.
  package static let smallBatch = 256

  /// 0 is small.
  package static func tier(of rowCount: Int64) -> Int {
    var (tier, size) = (0, smallRows)
    while rowCount > size, tier < 30 {
      size *= Int64(fanOut)
      tier += 1
    }
    return tier
  }

  /// The small run that takes what comes in small pieces: the one with the fewest claims.
  package static func smallest(of runs: [ClaimRun]) -> ClaimRun? {
    free(runs).filter { $0.rowCount < smallRows && !$0.hasFilters }.min { $0.rowCount < $1.rowCount }
  }

  /// The runs to merge next, if any are.
  package static func due(of runs: [ClaimRun]) -> [ClaimRun]? {
    let smallest = smallest(of: runs)?.number
    let tiers = Dictionary(grouping: free(runs).filter { $0.number != smallest }) { tier(of: $0.rowCount) }
    return tiers.filter { $0.value.count >= fanOut }.min { $0.key < $1.key }?.value.sorted { $0.number < $1.number }
  }

  /// Those that are in no merge.
  private static func free(_ runs: [ClaimRun]) -> [ClaimRun] {
    let targets = Set(runs.compactMap(\.into))
    return runs.filter { $0.into == nil && !targets.contains($0.number) }
  }
}
