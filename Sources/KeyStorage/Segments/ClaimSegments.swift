internal import ExposureKeys

/// Where a block stands: its run, and the first four bytes of key data from which on its claims are.
///
/// Every claim of the run whose key data begins with this, or with more and less than the next block's, is in this block;
/// so claims whose key data begins alike are never in two.
package struct BlockPlace: Hashable, Comparable, Sendable {
  package let run: Int32
  package let prefix: UInt32

  package init(run: Int32, prefix: UInt32) {
    self.run = run
    self.prefix = prefix
  }

  /// In the order of places; never negative.
  package var rawValue: Int64 { Int64(run) << 32 | Int64(prefix) }

  package init(rawValue: Int64) {
    run = Int32(truncatingIfNeeded: rawValue >> 32)
    prefix = UInt32(truncatingIfNeeded: rawValue)
  }

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension TemporaryExposureKey {
  @inline(__always)
  var prefix: UInt32 { UInt32(truncatingIfNeeded: high >> 32) }
}

/// Claims in the order of their key data, each once: what one batch brought, or what was merged from such.
package struct ClaimRun: Hashable, Sendable {
  package var number: Int32
  package var rowCount: Int64
  /// No claim of it ends before this interval.
  package var firstEnd: Int64
  /// Whether filters tell which key data it does not have.
  package var hasFilters: Bool
  /// The run into which it is being merged.
  package var into: Int32?
  /// How far expiry has come in it, and the first end among what was kept so far; `nil` where it is not at work.
  package var sweep: Sweep?

  /// Later than every end, and a number that a store may write: where nothing was kept so far.
  package static let noEnd: Int64 = 1 << 40

  package struct Sweep: Hashable, Sendable {
    package var next: UInt32
    package var firstEnd: Int64

    package init(next: UInt32, firstEnd: Int64) {
      self.next = next
      self.firstEnd = firstEnd
    }
  }

  package init(
    number: Int32, rowCount: Int64 = 0, firstEnd: Int64 = ClaimRun.noEnd, hasFilters: Bool, into: Int32? = nil,
    sweep: Sweep? = nil
  ) {
    self.number = number
    self.rowCount = rowCount
    self.firstEnd = firstEnd
    self.hasFilters = hasFilters
    self.into = into
    self.sweep = sweep
  }

  /// A claim came in that ends then, perhaps before the place that expiry has reached.
  mutating func note(end: Int64) {
    firstEnd = min(firstEnd, end)
    if let sweep, end < sweep.firstEnd { self.sweep?.firstEnd = end }
  }
}

/// How a store keeps runs: the only thing about claims that one store does otherwise than another. All of it happens in
/// the transaction at hand.
package protocol ClaimSegments: AnyObject {
  /// What the runs hold, for who reads that some of it is damaged: `claims`, or `releases of NL`.
  var content: String { get }
  func runs() throws -> [ClaimRun]
  /// Calls `body` with the last block of the run at or before this place; `false` where there is none.
  func withBlock(
    atOrBefore place: BlockPlace, _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool
  /// Calls `body` with the first block of the run behind this place; `false` where there is none.
  func withBlock(
    behind place: BlockPlace, _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool
  /// Where the next block of the run begins.
  func place(behind place: BlockPlace) throws -> BlockPlace?
  func filters(of run: Int32) throws -> [(place: BlockPlace, filter: ClaimFilter)]
  /// The blocks at or before these places will be asked for, and where those behind them begin: a store that is asked over a
  /// connection gets many at once.
  ///
  /// - Parameter places: in order, all of one run.
  func prepare(_ places: [BlockPlace])

  /// A number that no run has, and that none had lately.
  func newRunNumber() throws -> Int32
  func save(_ run: ClaimRun) throws
  /// With its filters. Its blocks are gone before.
  func remove(_ run: Int32) throws
  /// In place of what is there.
  func put(_ block: [UInt8], at place: BlockPlace) throws
  func removeBlock(at place: BlockPlace) throws
  func put(_ filter: ClaimFilter, at place: BlockPlace) throws
}

extension ClaimSegments {
  package var content: String { "claims" }

  /// Where a block is as near as its place, there is nothing to prepare.
  package func prepare(_ places: [BlockPlace]) {}
}

/// The filters of one run, in the order of their places.
package struct RunFilters: Sendable {
  fileprivate var places: [UInt32] = []
  fileprivate var filters: [ClaimFilter] = []

  package init(_ filters: [(place: BlockPlace, filter: ClaimFilter)]) {
    for (place, filter) in filters { add(filter, at: place.prefix) }
  }

  mutating func add(_ filter: ClaimFilter, at prefix: UInt32) {
    if let last = places.last, last >= prefix {
      guard let index = places.firstIndex(of: prefix) else { return }
      filters[index] = filter
    } else {
      places.append(prefix)
      filters.append(filter)
    }
  }

  /// Forgets the filters in front of the one that covers this prefix: the run has no claims there any more.
  mutating func removeFilters(before prefix: UInt32) {
    var index = 0
    guard seek(prefix, &index), index > 0 else { return }
    places.removeFirst(index)
    filters.removeFirst(index)
  }

  /// The place of the filter that covers this prefix.
  func place(covering prefix: UInt32) -> UInt32? {
    var index = 0
    guard seek(prefix, &index) else { return nil }
    return places[index]
  }

  func place(behind prefix: UInt32) -> UInt32? { places.first { $0 > prefix } }

  /// - Parameter index: goes up to the filter of this prefix; those before are not asked again.
  @inline(__always)
  func mayHave(_ key: TemporaryExposureKey, _ index: inout Int) -> Bool {
    guard seek(key.prefix, &index) else { return false }
    return filters[index].mayHave(key)
  }

  /// The places of the questions about key data that the run may have.
  ///
  /// - Parameter questions: in the order of key data.
  func find(_ questions: UnsafeBufferPointer<FilterQuestion>) -> [Int32] {
    [Int32](unsafeUninitializedCapacity: questions.count) { room, filled in
      guard let room = room.baseAddress, let asked = questions.baseAddress, let first = places.first else { return }
      withExtendedLifetime(filters) {
        FilterTable.withDesk { desk in
          var (index, next) = (0, 0)
          while next < questions.count, asked[next].prefix < first { next += 1 }
          while next < questions.count {
            _ = seek(asked[next].prefix, &index)
            let end = end(of: index, questions, from: next)
            let table = filters[index].table
            if table.isWorthFetching(for: end - next), table.fetch() == 0 {
              next = end
              continue
            }
            while next < end {
              let count = Swift.min(FilterTable.desk, end - next)
              filled += table.find(
                asked + next, count, at: desk, into: room + filled, from: Int32(truncatingIfNeeded: next))
              next += count
            }
          }
        }
      }
    }
  }

  /// Where those questions end that the filter of this index covers.
  private func end(of index: Int, _ questions: UnsafeBufferPointer<FilterQuestion>, from start: Int) -> Int {
    guard index + 1 < places.count else { return questions.count }
    let prefix = places[index + 1]
    // Mostly it is near.
    var (low, step) = (start, 32)
    while low + step < questions.count, questions[low + step].prefix < prefix {
      low += step
      step *= 2
    }
    var high = Swift.min(low + step, questions.count)
    while low < high {
      let middle = (low + high) / 2
      if questions[middle].prefix < prefix { low = middle + 1 } else { high = middle }
    }
    return low
  }

  @inline(__always)
  private func seek(_ prefix: UInt32, _ index: inout Int) -> Bool {
    while index + 1 < places.count, places[index + 1] <= prefix { index += 1 }
    return index < places.count && places[index] <= prefix
  }
}
