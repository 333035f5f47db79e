internal import ExposureKeys

extension ClaimRow {
  /// Rows in their order. Key data is random in most batches, so its first bits deal it among buckets of some dozen, which are sorted
  /// each; where senders chose it otherwise, a bucket takes as long as any sorting.
  package static func sorted(_ rows: [ClaimRow]) -> [ClaimRow] {
    let count = rows.count
    guard count > 64 else { return rows.sorted(by: <) }
    let bits = min(16, max(1, (Int.bitWidth - count.leadingZeroBitCount) - 4))
    let shift = UInt64(64 - bits)
    var ends = [Int](repeating: 0, count: 1 << bits)
    for row in rows { ends[Int(row.key.high >> shift)] += 1 }
    var total = 0
    for bucket in ends.indices {
      (ends[bucket], total) = (total, total + ends[bucket])
    }
    var sorted = [ClaimRow](unsafeUninitializedCapacity: count) { room, filled in
      for row in rows {
        let bucket = Int(row.key.high >> shift)
        room.initializeElement(at: ends[bucket], to: row)
        ends[bucket] += 1
      }
      filled = count
    }
    sorted.withUnsafeMutableBufferPointer { all in
      var start = 0
      for end in ends where end > start {
        if end - start > 64 {
          all[start..<end].sort(by: <)
        } else {
          insertionSort(all, start, end)
        }
        start = end
      }
    }
    return sorted
  }

  @inline(__always)
  private static func insertionSort(_ all: UnsafeMutableBufferPointer<ClaimRow>, _ start: Int, _ end: Int) {
    var next = start + 1
    while next < end {
      let row = all[next]
      var hole = next
      while hole > start, row < all[hole - 1] {
        all[hole] = all[hole - 1]
        hole -= 1
      }
      all[hole] = row
      next += 1
    }
  }
}
