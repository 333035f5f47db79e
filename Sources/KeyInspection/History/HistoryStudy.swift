internal import ExposureKeys

/// Goes once over all keys of a history, in the order of their key data.
struct HistoryStudy {
  /// What the study leaves.
  struct Findings {
    var documents: [HistoryDocument]
    var distinct = 0
    var occurrences = 0
    /// By document: keys that no earlier one had, that one had, and that stand in no other one though they are not so old.
    var new: [Int]
    var repeated: [Int]
    var alone: [Int]
    /// Keys that the document shares with the one before it in its region.
    var sharedWithLast: [Int]
    /// Keys that stand in it more than once with other values, and that it publishes after they ran out.
    var contradicting: [Int]
    var expired: [Int]
    /// Keys whose periods overlap those of the same key data at another start.
    var overlapping: [Int]
    /// By what distinct keys said when they were first published.
    var keyDays: [Int64: Int] = [:]
    var risks: [Int?: Int] = [:]
    var types: [Int?: Int] = [:]
    var onsets: [Int?: Int] = [:]
    var periods: [Int: Int] = [:]
    /// Whole days from the end of a key's use to its publication; less than 0 where it was published before that.
    var latencies: [Int: Int] = [:]
    /// How often a key was published.
    var frequencies: [Int: Int] = [:]
    var regions: [String]
    /// By document, the number of its region.
    var regionOf: [Int]
    /// By region, distinct keys; and by two regions, those that both have.
    var inRegion: [Int]
    var inBoth: [[Int]]
    /// By day of publication, region and key day: new distinct keys.
    var newByDay: [NewKeys: Int] = [:]
    /// Keys that say too much to be told apart.
    var unknownShapes = 0
    /// Documents in the order of their publication.
    var order: [Int]
  }

  struct NewKeys: Hashable {
    let published: Int64
    let region: Int
    let keyDay: Int64
  }

  private var findings: Findings
  private let shapes: HistoryShapes
  /// By document, its place in time.
  private let ranks: [Int]
  /// By document, the one before it in its region.
  private let previous: [Int?]
  /// By region, in which document the key was last that is looked at.
  private var lastSeen: [(key: Int, document: Int)]
  /// Beyond that regions stand together.
  static let regionLimit = 64

  init(_ documents: [HistoryDocument], _ shapes: HistoryShapes) {
    self.shapes = shapes
    let order = documents.indices.sorted { left, right in
      let (one, other) = (documents[left], documents[right])
      let (mine, theirs) = (one.published ?? .max, other.published ?? .max)
      return mine != theirs ? mine < theirs : left < right
    }
    var ranks = [Int](repeating: 0, count: documents.count)
    for (rank, document) in order.enumerated() { ranks[document] = rank }
    var regions: [String] = []
    var numbers: [String: Int] = [:]
    for name in Set(documents.map(\.region)).sorted() {
      if regions.count == Self.regionLimit {
        numbers[name] = Self.regionLimit - 1
      } else {
        numbers[name] = regions.count
        regions.append(name)
      }
    }
    if numbers.count > regions.count { regions[Self.regionLimit - 1] = "others" }
    var last: [Int: Int] = [:]
    var previous = [Int?](repeating: nil, count: documents.count)
    for document in order {
      let region = numbers[documents[document].region] ?? 0
      previous[document] = last[region]
      last[region] = document
    }
    self.ranks = ranks
    self.previous = previous
    lastSeen = [(key: Int, document: Int)](repeating: (0, 0), count: max(regions.count, 1))
    let none = [Int](repeating: 0, count: documents.count)
    findings = Findings(
      documents: documents, new: none, repeated: none, alone: none, sharedWithLast: none, contradicting: none,
      expired: none, overlapping: none, regions: regions, regionOf: documents.map { numbers[$0.region] ?? 0 },
      inRegion: [Int](repeating: 0, count: regions.count),
      inBoth: [[Int]](repeating: [Int](repeating: 0, count: regions.count), count: regions.count), order: order)
  }

  /// - Parameter group: all records of one key data.
  mutating func take(_ group: [KeyRepetitions.Record]) {
    let sorted = group.count == 1 ? group : group.sorted { ranks[Int($0.index)] < ranks[Int($1.index)] }
    findings.distinct += 1
    findings.occurrences += sorted.count
    findings.frequencies[sorted.count, default: 0] += 1
    takeFirst(sorted[0])
    let first = shapes[sorted[0].shape]
    var regions: UInt64 = 0
    var last: KeyRepetitions.Record?
    var documents = 0
    for record in sorted {
      let document = Int(record.index)
      regions |= 1 << UInt64(findings.regionOf[document])
      let shape = shapes[record.shape]
      if let shape, let first, Self.overlap(shape, first) { findings.overlapping[document] += 1 }
      if let last, last.index == record.index {
        if let shape, let other = shapes[last.shape], shape.start == other.start, !shape.saysTheSame(as: other) {
          findings.contradicting[document] += 1
        }
        findings.repeated[document] += 1
      } else {
        documents += 1
        if last == nil { findings.new[document] += 1 } else { findings.repeated[document] += 1 }
        let region = findings.regionOf[document]
        if let previous = previous[document], lastSeen[region].key == findings.distinct,
          lastSeen[region].document == previous
        {
          findings.sharedWithLast[document] += 1
        }
        lastSeen[region] = (findings.distinct, document)
      }
      if let end = shape?.end, let window = findings.documents[document].start,
        end * IntervalNumber.secondsPerInterval + Self.kept < window
      {
        findings.expired[document] += 1
      }
      last = record
    }
    if documents == 1, staysFor(first, in: findings.documents[Int(sorted[0].index)]) {
      findings.alone[Int(sorted[0].index)] += 1
    }
    var one = regions
    while one != 0 {
      let region = one.trailingZeroBitCount
      one &= one - 1
      findings.inRegion[region] += 1
      var other = one
      while other != 0 {
        findings.inBoth[region][other.trailingZeroBitCount] += 1
        other &= other - 1
      }
    }
  }

  /// Whether a key would be in the next snapshot, too: it is not too old for that.
  private func staysFor(_ shape: HistoryShapes.Shape?, in document: HistoryDocument) -> Bool {
    guard let start = shape?.rollingStart, let published = document.published else { return true }
    return published - Int64(start) * IntervalNumber.secondsPerInterval < 13 * 86_400
  }

  /// A key is of no use to anyone fifteen days after it was last used.
  private static let kept: Int64 = 15 * 86_400

  private mutating func takeFirst(_ record: KeyRepetitions.Record) {
    let document = findings.documents[Int(record.index)]
    guard let shape = shapes[record.shape] else {
      findings.unknownShapes += 1
      return
    }
    findings.risks[shape.transmissionRisk.map(Int.init), default: 0] += 1
    findings.types[shape.reportType.map(Int.init), default: 0] += 1
    findings.onsets[shape.daysSinceOnset.map(Int.init), default: 0] += 1
    findings.periods[Int(shape.rollingPeriod), default: 0] += 1
    guard let day = shape.day, let end = shape.end else { return }
    findings.keyDays[day, default: 0] += 1
    guard let published = document.published else { return }
    let seconds = published - end * IntervalNumber.secondsPerInterval
    findings.latencies[Int(seconds >= 0 ? seconds / 86_400 : -1 - (-1 - seconds) / 86_400), default: 0] += 1
    let new = NewKeys(
      published: Instant(secondsSince1970: published).day.daysSince1970, region: findings.regionOf[Int(record.index)],
      keyDay: day)
    findings.newByDay[new, default: 0] += 1
  }

  /// Whether two keys of the same data, but of different starts, were in use at one time.
  private static func overlap(_ left: HistoryShapes.Shape, _ right: HistoryShapes.Shape) -> Bool {
    guard let start = left.rollingStart, let other = right.rollingStart, start != other, let end = left.end,
      let otherEnd = right.end
    else { return false }
    return Int64(start) < otherEnd && Int64(other) < end
  }

  consuming func finish() -> Findings {
    for region in findings.regions.indices {
      findings.inBoth[region][region] = findings.inRegion[region]
      for other in 0..<region { findings.inBoth[region][other] = findings.inBoth[other][region] }
    }
    return findings
  }
}
