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
  /// By document, the one before it in its region; -1 for none.
  private let previous: [Int]
  /// By document, when it was published and when its window begins, in seconds since 1970; ``never`` where it does not say.
  private let published: [Int64]
  private let windowStarts: [Int64]
  /// By document, the number of its day of publication in its region; -1 where it does not say.
  private let dayNumbers: [Int]
  private let regionDays: [(region: Int, day: Int64)]
  /// By region, in which document the key was last that is looked at.
  private var lastSeen: [(key: Int, document: Int)]

  // What few values of cover nearly all keys is counted in arrays; the others are in the findings.
  /// By shape, how many keys have said it first.
  private var firstOfShape: [Int]
  /// By whole days from ``leastLatency`` on.
  private var latencyCounts = [Int](repeating: 0, count: latencySpan)
  /// By number of a region's day, and how many days before it the key was used.
  private var newCounts: [Int]
  private var frequencyCounts = [Int](repeating: 0, count: frequencySpan)

  private static let never = Int64.min
  private static let leastLatency = -64
  private static let latencySpan = 1024
  private static let frequencySpan = 1024
  /// Keys of so many days before their publication, and one day after it.
  private static let newSpan = 32

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
    let regionOf = documents.map { numbers[$0.region] ?? 0 }
    var last = [Int](repeating: -1, count: max(regions.count, 1))
    var previous = [Int](repeating: -1, count: documents.count)
    for document in order {
      previous[document] = last[regionOf[document]]
      last[regionOf[document]] = document
    }
    struct RegionDay: Hashable {
      let region: Int
      let day: Int64
    }
    var days: [RegionDay: Int] = [:]
    var regionDays: [(region: Int, day: Int64)] = []
    dayNumbers = documents.indices.map { index in
      guard let day = documents[index].publishedDay else { return -1 }
      let place = RegionDay(region: regionOf[index], day: day)
      if let number = days[place] { return number }
      days[place] = regionDays.count
      regionDays.append((place.region, day))
      return regionDays.count - 1
    }
    self.regionDays = regionDays
    newCounts = [Int](repeating: 0, count: regionDays.count * Self.newSpan)
    firstOfShape = [Int](repeating: 0, count: shapes.all.count)
    published = documents.map { $0.published ?? Self.never }
    windowStarts = documents.map { $0.start ?? Self.never }
    self.ranks = ranks
    self.previous = previous
    lastSeen = [(key: Int, document: Int)](repeating: (0, 0), count: max(regions.count, 1))
    let none = [Int](repeating: 0, count: documents.count)
    findings = Findings(
      documents: documents, new: none, repeated: none, alone: none, sharedWithLast: none, contradicting: none,
      expired: none, overlapping: none, regions: regions, regionOf: regionOf,
      inRegion: [Int](repeating: 0, count: regions.count),
      inBoth: [[Int]](repeating: [Int](repeating: 0, count: regions.count), count: regions.count), order: order)
  }

  /// - Parameter group: all records of one key data; they are put in order.
  mutating func take(_ group: inout [KeyRepetitions.Record]) {
    if group.count > 1 { sort(&group) }
    findings.distinct += 1
    findings.occurrences += group.count
    if group.count < Self.frequencySpan {
      frequencyCounts[group.count] += 1
    } else {
      findings.frequencies[group.count, default: 0] += 1
    }
    let first = shapes[group[0].shape]
    takeFirst(group[0], first)
    var regions: UInt64 = 0
    var documents = 0
    for index in group.indices {
      let record = group[index]
      let document = Int(record.index)
      let region = findings.regionOf[document]
      regions |= 1 << UInt64(region)
      let shape = index == 0 ? first : shapes[record.shape]
      if index > 0, let shape, let first, Self.overlap(shape, first) { findings.overlapping[document] += 1 }
      if index > 0, group[index - 1].index == record.index {
        if let shape, let other = shapes[group[index - 1].shape], shape.start == other.start,
          !shape.saysTheSame(as: other)
        {
          findings.contradicting[document] += 1
        }
        findings.repeated[document] += 1
      } else {
        documents += 1
        if index == 0 { findings.new[document] += 1 } else { findings.repeated[document] += 1 }
        if lastSeen[region].key == findings.distinct, lastSeen[region].document == previous[document] {
          findings.sharedWithLast[document] += 1
        }
        lastSeen[region] = (findings.distinct, document)
      }
      let window = windowStarts[document]
      if window != Self.never, let end = shape?.end, end * IntervalNumber.secondsPerInterval + Self.kept < window {
        findings.expired[document] += 1
      }
    }
    if documents == 1, staysFor(first, publishedAt: published[Int(group[0].index)]) {
      findings.alone[Int(group[0].index)] += 1
    }
    takeRegions(regions)
  }

  /// By publication. Groups are small, and nearly always in order.
  private func sort(_ group: inout [KeyRepetitions.Record]) {
    guard group.count <= 64 else { return group.sort { ranks[Int($0.index)] < ranks[Int($1.index)] } }
    for index in 1..<group.count {
      let record = group[index]
      let rank = ranks[Int(record.index)]
      var place = index
      while place > 0, ranks[Int(group[place - 1].index)] > rank {
        group[place] = group[place - 1]
        place -= 1
      }
      group[place] = record
    }
  }

  private mutating func takeRegions(_ regions: UInt64) {
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
  private func staysFor(_ shape: HistoryShapes.Shape?, publishedAt published: Int64) -> Bool {
    guard let start = shape?.rollingStart, published != Self.never else { return true }
    return published - Int64(start) * IntervalNumber.secondsPerInterval < 13 * 86_400
  }

  /// A key is of no use to anyone fifteen days after it was last used.
  private static let kept: Int64 = 15 * 86_400

  private mutating func takeFirst(_ record: KeyRepetitions.Record, _ shape: HistoryShapes.Shape?) {
    guard let shape else {
      findings.unknownShapes += 1
      return
    }
    firstOfShape[Int(record.shape)] += 1
    let document = Int(record.index)
    let (published, dayNumber) = (published[document], dayNumbers[document])
    guard published != Self.never, dayNumber >= 0, let day = shape.day, let end = shape.end else { return }
    let seconds = published - end * IntervalNumber.secondsPerInterval
    let latency = Int(seconds >= 0 ? seconds / 86_400 : -1 - (-1 - seconds) / 86_400)
    if case let place = latency - Self.leastLatency, (0..<Self.latencySpan).contains(place) {
      latencyCounts[place] += 1
    } else {
      findings.latencies[latency, default: 0] += 1
    }
    let (region, publishedDay) = regionDays[dayNumber]
    if case let age = publishedDay - day + 1, (0..<Int64(Self.newSpan)).contains(age) {
      newCounts[dayNumber * Self.newSpan + Int(age)] += 1
    } else {
      findings.newByDay[NewKeys(published: publishedDay, region: region, keyDay: day), default: 0] += 1
    }
  }

  /// Whether two keys of the same data, but of different starts, were in use at one time.
  private static func overlap(_ left: HistoryShapes.Shape, _ right: HistoryShapes.Shape) -> Bool {
    guard let start = left.rollingStart, let other = right.rollingStart, start != other, let end = left.end,
      let otherEnd = right.end
    else { return false }
    return Int64(start) < otherEnd && Int64(other) < end
  }

  consuming func finish() -> Findings {
    for (shape, count) in zip(shapes.all, firstOfShape) where count > 0 {
      findings.risks[shape.transmissionRisk.map(Int.init), default: 0] += count
      findings.types[shape.reportType.map(Int.init), default: 0] += count
      findings.onsets[shape.daysSinceOnset.map(Int.init), default: 0] += count
      findings.periods[Int(shape.rollingPeriod), default: 0] += count
      if let day = shape.day { findings.keyDays[day, default: 0] += count }
    }
    for (place, count) in latencyCounts.enumerated() where count > 0 {
      findings.latencies[place + Self.leastLatency, default: 0] += count
    }
    for (times, count) in frequencyCounts.enumerated() where count > 0 {
      findings.frequencies[times, default: 0] += count
    }
    for (place, count) in newCounts.enumerated() where count > 0 {
      let (region, published) = regionDays[place / Self.newSpan]
      let keyDay = published + 1 - Int64(place % Self.newSpan)
      findings.newByDay[NewKeys(published: published, region: region, keyDay: keyDay), default: 0] += count
    }
    for region in findings.regions.indices {
      findings.inBoth[region][region] = findings.inRegion[region]
      for other in 0..<region { findings.inBoth[region][other] = findings.inBoth[other][region] }
    }
    return findings
  }
}
