internal import ExposureKeys

/// The claims of a set by the leading bits of their key data: a counting sort of row numbers, four bytes a claim.
///
/// A bucket with a copy of it stays in the second-level cache, where a second counting sort puts it in order but for a
/// few neighbours. Key data is random; a sender who crowds a bucket makes it a slower sort, no more.
struct KeyBuckets {
  private let bits: Int
  private let numbers: LargeMemory<UInt32>
  private let ends: [Int]

  private static let usualSize = 4096

  var count: Int { ends.count }

  init(_ rows: PackedClaims) {
    var bits = 0
    while bits < 13, rows.count >> bits > Self.usualSize { bits += 1 }
    let shift = UInt64(64 - bits)
    let numbers = LargeMemory<UInt32>(capacity: Swift.max(rows.count, 1))
    var ends = [Int](repeating: 0, count: 1 << bits)
    rows.withReader { rows in
      for number in 0..<rows.count { ends[Int(rows[number].key.high >> shift)] += 1 }
      var start = 0
      for bucket in ends.indices {
        let size = ends[bucket]
        ends[bucket] = start
        start += size
      }
      for number in 0..<rows.count {
        let bucket = Int(rows[number].key.high >> shift)
        numbers.base[ends[bucket]] = UInt32(number)
        ends[bucket] += 1
      }
    }
    (self.bits, self.numbers, self.ends) = (bits, numbers, ends)
  }

  /// Puts the claims of one bucket into `room`, in the order of key data, rolling start and origin.
  func read(_ bucket: Int, of claims: ClaimSet, into room: inout Room) {
    let start = bucket == 0 ? 0 : ends[bucket - 1]
    room.gather(UnsafeBufferPointer(start: numbers.base + start, count: ends[bucket] - start), of: claims.rows)
    room.sort(skipping: bits, by: claims.names)
  }

  /// Room for one bucket's claims, kept from bucket to bucket.
  struct Room {
    private(set) var rows: [PackedClaim] = []
    private var unsorted: [PackedClaim] = []
    private var places: [Int] = []

    /// More rows than this with one leading part of key data are no accident.
    private static let crowd = 64

    fileprivate mutating func gather(_ numbers: UnsafeBufferPointer<UInt32>, of claims: PackedClaims) {
      claims.withReader { claims in
        guard let first = numbers.first else { return unsorted.removeAll(keepingCapacity: true) }
        unsorted.setCount(numbers.count, filledWith: claims[Int(first)])
        // A loop that does nothing but ask for rows, so that the waits for memory overlap.
        unsorted.withUnsafeMutableBufferPointer { unsorted in
          for index in numbers.indices { unsorted[index] = claims[Int(numbers[index])] }
        }
      }
    }

    /// - Parameter bits: how many leading bits of key data all rows share.
    fileprivate mutating func sort(skipping bits: Int, by names: ClaimNames) {
      let digits = max(1, Int.bitWidth - (unsorted.count / 2).leadingZeroBitCount)
      let shift = UInt64(max(0, 64 - bits - digits))
      let mask = 1 << digits - 1
      @inline(__always) func digit(_ row: PackedClaim) -> Int { Int(truncatingIfNeeded: row.key.high >> shift) & mask }

      places.removeAll(keepingCapacity: true)
      places.append(contentsOf: repeatElement(0, count: mask + 1))
      for row in unsorted { places[digit(row)] += 1 }
      var (next, most) = (0, 0)
      for index in places.indices {
        let size = places[index]
        places[index] = next
        next += size
        most = max(most, size)
      }
      guard let first = unsorted.first else { return rows.removeAll(keepingCapacity: true) }
      rows.setCount(unsorted.count, filledWith: first)
      rows.withUnsafeMutableBufferPointer { rows in
        places.withUnsafeMutableBufferPointer { places in
          for row in unsorted {
            let place = digit(row)
            rows[places[place]] = row
            places[place] += 1
          }
        }
      }
      if most <= Self.crowd {
        rows.withUnsafeMutableBufferPointer { sortNeighbours($0, by: names.voices) }
      } else {
        rows.sort { isLess($0, $1, by: names.voices) }
      }
    }
  }
}

extension Array {
  /// Makes room for `count` elements, all of which are then written.
  fileprivate mutating func setCount(_ count: Int, filledWith element: Element) {
    if self.count > count {
      removeLast(self.count - count)
    } else {
      append(contentsOf: repeatElement(element, count: count - self.count))
    }
  }
}

/// An insertion sort, for rows that are nearly in order.
private func sortNeighbours(_ rows: UnsafeMutableBufferPointer<PackedClaim>, by voices: [Claimant]) {
  var index = 1
  while index < rows.count {
    let row = rows[index]
    var place = index
    while place > 0, isLess(row, rows[place - 1], by: voices) {
      rows[place] = rows[place - 1]
      place -= 1
    }
    if place != index { rows[place] = row }
    index += 1
  }
}

@inline(__always)
private func isLess(_ left: PackedClaim, _ right: PackedClaim, by voices: [Claimant]) -> Bool {
  if left.key.high != right.key.high { return left.key.high < right.key.high }
  if left.key.low != right.key.low { return left.key.low < right.key.low }
  if left.rollingStart != right.rollingStart { return left.rollingStart < right.rollingStart }
  return voices[Int(left.voice)].origin.rawValue < voices[Int(right.voice)].origin.rawValue
}
