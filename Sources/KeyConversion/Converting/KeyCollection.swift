import ExposureKeys

/// All keys of several documents, for the formats that need a global order. Sixty bytes a key at most; keys that a sender
/// crowds into one run of the partition are held twice while that run is sorted.
struct KeyCollection: ~Copyable {
  /// As many keys are sorted where they are; more than these are partitioned first.
  private static let few = 1 << 14

  /// All keys while they are few; afterwards room for one run of the partition.
  private var keys = KeyBuffer(capacity: 4096)
  private var partition: KeyPartition?
  private var unknownFields = UnknownFieldTable()

  mutating func append(_ chunk: borrowing KeyChunk) {
    let start = keys.count
    chunk.keys.withKeys { keys.append(contentsOf: $0) }
    if !chunk.unknownFields.isEmpty {
      keys.withMutableKeys { all in
        for index in start..<all.count where all[index].unknownFields != 0 {
          all[index].unknownFields = unknownFields.append(chunk.unknownFields[all[index].unknownFields])
        }
      }
    }
    if partition != nil || keys.count > Self.few { distribute() }
  }

  /// Moves the keys into the partition.
  private mutating func distribute() {
    var partition = self.partition.take() ?? KeyPartition()
    keys.withKeys { partition.append($0) }
    keys.removeAll()
    self.partition = consume partition
  }

  /// Hands keys to `body`, some at a time, in the order in which an export holds them. Those that say the same as another
  /// in every field are left out.
  ///
  /// - Parameter part: which of the keys of a list that share their key data: 0 is the first of each, 1 the second.
  mutating func forEachRun(
    part: Int = 0, _ body: (UnsafeBufferPointer<ClaimedKey>, UnknownFieldTable) throws -> Void
  ) throws -> RepeatedKeys {
    var repeated = RepeatedKeys()
    let order = KeyOrder(unknownFields: unknownFields)
    guard partition != nil else {
      keys.withMutableKeys { order.sort($0) }
      try hand(part, of: order, &repeated, to: body)
      return repeated
    }
    for number in 0..<KeyPartition.runCount {
      partition?.read(number, into: &keys)
      if keys.isEmpty { continue }
      keys.withMutableKeys { order.sort($0, fromBit: KeyPartition.bits) }
      try hand(part, of: order, &repeated, to: body)
    }
    return repeated
  }

  /// Hands on what a part has of the keys, which are in order.
  private mutating func hand(
    _ part: Int, of order: KeyOrder, _ repeated: inout RepeatedKeys,
    to body: (UnsafeBufferPointer<ClaimedKey>, UnknownFieldTable) throws -> Void
  ) throws {
    let before = repeated.conflicting
    keys.dropRepeated(in: order, &repeated)
    if repeated.conflicting == before {
      if part == 0 { try keys.withKeys { try body($0, unknownFields) } }
      return
    }
    var chosen: [ClaimedKey] = []
    keys.withKeys { keys in
      var place = 0
      for (index, key) in keys.enumerated() {
        let isTwin = index > 0 && key.key == keys[index - 1].key && key.isRevised == keys[index - 1].isRevised
        place = isTwin ? place + 1 : 0
        repeated.most = max(repeated.most, place + 1)
        if place == part { chosen.append(key) }
      }
    }
    if !chosen.isEmpty { try chosen.withUnsafeBufferPointer { try body($0, unknownFields) } }
  }
}

/// Keys of one list that share their key data.
struct RepeatedKeys {
  /// Keys that said the same as another in every field.
  var dropped = 0
  /// Keys that stand beside another with the same key data and say something else.
  var conflicting = 0
  /// How many keys share one key data, where several do.
  var most = 1
}

extension KeyBuffer {
  /// Drops keys that say the same as their neighbour in every field.
  fileprivate mutating func dropRepeated(in order: KeyOrder, _ repeated: inout RepeatedKeys) {
    let kept = withMutableKeys { keys in
      guard !keys.isEmpty else { return 0 }
      var kept = 1
      for index in 1..<keys.count {
        let last = keys[kept - 1]
        let next = keys[index]
        if last.key == next.key, last.isRevised == next.isRevised {
          if !order.precedes(last, next) {
            repeated.dropped += 1
            continue
          }
          repeated.conflicting += 1
        }
        if kept != index { keys[kept] = next }
        kept += 1
      }
      return kept
    }
    truncate(to: kept)
  }
}
