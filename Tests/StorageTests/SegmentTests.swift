import ExposureKeys
import Foundation
import GatewayTesting
import KeyNormalization
import Testing

@testable import KeyStorage

@Suite("Segments: blocks and filters")
struct SegmentTests {
  /// Rows in their order, each once.
  static func rows(_ count: Int, _ random: inout SeededRandom, keys: Int? = nil) -> [ClaimRow] {
    var rows: [ClaimRow] = []
    for _ in 0..<count {
      let high = keys.map { UInt64.random(in: 0..<UInt64($0), using: &random) << 62 } ?? random.next()
      rows.append(row(TemporaryExposureKey(high: high, low: keys == nil ? random.next() : 0), &random))
    }
    return distinct(rows)
  }

  static func row(_ key: TemporaryExposureKey, _ random: inout SeededRandom) -> ClaimRow {
    let said = Int32.random(in: 1...144, using: &random) | Int32.random(in: 0...9, using: &random) << 8
    let extremes: [Int32] = [0, 1, 255, 256, 65_535, 65_536, 1 << 24, .max]
    return ClaimRow(
      key: key, rollingStart: random.pick([2_670_000, 2_670_144, 0, .max]), said: said,
      origin: random.pick([0, 1, 300]),
      source: random.pick([0, 1, 70_000]), regions: random.pick(extremes), arrival: random.pick(extremes),
      recall: random.pick([0, 0, 0, 1, .max]))
  }

  static func distinct(_ rows: [ClaimRow]) -> [ClaimRow] {
    rows.sorted(by: <).reduce(into: []) { all, row in
      if all.last.map(row.isSame) != true { all.append(row) }
    }
  }

  static func decode(_ bytes: [UInt8]) throws -> [ClaimRow] {
    var rows: [ClaimRow] = []
    try bytes.withUnsafeBytes { try ClaimBlock.decode($0, into: &rows) }
    return rows
  }

  @Test("what is encoded is decoded", arguments: [1, 2, 3, 17, 150, 4000])
  func roundTrip(count: Int) throws {
    var random = SeededRandom(seed: UInt64(count))
    for keys in [nil, 1, 3] {
      let rows = Self.rows(count, &random, keys: keys)
      let bytes = ClaimBlock.encode(rows[...])
      #expect(try Self.decode(bytes) == rows)
      #expect(ClaimBlock.encode(try Self.decode(bytes)[...]) == bytes)
    }
  }

  @Test("its bytes are those of the page about segments")
  func layout() {
    let row = ClaimRow(
      key: TemporaryExposureKey(high: 0x0102_0304_0506_0708, low: 0x090a_0b0c_0d0e_0f10), rollingStart: 2_670_000,
      said: 144, origin: 1, source: 2, regions: 3, arrival: 4, recall: 5)
    var other = row
    other.rollingStart += 144
    let bytes = ClaimBlock.encode([row, other])
    #expect(bytes.count == 48 + 2 * 17)
    #expect(Array(bytes[8..<13]) == [1, 2, 0, 0, 0])
    // The rolling start: one byte a row, over the lowest.
    #expect(Array(bytes[13..<18]) == [1, 0xb0, 0xbd, 0x28, 0])
    #expect(Array(bytes[18..<23]) == [0, 144, 0, 0, 0])
    #expect(Array(bytes[43..<48]) == [0, 5, 0, 0, 0])
    #expect(Array(bytes[48..<64]) == Array(1...16) && Array(bytes[80...]) == [0, 144])
  }

  @Test("rows are sorted, however their key data is spread", arguments: [0, 1, 64, 65, 100, 3000, 70_000])
  func sorting(count: Int) {
    var random = SeededRandom(seed: UInt64(count))
    for mask: UInt64 in [.max, 0, 3 << 62, 0xff, 0x1_0000_0000] {
      let rows = (0..<count).map { _ in
        Self.row(TemporaryExposureKey(high: random.next() & mask, low: random.next() & mask), &random)
      }
      let sorted = ClaimRow.sorted(rows)
      let expected = rows.sorted(by: <)
      #expect(sorted.count == count && zip(sorted, expected).allSatisfy { $0.isSame(as: $1) })
    }
  }

  /// The block was made by a few lines of Python that follow the page about segments, checksum included.
  @Test("a block that another program wrote by the page about segments is read")
  func vector() throws {
    let bytes = try Data(
      contentsOf: URL(filePath: #filePath).appending(path: "../../Fuzz/corpus/claim-block/three").standardized)
    let rows = try Self.decode(Array(bytes))
    #expect(rows.map(\.rollingStart) == [2_670_000, 2_670_144, 2_670_000] && rows.map(\.origin) == [1, 0, 300])
    #expect(
      rows.map(\.arrival) == [4, 70_000, 4] && rows.map(\.recall) == [5, 0, 0] && rows.map(\.source) == [2, 2, 0])
    #expect(rows[0].key.bytes == Array(1...16) && rows[2].key.bytes == Array(101...116))
    #expect(rows[2].said == 144 | 9 << 8 | 1 << 12 | 4029 << 15)
    #expect(ClaimBlock.encode(rows[...]) == Array(bytes))
  }

  @Test("a flipped bit anywhere is found, and so is what is cut off or added")
  func damage() throws {
    var random = SeededRandom(seed: 1)
    let bytes = ClaimBlock.encode(Self.rows(40, &random)[...])
    for bit in 0..<bytes.count * 8 {
      var other = bytes
      other[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: ClaimBlock.Fault.checksum) { try Self.decode(other) }
    }
    for count in 0..<bytes.count { #expect(throws: ClaimBlock.Fault.self) { try Self.decode(Array(bytes[..<count])) } }
    #expect(throws: ClaimBlock.Fault.checksum) { try Self.decode(bytes + [0]) }
    let filter = ClaimFilter(Self.rows(100, &random).map(\.key)).bytes
    for bit in 0..<filter.count * 8 {
      var other = filter
      other[bit / 8] ^= 1 << (bit % 8)
      #expect(other.withUnsafeBytes { ClaimFilter($0) } == nil)
    }
    for count in 0..<filter.count { #expect(filter[..<count].withUnsafeBytes { ClaimFilter($0) } == nil) }
  }

  /// Bytes that say what they like, with a checksum that holds.
  private static func sealed(_ bytes: [UInt8]) -> [UInt8] {
    let sum = bytes.withUnsafeBytes { SegmentChecksum.of(UnsafeRawBufferPointer(rebasing: $0[8...])) }
    return withUnsafeBytes(of: sum.littleEndian) { Array($0) } + bytes[8...]
  }

  @Test("who makes the checksum right says nothing wrong all the same")
  func lies() throws {
    var random = SeededRandom(seed: 2)
    let rows = Self.rows(10, &random)
    let bytes = ClaimBlock.encode(rows[...])
    func fault(_ change: (inout [UInt8]) -> Void) -> ClaimBlock.Fault? {
      var other = bytes
      change(&other)
      return #expect(throws: ClaimBlock.Fault.self) { try Self.decode(Self.sealed(other)) }
    }
    #expect(fault { $0[8] = 2 } == .version(2))
    #expect(fault { $0[8] = 2 }?.description == "version 2, allowed 1")
    #expect(fault { $0[9] = 11 } == .length(byteCount: bytes.count, expected: bytes.count + (bytes.count - 48) / 10))
    #expect(fault { for index in 9..<13 { $0[index] = 0xff } } != nil)
    #expect(fault { for index in 9..<13 { $0[index] = 0 } } == .row(0))
    #expect(fault { $0[13] = 5 } == .row(0))
    // A base that is negative, and one beyond which a number is none.
    #expect(fault { $0[17] = 0x80 } == .row(0))
    #expect(
      fault {
        for index in 14..<17 { $0[index] = 0xff }; $0[17] = 0x7f
      } == .row(0))
    // Two keys in the wrong order.
    #expect(fault { for index in 48..<64 { $0[index] = 0xff } } == .row(1))
    // A rolling period that no key has: the column of what is said is behind the keys and the starts.
    var wrong = rows
    for said: Int32 in [145, 0, 144 | 10 << 8, 144 | 4030 << 15, 1 << 28 | 144] {
      wrong[9].said = said
      #expect(throws: ClaimBlock.Fault.row(9)) { try Self.decode(ClaimBlock.encode(wrong[...])) }
    }
    for said: Int32 in [1, 144 | 9 << 8, 144 | 7 << 12, 144 | 4029 << 15, 144 | 1 << 27] {
      wrong[9].said = said
      #expect(try Self.decode(ClaimBlock.encode(wrong[...])) == wrong)
    }
    // Nothing is left of what could not be read.
    var read = rows
    #expect(throws: ClaimBlock.Fault.self) {
      var other = bytes
      for index in 48..<64 { other[index] = 0xff }
      try Self.sealed(other).withUnsafeBytes { try ClaimBlock.decode($0, into: &read) }
    }
    #expect(read == rows)
  }

  @Test("a filter knows its keys, and hardly any other", arguments: [1, 40, 1000, 16_384])
  func filters(count: Int) throws {
    var random = SeededRandom(seed: 7)
    let keys = (0..<count).map { _ in TemporaryExposureKey(high: random.next(), low: random.next()) }
    let filter = try #require(ClaimFilter(keys).bytes.withUnsafeBytes { ClaimFilter($0) })
    #expect(keys.allSatisfy(filter.mayHave))
    let vain = (0..<20_000).count { _ in filter.mayHave(TemporaryExposureKey(high: random.next(), low: random.next())) }
    #expect(vain < 100, "\(vain) of 20,000")
  }

  /// Few keys make lines that are almost empty, and the last questions come alone.
  @Test("many questions have the answers that each has alone, whatever the filters cover", arguments: 0..<8)
  func questions(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    let counts = (0..<1 + seed).map { _ in random.pick([1, 2, 30, 400]) }
    let known = Set(
      (0..<counts.reduce(0, +)).map { _ in TemporaryExposureKey(high: random.next(), low: random.next()) }
    ).sorted()
    var (start, all): (Int, [(place: BlockPlace, filter: ClaimFilter)]) = (0, [])
    for count in counts {
      let keys = Array(known[start..<min(start + count, known.count)])
      start += keys.count
      guard let first = keys.first else { continue }
      all.append((BlockPlace(run: 1, prefix: first.prefix), ClaimFilter(keys)))
    }
    var filters = RunFilters(all)
    let others = (0..<700).map { _ in TemporaryExposureKey(high: random.next(), low: random.next()) }
    let asked = Set(known + others).sorted()
    func found() -> [TemporaryExposureKey] {
      asked.map(FilterQuestion.init).withUnsafeBufferPointer { filters.find($0) }.map { asked[Int($0)] }
    }
    func foundAlone() -> [TemporaryExposureKey] {
      var index = 0
      return asked.filter { filters.mayHave($0, &index) }
    }
    #expect(found() == foundAlone())
    #expect(Set(found()).isSuperset(of: known))
    // What was given away is not asked for any more.
    let middle = known[known.count / 2].prefix
    filters.removeFilters(before: middle)
    #expect(found() == foundAlone())
    #expect(Set(found()).isSuperset(of: known.filter { $0.prefix >= middle }))
  }

  @Test("runs of one size are due once there are as many as allowed, and the smallest one stays out")
  func tiers() {
    #expect([0, 8192, 8193, 131_072, 131_073, 100_000_000].map(RunTiers.tier) == [0, 0, 1, 1, 2, 4])
    func runs(_ counts: [Int64]) -> [ClaimRun] {
      counts.enumerated().map {
        ClaimRun(number: Int32($0 + 1), rowCount: $1, hasFilters: $1 >= RunTiers.smallRows)
      }
    }
    #expect(RunTiers.due(of: runs(Array(repeating: 5000, count: 16))) == nil)
    #expect(RunTiers.due(of: runs([4000] + Array(repeating: 5000, count: 16)))?.map(\.number) == Array(2...17))
    #expect(RunTiers.due(of: runs([4000] + Array(repeating: 75_000, count: 16)))?.map(\.number) == Array(2...17))
    #expect(RunTiers.due(of: runs([4000, 10] + Array(repeating: 75_000, count: 15))) == nil)
    var merging = runs([4000] + Array(repeating: 75_000, count: 18))
    for index in 1...16 { merging[index].into = 19 }
    #expect(RunTiers.due(of: merging) == nil)
    #expect(RunTiers.smallest(of: merging)?.number == 1)
  }
}
