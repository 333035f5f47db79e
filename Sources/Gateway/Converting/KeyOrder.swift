import ExposureKeys

/// Sorts keys by list (revised keys last), raw key bytes, rolling start, and then every other field, so that the order
/// depends on nothing but the keys.
///
/// Key data is random, so one distribution by its leading bits, in place, leaves short runs that fit the cache. An
/// attacker who chooses keys with the same leading bits gets an ordinary comparison sort, not a slow one.
struct KeyOrder {
  let unknownFields: UnknownFieldTable

  /// Leading bits of the key data that the distribution looks at.
  private static let bits: UInt64 = 11

  func sort(_ keys: UnsafeMutableBufferPointer<ClaimedKey>) {
    guard keys.count > 1 << 12 else { return sortRun(keys[...]) }
    let bounds = distribute(keys)
    var start = 0
    for end in bounds {
      sortRun(keys[start..<end])
      start = end
    }
  }

  func precedes(_ left: ClaimedKey, _ right: ClaimedKey) -> Bool {
    if left.isRevised != right.isRevised { return right.isRevised }
    if left.key != right.key { return left.key < right.key }
    if left.rollingStartWord != right.rollingStartWord { return left.rollingStartWord < right.rollingStartWord }
    if left.rollingPeriodWord != right.rollingPeriodWord { return left.rollingPeriodWord < right.rollingPeriodWord }
    if left.transmissionRiskWord != right.transmissionRiskWord {
      return left.transmissionRiskWord < right.transmissionRiskWord
    }
    if left.reportTypeWord != right.reportTypeWord { return left.reportTypeWord < right.reportTypeWord }
    if left.daysSinceOnsetWord != right.daysSinceOnsetWord { return left.daysSinceOnsetWord < right.daysSinceOnsetWord }
    if left.fields != right.fields { return left.fields.rawValue < right.fields.rawValue }
    if left.unknownFields == right.unknownFields { return false }
    return unknownFields[left.unknownFields].lexicographicallyPrecedes(unknownFields[right.unknownFields])
  }

  private func sortRun(_ run: Slice<UnsafeMutableBufferPointer<ClaimedKey>>) {
    guard run.count > 1 else { return }
    var keys = UnsafeMutableBufferPointer(rebasing: run)
    keys.sort(by: precedes)
  }

  private func bucket(of claim: ClaimedKey) -> Int {
    Int(claim.key.high >> (64 - Self.bits)) | (claim.isRevised ? 1 << Int(Self.bits) : 0)
  }

  /// Moves every key into its bucket by following cycles, and returns where the buckets end.
  private func distribute(_ keys: UnsafeMutableBufferPointer<ClaimedKey>) -> [Int] {
    var next = [Int](repeating: 0, count: 2 << Int(Self.bits))
    for claim in keys { next[bucket(of: claim)] += 1 }
    var total = 0
    var ends = next
    for index in next.indices {
      let count = next[index]
      next[index] = total
      total += count
      ends[index] = total
    }
    for index in ends.indices {
      while next[index] < ends[index] {
        var claim = keys[next[index]]
        var home = bucket(of: claim)
        while home != index {
          swap(&claim, &keys[next[home]])
          next[home] += 1
          home = bucket(of: claim)
        }
        keys[next[index]] = claim
        next[index] += 1
      }
    }
    return ends
  }
}
