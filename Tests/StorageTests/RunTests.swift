import ExposureKeys
import GatewayTesting
import Testing

@testable import KeyStorage

/// Runs in memory: dictionaries of bytes.
final class MemorySegments: ClaimSegments {
  var kept: [Int32: ClaimRun] = [:]
  private(set) var blocks: [BlockPlace: [UInt8]] = [:]
  var kinds: [BlockPlace: ClaimFilter] = [:]
  private var last: Int32 = 0

  func runs() -> [ClaimRun] { kept.values.sorted { $0.number < $1.number } }

  /// Of the blocks, in their order.
  private var places: [BlockPlace] = []

  /// The first position whose place is not before this one.
  private func position(_ place: BlockPlace) -> Int {
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle] < place { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func hand(
    _ place: BlockPlace?, _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    guard let place, let block = blocks[place] else { return false }
    try block.withUnsafeBytes { try body(place, $0) }
    return true
  }

  func withBlock(
    atOrBefore place: BlockPlace, _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    if blocks[place] != nil { return try hand(place, body) }
    let before = position(place) - 1
    return try before >= 0 && places[before].run == place.run && hand(places[before], body)
  }

  func withBlock(
    behind place: BlockPlace, _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool { try hand(self.place(behind: place), body) }

  func place(behind place: BlockPlace) -> BlockPlace? {
    let next = position(place) + (blocks[place] == nil ? 0 : 1)
    return next < places.count && places[next].run == place.run ? places[next] : nil
  }

  func filters(of run: Int32) -> [(place: BlockPlace, filter: ClaimFilter)] {
    kinds.filter { $0.key.run == run }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  func newRunNumber() -> Int32 {
    last += 1
    return last
  }

  func save(_ run: ClaimRun) { kept[run.number] = run }

  func remove(_ run: Int32) {
    kept[run] = nil
    for place in places where place.run == run { removeBlock(at: place) }
    kinds = kinds.filter { $0.key.run != run }
  }

  func put(_ block: [UInt8], at place: BlockPlace) {
    if blocks.updateValue(block, forKey: place) == nil { places.insert(place, at: position(place)) }
  }

  func removeBlock(at place: BlockPlace) {
    if blocks.removeValue(forKey: place) != nil { places.remove(at: position(place)) }
  }

  func put(_ filter: ClaimFilter, at place: BlockPlace) { kinds[place] = filter }
}

@Suite("Segments: runs of claims")
struct RunTests {
  /// Whatever happens to runs, they have what a plain set has.
  @Test("runs have what a set has, in its order, over random histories", arguments: LongList.cases(0..<12, 3))
  func law(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let segments = MemorySegments()
    var filters: [Int32: RunFilters] = [:]
    // Few keys that begin alike, some keys, or as many as there are.
    let keys = [3, 200, nil][seed % 3]
    func key() -> TemporaryExposureKey {
      guard let keys else { return TemporaryExposureKey(high: random.next(), low: random.next()) }
      let number = UInt64.random(in: 0..<UInt64(keys), using: &random)
      return TemporaryExposureKey(high: number << (seed % 2 == 0 ? 61 : 12), low: number % 5)
    }
    var set: [ClaimRow] = []
    func row() -> ClaimRow {
      var row = SegmentTests.row(key(), &random)
      row.rollingStart = Int32.random(in: 1000..<1014, using: &random) * 144
      return row
    }
    for step in 0..<40 {
      let runs = try ClaimRuns(segments, filters: step % 5 == 0 ? [:] : filters)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<6:
        let count = random.pick([1, 14, 200, 300, 700, step == 20 ? 9000 : 400])
        var search = try runs.search()
        var new: [ClaimRow] = []
        let rows = SegmentTests.distinct((0..<count).map { _ in row() })
        let there = Dictionary(grouping: try runs.rows(about: rows), by: \.key)
        for (place, row) in rows.enumerated() {
          if place == 0 || rows[place - 1].key != row.key {
            var found: [ClaimRow] = []
            try search.find(row.key, into: &found)
            #expect(found.sorted(by: <) == there[row.key] ?? [])
          }
          if there[row.key]?.contains(where: row.isSame) != true { new.append(row) }
        }
        try runs.add(new)
        try runs.merge(after: new.count)
        let before = set.count
        set = SegmentTests.distinct(set + new)
        #expect(set.count == before + new.count)
      case 6:
        let end = Int64(1000 + step / 3) * 144
        var removed = 0
        // In pieces, between which other things happen.
        let isUnfinished = try runs.expire(endingBy: end, limit: random.pick([100, 5000, .max])) { row in
          #expect(row.end <= end)
          removed += 1
        }
        let left = try Self.all(runs)
        if !isUnfinished { #expect(left.allSatisfy { $0.end > end }) }
        #expect(left.count == set.count - removed)
        #expect(Set(set).subtracting(left).allSatisfy { $0.end <= end })
        set = left
      case 7:
        guard let some = set.randomElement(using: &random) else { break }
        try runs.change(some.key, isErased: true) { $0.isSame(as: some) ? nil : $0 }
        set.removeAll { $0.isSame(as: some) }
      case 8:
        try runs.changeAll { row in
          guard row.origin == 300, row.stands else { return false }
          row.recall = 70_000
          return true
        }
        for index in set.indices where set[index].origin == 300 && set[index].stands { set[index].recall = 70_000 }
      default:
        let start = key()
        var rest = try runs.rows(from: start)
        var read: [ClaimRow] = []
        while let row = try rest.next() { read.append(row) }
        #expect(read == set.filter { !($0.key < start) })
      }
      filters = runs.filters
      #expect(runs.runs.sorted { $0.number < $1.number } == segments.runs())
    }
    let end = try ClaimRuns(segments, filters: filters)
    #expect(try Self.all(end) == set)
    #expect(try end.damage(limit: 10) == [])
    for row in set.prefix(300) {
      #expect(try end.rows(about: row.key) == set.filter { $0.key == row.key })
    }
    // Everything goes in the end, whatever was left half done.
    while try end.expire(endingBy: .max, limit: 5000, { _ in }) {}
    #expect(segments.blocks.isEmpty && segments.kept.isEmpty && segments.kinds.isEmpty)
  }

  private static func all(_ runs: ClaimRuns) throws -> [ClaimRow] {
    var reading = try runs.rows()
    var rows: [ClaimRow] = []
    while let row = try reading.next() { rows.append(row) }
    return rows
  }

  @Test("as many batches as come, there are few runs, no batch waits for a whole merge, and each claim moves seldom")
  func merging() throws {
    var random = SeededRandom(seed: 5)
    let segments = MemorySegments()
    let runs = try ClaimRuns(segments, filters: [:])
    var (most, largest) = (0, 0)
    var written = 0
    for _ in 0..<150 {
      let rows = SegmentTests.distinct(
        (0..<1000).map { _ in SegmentTests.row(TemporaryExposureKey(high: random.next(), low: 0), &random) })
      let before = segments.blocks
      try runs.add(rows)
      try runs.merge(after: rows.count)
      let new = segments.blocks.filter { before[$0.key] != $0.value }.count
      written += new
      largest = max(largest, new)
      most = max(most, runs.runs.count)
    }
    let all = segments.blocks.count
    #expect(most <= 3 * RunTiers.fanOut, "\(most) runs")
    #expect(written < 5 * all, "\(written) blocks were written for \(all)")
    #expect(largest * 4 < all, "one batch wrote \(largest) of \(all) blocks")
    #expect(try runs.damage(limit: 10) == [])
  }

  @Test("a claim that could not be read again is not written")
  func refused() throws {
    var random = SeededRandom(seed: 9)
    let segments = MemorySegments()
    let runs = try ClaimRuns(segments, filters: [:])
    let rows = SegmentTests.rows(3, &random)
    for change: (inout [ClaimRow]) -> Void in [
      { $0[1].said = 0 }, { $0[1].said = 145 }, { $0[1].origin = -1 }, { $0[1].rollingStart = -1 },
      { $0[1].arrival = -1 },
      { $0.swapAt(0, 1) }, { $0[1] = $0[0] },
    ] {
      var wrong = rows
      change(&wrong)
      let fault = #expect(throws: StorageFault.self) { try runs.add(wrong) }
      #expect(fault?.reason.contains("number 1 of 3") == true)
    }
    #expect(segments.blocks.isEmpty)
  }

  @Test("what comes in small pieces is in no run of its own")
  func small() throws {
    var random = SeededRandom(seed: 6)
    let segments = MemorySegments()
    let runs = try ClaimRuns(segments, filters: [:])
    for step in 0..<1200 {
      let rows = SegmentTests.distinct(
        (0..<14).map { _ in SegmentTests.row(TemporaryExposureKey(high: random.next(), low: 0), &random) })
      try runs.add(rows)
      try runs.merge(after: rows.count)
      if step > 10 { #expect(runs.runs.allSatisfy { $0.rowCount > 100 || $0.rowCount == 0 }) }
    }
    #expect(runs.runs.reduce(0) { $0 + $1.rowCount } == 1200 * 14)
    #expect(try runs.damage(limit: 10) == [])
  }

  @Test("a run whose block was lost, changed or counted wrong is named")
  func damage() throws {
    var random = SeededRandom(seed: 8)
    let segments = MemorySegments()
    let runs = try ClaimRuns(segments, filters: [:])
    let rows = SegmentTests.rows(20_000, &random)
    try runs.add(rows)
    let place = try #require(segments.blocks.keys.sorted().dropFirst(3).first)
    let block = try #require(segments.blocks[place])
    segments.removeBlock(at: place)
    #expect(try runs.damage(limit: 9).first?.contains("run 1 has ") == true)
    segments.put(block.enumerated().map { $0.offset == 50 ? $0.element ^ 1 : $0.element }, at: place)
    let said = try #require(try runs.damage(limit: 9).first)
    #expect(said.contains("the block at \(place.prefix) of run 1") && said.contains("not what was written"))
    #expect(throws: StorageFault.self) { try Self.all(runs) }
    segments.put(block, at: place)
    // A claim that two runs have.
    segments.save(ClaimRun(number: 9, rowCount: 1, hasFilters: false))
    segments.put(ClaimBlock.encode(rows[70...70]), at: BlockPlace(run: 9, prefix: 0))
    let fault = #expect(throws: StorageFault.self) { try Self.all(try ClaimRuns(segments, filters: [:])) }
    #expect(fault?.code == .corrupt)
  }
}
