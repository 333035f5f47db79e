package import ExposureKeys

/// What a history shows: figures, gaps, what looks wrong, and estimates. Each is counted over distinct key data unless it says
/// otherwise; days are UTC.
package struct HistoryReport: Encodable, Sendable {
  package let reportVersion = 1
  package let documents: Int
  package let unreadable: Int
  /// Whether all keys could be compared; where not, distinct ones are more than it says.
  package let isComplete: Bool
  package let keys: Int
  package let distinct: Int
  package let revised: Int
  package let rejected: Int
  package let byteCount: Int
  /// By day of publication, without gaps from the first to the last.
  package let publicationDays: [PublicationDay]
  /// By the day on which keys were used first, without gaps.
  package let keyDays: [DayCount]
  package let risks: [ValueCount]
  package let reportTypes: [ValueCount]
  package let onsets: [ValueCount]
  package let periods: [ValueCount]
  /// Whole days from the end of a key's use to its publication.
  package let latencies: [ValueCount]
  /// How often keys were published.
  package let occurrences: [ValueCount]
  package let regions: [Region]
  /// By two regions, how many keys both have, in the order of `regions`.
  package let overlaps: [[Int]]
  package let series: [Series]
  package let signers: [Signer]
  package let sizes: Sizes?
  package let anomalies: [Anomaly]
  package let padding: [Padding]
  package let persons: [Persons]
  package let shortfall: [Shortfall]

  package struct PublicationDay: Encodable, Sendable {
    package let day: String
    package let documents: Int
    package let keys: Int
    /// Keys that no earlier document had.
    package let new: Int
    package let byteCount: Int

    enum CodingKeys: String, CodingKey {
      case day, documents, keys, new
      case byteCount = "bytes"
    }
  }

  package struct DayCount: Encodable, Sendable {
    package let day: String
    package let keys: Int
  }

  package struct ValueCount: Encodable, Sendable {
    /// `nil` where keys do not state one.
    package let value: Int?
    package let keys: Int
  }

  package struct Region: Encodable, Sendable {
    package let region: String
    package let documents: Int
    package let keys: Int
    package let distinct: Int
  }

  /// Documents of one region whose windows are of one length.
  package struct Series: Encodable, Sendable {
    package let region: String
    package let seconds: Int
    package let documents: Int
    package let first: String
    package let last: String
    /// Windows that nobody published, the first hundred of them.
    package let missing: [Span]
    package let missingCount: Int
    /// Windows that reach into the next one.
    package let overlapping: [Span]
    package let overlappingCount: Int
  }

  package struct Span: Encodable, Sendable {
    package let from: String
    package let to: String
  }

  package struct Signer: Encodable, Sendable {
    /// Key id and version; empty where a signature names none.
    package let key: String
    package let documents: Int
    package let first: String?
    package let last: String?
  }

  package struct Sizes: Encodable, Sendable {
    package let leastBytes: Int
    package let medianBytes: Int
    package let mostBytes: Int
    package let leastKeys: Int
    package let medianKeys: Int
    package let mostKeys: Int
  }

  package struct Anomaly: Encodable, Sendable {
    package let code: String
    package let severity: Severity
    /// What is seen.
    package let title: String
    /// Why it matters.
    package let reason: String
    /// Documents, or keys, as the title says.
    package let count: Int
    /// Where, the first of them.
    package let documents: [String]

    package enum Severity: String, Encodable, Sendable { case error, warning, note }
  }

  /// How many keys there seem to be for each real one.
  package struct Padding: Encodable, Sendable {
    package let region: String
    package let multiplier: Int
    package let documents: Int
    package let first: String?
    package let last: String?
  }

  /// How many people shared keys on a day, estimated.
  package struct Persons: Encodable, Sendable {
    package let region: String
    package let day: String
    package let newKeys: Int
    package let multiplier: Int
    /// Nobody has two keys of one day, so at least as many as the fullest key day has.
    package let persons: Int
    /// By the number of keys alone: fifteen a person, and one.
    package let least: Int
    package let most: Int
  }

  /// Persons that shared keys against positive tests.
  package struct Shortfall: Encodable, Sendable {
    package let region: String
    package let first: String
    package let last: String
    package let cases: Int
    package let persons: Int
    /// 100 - 100 · persons / cases.
    package let percent: Double
  }

  enum CodingKeys: String, CodingKey {
    case documents, unreadable, keys, distinct, revised, rejected, risks, onsets, periods, latencies, occurrences,
      regions, overlaps, series, signers, sizes, anomalies, padding, persons, shortfall, reportVersion,
      publicationDays, keyDays, reportTypes
    case isComplete = "complete"
    case byteCount = "bytes"
  }

  init(
    _ found: HistoryStudy.Findings, changedNames: [String], unreadable: Int, isComplete: Bool, cases: CaseCounts?
  ) {
    let all = found.documents
    self.documents = all.count + unreadable
    self.unreadable = unreadable
    self.isComplete = isComplete
    self.keys = found.occurrences
    distinct = found.distinct
    revised = all.reduce(0) { $0 + $1.revised }
    rejected = all.reduce(0) { $0 + $1.rejected }
    byteCount = all.reduce(0) { $0 + $1.byteCount }
    publicationDays = Self.publicationDays(found)
    keyDays = Self.days(found.keyDays).map { DayCount(day: Self.day($0.day), keys: $0.count) }
    risks = Self.values(found.risks)
    reportTypes = Self.values(found.types)
    onsets = Self.values(found.onsets)
    periods = Self.values(found.periods)
    latencies = Self.values(found.latencies)
    occurrences = Self.values(found.frequencies)
    var (documents, keys) = (
      [Int](repeating: 0, count: found.regions.count), [Int](repeating: 0, count: found.regions.count)
    )
    for (document, region) in zip(all, found.regionOf) {
      documents[region] += 1
      keys[region] += document.keys
    }
    regions = found.regions.indices.map { index in
      Region(
        region: found.regions[index], documents: documents[index], keys: keys[index], distinct: found.inRegion[index])
    }
    overlaps = found.inBoth
    series = Self.series(all)
    signers = Self.signers(found)
    sizes = Self.sizes(all)
    let multipliers = Self.multipliers(found)
    padding = Self.padding(found, multipliers)
    let persons = Self.persons(found, multipliers)
    self.persons = persons
    shortfall = cases.map { $0.shortfall(persons) } ?? []
    anomalies = HistoryAnomalies(found, changedNames: changedNames).all
  }

  // MARK: Figures

  static func day(_ day: Int64) -> String { Day(daysSince1970: day).description }

  private static func time(_ seconds: Int64) -> String { Instant(secondsSince1970: seconds).description }

  /// All days from the first to the last; where these are too far apart only those that have some.
  private static func days(_ counts: [Int64: Int]) -> [(day: Int64, count: Int)] {
    guard let first = counts.keys.min(), let last = counts.keys.max() else { return [] }
    guard last - first < 4000 else { return counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
    return (first...last).map { ($0, counts[$0] ?? 0) }
  }

  private static func values(_ counts: [Int: Int]) -> [ValueCount] {
    counts.sorted { $0.key < $1.key }.map { ValueCount(value: $0.key, keys: $0.value) }
  }

  /// Those that state none come last.
  private static func values(_ counts: [Int?: Int]) -> [ValueCount] {
    counts.sorted { ($0.key ?? .max) < ($1.key ?? .max) }.map { ValueCount(value: $0.key, keys: $0.value) }
  }

  private static func publicationDays(_ found: HistoryStudy.Findings) -> [PublicationDay] {
    var byDay: [Int64: [Int]] = [:]
    for (index, document) in found.documents.enumerated() {
      if let day = document.publishedDay { byDay[day, default: []].append(index) }
    }
    return days(byDay.mapValues(\.count)).map { day, count in
      let own = byDay[day] ?? []
      return PublicationDay(
        day: Self.day(day), documents: count, keys: own.reduce(0) { $0 + found.documents[$1].keys },
        new: own.reduce(0) { $0 + found.new[$1] }, byteCount: own.reduce(0) { $0 + found.documents[$1].byteCount })
    }
  }

  private static func series(_ all: [HistoryDocument]) -> [Series] {
    struct Kind: Hashable {
      let region: String
      /// To ten minutes: servers close windows some seconds late.
      let seconds: Int64
    }
    var windows: [Kind: [Int64: Int64]] = [:]
    for document in all {
      guard let start = document.start, let end = document.end else { continue }
      let seconds = max((end - start + 300) / 600 * 600, 600)
      windows[Kind(region: document.region, seconds: seconds), default: [:]][start] = end
    }
    return windows.sorted { ($0.key.region, $0.key.seconds) < ($1.key.region, $1.key.seconds) }.compactMap {
      kind, ends in
      let sorted = ends.keys.sorted()
      guard sorted.count > 1, let first = sorted.first, let last = sorted.last, let lastEnd = ends[last] else {
        return nil
      }
      let steps = zip(sorted, sorted.dropFirst()).map { $1 - $0 }.sorted()
      let tolerance = kind.seconds / 10
      // Windows of the last fourteen days that are published each day reach into each other by design; others follow each
      // other.
      let reachOver = steps[(steps.count - 1) / 2] < kind.seconds - tolerance
      let step = max(reachOver ? steps[(steps.count - 1) / 2] : kind.seconds, 1)
      var missing: [Span] = []
      var overlapping: [Span] = []
      var (missingCount, overlappingCount) = (0, 0)
      for (one, next) in zip(sorted, sorted.dropFirst()) {
        let expected = reachOver ? one + step : ends[one] ?? one + step
        if next - expected > tolerance {
          missingCount += max(Int((next - expected + step / 2) / step), 1)
          if missing.count < 100 { missing.append(Span(from: time(expected), to: time(next))) }
        } else if expected - next > tolerance {
          overlappingCount += 1
          if overlapping.count < 100 { overlapping.append(Span(from: time(next), to: time(ends[one] ?? expected))) }
        }
      }
      return Series(
        region: kind.region, seconds: Int(kind.seconds), documents: sorted.count, first: time(first),
        last: time(lastEnd),
        missing: missing, missingCount: missingCount, overlapping: overlapping, overlappingCount: overlappingCount)
    }
  }

  private static func signers(_ found: HistoryStudy.Findings) -> [Signer] {
    var documents: [String: [Int64?]] = [:]
    for index in found.order {
      for signer in Set(found.documents[index].signers) {
        documents[signer, default: []].append(found.documents[index].publishedDay)
      }
    }
    return documents.map { key, days in
      Signer(
        key: key, documents: days.count, first: days.compactMap(\.self).min().map(day),
        last: days.compactMap(\.self).max().map(day))
    }.sorted { ($0.first ?? "", $0.key) < ($1.first ?? "", $1.key) }
  }

  private static func sizes(_ all: [HistoryDocument]) -> Sizes? {
    let bytes = all.map(\.byteCount).sorted()
    let keys = all.map(\.keys).sorted()
    guard let least = bytes.first, let most = bytes.last, let fewest = keys.first, let many = keys.last else {
      return nil
    }
    return Sizes(
      leastBytes: least, medianBytes: bytes[bytes.count / 2], mostBytes: most, leastKeys: fewest,
      medianKeys: keys[keys.count / 2], mostKeys: many)
  }

  // MARK: Estimates

  private struct RegionDay: Hashable {
    let region: String
    let day: Int64
  }

  /// The padding of each day: what divides all groups of the region's documents from three days before to three days after it.
  private static func multipliers(_ found: HistoryStudy.Findings) -> [RegionDay: Int] {
    var days: [RegionDay: (groups: Int, divisor: Int)] = [:]
    for document in found.documents {
      guard let day = document.publishedDay, let padding = document.padding else { continue }
      let place = RegionDay(region: document.region, day: day)
      let known = days[place] ?? (0, 0)
      days[place] = (known.groups + padding.groups, greatestDivisor(known.divisor, padding.divisor))
    }
    var multipliers: [RegionDay: Int] = [:]
    for place in days.keys {
      var (groups, divisor) = (0, 0)
      for day in place.day - 3...place.day + 3 {
        guard let near = days[RegionDay(region: place.region, day: day)] else { continue }
        (groups, divisor) = (groups + near.groups, greatestDivisor(divisor, near.divisor))
      }
      if groups >= 10, divisor > 0 { multipliers[place] = divisor }
    }
    return multipliers
  }

  private static func padding(_ found: HistoryStudy.Findings, _ multipliers: [RegionDay: Int]) -> [Padding] {
    var documents: [RegionDay: Int] = [:]
    for document in found.documents {
      if let day = document.publishedDay { documents[RegionDay(region: document.region, day: day), default: 0] += 1 }
    }
    var spans: [Padding] = []
    var open: (region: String, multiplier: Int, documents: Int, first: Int64, last: Int64)?
    func close() {
      guard let span = open, span.multiplier > 1 else { return }
      spans.append(
        Padding(
          region: span.region, multiplier: span.multiplier, documents: span.documents, first: day(span.first),
          last: day(span.last)))
    }
    for (place, multiplier) in multipliers.sorted(by: { ($0.key.region, $0.key.day) < ($1.key.region, $1.key.day) }) {
      let count = documents[place] ?? 0
      if let span = open, span.region == place.region, span.multiplier == multiplier {
        open = (span.region, multiplier, span.documents + count, span.first, place.day)
      } else {
        close()
        open = (place.region, multiplier, count, place.day, place.day)
      }
    }
    close()
    return spans
  }

  private static func persons(_ found: HistoryStudy.Findings, _ multipliers: [RegionDay: Int]) -> [Persons] {
    struct Place: Hashable {
      let region: Int
      let day: Int64
    }
    var fullest: [Place: Int] = [:]
    var total: [Place: Int] = [:]
    for (new, count) in found.newByDay {
      let place = Place(region: new.region, day: new.published)
      fullest[place] = max(fullest[place] ?? 0, count)
      total[place, default: 0] += count
    }
    return total.sorted { ($0.key.region, $0.key.day) < ($1.key.region, $1.key.day) }.map { place, count in
      let multiplier = multipliers[RegionDay(region: found.regions[place.region], day: place.day)] ?? 1
      func share(_ count: Int) -> Int { (count + multiplier - 1) / multiplier }
      return Persons(
        region: found.regions[place.region], day: day(place.day), newKeys: count, multiplier: multiplier,
        persons: share(fullest[place] ?? 0), least: (share(count) + 14) / 15, most: share(count))
    }
  }
}

/// Positive tests by region and day.
package struct CaseCounts: Sendable {
  private var counts: [String: [String: Int]] = [:]

  package init() {}

  /// - Parameters:
  ///   - region: as documents name it.
  ///   - day: such as 2020-06-27.
  package mutating func add(_ cases: Int, region: String, day: Day) {
    counts[region, default: [:]][day.description, default: 0] += cases
  }

  /// Regions of which no document is.
  package func unknownRegions(of report: HistoryReport) -> [String] {
    let known = Set(report.persons.map(\.region))
    return counts.keys.filter { !known.contains($0) }.sorted()
  }

  /// Over the days for which both are known.
  func shortfall(_ persons: [HistoryReport.Persons]) -> [HistoryReport.Shortfall] {
    var sums: [String: (first: String, last: String, cases: Int, persons: Int)] = [:]
    for day in persons {
      guard let cases = counts[day.region]?[day.day] else { continue }
      let sum = sums[day.region] ?? (day.day, day.day, 0, 0)
      sums[day.region] = (min(sum.first, day.day), max(sum.last, day.day), sum.cases + cases, sum.persons + day.persons)
    }
    return sums.sorted { $0.key < $1.key }.compactMap { region, sum in
      guard sum.cases > 0 else { return nil }
      let percent = 100 - 100 * Double(sum.persons) / Double(sum.cases)
      return HistoryReport.Shortfall(
        region: region, first: sum.first, last: sum.last, cases: sum.cases, persons: sum.persons,
        percent: (percent * 10).rounded() / 10)
    }
  }
}
