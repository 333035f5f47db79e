internal import ExposureKeys

/// What becomes of claims that come in, given what there is about their key data: which are new, and which are for the
/// operator.
package struct ArrivingClaims {
  /// In their order.
  package private(set) var new: [ClaimRow] = []
  /// Another origin was the first to name their key data, under another rolling start.
  package private(set) var aside: [ClaimRow] = []
  /// How many of the new ones stand, by origin.
  package private(set) var standing: [Int32: Int64] = [:]
  /// How many are there already.
  package let known: Int

  /// - Parameters:
  ///   - rows: in the order of key data; those about one key data are looked at in theirs.
  ///   - there: what there is about the key data of the rows, in its order.
  ///   - arrival: which brings them.
  ///   - holdsOtherStarts: whether the operator is asked about a claim of key data that another origin has named
  ///     first, under another rolling start.
  ///   - areCopies: whether strangers may have uploaded the claims: then the operator is also asked about other rolling starts of the
  ///     same origin.
  ///   - recall: the number of the recall that means a claim; 0 is none.
  package init(
    _ rows: [ClaimRow], there: [ClaimRow], arrival: Int32, holdsOtherStarts: Bool, areCopies: Bool = false,
    recall: (ClaimRow) throws -> Int32
  ) rethrows {
    var next = 0
    new.reserveCapacity(rows.count)
    // What there is about the key data at hand.
    var known: [ClaimRow] = []
    var last: TemporaryExposureKey?
    var count: (origin: Int32, claims: Int64) = (0, 0)
    var isSorted = true
    for var row in rows {
      if row.key != last {
        known.removeAll(keepingCapacity: true)
        while next < there.count, there[next].key < row.key { next += 1 }
        while next < there.count, there[next].key == row.key {
          known.append(there[next])
          next += 1
        }
        last = row.key
      }
      if !known.isEmpty {
        // Only a claim that is there is passed over.
        if known.contains(where: row.isSame) { continue }
        if holdsOtherStarts, row.isOfOtherOrigin(than: known, orStranger: areCopies) {
          aside.append(row)
          continue
        }
      }
      row.arrival = arrival
      row.recall = try recall(row)
      if let before = new.last, row < before { isSorted = false }
      new.append(row)
      known.append(row)
      guard row.stands else { continue }
      if count.origin != row.origin {
        standing[count.origin, default: 0] += count.claims
        count = (row.origin, 0)
      }
      count.claims += 1
    }
    standing[count.origin, default: 0] += count.claims
    standing = standing.filter { $0.value > 0 }
    self.known = rows.count - new.count - aside.count
    if !isSorted { new.sort(by: <) }
  }
}

extension ClaimRow {
  /// Whether another origin was the first to name this key data, and under another rolling start.
  ///
  /// - Parameters:
  ///   - known: what there is about the key data; the claim is not among it.
  ///   - isStranger: whether a claim of the same origin does not speak for it.
  fileprivate func isOfOtherOrigin(than known: [ClaimRow], orStranger isStranger: Bool) -> Bool {
    let first = known.filter(\.stands).min { ($0.arrival, $0.rollingStart) < ($1.arrival, $1.rollingStart) }
    guard let start = first?.rollingStart, start != rollingStart else { return false }
    return isStranger || !known.contains { $0.stands && $0.rollingStart == start && $0.origin == origin }
  }
}
