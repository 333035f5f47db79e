package import ExposureKeys

/// Where a run has lost claims: its key data from these first four bytes on, up to those with which the next block begins.
package struct LostRange: Hashable, Sendable {
  package let run: Int32
  package let first: UInt32
  /// `nil` is to the end.
  package let end: UInt32?
  /// Expiry had taken out of it what ended before this interval, and nothing else.
  package let firstEnd: Int64
  /// Whether no block of it is damaged: the run has fewer claims than it should have, and nobody knows where.
  package let isAnywhere: Bool

  package init(run: Int32, first: UInt32, end: UInt32?, firstEnd: Int64 = .min, isAnywhere: Bool = false) {
    self.run = run
    self.first = first
    self.end = end
    self.firstEnd = firstEnd
    self.isAnywhere = isAnywhere
  }

  package func has(_ key: TemporaryExposureKey) -> Bool {
    key.prefix >= first && end.map { key.prefix < $0 } ?? true
  }
}

/// What is damaged in some runs.
package struct RunDamage: Hashable, Sendable {
  /// Blocks that are not what was written, or stand in another's place; and runs that have fewer claims than they should have.
  package var ranges: [LostRange] = []
  /// How many claims were in them, by the counts of their runs.
  package var lost: Int64 = 0
  /// Runs whose filters are damaged, or do not know all that the runs have.
  package var filters: [Int32] = []
  /// Claims that are there, withdrawn ones left out.
  package var standing: Int64 = 0

  package init() {}

  /// How many blocks are damaged.
  package var blockCount: Int { ranges.count { !$0.isAnywhere } }
  package var isEmpty: Bool { ranges.isEmpty && lost == 0 && filters.isEmpty }

  package mutating func add(_ other: RunDamage) {
    ranges += other.ranges
    lost += other.lost
    filters += other.filters
    standing += other.standing
  }
}

extension ClaimRuns {
  /// Takes damaged blocks out of all runs, makes damaged filters anew of what there is, and counts anew. Nothing else is
  /// changed: where nothing is damaged, nothing is.
  ///
  /// - Parameter renewsFilters: whether filters are made anew that look whole.
  package func takeOutDamage(renewingFilters renewsFilters: Bool = false) throws -> RunDamage {
    var all = RunDamage()
    for run in runs {
      let look = try look(at: run, trustingFilters: !renewsFilters)
      for range in look.damage.ranges where !range.isAnywhere {
        try removeBlock(at: BlockPlace(run: run.number, prefix: range.first))
      }
      if !look.damage.isEmpty {
        var counted = run
        counted.rowCount = look.count
        if !look.damage.filters.isEmpty { try renewFilters(of: counted) }
        try keepOrDiscard(counted)
      }
      all.add(look.damage)
    }
    return all
  }

  /// Reads all blocks of a run and asks its filters for all that is in them.
  private func look(at run: ClaimRun, trustingFilters: Bool) throws -> (damage: RunDamage, count: Int64) {
    var damage = RunDamage()
    var count: Int64 = 0
    let filters = run.hasFilters && trustingFilters ? try wholeFilters(of: run) : nil
    var isKnown = filters != nil || !run.hasFilters
    var filter = 0
    try eachBlockOrGap(of: run.number) { place, end, rows in
      guard let rows, let first = rows.first, let last = rows.last, place.prefix <= first.key.prefix,
        end.map({ last.key.prefix < $0 }) ?? true
      else {
        var firstEnd = run.firstEnd
        if let sweep = run.sweep, place.prefix < sweep.next { firstEnd = max(firstEnd, sweep.firstEnd) }
        damage.ranges.append(LostRange(run: run.number, first: place.prefix, end: end, firstEnd: firstEnd))
        return
      }
      count += Int64(rows.count)
      for row in rows {
        if row.stands { damage.standing += 1 }
        if let filters, isKnown, !filters.mayHave(row.key, &filter) { isKnown = false }
      }
    }
    damage.lost = run.rowCount - count
    if damage.lost > 0, damage.ranges.isEmpty {
      damage.ranges = [LostRange(run: run.number, first: 0, end: nil, firstEnd: run.firstEnd, isAnywhere: true)]
    }
    if !isKnown { damage.filters = [run.number] }
    return (damage, count)
  }

  /// - Parameter body: is given each place, where the next one begins, and what is there; `nil` where it cannot be read.
  private func eachBlockOrGap(
    of run: Int32, _ body: (BlockPlace, _ end: UInt32?, [ClaimRow]?) throws -> Void
  ) throws {
    var rows: [ClaimRow] = []
    var (place, isWhole): (BlockPlace?, Bool) = (nil, false)
    func take(_ at: BlockPlace, _ bytes: UnsafeRawBufferPointer) {
      place = at
      rows.removeAll(keepingCapacity: true)
      do {
        try ClaimBlock.decode(bytes, into: &rows)
        isWhole = true
      } catch {
        isWhole = false
      }
    }
    let start = BlockPlace(run: run, prefix: 0)
    if try !segments.withBlock(atOrBefore: start, take) { _ = try segments.withBlock(behind: start, take) }
    while let at = place {
      let next = try segments.place(behind: at)
      try body(at, next?.prefix, isWhole ? rows : nil)
      place = nil
      if next != nil { _ = try segments.withBlock(behind: at, take) }
    }
  }

  /// `nil` where one of them is not what was written.
  private func wholeFilters(of run: ClaimRun) throws -> RunFilters? {
    do {
      return RunFilters(try segments.filters(of: run.number))
    } catch let fault as StorageFault where fault.code == .corrupt {
      return nil
    }
  }

  /// Makes the filters of a run anew. Its damaged blocks are gone.
  private func renewFilters(of run: ClaimRun) throws {
    try segments.removeFilters(of: run.number)
    var known: [(place: BlockPlace, filter: ClaimFilter)] = []
    var (start, keys): (BlockPlace?, [TemporaryExposureKey]) = (nil, [])
    func end() throws {
      guard let place = start else { return }
      let filter = ClaimFilter(keys)
      try segments.put(filter, at: place)
      known.append((place, filter))
      (start, keys) = (nil, [])
    }
    try eachBlockOrGap(of: run.number) { place, _, rows in
      if start == nil { start = place }
      for row in rows ?? [] { keys.append(row.key) }
      if keys.count >= RunWriter.filterRows { try end() }
    }
    try end()
    keep(RunFilters(known), of: run.number)
  }
}
