import ExposureKeys

/// Finds keys that occur more than once: 24 bytes a key, sorted in place by their bytes.
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
  private(set) var isComplete = true
  let limit: Int

  init(limit: Int) { self.limit = min(limit, Int(UInt32.max)) }

  var count: Int { records.count }

  @inline(__always)
  mutating func append(_ key: TemporaryExposureKey, at index: Int, shape: UInt32?) {
    guard records.count < limit, index <= UInt32.max else {
      isComplete = false
      return
    }
    records.append(
      Record(high: key.high, low: key.low, index: UInt32(index), shape: shape ?? Self.unknownShape))
  }

  /// Sorts, and hands every group of records with the same key data to `body`, in no order inside a group.
  mutating func forEachRepeatedKey(_ body: (Slice<UnsafeMutableBufferPointer<Record>>) -> Void) {
    records.withUnsafeMutableBufferPointer { records in
      if !Self.isSorted(records) { Self.sort(records) }
      var start = 0
      while start < records.count {
        var end = start + 1
        while end < records.count, records[end].high == records[start].high, records[end].low == records[start].low {
          end += 1
        }
        if end - start > 1 { body(records[start..<end]) }
        start = end
      }
    }
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
    var counts = [Int](repeating: 0, count: 16 * 512)
    counts.withUnsafeMutableBufferPointer { sort(records, byte: 0, $0) }
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
