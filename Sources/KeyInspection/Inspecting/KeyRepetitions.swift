internal import ExposureKeys
internal import KeyIntake

/// Puts keys in order to find those that occur more than once: 24 bytes a key, sorted in place, and in a file without a name
/// where they are many.
struct KeyRepetitions {
  struct Record: BitwiseCopyable {
    let high: UInt64
    let low: UInt64
    let index: UInt32
    /// Number of the key's shape, or ``unknownShape``.
    let shape: UInt32
  }

  /// The shape was not kept, so fields cannot be compared.
  static let unknownShape = UInt32.max
  private var records: [Record] = []
  /// How many of them belong to documents that have ended.
  private var settledRecords = 0
  private var spool: SpoolFile?
  /// Sorted runs in the file, as bytes.
  private var runs: [Range<Int>] = []
  private var settledRuns = 0
  private let memory: Int
  let limit: Int
  private(set) var count = 0
  private var settledCount = 0
  /// Whether all keys are among them.
  private(set) var isComplete = true

  /// - Parameters:
  ///   - limit: how many keys are taken; the others are left out.
  ///   - memory: how many are held in memory.
  init(limit: Int, memory: Int) {
    self.limit = min(limit, Int(UInt32.max))
    self.memory = max(memory, 2)
  }

  @inline(__always)
  mutating func append(_ key: TemporaryExposureKey, at index: Int, shape: UInt32?) {
    guard index <= UInt32.max else {
      isComplete = false
      return
    }
    append(Record(high: key.high, low: key.low, index: UInt32(index), shape: shape ?? Self.unknownShape))
  }

  @inline(__always)
  mutating func append(_ record: Record) {
    guard count < limit, isComplete else {
      isComplete = false
      return
    }
    if records.count == memory, !spill() {
      isComplete = false
      return
    }
    records.append(record)
    count += 1
  }

  /// The document has ended: what was appended stays.
  mutating func settle() { (settledRecords, settledRuns, settledCount) = (records.count, runs.count, count) }

  /// The document could not be read on: what was appended of it goes.
  mutating func forget() {
    records.removeLast(records.count - settledRecords)
    runs.removeLast(runs.count - settledRuns)
    count = settledCount
  }

  /// Sorts, and hands every record to `body`, by key data and then by index.
  mutating func forEachSorted(_ body: (Record) -> Void) {
    Self.sortWhole(&records, 0..<records.count)
    guard !runs.isEmpty, let spool else {
      for record in records { body(record) }
      return
    }
    var merge = RunMerge(spool, runs, records)
    while let record = merge.next() { body(record) }
    if merge.hasFailed { isComplete = false }
  }

  /// Moves all records into the file. Those of a document that has not ended make a run of their own.
  private mutating func spill() -> Bool {
    do {
      let spool = try self.spool ?? SpoolFile()
      self.spool = spool
      for (part, isSettled) in [(0..<settledRecords, true), (settledRecords..<records.count, false)] where !part.isEmpty
      {
        Self.sortWhole(&records, part)
        let start = spool.byteCount
        try records.withUnsafeBytes { bytes in
          let size = MemoryLayout<Record>.stride
          try spool.write(UnsafeRawBufferPointer(rebasing: bytes[part.lowerBound * size..<part.upperBound * size]))
        }
        if isSettled {
          runs.insert(start..<spool.byteCount, at: settledRuns)
          settledRuns += 1
        } else {
          runs.append(start..<spool.byteCount)
        }
      }
      settledRecords = 0
      records.removeAll(keepingCapacity: true)
      return true
    } catch {
      return false
    }
  }

  /// By key data and then by index.
  private static func sortWhole(_ records: inout [Record], _ part: Range<Int>) {
    records.withUnsafeMutableBufferPointer { all in
      let part = UnsafeMutableBufferPointer(rebasing: all[part])
      if !isSorted(part) { sort(part) }
      var start = 0
      while start < part.count {
        var end = start + 1
        while end < part.count, part[end].high == part[start].high, part[end].low == part[start].low { end += 1 }
        if end - start > 1 { part[start..<end].sort { $0.index < $1.index } }
        start = end
      }
    }
  }

  @inline(__always)
  fileprivate static func precedes(_ left: Record, _ right: Record) -> Bool {
    if left.high != right.high { return left.high < right.high }
    if left.low != right.low { return left.low < right.low }
    return left.index < right.index
  }

  private static func isSorted(_ records: UnsafeMutableBufferPointer<Record>) -> Bool {
    var index = 1
    while index < records.count {
      if isLess(records[index], records[index - 1]) { return false }
      index += 1
    }
    return true
  }

  @inline(__always)
  private static func isLess(_ left: Record, _ right: Record) -> Bool {
    left.high != right.high ? left.high < right.high : left.low < right.low
  }

  /// A radix sort in place, byte by byte from the front: key data is random, so two or three passes do, and no input
  /// takes more than sixteen.
  private static func sort(_ records: UnsafeMutableBufferPointer<Record>) {
    // Each byte's part is filled before it is read.
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 16 * 512) { sort(records, byte: 0, $0) }
  }

  private static func sort(
    _ records: UnsafeMutableBufferPointer<Record>, byte: Int, _ room: UnsafeMutableBufferPointer<Int>
  ) {
    guard records.count > 32 else { return insertionSort(records) }
    let starts = UnsafeMutableBufferPointer(rebasing: room[byte * 512..<byte * 512 + 256])
    let ends = UnsafeMutableBufferPointer(rebasing: room[byte * 512 + 256..<byte * 512 + 512])
    ends.update(repeating: 0)
    for record in records { ends[digit(record, byte)] += 1 }
    var place = 0
    for value in 0..<256 {
      starts[value] = place
      place += ends[value]
      ends[value] = place
    }
    for value in 0..<256 {
      while starts[value] < ends[value] {
        var record = records[starts[value]]
        while true {
          let target = digit(record, byte)
          if target == value { break }
          swap(&record, &records[starts[target]])
          starts[target] += 1
        }
        records[starts[value]] = record
        starts[value] += 1
      }
    }
    guard byte < 15 else { return }
    var start = 0
    for value in 0..<256 {
      let end = ends[value]
      if end - start > 1 { sort(UnsafeMutableBufferPointer(rebasing: records[start..<end]), byte: byte + 1, room) }
      start = end
    }
  }

  @inline(__always)
  private static func digit(_ record: Record, _ byte: Int) -> Int {
    let word = byte < 8 ? record.high : record.low
    return Int(truncatingIfNeeded: word >> UInt64(56 - 8 * (byte & 7))) & 255
  }

  private static func insertionSort(_ records: UnsafeMutableBufferPointer<Record>) {
    var index = 1
    while index < records.count {
      let record = records[index]
      var place = index
      while place > 0, isLess(record, records[place - 1]) {
        records[place] = records[place - 1]
        place -= 1
      }
      records[place] = record
      index += 1
    }
  }
}

/// Runs in a file and one in memory, as one.
private struct RunMerge {
  private struct Run {
    /// What is left in the file.
    var rest: Range<Int>
    var records: [KeyRepetitions.Record]
    var position = 0
  }

  private let spool: SpoolFile
  private var runs: [Run]
  /// A heap of the numbers of the runs that have records, by the first of these.
  private var heap: [Int] = []
  private let piece: Int
  private(set) var hasFailed = false

  init(_ spool: SpoolFile, _ ranges: [Range<Int>], _ records: [KeyRepetitions.Record]) {
    self.spool = spool
    // All pieces together take eight megabytes at most.
    piece = max(64, (8 << 20) / (ranges.count * MemoryLayout<KeyRepetitions.Record>.stride))
    runs = ranges.map { Run(rest: $0, records: []) } + [Run(rest: 0..<0, records: records)]
    for number in runs.indices where fill(number) {
      heap.append(number)
      rise(heap.count - 1)
    }
  }

  mutating func next() -> KeyRepetitions.Record? {
    guard let number = heap.first else { return nil }
    let record = runs[number].records[runs[number].position]
    runs[number].position += 1
    if !fill(number) {
      heap[0] = heap[heap.count - 1]
      heap.removeLast()
    }
    if !heap.isEmpty { sink() }
    return record
  }

  /// Whether the run has a record.
  private mutating func fill(_ number: Int) -> Bool {
    if runs[number].position < runs[number].records.count { return true }
    let size = MemoryLayout<KeyRepetitions.Record>.stride
    let count = min(piece, runs[number].rest.count / size)
    guard count > 0 else { return false }
    let start = runs[number].rest.lowerBound
    do {
      runs[number].records = try [KeyRepetitions.Record](unsafeUninitializedCapacity: count) { room, filled in
        let bytes = UnsafeMutableRawBufferPointer(room)
        guard
          try spool.read(at: start, into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<(count * size)]))
            == count * size
        else { throw FileFault("read", "temporary file", reason: "it became shorter") }
        filled = count
      }
    } catch {
      hasFailed = true
      return false
    }
    runs[number].rest = start + count * size..<runs[number].rest.upperBound
    runs[number].position = 0
    return true
  }

  private func isLess(_ left: Int, _ right: Int) -> Bool {
    KeyRepetitions.precedes(
      runs[left].records[runs[left].position], runs[right].records[runs[right].position])
  }

  private mutating func rise(_ place: Int) {
    var place = place
    while place > 0, isLess(heap[place], heap[(place - 1) / 2]) {
      heap.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  private mutating func sink() {
    var place = 0
    while case let left = 2 * place + 1, left < heap.count {
      let least = left + 1 < heap.count && isLess(heap[left + 1], heap[left]) ? left + 1 : left
      guard isLess(heap[least], heap[place]) else { return }
      heap.swapAt(least, place)
      place = least
    }
  }
}
