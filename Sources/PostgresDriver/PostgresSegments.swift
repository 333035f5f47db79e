import ExposureKeys
import KeyStorage

/// Which runs.
enum SegmentTables: Hashable {
  case claims
  /// What a series has released.
  case released(series: Int64)

  var prefix: String {
    switch self {
    case .claims: "claim"
    case .released: "release"
    }
  }

  /// What a list of runs says of those that are others'.
  fileprivate var series: Int64? {
    switch self {
    case .claims: nil
    case .released(let series): series
    }
  }
}

/// Runs as rows of PostgreSQL.
///
/// A round trip costs as much as many blocks, so blocks are read some at a time where the last ones were asked one after the
/// other, and written many at a time. What was written and is not sent yet is known here.
final class PostgresSegments: ClaimSegments {
  private let database: PostgresConnection
  private let counters: Counters?
  private let tables: SegmentTables
  private var windows: [Int32: Window] = [:]
  private var prepared = Prepared()
  /// By place; `nil` is removed.
  private var pending: [Int64: [UInt8]?] = [:]
  private var blocks: String { "\(tables.prefix)_blocks" }

  private static let mostPending = 256
  private static let mostAhead = 128
  private static let mostPrepared = 1024

  init(_ database: PostgresConnection, _ tables: SegmentTables = .claims, counters: Counters? = nil) {
    self.database = database
    self.tables = tables
    self.counters = counters
  }

  /// Blocks of a run that were read, without a gap: all that there are from `low` to `high`.
  private struct Window {
    var low: Int64
    var high: Int64
    /// In their order. The bytes of the last one may not be here.
    var blocks: [(place: Int64, bytes: [UInt8]?)] = []
    /// How many to read beyond what is asked.
    var ahead = 0
    var wasUsed = false

    func covers(_ place: Int64) -> Bool { low <= place && place <= high }

    /// The place in `blocks` of the first one behind a place.
    func index(behind place: Int64) -> Int {
      var (low, high) = (0, blocks.count)
      while low < high {
        let middle = (low + high) / 2
        if blocks[middle].place <= place { low = middle + 1 } else { high = middle }
      }
      return low
    }

    mutating func set(_ bytes: [UInt8]?, at place: Int64) {
      guard covers(place) else { return }
      let index = index(behind: place)
      let isThere = index > 0 && blocks[index - 1].place == place
      switch (bytes, isThere) {
      case (let bytes?, true): blocks[index - 1].bytes = bytes
      case (let bytes?, false): blocks.insert((place, bytes), at: index)
      case (nil, true): blocks.remove(at: index - 1)
      case (nil, false): break
      }
    }
  }

  /// Places of one run that will be asked, and the blocks of some of them, each as a window that ends where the next block begins.
  private struct Prepared {
    var places: [BlockPlace] = []
    /// In their order.
    var windows: [Window] = []
    /// The first of `places` whose block was not looked for.
    var next = 0

    /// The place in `windows` of the one that covers a place.
    func index(covering place: Int64) -> Int? {
      var (low, high) = (0, windows.count)
      while low < high {
        let middle = (low + high) / 2
        if windows[middle].low <= place { low = middle + 1 } else { high = middle }
      }
      return low > 0 && windows[low - 1].covers(place) ? low - 1 : nil
    }

    /// The places that come from this one on, where it is among those that were not looked for.
    mutating func places(from place: BlockPlace) -> ArraySlice<BlockPlace> {
      var (low, high) = (0, places.count)
      while low < high {
        let middle = (low + high) / 2
        if places[middle] < place { low = middle + 1 } else { high = middle }
      }
      guard low >= next, low < places.count, places[low] == place else { return [] }
      let some = places[low...].prefix(PostgresSegments.mostPrepared)
      next = some.endIndex
      return some
    }
  }

  // MARK: Runs

  var content: String {
    guard let series = tables.series else { return "claims" }
    let name: String? = try? database.row("SELECT name FROM series WHERE id = $1", series).map { try $0["name"] }
    return "releases of \(name ?? "series \(series)")"
  }

  func runs() throws -> [ClaimRun] {
    let rows =
      if let series = tables.series {
        try database.rows("SELECT * FROM \(tables.prefix)_runs WHERE series = $1 ORDER BY id", series)
      } else {
        try database.rows("SELECT * FROM \(tables.prefix)_runs ORDER BY id")
      }
    return try rows.map { row in
      let sweep: Int64? = try row["sweep"]
      return ClaimRun(
        number: try row["id"], rowCount: try row["claims"], firstEnd: try row["first_end"],
        hasFilters: try row["has_filters"], into: try row["target"],
        sweep: try sweep.map { ClaimRun.Sweep(next: UInt32(truncatingIfNeeded: $0), firstEnd: try row["sweep_end"]) })
    }
  }

  func newRunNumber() throws -> Int32 {
    guard let counters else { throw StorageFault(.held, "claims: nothing is written in a transaction that reads") }
    let number = counters.next("\(tables.prefix)_runs")
    guard let short = Int32(exactly: number) else {
      throw StorageFault(.full, "\(content): run \(number), at most \(Int32.max) are allowed")
    }
    if let series = tables.series {
      try database.run(
        "INSERT INTO \(tables.prefix)_runs (id, series, claims, first_end, has_filters) VALUES ($1, $2, 0, 0, 0)",
        short,
        series)
    } else {
      try database.run(
        "INSERT INTO \(tables.prefix)_runs (id, claims, first_end, has_filters) VALUES ($1, 0, 0, 0)", short)
    }
    return short
  }

  func save(_ run: ClaimRun) throws {
    try database.run(
      """
      UPDATE \(tables.prefix)_runs SET claims = $1, first_end = $2, has_filters = $3, target = $4, sweep = $5, sweep_end = $6
      WHERE id = $7
      """, run.rowCount, run.firstEnd, run.hasFilters, run.into, run.sweep.map { Int64($0.next) }, run.sweep?.firstEnd,
      run.number)
  }

  func remove(_ run: Int32) throws {
    let (first, last) = Self.ends(of: run)
    pending = pending.filter { $0.key < first || $0.key > last }
    windows[run] = nil
    if prepared.places.first?.run == run { prepared = Prepared() }
    try database.run("DELETE FROM \(blocks) WHERE id BETWEEN $1 AND $2", first, last)
    try database.run("DELETE FROM \(tables.prefix)_filters WHERE id BETWEEN $1 AND $2", first, last)
    try database.run("DELETE FROM \(tables.prefix)_runs WHERE id = $1", run)
  }

  private static func ends(of run: Int32) -> (first: Int64, last: Int64) {
    (BlockPlace(run: run, prefix: 0).rawValue, BlockPlace(run: run, prefix: .max).rawValue)
  }

  // MARK: Reading blocks

  func withBlock(
    atOrBefore place: BlockPlace, _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    let asked = place.rawValue
    if let index = try preparedWindow(covering: place) {
      let window = prepared.windows[index]
      let block = window.index(behind: asked) - 1
      if block >= 0, let bytes = window.blocks[block].bytes { return try give(window.blocks[block].place, bytes, body) }
    }
    if let window = windows[place.run], window.covers(asked) {
      let index = window.index(behind: asked) - 1
      if index >= 0, let bytes = window.blocks[index].bytes {
        windows[place.run]?.wasUsed = true
        return try give(window.blocks[index].place, bytes, body)
      }
      // Where the window begins with the run, there is none.
      if index < 0, window.low == Self.ends(of: place.run).first { return false }
      // The one behind all others is where the next ones are read from.
      if index >= 0, window.blocks[index].bytes == nil {
        try read(from: window.blocks[index].place, of: place.run)
        return try withKnown(atOrBefore: place, body)
      }
    }
    try look(at: place)
    return try withKnown(atOrBefore: place, body)
  }

  private func withKnown(
    atOrBefore place: BlockPlace, _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    guard let window = windows[place.run], window.covers(place.rawValue) else { return false }
    let index = window.index(behind: place.rawValue) - 1
    guard index >= 0, let bytes = window.blocks[index].bytes else { return false }
    return try give(window.blocks[index].place, bytes, body)
  }

  func withBlock(
    behind place: BlockPlace, _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    let asked = place.rawValue
    if let window = windows[place.run], window.covers(asked) {
      let index = window.index(behind: asked)
      if index < window.blocks.count, let bytes = window.blocks[index].bytes {
        return try give(window.blocks[index].place, bytes, body)
      }
      if index == window.blocks.count, window.high == Self.ends(of: place.run).last { return false }
    }
    guard asked < Self.ends(of: place.run).last else { return false }
    try read(from: asked + 1, of: place.run)
    guard let window = windows[place.run], let first = window.blocks.first, let bytes = first.bytes else {
      return false
    }
    return try give(first.place, bytes, body)
  }

  func place(behind place: BlockPlace) throws -> BlockPlace? {
    let asked = place.rawValue
    let end = Self.ends(of: place.run).last
    func known() -> BlockPlace?? {
      guard let window = windows[place.run], window.covers(asked) else { return nil }
      let index = window.index(behind: asked)
      if index < window.blocks.count { return BlockPlace(rawValue: window.blocks[index].place) }
      return window.high == end ? .some(nil) : nil
    }
    if let index = prepared.index(covering: asked) {
      let window = prepared.windows[index]
      let block = window.index(behind: asked)
      if block < window.blocks.count { return BlockPlace(rawValue: window.blocks[block].place) }
      return window.high == end ? nil : BlockPlace(rawValue: window.high + 1)
    }
    if let known = known() { return known }
    guard asked < end else { return nil }
    try flush()
    return try database.value("SELECT id FROM \(blocks) WHERE id > $1 AND id <= $2 ORDER BY id LIMIT 1", asked, end)
  }

  // MARK: Reading blocks together

  func prepare(_ places: [BlockPlace]) { prepared = Prepared(places: places) }

  /// Reads the blocks of the next places that were announced, where this one is among them and not read yet.
  private func preparedWindow(covering place: BlockPlace) throws -> Int? {
    if let index = prepared.index(covering: place.rawValue) { return index }
    let next = prepared.places(from: place)
    guard next.count > 1 else { return nil }
    try flush()
    let (first, last) = Self.ends(of: place.run)
    let rows = try database.rows(
      """
      SELECT found.id, block.claims, behind.id FROM
        (SELECT DISTINCT before.id FROM unnest($1) AS asked CROSS JOIN LATERAL
          (SELECT id FROM \(blocks) WHERE id BETWEEN $2 AND asked ORDER BY id DESC LIMIT 1) AS before) AS found
        JOIN \(blocks) AS block ON block.id = found.id
        LEFT JOIN LATERAL
          (SELECT id FROM \(blocks) WHERE id > found.id AND id <= $3 ORDER BY id LIMIT 1) AS behind ON true
      ORDER BY found.id
      """, PostgresValue.ints(next.map(\.rawValue)), first, last)
    prepared.windows = try rows.map { row in
      let (place, behind): (BlockPlace, BlockPlace?) = (try row[0], try row[2])
      return Window(
        low: place.rawValue, high: behind.map { $0.rawValue - 1 } ?? last, blocks: [(place.rawValue, try row[1])])
    }
    return prepared.index(covering: place.rawValue)
  }

  private func give(
    _ place: Int64, _ bytes: [UInt8], _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    try bytes.withUnsafeBytes { try body(BlockPlace(rawValue: place), $0) }
    return true
  }

  /// Reads the block at a place or before it, and where the next one is; with more of those where the last ones were asked
  /// in their order.
  private func look(at place: BlockPlace) throws {
    try flush()
    let asked = place.rawValue
    let (first, last) = Self.ends(of: place.run)
    var ahead = 0
    if let before = windows[place.run] {
      ahead = before.wasUsed ? min(Self.mostAhead, max(4, before.ahead * 2)) : before.ahead / 2
    }
    // The bytes of the last one would mostly be read in vain.
    let rows = try database.rows(
      """
      (SELECT id, claims FROM \(blocks) WHERE id BETWEEN $1 AND $2 ORDER BY id DESC LIMIT 1)
      UNION ALL
      (SELECT id, CASE WHEN row_number() OVER () <= $4 THEN claims END FROM
        (SELECT id, claims FROM \(blocks) WHERE id > $2 AND id <= $3 ORDER BY id LIMIT $4 + 1) AS behind)
      """, first, asked, last, ahead)
    var window = Window(low: asked, high: last)
    window.ahead = ahead
    for row in rows { window.blocks.append(((try row[0] as BlockPlace).rawValue, try row[1])) }
    window.blocks.sort { $0.place < $1.place }
    window.low = window.blocks.first.map { $0.place <= asked ? $0.place : first } ?? first
    let behind = window.blocks.count { $0.place > asked }
    if behind > ahead { window.high = window.blocks.last?.place ?? last }
    windows[place.run] = window
  }

  /// Reads blocks from a place on, each time more of them.
  private func read(from start: Int64, of run: Int32) throws {
    try flush()
    let end = Self.ends(of: run).last
    let ahead = min(Self.mostAhead, max(8, (windows[run]?.ahead ?? 4) * 2))
    let rows = try database.rows(
      "SELECT id, claims FROM \(blocks) WHERE id BETWEEN $1 AND $2 ORDER BY id LIMIT $3", start, end, ahead)
    var window = Window(low: start, high: end)
    window.ahead = ahead
    window.wasUsed = true
    for row in rows { window.blocks.append(((try row[0] as BlockPlace).rawValue, try row[1])) }
    if rows.count == ahead, let last = window.blocks.last { window.high = last.place }
    windows[run] = window
  }

  // MARK: Writing blocks

  func put(_ block: [UInt8], at place: BlockPlace) throws { try set(block, at: place) }

  func removeBlock(at place: BlockPlace) throws { try set(nil, at: place) }

  private func set(_ block: [UInt8]?, at place: BlockPlace) throws {
    pending.updateValue(block, forKey: place.rawValue)
    windows[place.run]?.set(block, at: place.rawValue)
    if block == nil {
      prepared = Prepared()
    } else if let index = prepared.index(covering: place.rawValue) {
      prepared.windows[index].set(block, at: place.rawValue)
    }
    if pending.count >= Self.mostPending { try flush() }
  }

  /// Sends what was written. Whoever uses the tables otherwise, or ends the transaction, does it before.
  func flush() throws {
    if pending.isEmpty { return }
    let sorted = pending.sorted { $0.key < $1.key }
    pending.removeAll(keepingCapacity: true)
    let removed = sorted.filter { $0.value == nil }.map(\.key)
    let written = sorted.filter { $0.value != nil }
    if !removed.isEmpty {
      try database.run("DELETE FROM \(blocks) WHERE id = ANY ($1)", PostgresValue.ints(removed))
    }
    if !written.isEmpty {
      try database.run(
        """
        INSERT INTO \(blocks) (id, claims) SELECT * FROM unnest($1, $2)
        ON CONFLICT (id) DO UPDATE SET claims = excluded.claims
        """, PostgresValue.ints(written.map(\.key)), PostgresValue.blobs(written.map(\.value)))
    }
  }

  // MARK: Filters

  func filters(of run: Int32) throws -> [(place: BlockPlace, filter: ClaimFilter)] {
    let (first, last) = Self.ends(of: run)
    var filters: [(place: BlockPlace, filter: ClaimFilter)] = []
    var start = first
    while true {
      let rows = try database.rows(
        "SELECT id, filter FROM \(tables.prefix)_filters WHERE id BETWEEN $1 AND $2 ORDER BY id LIMIT $3", start, last,
        Self.filtersAtOnce)
      for row in rows {
        let place: BlockPlace = try row[0]
        guard let filter = try row.withBytes(1, { ClaimFilter($0) }) else {
          throw StorageFault(
            .corrupt, "\(content): the filter at \(place.prefix) of run \(run) is not what was written")
        }
        filters.append((place, filter))
      }
      guard rows.count == Self.filtersAtOnce, let end = filters.last?.place.rawValue, end < last else { return filters }
      start = end + 1
    }
  }

  /// Of some 32 kilobytes.
  private static let filtersAtOnce = 64

  func put(_ filter: ClaimFilter, at place: BlockPlace) throws {
    try database.run(
      """
      INSERT INTO \(tables.prefix)_filters (id, filter) VALUES ($1, $2)
      ON CONFLICT (id) DO UPDATE SET filter = excluded.filter
      """, place.rawValue, filter.bytes)
  }
}
