package import ExposureKeys
internal import KeyFormats
internal import KeyIntake

/// What many documents say over time: a country's archive, a folder of years.
///
/// A document is observed chunk by chunk and then added, or forgotten where it could not be read to its end. Twenty-four bytes a
/// key, on disk where they are many; memory is bounded however many there are.
package struct HistoryCollector {
  private var occurrences: KeyRepetitions
  private var shapes: HistoryShapes
  private(set) var documents: [HistoryDocument] = []
  private var current = DocumentObservation()
  /// What was noticed of the current document elsewhere.
  private var ahead: DocumentObservation.Facts?
  private var unreadable = 0

  /// - Parameters:
  ///   - keysInMemory: how many keys are held in memory; the others are in a file without a name.
  ///   - distinctShapes: how many combinations of what keys say are told apart. A hostile file has a new one in every key;
  ///     beyond that keys are counted without what they say.
  package init(keysInMemory: Int = 1 << 22, distinctShapes: Int = 1 << 20) {
    occurrences = KeyRepetitions(limit: .max, memory: keysInMemory)
    shapes = HistoryShapes(limit: distinctShapes)
  }

  package mutating func observe(_ chunk: borrowing KeyChunk) {
    let number = UInt32(documents.count)
    chunk.keys.withKeys { keys in
      for key in keys {
        let shape = HistoryShapes.Shape(key)
        let shapeNumber = shapes.number(of: shape)
        occurrences.append(
          KeyRepetitions.Record(high: key.key.high, low: key.key.low, index: number, shape: shapeNumber))
        current.observe(key.key, shape, number: shapeNumber)
      }
    }
  }

  /// What a document of not too many keys says, observed elsewhere: on another thread.
  package struct ObservedDocument: Sendable {
    package static let usualLimit = 1 << 17

    /// Without index, and with shapes of their own numbers.
    fileprivate var records: [KeyRepetitions.Record] = []
    fileprivate var shapes: HistoryShapes
    fileprivate var observation = DocumentObservation()
    private let limit: Int
    /// Whether there are more keys than are kept here. Such a document is observed chunk by chunk.
    package private(set) var isTooLarge = false

    /// - Parameter limit: how many keys are kept, 24 bytes each; each may have a shape of its own.
    package init(limit: Int) {
      self.limit = limit
      shapes = HistoryShapes(limit: limit)
    }

    package mutating func observe(_ chunk: borrowing KeyChunk) {
      guard !isTooLarge, records.count + chunk.keys.count <= limit else {
        isTooLarge = true
        records = []
        return
      }
      chunk.keys.withKeys { keys in
        for key in keys {
          let shape = shapes.number(of: HistoryShapes.Shape(key))
          records.append(KeyRepetitions.Record(high: key.key.high, low: key.key.low, index: 0, shape: shape))
          observation.observe(key.key, HistoryShapes.Shape(key), number: shape)
        }
      }
    }
  }

  /// The same as if it had been observed here, chunk by chunk.
  package mutating func observe(_ document: consuming ObservedDocument) {
    let index = UInt32(documents.count)
    let own = document.shapes.all
    let numbers = own.map { shapes.number(of: $0) }
    for record in document.records {
      let shape = record.shape < numbers.count ? numbers[Int(record.shape)] : KeyRepetitions.unknownShape
      occurrences.append(KeyRepetitions.Record(high: record.high, low: record.low, index: index, shape: shape))
    }
    guard numbers.contains(KeyRepetitions.unknownShape) else {
      ahead = document.observation.finish(document.shapes)
      return
    }
    // Here are more shapes than can be told apart.
    for record in document.records {
      let key = TemporaryExposureKey(high: record.high, low: record.low)
      current.observe(key, own[Int(record.shape)], number: numbers[Int(record.shape)])
    }
  }

  /// Adds the document that was observed.
  ///
  /// - Parameters:
  ///   - report: with the digest of `export.bin`, where the document is an export.
  ///   - byteCount: of the file, or of the entry of an archive.
  package mutating func add(_ report: InspectionReport, byteCount: Int) {
    occurrences.settle()
    documents.append(HistoryDocument(report, finishCurrent(), byteCount: byteCount))
  }

  /// The document that was observed could not be read.
  package mutating func leaveOut() {
    occurrences.forget()
    _ = finishCurrent()
    unreadable += 1
  }

  private mutating func finishCurrent() -> DocumentObservation.Facts {
    let here = current.finish(shapes)
    defer { ahead = nil }
    return ahead ?? here
  }

  /// Adds up.
  ///
  /// - Parameters:
  ///   - cases: positive tests a day, for estimates of how many people shared their keys.
  ///   - changedNames: the names of files of which an archive has more than one content.
  package consuming func report(cases: CaseCounts? = nil, changedNames: [String] = []) -> HistoryReport {
    var study = HistoryStudy(documents, shapes)
    var group: [KeyRepetitions.Record] = []
    occurrences.forEachSorted { record in
      if let first = group.first, first.high != record.high || first.low != record.low {
        study.take(&group)
        group.removeAll(keepingCapacity: true)
      }
      group.append(record)
    }
    if !group.isEmpty { study.take(&group) }
    return HistoryReport(
      study.finish(), changedNames: changedNames, unreadable: unreadable, isComplete: occurrences.isComplete,
      cases: cases)
  }
}

/// What keys say beside their key data, each combination once.
struct HistoryShapes {
  struct Shape: Hashable, BitwiseCopyable {
    let start: Int32
    let period: Int32
    let risk: Int32
    let type: Int32
    let onset: Int32
    let fields: KeyFields

    @inline(__always)
    init(_ key: ClaimedKey) {
      (start, period, risk) = (key.rollingStartWord, key.rollingPeriodWord, key.transmissionRiskWord)
      (type, onset, fields) = (key.reportTypeWord, key.daysSinceOnsetWord, key.fields)
    }

    var rollingStart: Int32? { fields.contains(.rollingStart) ? start : nil }
    /// A day where none is stated, as devices take it.
    var rollingPeriod: Int32 { fields.contains(.rollingPeriod) ? period : 144 }
    var transmissionRisk: Int32? { fields.contains(.transmissionRisk) ? risk : nil }
    var reportType: Int32? { fields.contains(.reportType) ? type : nil }
    var daysSinceOnset: Int32? { fields.contains(.daysSinceOnset) ? onset : nil }
    var isRevised: Bool { fields.contains(.revised) }

    /// When the key was used for the last time, as interval; `nil` where it states no start.
    var end: Int64? { rollingStart.map { Int64($0) + Int64(rollingPeriod) } }

    /// The day (UTC) on which it was used first.
    var day: Int64? { rollingStart.map { IntervalNumber(Int64($0)).day.daysSince1970 } }

    func saysTheSame(as other: Shape) -> Bool {
      start == other.start && period == other.period && risk == other.risk && type == other.type
        && onset == other.onset && fields.subtracting(.revised) == other.fields.subtracting(.revised)
    }
  }

  private(set) var all: [Shape] = []
  /// Numbers of shapes plus one, 0 for a free slot; a power of two of them, at most half used.
  private var slots = [UInt32](repeating: 0, count: 256)
  private var last: (shape: Shape, number: UInt32)?
  /// The standard library seeds its hasher anew in every process, so no file can aim at one slot.
  private let seed = UInt64(truncatingIfNeeded: 0.hashValue) | 1
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  @inline(__always)
  mutating func number(of shape: Shape) -> UInt32 {
    if let last, last.shape == shape { return last.number }
    return look(for: shape)
  }

  private mutating func look(for shape: Shape) -> UInt32 {
    let mask = slots.count - 1
    var slot = hash(shape) & mask
    while slots[slot] != 0 {
      let number = slots[slot] - 1
      if all[Int(number)] == shape {
        last = (shape, number)
        return number
      }
      slot = (slot + 1) & mask
    }
    guard all.count < limit else { return KeyRepetitions.unknownShape }
    let number = UInt32(all.count)
    all.append(shape)
    slots[slot] = number + 1
    if all.count * 2 > slots.count { grow() }
    last = (shape, number)
    return number
  }

  private mutating func grow() {
    let mask = slots.count * 2 - 1
    slots = [UInt32](repeating: 0, count: mask + 1)
    for (number, shape) in all.enumerated() {
      var slot = hash(shape) & mask
      while slots[slot] != 0 { slot = (slot + 1) & mask }
      slots[slot] = UInt32(number + 1)
    }
  }

  @inline(__always)
  private func hash(_ shape: Shape) -> Int {
    func pair(_ low: Int32, _ high: UInt32) -> UInt64 { UInt64(UInt32(bitPattern: low)) | UInt64(high) << 32 }
    func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
      let product = left.multipliedFullWidth(by: right)
      return product.high ^ product.low
    }
    let time = pair(shape.start, UInt32(bitPattern: shape.period))
    let words = pair(shape.risk, UInt32(bitPattern: shape.type))
    let rest = pair(shape.onset, shape.fields.rawValue)
    let mixed = fold(time ^ seed, words ^ 0x9e37_79b9_7f4a_7c15)
    return Int(truncatingIfNeeded: fold(rest ^ seed, mixed ^ 0xd6e8_feb8_6659_fd93) &* seed >> 16)
  }

  subscript(number: UInt32) -> Shape? { number < all.count ? all[Int(number)] : nil }
}

/// The greatest number that divides both; the other one where one is 0.
func greatestDivisor(_ one: Int, _ other: Int) -> Int {
  var (left, right) = (one, other)
  while right != 0 { (left, right) = (right, left % right) }
  return left
}

/// What is noticed about one document on its way. What keys say is counted by shape, of which there are few, and looked at when
/// the document has ended.
struct DocumentObservation {
  /// What is left of it.
  struct Facts {
    var keys = 0
    /// How many groups of one start and risk level there are, and the greatest number that divides them all; `nil` where they
    /// are too many to hold.
    var padding: (groups: Int, divisor: Int)?
    var unaligned = 0
    var lowEntropy = 0
    var withOnset = 0
    /// The onset that most keys state, and how many do.
    var commonestOnset: (value: Int32, count: Int)?
    /// Pairs of neighbours whose starts are a day apart, and that are in the order of their key data.
    var dayApart = 0
    var inOrder = 0
    var latestStart: Int32?
  }

  private var facts = Facts()
  /// By number of a shape, how many keys have it; and which are there.
  private var counts: [Int] = []
  private var present: [UInt32] = []
  private var hasAllShapes = true
  private var hasLast = false
  private var lastKey = TemporaryExposureKey(high: 0, low: 0)
  private var lastStart: Int32 = 0

  private static let groupLimit = 1 << 14
  private static let onsetLimit = 256

  @inline(__always)
  mutating func observe(_ key: TemporaryExposureKey, _ shape: HistoryShapes.Shape, number: UInt32) {
    facts.keys += 1
    if number < counts.count, counts[Int(number)] > 0 {
      counts[Int(number)] += 1
    } else {
      enter(number, shape)
    }
    if let start = shape.rollingStart {
      if hasLast {
        let step = Int64(start) - Int64(lastStart)
        if step == IntervalNumber.intervalsPerDay || step == -IntervalNumber.intervalsPerDay { facts.dayApart += 1 }
        if lastKey < key { facts.inOrder += 1 }
      }
      (lastKey, lastStart, hasLast) = (key, start, true)
    }
    if Self.isLowInEntropy(key) { facts.lowEntropy += 1 }
  }

  private mutating func enter(_ number: UInt32, _ shape: HistoryShapes.Shape) {
    guard number != KeyRepetitions.unknownShape else {
      // Too many to be told apart: what can be counted alone is.
      hasAllShapes = false
      return add(shape, 1)
    }
    while number >= counts.count { counts.append(0) }
    counts[Int(number)] = 1
    present.append(number)
  }

  private mutating func add(_ shape: HistoryShapes.Shape, _ count: Int) {
    if let start = shape.rollingStart {
      facts.latestStart = max(facts.latestStart ?? start, start)
      // A day's key begins at midnight; one that was cut short by an upload begins in the day, and lasts less.
      if start % 144 != 0, shape.rollingPeriod == 144 { facts.unaligned += count }
    }
    if shape.daysSinceOnset != nil { facts.withOnset += count }
  }

  /// Ends the document, and begins the next one.
  mutating func finish(_ shapes: HistoryShapes) -> Facts {
    var groups: [UInt64: Int] = [:]
    var onsets: [Int32: Int] = [:]
    for number in present {
      let count = counts[Int(number)]
      counts[Int(number)] = 0
      guard let shape = shapes[number] else { continue }
      add(shape, count)
      if let start = shape.rollingStart, hasAllShapes {
        let risk = shape.transmissionRisk ?? .min
        groups[UInt64(UInt32(bitPattern: start)) << 32 | UInt64(UInt32(bitPattern: risk)), default: 0] += count
        if groups.count > Self.groupLimit { (groups, hasAllShapes) = ([:], false) }
      }
      if let onset = shape.daysSinceOnset, onsets.count < Self.onsetLimit || onsets[onset] != nil {
        onsets[onset, default: 0] += count
      }
    }
    facts.padding = hasAllShapes ? (groups.count, groups.values.reduce(0, greatestDivisor)) : nil
    facts.commonestOnset =
      onsets.max { ($0.value, $1.key) < ($1.value, $0.key) }.map { ($0.key, $0.value) }
    defer {
      (facts, hasAllShapes, hasLast) = (Facts(), true, false)
      present.removeAll(keepingCapacity: true)
    }
    return facts
  }

  /// No key out of a good generator is like that: letters and digits alone, six zero bytes on end, or at most seven different
  /// bytes. Together that befalls one good key in some billions.
  @inline(__always)
  static func isLowInEntropy(_ key: TemporaryExposureKey) -> Bool {
    // Nearly every key has more than seven different remainders and a byte above 127, and no zero byte.
    var remainders: UInt64 = 0
    var (high, low) = (key.high, key.low)
    for _ in 0..<8 {
      remainders |= 1 << (high & 63) | 1 << (low & 63)
      high >>= 8
      low >>= 8
    }
    let mayBeText = (key.high | key.low) & 0x8080_8080_8080_8080 == 0
    guard remainders.nonzeroBitCount <= 7 || mayBeText || hasZero(key.high) || hasZero(key.low) else { return false }
    return isLowInEntropyByBytes(key)
  }

  @inline(__always)
  private static func hasZero(_ word: UInt64) -> Bool {
    (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 != 0
  }

  /// The definition.
  static func isLowInEntropyByBytes(_ key: TemporaryExposureKey) -> Bool {
    var (zeros, longest, isText) = (0, 0, true)
    let bytes = key.bytes
    for byte in bytes {
      zeros = byte == 0 ? zeros + 1 : 0
      longest = max(longest, zeros)
      isText = isText && ((48...57).contains(byte) || (65...90).contains(byte & 0xDF) && byte < 128)
    }
    return isText || longest >= 6 || Set(bytes).count <= 7
  }
}

/// One document of a history.
package struct HistoryDocument: Sendable {
  let name: String
  let region: String
  /// The window that it states, in seconds since 1970.
  let start: Int64?
  let end: Int64?
  let isExport: Bool
  let digest: String?
  let signers: [String]
  let keys: Int
  let revised: Int
  let rejected: Int
  let byteCount: Int
  let batch: Int32?
  /// How many groups of one start and risk level there are, and what divides them all.
  let padding: (groups: Int, divisor: Int)?
  /// It states a window that cannot be.
  let isImpossible: Bool
  let unaligned: Int
  let lowEntropy: Int
  let future: Bool
  let bulkOnset: Int32?
  let isSideBySide: Bool

  init(_ report: InspectionReport, _ observed: DocumentObservation.Facts, byteCount: Int) {
    name = report.name
    let origins = report.distributions.origin?.rows.filter { $0.label != "not stated" } ?? []
    region = report.region ?? (origins.count == 1 ? origins[0].label : "not stated")
    let stated = [report.window.start, report.window.end].compactMap(\.self)
    let times = stated.compactMap { Int64(exactly: $0) }.filter { Self.possible.contains($0) }
    let isWhole = times.count == 2
    // A window that cannot be is as good as none.
    isImpossible = times.count < stated.count || isWhole && times[0] >= times[1]
    start = isImpossible || report.window.start == nil ? nil : times.first
    end = isImpossible || report.window.end == nil ? nil : times.last
    isExport = report.format == KeyFormat.gaenExport.rawValue
    digest = report.sha256
    signers = report.signatures.map { signature in
      [signature.info.verificationKeyID, signature.info.verificationKeyVersion].compactMap(\.self)
        .joined(separator: " ")
    }
    keys = report.keys.total
    revised = report.keys.revised
    rejected = report.keys.rejected
    self.byteCount = byteCount
    batch = report.batch.number
    padding = observed.padding
    unaligned = observed.unaligned
    lowEntropy = observed.lowEntropy
    let end = self.end
    future = observed.latestStart.map { latest in end.map { Int64(latest) * 600 > $0 } ?? false } ?? false
    let common = observed.commonestOnset
    bulkOnset = common.flatMap { common in
      let isMost = common.count >= 20 && common.count * 2 > observed.withOnset
      return isMost && !(-13...13).contains(common.value) ? common.value : nil
    }
    let pairs = observed.keys - 1
    isSideBySide = observed.keys >= 20 && observed.dayApart * 2 > pairs && observed.inOrder * 4 < pairs * 3
  }

  /// 2019 to 2099, in seconds since 1970: no key is older than the system.
  private static let possible: ClosedRange<Int64> = 1_546_300_800...4_102_444_799

  /// When it was published, as far as it says so: the end of its window.
  var published: Int64? { end ?? start }

  var publishedDay: Int64? { published.map { Instant(secondsSince1970: $0).day.daysSince1970 } }
}
