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

  /// Puts the keys into the order in which an export holds them.
  mutating func sort() {
    let order = KeyOrder(unknownFields: unknownFields)
    keys.withMutableKeys { order.sort($0) }
  }

  /// Drops keys that say the same as their neighbour in every field. Call after ``sort()``.
  ///
  /// - Returns: how many were dropped, and how many keys stand beside another with the same key data.
  mutating func dropRepeated() -> (dropped: Int, conflicting: Int) {
    var dropped = 0
    var conflicting = 0
    let order = KeyOrder(unknownFields: unknownFields)
    keys.withMutableKeys { keys in
      guard !keys.isEmpty else { return }
      var kept = 1
      for index in 1..<keys.count {
        let last = keys[kept - 1]
        let next = keys[index]
        if last.key == next.key, last.isRevised == next.isRevised {
          if !order.precedes(last, next) {
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
