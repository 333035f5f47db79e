package import ExposureKeys

/// Sorts keys by list (revised keys last), raw key bytes, rolling start, and then every other field, so that the order
/// depends on nothing but the keys.
///
/// Key data is random, so two distributions by its leading bits, in place, leave runs of a few keys. An attacker who
/// chooses keys with the same leading bits gets an ordinary comparison sort, not a slow one.
package struct KeyOrder {
  let unknownFields: UnknownFieldTable

  /// A run this short is sorted by insertion.
  private static let shortRun = 24
  /// The most bits that one distribution looks at: with more, its places would not stay in the cache.
  private static let mostBits = 11
  /// No more bits of the key data are looked at than these.
  private static let lastBit = 32

  package init(unknownFields: UnknownFieldTable) { self.unknownFields = unknownFields }

  package func sort(_ keys: UnsafeMutableBufferPointer<ClaimedKey>) {
    guard !isSorted(keys) else { return }
    let revised = moveRevisedBack(keys)
    sort(UnsafeMutableBufferPointer(rebasing: keys[..<revised]), fromBit: 0)
    sort(UnsafeMutableBufferPointer(rebasing: keys[revised...]), fromBit: 0)
  }

  /// Sorts keys of one list that agree in all bits of the key data before `bit`.
  func sort(_ keys: UnsafeMutableBufferPointer<ClaimedKey>, fromBit bit: Int) {
    guard keys.count > Self.shortRun else { return insertionSort(keys) }
    guard bit < Self.lastBit else {
      var keys = keys
      return keys.sort(by: precedes)
    }
    // Runs of eight keys or so.
    let bits = min(max(Int.bitWidth - keys.count.leadingZeroBitCount - 3, 1), Self.mostBits)
    var start = 0
    for end in distribute(keys, fromBit: bit, bits: bits) {
      if end - start > 1 { sort(UnsafeMutableBufferPointer(rebasing: keys[start..<end]), fromBit: bit + bits) }
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

  private func isSorted(_ keys: UnsafeMutableBufferPointer<ClaimedKey>) -> Bool {
    for index in keys.indices.dropFirst() where precedes(keys[index], keys[index - 1]) { return false }
    return true
  }

  /// Returns where the revised keys begin.
  private func moveRevisedBack(_ keys: UnsafeMutableBufferPointer<ClaimedKey>) -> Int {
    var keys = keys
    return keys.partition(by: \.isRevised)
  }

  private func insertionSort(_ keys: UnsafeMutableBufferPointer<ClaimedKey>) {
    for index in keys.indices.dropFirst() {
      let claim = keys[index]
      var place = index
      while place > 0, precedes(claim, keys[place - 1]) {
        keys[place] = keys[place - 1]
        place -= 1
      }
      keys[place] = claim
    }
  }

  /// Moves every key to those that agree with it in the next bits, by following cycles, and returns where each of these
  /// runs ends.
  private func distribute(
    _ keys: UnsafeMutableBufferPointer<ClaimedKey>, fromBit bit: Int, bits: Int
  ) -> [Int] {
    let shift = UInt64(64 - bit - bits)
    let mask = 1 << bits - 1
    func run(of claim: ClaimedKey) -> Int { Int(truncatingIfNeeded: claim.key.high >> shift) & mask }
    var next = [Int](repeating: 0, count: 1 << bits)
    for claim in keys { next[run(of: claim)] += 1 }
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
        var home = run(of: claim)
        while home != index {
          swap(&claim, &keys[next[home]])
          next[home] += 1
          home = run(of: claim)
        }
        keys[next[index]] = claim
        next[index] += 1
      }
    }
    return ends
  }
}
