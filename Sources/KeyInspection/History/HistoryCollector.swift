package import ExposureKeys
internal import KeyFormats
internal import KeyIntake

/// What many documents say over time: a country's archive, a folder of years.
///
/// A document is observed chunk by chunk and then added, or forgotten where it could not be read to its end. Twenty-four bytes a
/// key, on disk where they are many; memory is bounded however many there are.
package struct HistoryCollector {
  private var occurrences: KeyRepetitions
  private var shapes = HistoryShapes()
  private(set) var documents: [HistoryDocument] = []
  private var current = DocumentObservation()
  private var unreadable = 0

  /// - Parameter keysInMemory: how many keys are held in memory; the others are in a file without a name.
  package init(keysInMemory: Int = 1 << 20) {
    occurrences = KeyRepetitions(limit: .max, memory: keysInMemory)
  }

  package mutating func observe(_ chunk: borrowing KeyChunk) {
    let number = UInt32(documents.count)
    chunk.keys.withKeys { keys in
      for key in keys {
        occurrences.append(
          KeyRepetitions.Record(high: key.key.high, low: key.key.low, index: number, shape: shapes.number(of: key)))
        current.observe(key)
      }
    }
  }

  /// Adds the document that was observed.
  ///
  /// - Parameters:
  ///   - report: with the digest of `export.bin`, where the document is an export.
  ///   - byteCount: of the file, or of the entry of an archive.
  package mutating func add(_ report: InspectionReport, byteCount: Int) {
    occurrences.settle()
    documents.append(HistoryDocument(report, current, byteCount: byteCount))
    current = DocumentObservation()
  }

  /// The document that was observed could not be read.
  package mutating func leaveOut() {
    occurrences.forget()
    current = DocumentObservation()
    unreadable += 1
  }

  /// Adds up.
  ///
  /// - Parameter cases: positive tests a day, for estimates of how many people shared their keys.
  package consuming func report(cases: CaseCounts? = nil) -> HistoryReport {
    var study = HistoryStudy(documents, shapes)
    var group: [KeyRepetitions.Record] = []
    occurrences.forEachSorted { record in
      if let first = group.first, first.high != record.high || first.low != record.low {
        study.take(group)
        group.removeAll(keepingCapacity: true)
      }
      group.append(record)
    }
    if !group.isEmpty { study.take(group) }
    return HistoryReport(study.finish(), unreadable: unreadable, isComplete: occurrences.isComplete, cases: cases)
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
  private var numbers: [Shape: UInt32] = [:]
  private var last: (shape: Shape, number: UInt32)?
  /// A hostile file has a new shape in every key; beyond that keys are counted without what they say.
  private static let limit = 1 << 20

  @inline(__always)
  mutating func number(of key: ClaimedKey) -> UInt32 {
    let shape = Shape(key)
    if let last, last.shape == shape { return last.number }
    return look(for: shape)
  }

  private mutating func look(for shape: Shape) -> UInt32 {
    if let number = numbers[shape] {
      last = (shape, number)
      return number
    }
    guard all.count < Self.limit else { return KeyRepetitions.unknownShape }
    let number = UInt32(all.count)
    numbers[shape] = number
    all.append(shape)
    last = (shape, number)
    return number
  }

  subscript(number: UInt32) -> Shape? { number < all.count ? all[Int(number)] : nil }
}

/// The greatest number that divides both; the other one where one is 0.
func greatestDivisor(_ one: Int, _ other: Int) -> Int {
  var (left, right) = (one, other)
  while right != 0 { (left, right) = (right, left % right) }
  return left
}

/// What is noticed about one document on its way.
struct DocumentObservation {
  private(set) var keys = 0
  /// How many are in each group of one start and risk level, for padding; nothing beyond so many groups.
  private var groups: [UInt64: Int] = [:]
  private var hasAllGroups = true
  private(set) var future: [Int32: Int] = [:]
  private(set) var unaligned = 0
  private(set) var lowEntropy = 0
  private var onsets: [Int32: Int] = [:]
  private(set) var withOnset = 0
  /// Pairs of neighbours whose starts are a day apart, or the same, and that are in the order of their key data.
  private(set) var dayApart = 0
  private(set) var inOrder = 0
  private var last: (key: TemporaryExposureKey, start: Int32)?
  private(set) var latestStart: Int32?

  private static let groupLimit = 1 << 14

  @inline(__always)
  mutating func observe(_ key: ClaimedKey) {
    keys += 1
    if let start = key.rollingStart {
      let group = UInt64(UInt32(bitPattern: start)) << 32 | UInt64(UInt32(bitPattern: key.transmissionRisk ?? .min))
      if hasAllGroups {
        groups[group, default: 0] += 1
        if groups.count > Self.groupLimit { (groups, hasAllGroups) = ([:], false) }
      }
      latestStart = max(latestStart ?? start, start)
      if let last {
        if abs(Int64(start) - Int64(last.start)) == IntervalNumber.intervalsPerDay { dayApart += 1 }
        if last.key < key.key { inOrder += 1 }
      }
      last = (key.key, start)
      // A day's key begins at midnight; one that was cut short by an upload begins in the day, and lasts less.
      if start % 144 != 0, (key.rollingPeriod ?? 144) == 144 { unaligned += 1 }
    }
    if let onset = key.daysSinceOnset {
      withOnset += 1
      if onsets.count < 256 || onsets[onset] != nil { onsets[onset, default: 0] += 1 }
    }
    if Self.isLowInEntropy(key.key) { lowEntropy += 1 }
  }

  /// How many groups there are, and the greatest number that divides them all; `nil` where they are too many to hold.
  var padding: (groups: Int, divisor: Int)? {
    hasAllGroups ? (groups.count, groups.values.reduce(0, greatestDivisor)) : nil
  }

  /// The onset that most keys state, and how many do.
  var commonestOnset: (value: Int32, count: Int)? {
    onsets.max { ($0.value, $1.key) < ($1.value, $0.key) }.map { ($0.key, $0.value) }
  }

  /// No key out of a good generator is like that: letters and digits alone, six zero bytes on end, or at most seven different
  /// bytes. Together that befalls one good key in some billions.
  @inline(__always)
  static func isLowInEntropy(_ key: TemporaryExposureKey) -> Bool {
    var (high, low) = (key.high, key.low)
    var seen: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    var zeros = 0
    var longest = 0
    var isText = true
    for _ in 0..<16 {
      let byte = UInt8(truncatingIfNeeded: high >> 56)
      high = high << 8 | low >> 56
      low <<= 8
      switch byte >> 6 {
      case 0: seen.0 |= 1 << UInt64(byte & 63)
      case 1: seen.1 |= 1 << UInt64(byte & 63)
      case 2: seen.2 |= 1 << UInt64(byte & 63)
      default: seen.3 |= 1 << UInt64(byte & 63)
      }
      zeros = byte == 0 ? zeros + 1 : 0
      longest = max(longest, zeros)
      isText = isText && ((48...57).contains(byte) || (65...90).contains(byte & 0xDF) && byte < 128)
    }
    let distinct =
      seen.0.nonzeroBitCount + seen.1.nonzeroBitCount + seen.2.nonzeroBitCount + seen.3.nonzeroBitCount
    return isText || longest >= 6 || distinct <= 7
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

  init(_ report: InspectionReport, _ observed: DocumentObservation, byteCount: Int) {
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
