package import ExposureKeys

/// All claims of a store, as runs; for the time of one transaction.
///
/// A batch becomes a run, written once. Runs of one size are merged into one, some claims at a time, as others come in; each
/// step moves claims from runs to the run behind them, so that every claim is in exactly one run whenever it ends. Runs are in the
/// order of key data, and so is whatever is read of them.
package final class ClaimRuns {
  private let segments: any ClaimSegments
  package private(set) var runs: [ClaimRun]
  /// Those that are known, of runs that have any.
  package private(set) var filters: [Int32: RunFilters]

  private let readsFilters: Bool

  /// - Parameter filters: those that the last transaction knew; none of another state of the store. `nil` is never to read any:
  ///   for who looks for few keys.
  package init(_ segments: any ClaimSegments, filters: [Int32: RunFilters]?) throws {
    self.segments = segments
    readsFilters = filters != nil
    runs = try segments.runs()
    let numbers = Set(runs.map(\.number))
    self.filters = (filters ?? [:]).filter { numbers.contains($0.key) }
  }

  // MARK: Reading

  /// All claims from some key data on.
  package func rows(from start: TemporaryExposureKey? = nil) throws -> MergedRows {
    MergedRows(try runs.map { try RunCursor($0.number, from: start, segments) })
  }

  /// What there is about one key data, in its order.
  package func rows(about key: TemporaryExposureKey) throws -> [ClaimRow] {
    var found: [ClaimRow] = []
    for run in runs {
      var search = RunSearch(run.number, filters[run.number], segments)
      try search.find(key, into: &found)
    }
    return found.sorted(by: <)
  }

  /// What there is about the key data of these rows, in its order.
  ///
  /// - Parameter rows: in the order of key data.
  package func rows(about rows: [ClaimRow]) throws -> [ClaimRow] {
    var found: [ClaimRow] = []
    let questions = rows.map { FilterQuestion($0.key) }
    for run in runs {
      var search = try search(run, isForMany: rows.count > RunTiers.smallBatch)
      try search.find(rows, questions, into: &found)
    }
    return ClaimRow.sorted(found)
  }

  /// What there is about key data, in its order.
  ///
  /// - Parameter keys: in order, each once.
  package func rows(about keys: [TemporaryExposureKey]) throws -> [ClaimRow] {
    var found: [ClaimRow] = []
    let questions = keys.map { FilterQuestion($0) }
    for run in runs {
      // Filters are read where that is less work than to look into a block for each key.
      let isForMany = Int64(keys.count) * Self.rowsReadForOneBlock > run.rowCount
      let filters = try isForMany && run.hasFilters ? filters[run.number] ?? readFilters(of: run) : filters[run.number]
      var search = RunSearch(run.number, filters, segments, rowCount: run.rowCount)
      try search.find(keys, questions, into: &found)
    }
    return ClaimRow.sorted(found)
  }

  /// Of how many claims the filters are read in the time in which one block is looked up and read.
  private static let rowsReadForOneBlock: Int64 = 4096

  /// A search for keys one by one.
  package func search() throws -> ClaimSearch {
    ClaimSearch(try runs.map { try search($0, isForMany: false) })
  }

  private func search(_ run: ClaimRun, isForMany: Bool) throws -> RunSearch {
    RunSearch(
      run.number, try isForMany ? knownFilters(of: run) : filters[run.number], segments, rowCount: run.rowCount)
  }

  /// Filters of a large run are many: who looks for few keys does not read them.
  private func knownFilters(of run: ClaimRun) throws -> RunFilters? {
    guard run.hasFilters, readsFilters else { return nil }
    return try filters[run.number] ?? readFilters(of: run)
  }

  private func readFilters(of run: ClaimRun) throws -> RunFilters {
    let read = RunFilters(try segments.filters(of: run.number))
    filters[run.number] = read
    return read
  }

  // MARK: Adding

  /// Adds claims that no run has.
  ///
  /// - Parameter rows: in their order.
  package func add(_ rows: [ClaimRow]) throws {
    if rows.isEmpty { return }
    try check(rows)
    if rows.count <= RunTiers.smallBatch, let run = RunTiers.smallest(of: runs) {
      try insert(rows, into: run)
    } else {
      _ = try write(rows, hasFilters: rows.count >= RunTiers.smallRows)
    }
  }

  /// Adds claims that come behind all others: one run grows.
  ///
  /// - Parameter rows: in their order. Their key data begins otherwise than that of all others.
  package func append(_ rows: [ClaimRow]) throws {
    try check(rows)
    guard let run = runs.first, runs.count == 1, run.hasFilters else {
      _ = try write(rows, hasFilters: true)
      return
    }
    var writer = RunWriter(run, isFirst: false, segments)
    for row in rows { try writer.add(row) }
    try writer.finish()
    try keep(writer.run)
    filters[run.number] = nil
  }

  /// What is written can be read.
  private func check(_ rows: [ClaimRow]) throws {
    guard let place = ClaimBlock.firstWrong(rows[...]) else { return }
    throw StorageFault(.conflict, "claims: number \(place) of \(rows.count) is out of order or says what no claim says")
  }

  private func write(_ rows: [ClaimRow], hasFilters: Bool) throws -> ClaimRun {
    let run = ClaimRun(number: try segments.newRunNumber(), hasFilters: hasFilters)
    var writer = RunWriter(run, isFirst: true, segments)
    for row in rows { try writer.add(row) }
    try writer.finish()
    try keep(writer.run)
    if hasFilters { filters[run.number] = RunFilters(writer.filters) }
    return writer.run
  }

  /// Claims go into the blocks of a small run.
  private func insert(_ rows: [ClaimRow], into run: ClaimRun) throws {
    var run = run
    var rest = rows[...]
    while let first = rest.first {
      let asked = BlockPlace(run: run.number, prefix: first.key.prefix)
      var (place, block): (BlockPlace, [ClaimRow]) = (BlockPlace(run: run.number, prefix: 0), [])
      _ = try segments.withBlock(atOrBefore: asked) {
        place = $0
        try BlockReading.decode($1, at: $0, of: segments, into: &block)
      }
      let end = try segments.place(behind: asked)?.prefix
      let mine = rest.prefix { row in end.map { row.key.prefix < $0 } ?? true }
      rest = rest.dropFirst(mine.count)
      block.append(contentsOf: mine)
      block.sort(by: <)
      try put(block[...], at: place)
      for row in mine { run.note(end: row.end) }
    }
    run.rowCount += Int64(rows.count)
    try keep(run)
    if run.rowCount >= RunTiers.smallRows { try divide(run) }
  }

  /// A small run that is full becomes two, so that what comes next is never alone.
  private func divide(_ run: ClaimRun) throws {
    var reading = MergedRows([try RunCursor(run.number, from: nil, taking: true, segments)])
    var halves: ([ClaimRow], [ClaimRow]) = ([], [])
    var isFirst = true
    while let row = try reading.next() {
      if isFirst { halves.0.append(row) } else { halves.1.append(row) }
      isFirst.toggle()
    }
    try discard(run.number)
    _ = try write(halves.0, hasFilters: false)
    _ = try write(halves.1, hasFilters: false)
  }

  // MARK: Merging

  /// Goes on with the merges that are due.
  ///
  /// - Parameter rowCount: how many claims came in. Each merge is done before as many have come as would make the next one due.
  package func merge(after rowCount: Int) throws {
    while let due = RunTiers.due(of: runs) {
      let target = ClaimRun(number: try segments.newRunNumber(), hasFilters: true)
      try keep(target)
      filters[target.number] = RunFilters([])
      for var run in due {
        run.into = target.number
        try keep(run)
      }
    }
    let limit = rowCount + rowCount / 8 + 2048
    for target in Set(runs.compactMap(\.into)).sorted() { try merge(into: target, limit: limit) }
  }

  private func merge(into number: Int32, limit: Int) throws {
    guard let target = runs.first(where: { $0.number == number }) else {
      throw StorageFault(.corrupt, "\(segments.content): run \(number), into which others are merged, is not there")
    }
    let sources = runs.filter { $0.into == number }
    var reading = MergedRows(try sources.map { try RunCursor($0.number, from: nil, taking: true, segments) })
    var writer = RunWriter(target, isFirst: target.rowCount == 0, segments)
    var last: UInt32 = 0
    var count = 0
    // Claims whose key data begins alike are never in two blocks.
    while let row = reading.peek, count < limit || row.key.prefix == last {
      _ = try reading.next()
      try writer.add(row)
      last = row.key.prefix
      count += 1
    }
    let rest = reading.peek?.key.prefix ?? .max
    let given = try reading.end()
    try writer.finish()
    for var run in sources {
      // A run without a claim has no cursor.
      let gave = given.first { $0.run == run.number }
      run.rowCount -= gave?.count ?? 0
      if gave?.isEmpty ?? true { try discard(run.number) } else { try keep(run) }
      // Nobody asks it for what it has given away.
      filters[run.number]?.removeFilters(before: rest)
    }
    try keep(writer.run)
    if var known = filters[number] {
      for (place, filter) in writer.filters { known.add(filter, at: place.prefix) }
      filters[number] = known
    }
  }

  // MARK: Changing

  /// Changes what there is about one key data, or removes it.
  ///
  /// - Parameters:
  ///   - isErased: whether the filters forget it as well.
  ///   - change: returns `nil` for a claim that is to be removed.
  package func change(
    _ key: TemporaryExposureKey, isErased: Bool = false, _ change: (ClaimRow) throws -> ClaimRow?
  ) throws {
    for run in runs {
      var (place, block): (BlockPlace?, [ClaimRow]) = (nil, [])
      _ = try segments.withBlock(atOrBefore: BlockPlace(run: run.number, prefix: key.prefix)) {
        place = $0
        try BlockReading.decode($1, at: $0, of: segments, into: &block)
      }
      guard let place, block.contains(where: { $0.key == key }) else { continue }
      let changed = try block.compactMap { $0.key == key ? try change($0) : $0 }
      guard changed != block else { continue }
      try put(changed[...], at: place)
      var run = run
      run.rowCount -= Int64(block.count - changed.count)
      if isErased, run.hasFilters { try renewFilter(of: run, covering: place.prefix) }
      try keepOrDiscard(run)
    }
  }

  /// Changes what there is about many keys, each block once.
  ///
  /// - Parameters:
  ///   - rows: in the order of key data; those about one key data that are to be changed stand together.
  ///   - change: is given a row that is there and those of `rows` about its key data; returns what stands in its place, `nil`
  ///     for a claim that is to be removed.
  package func change(
    about rows: [ClaimRow], _ change: (ClaimRow, ArraySlice<ClaimRow>) throws -> ClaimRow?
  ) throws {
    for var run in runs {
      var rest = rows[...]
      let before = run.rowCount
      segments.prepare(rows.map { BlockPlace(run: run.number, prefix: $0.key.prefix) })
      while let first = rest.first {
        let asked = BlockPlace(run: run.number, prefix: first.key.prefix)
        var (place, block): (BlockPlace?, [ClaimRow]) = (nil, [])
        _ = try segments.withBlock(atOrBefore: asked) {
          place = $0
          try BlockReading.decode($1, at: $0, of: segments, into: &block)
        }
        let end = try segments.place(behind: asked)?.prefix
        let mine = rest.prefix { row in end.map { row.key.prefix < $0 } ?? true }
        rest = rest.dropFirst(mine.count)
        guard let place else { continue }
        var next = mine.startIndex
        let changed = try block.compactMap { row -> ClaimRow? in
          while next < mine.endIndex, mine[next].key < row.key { next += 1 }
          guard next < mine.endIndex, mine[next].key == row.key else { return row }
          return try change(row, mine[next...].prefix { $0.key == row.key })
        }
        guard changed != block else { continue }
        run.rowCount -= Int64(block.count - changed.count)
        try put(changed[...], at: place)
      }
      if run.rowCount != before { try keepOrDiscard(run) }
    }
  }

  /// Changes claims of all runs.
  ///
  /// - Parameter change: returns whether it changed the claim; never its identity.
  package func changeAll(_ change: (inout ClaimRow) throws -> Bool) throws {
    for run in runs {
      _ = try eachBlock(of: run.number, from: 0, limit: .max) { place, block in
        var isChanged = false
        for index in block.indices where try change(&block[index]) { isChanged = true }
        if isChanged { try put(block[...], at: place) }
      }
    }
  }

  /// Removes claims whose keys are not valid any more, run by run, and about `limit` claims at a time: the next call goes on.
  ///
  /// - Parameters:
  ///   - end: claims that end in this interval, or before.
  ///   - removed: is told of each claim that is removed.
  /// - Returns: whether there are more.
  @discardableResult
  package func expire(endingBy end: Int64, limit: Int, _ removed: (ClaimRow) -> Void) throws -> Bool {
    var rest = limit
    for var run in runs where run.sweep != nil || run.firstEnd <= end {
      if rest <= 0 { return true }
      var firstEnd = run.sweep?.firstEnd ?? ClaimRun.noEnd
      let (next, count) = try eachBlock(of: run.number, from: run.sweep?.next ?? 0, limit: rest) { place, block in
        let before = block.count
        block.removeAll { row in
          guard row.end <= end else { return false }
          removed(row)
          return true
        }
        for row in block { firstEnd = min(firstEnd, row.end) }
        guard block.count < before else { return }
        run.rowCount -= Int64(before - block.count)
        try put(block[...], at: place)
      }
      rest -= count
      run.sweep = next.map { ClaimRun.Sweep(next: $0, firstEnd: firstEnd) }
      // What is merged into it meanwhile comes behind the place that was reached.
      if next == nil { run.firstEnd = firstEnd }
      try keepOrDiscard(run)
      if next != nil { return true }
    }
    // Where an earlier call has begun a run, its end was an earlier one, too.
    return runs.contains { $0.rowCount > 0 && $0.firstEnd <= end }
  }

  /// - Returns: where to go on, `nil` at the end of the run, and how many claims were looked at.
  private func eachBlock(
    of run: Int32, from prefix: UInt32, limit: Int, _ body: (BlockPlace, inout [ClaimRow]) throws -> Void
  ) throws -> (next: UInt32?, count: Int) {
    var asked = BlockPlace(run: run, prefix: prefix)
    var count = 0
    var block: [ClaimRow] = []
    var isThere = try segments.withBlock(atOrBefore: asked) {
      asked = $0
      try BlockReading.decode($1, at: $0, of: segments, into: &block)
    }
    if !isThere {
      isThere = try segments.withBlock(behind: asked) {
        asked = $0
        try BlockReading.decode($1, at: $0, of: segments, into: &block)
      }
    }
    while isThere {
      // Where a changed block becomes two, the second one is behind its place, and was looked at.
      let next = try segments.place(behind: asked)
      count += block.count
      try body(asked, &block)
      guard let next else { break }
      if count >= limit { return (next.prefix, count) }
      block.removeAll(keepingCapacity: true)
      isThere = try segments.withBlock(atOrBefore: next) {
        asked = $0
        try BlockReading.decode($1, at: $0, of: segments, into: &block)
      }
    }
    return (nil, count)
  }

  /// Writes what stands in the place of a block: it may have become too large for one.
  private func put(_ rows: ArraySlice<ClaimRow>, at place: BlockPlace) throws {
    guard let first = rows.first, let last = rows.last else { return try segments.removeBlock(at: place) }
    var size = BlockSize()
    for row in rows { size.add(row) }
    if size.byteCount > RunWriter.blockBytes, first.key.prefix != last.key.prefix {
      // In the middle, or where key data begins otherwise next to it.
      let middle = rows[(rows.startIndex + rows.endIndex) / 2].key.prefix
      let prefix = middle > first.key.prefix ? middle : rows.first { $0.key.prefix > middle }?.key.prefix ?? middle
      let cut = rows.firstIndex { $0.key.prefix >= prefix } ?? rows.endIndex
      try put(rows[..<cut], at: place)
      return try put(rows[cut...], at: BlockPlace(run: place.run, prefix: prefix))
    }
    try segments.put(ClaimBlock.encode(rows, size), at: place)
  }

  /// Makes the filter anew that covers a prefix.
  private func renewFilter(of run: ClaimRun, covering prefix: UInt32) throws {
    guard var known = try knownFilters(of: run), let start = known.place(covering: prefix) else { return }
    let end = known.place(behind: start)
    var keys: [TemporaryExposureKey] = []
    var cursor = try RunCursor(run.number, from: TemporaryExposureKey(high: UInt64(start) << 32, low: 0), segments)
    while let row = cursor.row, end.map({ row.key.prefix < $0 }) ?? true {
      keys.append(row.key)
      try cursor.advance()
    }
    let filter = ClaimFilter(keys)
    try segments.put(filter, at: BlockPlace(run: run.number, prefix: start))
    known.add(filter, at: start)
    filters[run.number] = known
  }

  // MARK: Keeping

  private func keep(_ run: ClaimRun) throws {
    try segments.save(run)
    if let index = runs.firstIndex(where: { $0.number == run.number }) {
      runs[index] = run
    } else {
      runs.append(run)
    }
  }

  private func keepOrDiscard(_ run: ClaimRun) throws {
    let isTarget = runs.contains { $0.into == run.number }
    if run.rowCount <= 0, !isTarget { try discard(run.number) } else { try keep(run) }
  }

  private func discard(_ number: Int32) throws {
    try segments.remove(number)
    runs.removeAll { $0.number == number }
    filters[number] = nil
  }

  // MARK: Looking for damage

  /// Reads all blocks and filters, and says what is not as it was written.
  ///
  /// - Parameter look: is shown each row that can be read.
  package func damage(limit: Int, look: (ClaimRow) -> Void = { _ in }) throws -> [String] {
    var found: [String] = []
    for run in runs where found.count < limit {
      do {
        var search = RunSearch(
          run.number, run.hasFilters ? RunFilters(try segments.filters(of: run.number)) : nil, segments)
        var cursor = try RunCursor(run.number, from: nil, segments)
        var (count, unknown): (Int64, Int) = (0, 0)
        var same: [ClaimRow] = []
        while let row = cursor.row {
          same.removeAll(keepingCapacity: true)
          try search.find(row.key, into: &same)
          if !same.contains(row) { unknown += 1 }
          count += 1
          look(row)
          try cursor.advance()
        }
        if unknown > 0 {
          found.append("\(segments.content): \(unknown) of run \(run.number) are not found by their key data")
        }
        if count != run.rowCount {
          found.append("\(segments.content): run \(run.number) has \(count) of them, and should have \(run.rowCount)")
        }
      } catch let fault as StorageFault {
        found.append(fault.reason)
      }
    }
    return found
  }
}
