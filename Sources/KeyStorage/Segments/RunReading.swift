package import ExposureKeys

/// The claims of one run, one after the other.
struct RunCursor {
  let run: Int32
  private let segments: any ClaimSegments
  /// Whether blocks are removed as they are read: what was not handed over is put back in the end.
  private let takes: Bool
  private var rows: [ClaimRow] = []
  private var index = 0
  private var place: BlockPlace
  /// How many claims were handed over.
  private(set) var count: Int64 = 0

  /// - Parameter start: from this key data on.
  init(_ run: Int32, from start: TemporaryExposureKey?, taking takes: Bool = false, _ segments: any ClaimSegments)
    throws
  {
    self.run = run
    self.segments = segments
    self.takes = takes
    let asked = BlockPlace(run: run, prefix: start?.prefix ?? 0)
    var (read, at): ([ClaimRow], BlockPlace) = ([], asked)
    let isThere = try segments.withBlock(atOrBefore: asked) { place, bytes in
      try BlockReading.decode(bytes, at: place, of: segments, into: &read)
      at = place
    }
    (rows, place) = (read, at)
    if !isThere {
      try readBlock()
    } else if takes {
      try segments.removeBlock(at: place)
    }
    if let start {
      var (low, high) = (0, rows.count)
      while low < high {
        let middle = (low + high) / 2
        if rows[middle].key < start { low = middle + 1 } else { high = middle }
      }
      index = low
      if index == rows.count, !rows.isEmpty { try readBlock() }
    }
  }

  /// See ``ClaimSegments/content``.
  var content: String { segments.content }

  /// The next claim; `nil` at the end.
  @inline(__always)
  var row: ClaimRow? { isAtEnd ? nil : rows[index] }

  /// The next claim, where there is one.
  @inline(__always)
  var first: ClaimRow { rows[index] }

  @inline(__always)
  var isAtEnd: Bool { index >= rows.count }

  @inline(__always)
  mutating func advance() throws {
    index += 1
    count += 1
    if index >= rows.count { try readBlock() }
  }

  private mutating func readBlock() throws {
    rows.removeAll(keepingCapacity: true)
    index = 0
    var (read, at) = (rows, place)
    rows = []
    _ = try segments.withBlock(behind: place) { place, bytes in
      try BlockReading.decode(bytes, at: place, of: segments, into: &read)
      at = place
    }
    rows = read
    place = at
    if takes, !rows.isEmpty { try segments.removeBlock(at: place) }
  }

  /// Puts back what was not handed over.
  func putBack() throws {
    guard takes, index < rows.count else { return }
    try segments.put(ClaimBlock.encode(rows[index...]), at: place)
  }
}

/// Decoding with a place for whom it may concern.
enum BlockReading {
  static func decode(
    _ bytes: UnsafeRawBufferPointer, at place: BlockPlace, of segments: any ClaimSegments, into rows: inout [ClaimRow]
  ) throws {
    do {
      try ClaimBlock.decode(bytes, into: &rows)
    } catch {
      throw StorageFault(
        .corrupt, "\(segments.content): the block at \(place.prefix) of run \(place.run) cannot be read: \(error)")
    }
  }
}

/// The claims of all runs in one order, each once.
package struct MergedRows {
  private var cursors: [RunCursor]
  /// The key data of each cursor's next claim, by which alone nearly all of them are told apart.
  private var keys: [TemporaryExposureKey]
  /// Of the cursors that have a claim, the first at the top.
  private var heap: [Int] = []

  init(_ cursors: [RunCursor]) {
    let cursors = cursors.filter { $0.row != nil }
    self.cursors = cursors
    keys = cursors.map(\.first.key)
    heap = cursors.indices.sorted { cursors[$0].first < cursors[$1].first }
  }

  /// The claim that comes next, without taking it.
  var peek: ClaimRow? { heap.first.flatMap { cursors[$0].row } }

  package mutating func next() throws -> ClaimRow? {
    guard let top = heap.first else { return nil }
    let row = cursors[top].first
    try cursors[top].advance()
    if cursors[top].isAtEnd {
      let end = heap.removeLast()
      if heap.isEmpty { return row }
      heap[0] = end
    } else {
      keys[top] = cursors[top].first.key
    }
    siftDown()
    let following = heap[0]
    if !(row.key < keys[following]), !(row < cursors[following].first) {
      throw StorageFault(
        .corrupt,
        "\(cursors[following].content): run \(cursors[following].run) has one out of order, or one that another run has"
      )
    }
    return row
  }

  /// Brings the top of the heap to its place.
  @inline(__always)
  private mutating func siftDown() {
    heap.withUnsafeMutableBufferPointer { heap in
      keys.withUnsafeBufferPointer { keys in
        let moved = heap[0]
        var hole = 0
        while true {
          var child = 2 * hole + 1
          guard child < heap.count else { break }
          if child + 1 < heap.count, Self.isFirst(heap[child + 1], of: heap[child], keys, cursors) { child += 1 }
          guard Self.isFirst(heap[child], of: moved, keys, cursors) else { break }
          heap[hole] = heap[child]
          hole = child
        }
        heap[hole] = moved
      }
    }
  }

  /// Whether the claim of this cursor comes before the other's.
  @inline(__always)
  private static func isFirst(
    _ cursor: Int, of other: Int, _ keys: UnsafeBufferPointer<TemporaryExposureKey>, _ cursors: [RunCursor]
  ) -> Bool {
    let (left, right) = (keys[cursor], keys[other])
    return left == right ? cursors[cursor].first < cursors[other].first : left < right
  }

  /// Ends a reading that takes: what was not handed over is put back.
  ///
  /// - Returns: how many claims each run has given.
  func end() throws -> [(run: Int32, count: Int64, isEmpty: Bool)] {
    for cursor in cursors { try cursor.putBack() }
    return cursors.map { ($0.run, $0.count, $0.isAtEnd) }
  }
}

/// Looks for key data in one run; it is asked in ascending order.
struct RunSearch {
  private let run: Int32
  private let segments: any ClaimSegments
  private let filters: RunFilters?
  private let rowCount: Int64
  private var filter = 0
  private var rows: [ClaimRow] = []
  private var isRead = false
  /// The prefix from which on another block is asked; `nil` is never.
  private var end: UInt32?

  /// - Parameter rowCount: how many claims the run has, as far as that is known.
  init(_ run: Int32, _ filters: RunFilters?, _ segments: any ClaimSegments, rowCount: Int64 = .max) {
    self.run = run
    self.rowCount = rowCount
    self.filters = filters
    self.segments = segments
  }

  /// Adds what the run has about this key data.
  @inline(__always)
  mutating func find(_ key: TemporaryExposureKey, into found: inout [ClaimRow]) throws {
    if let filters, !filters.mayHave(key, &filter) { return }
    try look(key, into: &found)
  }

  /// Adds what the run has about the key data of these rows, which stand in their order.
  ///
  /// - Parameter questions: one for each row.
  mutating func find(_ rows: [ClaimRow], _ questions: [FilterQuestion], into found: inout [ClaimRow]) throws {
    var last: TemporaryExposureKey?
    func look(_ row: ClaimRow, _ search: inout RunSearch) throws {
      guard row.key != last else { return }
      last = row.key
      try search.look(row.key, into: &found)
    }
    if let filters {
      let places = questions.withUnsafeBufferPointer(filters.find)
      prepare(places.count, places.lazy.map { rows[Int($0)].key })
      for place in places { try look(rows[Int(place)], &self) }
    } else {
      for row in rows { try look(row, &self) }
    }
  }

  /// Adds what the run has about key data.
  ///
  /// - Parameters:
  ///   - keys: in order, each once.
  ///   - questions: one for each.
  mutating func find(
    _ keys: [TemporaryExposureKey], _ questions: [FilterQuestion], into found: inout [ClaimRow]
  ) throws {
    if let filters {
      let places = questions.withUnsafeBufferPointer(filters.find)
      prepare(places.count, places.lazy.map { keys[Int($0)] })
      for place in places { try look(keys[Int(place)], into: &found) }
    } else {
      prepare(keys.count, keys)
      for key in keys { try look(key, into: &found) }
    }
  }

  /// Of most blocks the next one is asked for, too: they are read one after the other.
  private func prepare(_ count: Int, _ keys: some Sequence<TemporaryExposureKey>) {
    guard Int64(count) < rowCount / Self.rowsForOne else { return segments.prepare([]) }
    segments.prepare(keys.map { BlockPlace(run: run, prefix: $0.prefix) })
  }

  private mutating func look(_ key: TemporaryExposureKey, into found: inout [ClaimRow]) throws {
    if !isRead || end.map({ key.prefix >= $0 }) ?? false { try read(key.prefix) }
    var (low, high) = (0, rows.count)
    while low < high {
      let middle = (low + high) / 2
      if rows[middle].key < key { low = middle + 1 } else { high = middle }
    }
    while low < rows.count, rows[low].key == key {
      found.append(rows[low])
      low += 1
    }
  }

  private mutating func read(_ prefix: UInt32) throws {
    let asked = BlockPlace(run: run, prefix: prefix)
    var read = rows
    rows = []
    read.removeAll(keepingCapacity: true)
    _ = try segments.withBlock(atOrBefore: asked) { try BlockReading.decode($1, at: $0, of: segments, into: &read) }
    rows = read
    end = try segments.place(behind: asked)?.prefix
    isRead = true
  }
}

extension RunSearch {
  /// About as many claims as two blocks have.
  private static let rowsForOne: Int64 = 256
}

/// Looks for key data in all runs; it is asked in ascending order.
package struct ClaimSearch {
  private var searches: [RunSearch]

  init(_ searches: [RunSearch]) { self.searches = searches }

  /// Adds what there is about this key data.
  package mutating func find(_ key: TemporaryExposureKey, into found: inout [ClaimRow]) throws {
    for index in searches.indices { try searches[index].find(key, into: &found) }
  }
}
