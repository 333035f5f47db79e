package import ExposureKeys

/// How much an inspection may hold, and against which time it looks at keys.
package struct InspectionOptions: Sendable, Hashable {
  /// How many keys are compared with each other: 24 bytes each, on disk where they are more than a million.
  package var comparedKeys: Int
  /// How many of them are held in memory; the others are in a file without a name.
  package var keysInMemory: Int
  /// How many distinct combinations of fields are held: 56 bytes of memory each.
  package var distinctShapes: Int
  /// The time for the rules of a device profile that ask for the present; `nil` takes the end of the file's window.
  package var now: Instant?

  package init(
    comparedKeys: Int = 1 << 28, distinctShapes: Int = 1 << 18, keysInMemory: Int = 1 << 20, now: Instant? = nil
  ) {
    self.comparedKeys = max(0, comparedKeys)
    self.keysInMemory = max(2, keysInMemory)
    self.distinctShapes = min(max(0, distinctShapes), 1 << 30)
    self.now = now
  }
}

/// The observer that one pass over a document's keys feeds: inspection and device profiles both read what it leaves.
///
/// Memory is bounded by ``InspectionOptions``, whatever the size of the document.
package struct KeyTally {
  private let options: InspectionOptions
  private var shapes: ShapeTable
  private var repetitions: KeyRepetitions
  /// What was counted key by key, because the table of shapes was full.
  private var facts: KeyFacts
  private var previous: (key: TemporaryExposureKey, revised: TemporaryExposureKey)

  package init(_ options: InspectionOptions = InspectionOptions()) {
    self.options = options
    shapes = ShapeTable(limit: options.distinctShapes)
    repetitions = KeyRepetitions(limit: options.comparedKeys, memory: options.keysInMemory)
    facts = KeyFacts()
    let zero = TemporaryExposureKey(high: 0, low: 0)
    previous = (zero, zero)
  }

  /// Counts the keys and the rejections of a chunk. `header` is the document's header as far as it is known.
  package mutating func observe(_ chunk: borrowing KeyChunk, header: ExportHeader) {
    var index = chunk.firstIndex
    var rejections = chunk.rejections[...]
    chunk.keys.withKeys { keys in
      for claim in keys {
        while let rejection = rejections.first, rejection.position.index <= index {
          rejections.removeFirst()
          index += 1
        }
        observe(claim, at: index, header: header)
        index += 1
      }
    }
    facts.keyCount += chunk.keys.count
    for rejection in chunk.rejections { facts.add(rejection) }
  }

  @inline(__always)
  private mutating func observe(_ claim: ClaimedKey, at index: Int, header: ExportHeader) {
    let shape = KeyShape(claim)
    let number = shapes.count(shape, at: index)
    if number == nil { facts.add(shape, 1, first: index, end: header.endTimestamp, now: options.now) }
    repetitions.append(claim.key, at: index, shape: number)
    if shape.isRevised {
      if claim.key < previous.revised { facts.conditions.add(.outOfOrder, first: index) }
      previous.revised = claim.key
    } else {
      if claim.key < previous.key { facts.conditions.add(.outOfOrder, first: index) }
      previous.key = claim.key
    }
    if claim.key.looksUnlikely { addUnlikely(claim.key, at: index) }
  }

  private mutating func addUnlikely(_ key: TemporaryExposureKey, at index: Int) {
    facts.conditions.add(key.high | key.low == 0 ? .keyDataZero : .keyDataLowEntropy, first: index)
  }

  /// Adds up, when the document has been read and its header is complete.
  package consuming func finish(header: ExportHeader, regions: RegionTable) -> KeyFacts {
    var facts = facts
    for entry in shapes.entries {
      facts.add(entry.shape, entry.count, first: entry.first, end: header.endTimestamp, now: options.now)
    }
    countRepetitions(&facts)
    facts.nameOrigins(regions)
    return facts
  }

  private mutating func countRepetitions(_ facts: inout KeyFacts) {
    let entries = shapes.entries
    var repeated = 0
    func shape(_ number: UInt32) -> KeyShape? {
      number == KeyRepetitions.unknownShape ? nil : entries[Int(number)].shape
    }
    var first: KeyRepetitions.Record?
    var starts: Set<Int64> = []
    func start(_ record: KeyRepetitions.Record) -> Int64 {
      shape(record.shape).map { Int64($0.rollingStart ?? .min) } ?? .min
    }
    repetitions.forEachSorted { record in
      guard let leader = first, leader.high == record.high, leader.low == record.low else {
        first = record
        if !starts.isEmpty { starts.removeAll() }
        return
      }
      if starts.isEmpty { starts.insert(start(leader)) }
      if !starts.insert(start(record)).inserted { repeated += 1 }
      let condition: KeyCondition
      if let one = shape(leader.shape), let other = shape(record.shape) {
        if one.rollingStart != other.rollingStart {
          condition = .repeatedWithOtherStart
        } else if one.isRevised != other.isRevised {
          condition = .revisedToo
        } else {
          condition = one.saysTheSame(as: other) ? .repeatedAlike : .repeatedDifferently
        }
      } else {
        condition = .repeatedNotCompared
      }
      facts.conditions.add(condition, first: Int(record.index))
    }
    facts.distinctKeys = repetitions.isComplete ? repetitions.count - repeated : nil
    facts.comparedKeys = repetitions.count
  }
}

extension TemporaryExposureKey {
  /// Whether no random source would make these bytes: halves that are zero or alike, a tail of zeros, steps of equal
  /// size, or nothing but printable ASCII. The last holds for one random key in eight million.
  @inline(__always)
  var looksUnlikely: Bool {
    if high == low || high == 0 || low & 0xffff_ffff == 0 { return true }
    if (high | low) & 0x8080_8080_8080_8080 == 0, bytes.allSatisfy({ (0x20...0x7e).contains($0) }) { return true }
    let step = UInt8(truncatingIfNeeded: high >> 48) &- UInt8(truncatingIfNeeded: high >> 56)
    guard UInt8(truncatingIfNeeded: high >> 40) &- UInt8(truncatingIfNeeded: high >> 48) == step else { return false }
    let bytes = bytes
    return (1..<bytes.count).allSatisfy { bytes[$0] &- bytes[$0 - 1] == step }
  }
}
