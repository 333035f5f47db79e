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

    enum CodingKeys: String, CodingKey {
      case region, seconds, documents, first, last, missing, overlapping
      case missingCount = "missing_count"
      case overlappingCount = "overlapping_count"
    }
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

    enum CodingKeys: String, CodingKey {
      case leastBytes = "least_bytes"
      case medianBytes = "median_bytes"
      case mostBytes = "most_bytes"
      case leastKeys = "least_keys"
      case medianKeys = "median_keys"
      case mostKeys = "most_keys"
    }
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

    enum CodingKeys: String, CodingKey {
      case region, day, multiplier, persons, least, most
      case newKeys = "new_keys"
    }
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
      regions
    case overlaps, series, signers, sizes, anomalies, padding, persons, shortfall
    case reportVersion = "report_version"
    case isComplete = "complete"
    case byteCount = "bytes"
    case publicationDays = "publication_days"
    case keyDays = "key_days"
    case reportTypes = "report_types"
  }

  init(_ found: HistoryStudy.Findings, unreadable: Int, isComplete: Bool, cases: CaseCounts?) {
    let all = found.documents
    documents = all.count + unreadable
    self.unreadable = unreadable
    self.isComplete = isComplete
    keys = found.occurrences
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
    regions = found.regions.indices.map { index in
      let own = all.filter { $0.region == found.regions[index] }
      return Region(
        region: found.regions[index], documents: own.count, keys: own.reduce(0) { $0 + $1.keys },
        distinct: found.inRegion[index])
    }
    overlaps = found.inBoth
    series = Self.series(all)
    signers = Self.signers(found)
    sizes = Self.sizes(all)
    padding = Self.padding(found)
    let persons = Self.persons(found)
    self.persons = persons
    shortfall = cases.map { $0.shortfall(persons) } ?? []
    anomalies = HistoryAnomalies(found).all
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
      let seconds: Int64
    }
    var windows: [Kind: Set<Int64>] = [:]
    for document in all {
      guard let start = document.start, let end = document.end, end > start else { continue }
      windows[Kind(region: document.region, seconds: end - start), default: []].insert(start)
    }
    return windows.sorted { ($0.key.region, $0.key.seconds) < ($1.key.region, $1.key.seconds) }.compactMap {
      kind, starts in
      let sorted = starts.sorted()
      guard sorted.count > 1, let first = sorted.first, let last = sorted.last else { return nil }
      var missing: [Span] = []
      var overlapping: [Span] = []
      var (missingCount, overlappingCount) = (0, 0)
      // Windows of the last fourteen days that are published each day reach into each other by design.
      let step = zip(sorted, sorted.dropFirst()).map { $1 - $0 }.sorted()[(sorted.count - 1) / 2]
      for (one, next) in zip(sorted, sorted.dropFirst()) {
        let expected = one + step
        if next > expected {
          missingCount += Int((next - expected + step - 1) / step)
          if missing.count < 100 {
            missing.append(Span(from: time(expected), to: time(next)))
          }
        } else if next < expected, next < one + kind.seconds {
          overlappingCount += 1
          if overlapping.count < 100 { overlapping.append(Span(from: time(next), to: time(one + kind.seconds))) }
        }
      }
      return Series(
        region: kind.region, seconds: Int(kind.seconds), documents: sorted.count, first: time(first),
        last: time(last + kind.seconds), missing: missing, missingCount: missingCount, overlapping: overlapping,
        overlappingCount: overlappingCount)
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

  private static func padding(_ found: HistoryStudy.Findings) -> [Padding] {
    var spans: [Padding] = []
    var open: [String: (multiplier: Int, documents: Int, first: Int64?, last: Int64?)] = [:]
    func close(_ region: String) {
      guard let span = open[region], span.multiplier > 1 else { return }
      spans.append(
        Padding(
          region: region, multiplier: span.multiplier, documents: span.documents, first: span.first.map(day),
          last: span.last.map(day)))
    }
    for index in found.order {
      let document = found.documents[index]
      guard let multiplier = document.multiplier else { continue }
      if let span = open[document.region], span.multiplier == multiplier {
        open[document.region] = (multiplier, span.documents + 1, span.first, document.publishedDay ?? span.last)
      } else {
        close(document.region)
        open[document.region] = (multiplier, 1, document.publishedDay, document.publishedDay)
      }
    }
    for region in open.keys.sorted() { close(region) }
    return spans.sorted { ($0.region, $0.first ?? "") < ($1.region, $1.first ?? "") }
  }

  private static func persons(_ found: HistoryStudy.Findings) -> [Persons] {
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
    // The multiplier of the day's documents that have enough groups to tell; the least of them.
    var multipliers: [Place: Int] = [:]
    let numbers = Dictionary(uniqueKeysWithValues: found.regions.enumerated().map { ($1, $0) })
    for document in found.documents {
      guard let day = document.publishedDay, let region = numbers[document.region],
        let multiplier = document.multiplier,
        multiplier > 0
      else { continue }
      let place = Place(region: region, day: day)
      multipliers[place] = min(multipliers[place] ?? multiplier, multiplier)
    }
    return total.sorted { ($0.key.region, $0.key.day) < ($1.key.region, $1.key.day) }.map { place, count in
      let multiplier = multipliers[place] ?? 1
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
