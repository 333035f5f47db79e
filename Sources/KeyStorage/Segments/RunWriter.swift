internal import ExposureKeys

/// Writes claims, in their order, as blocks behind all that a run has.
struct RunWriter {
  private let segments: any ClaimSegments
  private var rows: [ClaimRow] = []
  private var size = BlockSize()
  private var isFirst: Bool
  /// Of the blocks that have no filter yet.
  private var keys: [TemporaryExposureKey] = []
  private var filterPlace: BlockPlace?
  /// The run, with what was written.
  private(set) var run: ClaimRun
  private(set) var filters: [(place: BlockPlace, filter: ClaimFilter)] = []

  /// A block fits into a page of four kilobytes, with what SQLite adds.
  static let blockBytes = 4048
  /// So many rows fit into a block, whatever they say.
  private static let fewestRows = (blockBytes - ClaimBlock.headerBytes) / ClaimBlock.widestRow
  /// Rows that share a filter, about.
  static let filterRows = 1 << 14

  /// - Parameter isFirst: whether the run has no blocks yet.
  init(_ run: ClaimRun, isFirst: Bool, _ segments: any ClaimSegments) {
    self.run = run
    self.isFirst = isFirst
    self.segments = segments
    rows.reserveCapacity(256)
  }

  mutating func add(_ row: ClaimRow) throws {
    if rows.count < Self.fewestRows {
      size.add(row)
    } else {
      var next = size
      next.add(row)
      if next.byteCount > Self.blockBytes, let last = rows.last, last.key.prefix != row.key.prefix {
        try endBlock()
        next = BlockSize()
        next.add(row)
      }
      size = next
    }
    rows.append(row)
    run.note(end: row.end)
  }

  mutating func finish() throws {
    if !rows.isEmpty { try endBlock() }
    if !keys.isEmpty { try endFilter() }
  }

  private mutating func endBlock() throws {
    // The first block takes whatever comes before its own claims.
    let place = BlockPlace(run: run.number, prefix: isFirst ? 0 : rows[0].key.prefix)
    isFirst = false
    try segments.put(ClaimBlock.encode(rows[...], size), at: place)
    run.rowCount += Int64(rows.count)
    if run.hasFilters {
      if filterPlace == nil { filterPlace = place }
      for row in rows { keys.append(row.key) }
      if keys.count >= Self.filterRows { try endFilter() }
    }
    rows.removeAll(keepingCapacity: true)
    size = BlockSize()
  }

  private mutating func endFilter() throws {
    guard let place = filterPlace else { return }
    let filter = ClaimFilter(keys)
    try segments.put(filter, at: place)
    filters.append((place, filter))
    filterPlace = nil
    keys.removeAll(keepingCapacity: true)
  }
}
