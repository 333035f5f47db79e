import ExposureKeys

/// All keys of several documents in one place, for the formats that need a global order. Sixty bytes a key at most.
struct KeyCollection: ~Copyable {
  private(set) var keys = KeyBuffer(capacity: 4096)
  private(set) var unknownFields = UnknownFieldTable()

  mutating func append(_ chunk: borrowing KeyChunk) {
    let start = keys.count
    chunk.keys.withKeys { keys.append(contentsOf: $0) }
    guard !chunk.unknownFields.isEmpty else { return }
    keys.withMutableKeys { all in
      for index in start..<all.count where all[index].unknownFields != 0 {
        all[index].unknownFields = unknownFields.append(chunk.unknownFields[all[index].unknownFields])
      }
    }
  }

  /// Sorts by list (revised keys last), raw key bytes, every other number, and unknown fields, so that the order
  /// depends on nothing but the keys.
  mutating func sort() {
    let unknownFields = unknownFields
    keys.withMutableKeys { keys in
      var keys = keys
      keys.sort { left, right in
        if left.isRevised != right.isRevised { return right.isRevised }
        if left.key != right.key { return left.key < right.key }
        let (first, second) = (left.numbers, right.numbers)
        if first != second { return first.lexicographicallyPrecedes(second) }
        return unknownFields[left.unknownFields].lexicographicallyPrecedes(unknownFields[right.unknownFields])
      }
    }
  }

  /// Drops keys that say the same as their neighbour in every field. Call after ``sort()``.
  ///
  /// - Returns: how many were dropped, and how many keys stand beside another with the same key data.
  mutating func dropRepeated() -> (dropped: Int, conflicting: Int) {
    var dropped = 0
    var conflicting = 0
    let unknownFields = unknownFields
    keys.withMutableKeys { keys in
      guard !keys.isEmpty else { return }
      var kept = 1
      for index in 1..<keys.count {
        let last = keys[kept - 1]
        let next = keys[index]
        if last.key == next.key, last.isRevised == next.isRevised {
          if last.numbers == next.numbers,
            unknownFields[last.unknownFields].elementsEqual(unknownFields[next.unknownFields])
          {
            dropped += 1
            continue
          }
          conflicting += 1
        }
        keys[kept] = next
        kept += 1
      }
    }
    keys.truncate(to: keys.count - dropped)
    return (dropped, conflicting)
  }
}

extension ClaimedKey {
  /// Everything but key data and tables, in an order for sorting. Needed only where two keys share their data.
  fileprivate var numbers: [Int32] {
    [
      rollingStartWord, rollingPeriodWord, transmissionRiskWord, reportTypeWord, daysSinceOnsetWord,
      Int32(bitPattern: fields.rawValue),
    ]
  }
}
