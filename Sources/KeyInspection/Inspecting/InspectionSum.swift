package import ExposureKeys

/// What is in many documents together. Memory is bounded however many there are.
///
/// A document is observed chunk by chunk and then added, or forgotten where it could not be read to its end.
package struct InspectionSum {
  private var distinct: KeyRepetitions
  private var documents = 0
  private var unreadable = 0
  private var verified: Int?
  private var keys = 0
  private var revised = 0
  private var rejected = 0
  private var regions: [String: Int] = [:]
  private var hasMoreRegions = false
  private var days = ValueCounts()
  private var formats: [String: Int] = [:]

  /// More regions than there are.
  private static let regionLimit = 4096

  /// - Parameter keysInMemory: how many keys are held in memory; the others are in a file without a name.
  package init(keysInMemory: Int = 1 << 20) {
    distinct = KeyRepetitions(limit: .max, memory: keysInMemory)
  }

  package mutating func observe(_ chunk: borrowing KeyChunk) {
    chunk.keys.withKeys { keys in
      for key in keys { distinct.append(Self.record(of: key)) }
    }
  }

  /// What a document of not too many keys holds, observed elsewhere: on another thread.
  package struct ObservedKeys: Sendable {
    fileprivate var records: [KeyRepetitions.Record] = []
    private let limit: Int
    /// Whether there are more keys than are kept here. Such a document is observed chunk by chunk.
    package private(set) var isTooLarge = false

    package static let usualLimit = 1 << 17

    /// - Parameter limit: how many keys are kept, 24 bytes each.
    package init(limit: Int) { self.limit = limit }

    package mutating func observe(_ chunk: borrowing KeyChunk) {
      guard !isTooLarge, records.count + chunk.keys.count <= limit else {
        isTooLarge = true
        records = []
        return
      }
      chunk.keys.withKeys { keys in
        for key in keys { records.append(InspectionSum.record(of: key)) }
      }
    }
  }

  package mutating func observe(_ keys: ObservedKeys) {
    for record in keys.records { distinct.append(record) }
  }

  /// The start is what the records are told apart by, besides their key data.
  @inline(__always)
  fileprivate static func record(of key: ClaimedKey) -> KeyRepetitions.Record {
    KeyRepetitions.Record(
      high: key.key.high, low: key.key.low, index: UInt32(bitPattern: key.rollingStart ?? .min), shape: 0)
  }

  /// Adds the document that was observed.
  ///
  /// - Parameter isVerified: whether a signature of it verified; `nil` where nobody asked.
  package mutating func add(_ report: InspectionReport, isVerified: Bool? = nil) {
    distinct.settle()
    documents += 1
    if let isVerified { verified = (verified ?? 0) + (isVerified ? 1 : 0) }
    keys += report.keys.total
    revised += report.keys.revised
    rejected += report.keys.rejected
    formats[report.format, default: 0] += 1
    let origins = report.distributions.origin?.rows.filter { $0.label != "not stated" }.map(\.label) ?? []
    for region in Set(origins + [report.region].compactMap(\.self)) {
      guard regions[region] != nil || regions.count < Self.regionLimit else {
        hasMoreRegions = true
        continue
      }
      regions[region, default: 0] += 1
    }
    for row in report.distributions.keyDay.rows { days.add(row.value, row.count) }
  }

  /// The document that was observed could not be read.
  package mutating func leaveOut() {
    distinct.forget()
    unreadable += 1
  }

  /// Adds up.
  package consuming func report() -> Report {
    var distinctCount = 0
    var last: KeyRepetitions.Record?
    distinct.forEachSorted { record in
      if let last, last.high == record.high, last.low == record.low, last.index == record.index { return }
      distinctCount += 1
      last = record
    }
    let days = self.days.counts.keys.sorted()
    return Report(
      documents: documents + unreadable, read: documents, unreadable: unreadable, verified: verified,
      notVerified: verified.map { documents - $0 }, keys: keys, revised: revised, rejected: rejected,
      distinct: distinct.isComplete ? distinctCount : nil,
      regions: regions.map { Report.Region(region: $0.key, documents: $0.value) }.sorted { $0.region < $1.region },
      hasMoreRegions: hasMoreRegions,
      days: days.isEmpty
        ? nil
        : Report.Days(
          first: Day(daysSince1970: days[0]).description, last: Day(daysSince1970: days[days.count - 1]).description,
          count: days.count),
      formats: formats.map { Report.Format(format: $0.key, documents: $0.value) }.sorted { $0.format < $1.format })
  }

  /// The sum, as `--json` prints it.
  package struct Report: Encodable, Sendable {
    /// `read` and `unreadable` together.
    package let documents: Int
    package let read: Int
    package let unreadable: Int
    /// `nil` where no signatures were asked for.
    package let verified: Int?
    package let notVerified: Int?
    package let keys: Int
    package let revised: Int
    package let rejected: Int
    /// Distinct pairs of key data and rolling start; `nil` where there was no room to compare them.
    package let distinct: Int?
    /// Stated by a document for itself, or as the origin of a key.
    package let regions: [Region]
    package let hasMoreRegions: Bool
    /// The days (UTC) on which keys began; `nil` where none states one.
    package let days: Days?
    package let formats: [Format]

    package struct Region: Encodable, Sendable {
      package let region: String
      package let documents: Int
    }

    package struct Days: Encodable, Sendable {
      package let first: String
      package let last: String
      package let count: Int
    }

    package struct Format: Encodable, Sendable {
      package let format: String
      package let documents: Int
    }

    enum CodingKeys: String, CodingKey {
      case documents, read, unreadable, verified, keys, revised, rejected, distinct, regions, days, formats,
        notVerified
      case hasMoreRegions = "more_regions"
    }
  }
}
