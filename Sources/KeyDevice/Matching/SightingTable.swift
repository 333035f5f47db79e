package import ExposureKeys

/// All sightings of a log, arranged so that the identifiers of a key are looked up among the sightings of its days alone.
///
/// The sightings are in order of day, identifier and time. Each day has a filter, in which an identifier sets two bits of one
/// word, so that one load answers for nearly all identifiers that nobody saw; and it knows where each value of the first bits
/// begins. Within such a run the search halves, so that a log made of identifiers that resemble each other costs no more.
package struct SightingTable: Sendable {
  package let sightings: [Sighting]
  let days: [DayPart]
  let filters: [UInt64]
  let starts: [UInt32]

  struct DayPart: Sendable {
    var day: Int64
    /// Its sightings.
    var first: Int
    var end: Int
    /// Where its filter begins, and which bits of an identifier choose the word.
    var filter: Int
    var filterMask: UInt64
    /// Where its starts begin, and how far an identifier's first bits are shifted to choose one.
    var starts: Int
    var shift: UInt64
  }

  /// More would need wider numbers, and tens of gigabytes.
  package static let sightingLimit = Int(UInt32.max) - 1

  /// - Parameter sightings: in any order, at most ``sightingLimit``.
  package init(_ sightings: consuming [Sighting]) {
    precondition(sightings.count <= Self.sightingLimit)
    var counts: [Int64: Int] = [:]
    for index in sightings.indices { counts[sightings[index].time.day.daysSince1970, default: 0] += 1 }
    let order = counts.keys.sorted()
    var next: [Int64: Int] = [:]
    var days: [DayPart] = []
    var position = 0
    for day in order {
      let count = counts[day] ?? 0
      next[day] = position
      days.append(
        DayPart(day: day, first: position, end: position + count, filter: 0, filterMask: 0, starts: 0, shift: 0))
      position += count
    }
    if let first = sightings.first, order.count > 1 {
      var placed = [Sighting](repeating: first, count: sightings.count)
      for index in sightings.indices {
        let day = sightings[index].time.day.daysSince1970
        let place = next[day] ?? 0
        placed[place] = sightings[index]
        next[day] = place + 1
      }
      sightings = placed
    }
    var filters: [UInt64] = []
    var starts: [UInt32] = []
    for index in days.indices {
      let range = days[index].first..<days[index].end
      sightings[range].sort { left, right in
        left.identifier != right.identifier
          ? left.identifier < right.identifier : left.milliseconds < right.milliseconds
      }
      // Thirty-two bits or more for an identifier: one in two hundred that nobody saw is looked for in vain.
      let filterBits = Self.bits(atLeast: (range.count + 1) / 2, between: 4...24)
      let startBits = Self.bits(atLeast: range.count, between: 4...24)
      days[index].filter = filters.count
      days[index].filterMask = (1 << filterBits) - 1
      days[index].starts = starts.count
      days[index].shift = 64 - UInt64(startBits)
      filters.append(contentsOf: repeatElement(0, count: 1 << filterBits))
      var prefix = 0
      for place in range {
        let identifier = sightings[place].identifier
        let word = identifier.low.byteSwapped
        filters[days[index].filter + Int(word & days[index].filterMask)] |= Self.filterBits(of: word)
        let wanted = Int(identifier.high >> days[index].shift)
        while prefix <= wanted {
          starts.append(UInt32(place))
          prefix += 1
        }
      }
      starts.append(contentsOf: repeatElement(UInt32(range.upperBound), count: (1 << startBits) + 1 - prefix))
    }
    self.sightings = sightings
    self.days = days
    self.filters = filters
    self.starts = starts
  }

  /// The two bits of an identifier, of which this is the second half as it is in memory, in the word that it chooses.
  @inline(__always)
  static func filterBits(of word: UInt64) -> UInt64 { 1 << (word >> 48 & 63) | 1 << (word >> 54 & 63) }

  /// Whether the filters fit into what a processor keeps close; keys need no order then.
  var hasSmallFilters: Bool { filters.count <= 1 << 15 }

  private static func bits(atLeast count: Int, between range: ClosedRange<Int>) -> Int {
    let bits = Int.bitWidth - max(count - 1, 0).leadingZeroBitCount
    return min(max(bits, range.lowerBound), range.upperBound)
  }

  /// The first and the last day of which there are sightings.
  package var dayRange: ClosedRange<Day>? {
    guard let first = days.first, let last = days.last else { return nil }
    return Day(daysSince1970: first.day)...Day(daysSince1970: last.day)
  }
}

/// Sightings of one identifier of a key, on one day.
package struct IdentifierFinding: Hashable, Sendable {
  /// The identifier's interval, counted from the key's rolling start.
  package var offset: Int
  /// Where its sightings are in ``SightingTable/sightings``, in order of time.
  package var sightings: Range<Int>
}

/// Looks for the identifiers of keys in a table of sightings. One instance serves one thread.
package final class IdentifierSearch {
  package let table: SightingTable
  package let cipher: IdentifierCipher
  /// What the last key was found as, in order of day and interval.
  package private(set) var findings: [IdentifierFinding] = []

  /// How many intervals before its own and after it an identifier is looked for; phones accept 12 at most.
  private let reach: Int64
  /// Rolling start and offset of a chunk's keys.
  private var order: [Int64] = []

  package init(_ table: SightingTable, cipher: IdentifierCipher = IdentifierCipher(), reach: Int64 = 12) {
    self.table = table
    self.cipher = cipher
    self.reach = max(0, min(reach, 1440))
  }

  /// Looks for all keys of a chunk whose rolling start is stated, and calls `found` for those that are found.
  ///
  /// A rolling period that is absent, 0 or above 144 is taken as 144: what a phone makes of it is the phone's rule. Keys are
  /// taken in order of their days if the sightings are many, so that the processor reads a day's filter once.
  ///
  /// - Parameter found: is given the key's offset in the chunk; ``findings`` has what was found.
  package func find(
    _ chunk: borrowing KeyChunk, _ found: (_ offset: Int, _ key: ClaimedKey) throws -> Void
  ) rethrows {
    func look(_ offset: Int) throws {
      let key = chunk.keys[offset]
      let period = key.rollingPeriod ?? 0
      guard let start = key.rollingStart, period >= 0 else { return }
      if find(key.key, start: start, period: period == 0 ? IdentifierCipher.identifierLimit : Int(period)) {
        try found(offset, key)
      }
    }
    guard !table.hasSmallFilters else {
      for offset in 0..<chunk.keys.count { try look(offset) }
      return
    }
    order.removeAll(keepingCapacity: true)
    for offset in 0..<chunk.keys.count {
      order.append(Int64(chunk.keys[offset].rollingStartWord) << 32 | Int64(offset))
    }
    order.sort()
    for entry in order { try look(Int(entry & 0xffff_ffff)) }
  }

  /// Leaves in ``findings`` where the key's identifiers were seen.
  ///
  /// A key in whose time, with the reach around it, there is no sighting costs no identifiers.
  ///
  /// - Parameters:
  ///   - start: the key's rolling start.
  ///   - period: how many identifiers it has, at most ``IdentifierCipher/identifierLimit``.
  /// - Returns: whether there are any.
  package func find(_ key: TemporaryExposureKey, start: Int32, period: Int) -> Bool {
    findings.removeAll(keepingCapacity: true)
    let count = Int64(max(0, min(period, IdentifierCipher.identifierLimit)))
    let first = Int64(start)
    guard count > 0, !table.days.isEmpty else { return false }
    let firstDay = IntervalNumber(first - reach).day.daysSince1970
    let lastDay = IntervalNumber(first + count - 1 + reach).day.daysSince1970
    var part = lowerBound(firstDay)
    guard part < table.days.count, table.days[part].day <= lastDay else { return false }
    cipher.makeIdentifiers(of: key, start: UInt32(bitPattern: start), count: Int(count))
    while part < table.days.count, table.days[part].day <= lastDay {
      let midnight = table.days[part].day * IntervalNumber.intervalsPerDay
      // Identifiers of these intervals may be sighted on this day.
      let low = max(0, midnight - reach - first)
      let high = min(count, midnight + IntervalNumber.intervalsPerDay + reach - first)
      if low < high { look(in: table.days[part], Int(low), Int(high)) }
      part += 1
    }
    return !findings.isEmpty
  }

  private func lowerBound(_ day: Int64) -> Int {
    var (low, high) = (0, table.days.count)
    while low < high {
      let middle = (low + high) / 2
      if table.days[middle].day < day { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func look(in part: SightingTable.DayPart, _ low: Int, _ high: Int) {
    let output = cipher.output
    let mask = part.filterMask
    table.filters.withUnsafeBufferPointer { filters in
      guard let filter = filters.baseAddress.map({ $0 + part.filter }) else { return }
      for index in low..<high {
        let word = output.load(fromByteOffset: 16 * index + 8, as: UInt64.self).littleEndian
        let bits = SightingTable.filterBits(of: word)
        guard filter[Int(truncatingIfNeeded: word & mask)] & bits == bits else { continue }
        note(cipher.identifier(at: index), index, part)
      }
    }
  }

  @inline(never)
  private func note(_ identifier: ProximityIdentifier, _ offset: Int, _ part: SightingTable.DayPart) {
    let prefix = part.starts + Int(identifier.high >> part.shift)
    let end = Int(table.starts[prefix + 1])
    var (low, high) = (Int(table.starts[prefix]), end)
    while low < high {
      let middle = (low + high) / 2
      if table.sightings[middle].identifier < identifier { low = middle + 1 } else { high = middle }
    }
    var last = low
    while last < end, table.sightings[last].identifier == identifier { last += 1 }
    if low < last { findings.append(IdentifierFinding(offset: offset, sightings: low..<last)) }
  }
}
