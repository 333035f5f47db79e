import ExposureKeys
import KeyNormalization
import KeyStorage

// What series have released, kept as claims are: in runs, in the order of key data, one set of them for each series; see
// ``ReleaseRow``. What does not fit into a row of a run is a row of the table `released`, which is empty mostly; each key is in
// one of both.

/// The numbers of the names whose opinions are in releases; 0 is nobody's.
final class ReleaseNames {
  private let database: PostgresConnection
  private var texts: [Int64: String] = [:]
  private var numbers: [String: Int64] = [:]

  init(_ database: PostgresConnection) { self.database = database }

  func origins(_ number: Int64) throws -> ReleasingOrigins? {
    if number == 0 { return nil }
    if let text = texts[number] { return ReleasingOrigins(text: text) }
    let found: String? = try database.value("SELECT names FROM release_origins WHERE id = $1", number)
    guard let found else {
      throw StorageFault(.corrupt, "a released key refers to names \(number), which are not in the store")
    }
    texts[number] = found
    return ReleasingOrigins(text: found)
  }

  func number(of origins: ReleasingOrigins?, _ counters: Counters) throws -> Int64 {
    guard let text = origins?.text else { return 0 }
    if let number = numbers[text] { return number }
    let known: Int64? = try database.value("SELECT id FROM release_origins WHERE names = $1", text)
    let number = known ?? counters.next("release_origins")
    if known == nil { try database.run("INSERT INTO release_origins (id, names) VALUES ($1, $2)", number, text) }
    numbers[text] = number
    return number
  }
}

extension PostgresTransaction {
  /// What a series has released.
  func releaseRuns(of series: Int64) throws -> ClaimRuns {
    if let known = releases[series] { return known }
    let read = try ClaimRuns(segments(.released(series: series)), filters: isWriting ? [:] : nil)
    releases[series] = read
    return read
  }

  /// Whether releases of a series stand in the table as well.
  private func hasTable(of series: Int64) throws -> Bool {
    try database.row("SELECT 1 FROM released WHERE series = $1 LIMIT 1", series) != nil
  }

  func released(
    by series: String, from start: TemporaryExposureKey, limit: Int, before bundle: BundleID?
  ) throws -> [ReleasedKey] {
    guard limit > 0, let number = try numbered(series, in: "series") else { return [] }
    var found: [ReleasedKey] = []
    var rows = try releaseRuns(of: number).rows(from: start)
    while found.count < limit, let row = try rows.next() {
      if let bundle, ReleaseRow.firstBundle(of: row) >= bundle { continue }
      found.append(try ReleaseRow.release(of: row, before: bundle, releaseNames.origins))
    }
    guard try hasTable(of: number) else { return found }
    found += try releasedInTable(by: number, from: start, limit: limit, before: bundle)
    return Array(found.sorted { $0.subject < $1.subject }.prefix(limit))
  }

  func released(by series: String, about keys: [TemporaryExposureKey]) throws -> [ReleasedKey] {
    guard let number = try numbered(series, in: "series") else { return [] }
    var found = try releaseRuns(of: number).rows(about: keys).map {
      try ReleaseRow.release(of: $0, before: nil, releaseNames.origins)
    }
    guard try hasTable(of: number) else { return found }
    found += try releasedInTable(by: number, about: keys)
    return found.sorted { $0.subject < $1.subject }
  }

  func release(_ keys: [ReleasedKey], by series: String) throws {
    let bundles = Set(keys.map(\.bundle)).sorted()
    let known: [Int64] = try database.rows(
      "SELECT id FROM bundles WHERE id = ANY ($1)", PostgresValue.ints(bundles.map(\.rawValue))
    ).map { try $0[0] }
    if let missing = bundles.first(where: { !known.contains($0.rawValue) }) { throw StorageFault.noBundle(missing) }
    if keys.isEmpty { return }
    let number = try interned(series, in: "series")
    let runs = try releaseRuns(of: number)
    let sorted = keys.sorted { $0.subject < $1.subject }
    let inTable =
      try hasTable(of: number) ? Set(try releasedInTable(by: number, about: sorted.keyData).map(\.subject)) : []
    let counters = try counting()
    let division = try ReleaseRow.Division(sorted, inTable: inTable, there: try runs.rows(about: sorted.keyData)) {
      ReleaseRow.row(of: $0, origins: try releaseNames.number(of: $0.origins, counters))
    }
    try runs.change(about: division.changed) { row, others in
      others.reduce(row) { $1.rollingStart == row.rollingStart ? ReleaseRow.row($0, releasedAgainAs: $1) : $0 }
    }
    try runs.add(division.new)
    try runs.merge(after: division.new.count)
    try moveToTable(division.odd, of: number, from: runs)
    try releaseInTable(division.odd, by: number)
  }

  /// A release that does not fit into a row takes the one with it that is there.
  private func moveToTable(_ odd: [ReleasedKey], of series: Int64, from runs: ClaimRuns) throws {
    for subject in odd.map(\.subject) {
      guard let row = try runs.rows(about: subject.key).first(where: { $0.subject == subject }) else { continue }
      try runs.change(subject.key) { $0.rollingStart == subject.rollingStart ? nil : $0 }
      try putIntoTable(row, of: series)
    }
  }

  /// - Returns: how many releases of this key data were there.
  func eraseReleases(of key: TemporaryExposureKey) throws -> Int {
    var count = 0
    for series in try seriesNumbers() {
      try releaseRuns(of: series).change(key, isErased: true) { _ in
        count += 1
        return nil
      }
    }
    return count
  }

  /// - Returns: how many were removed, and whether there are more.
  func expireReleases(endingBy end: Int64, limit: Int) throws -> (count: Int, isUnfinished: Bool) {
    var (count, isUnfinished) = (0, false)
    for series in try seriesNumbers() {
      let rest = try releaseRuns(of: series).expire(endingBy: end, limit: limit) { _ in count += 1 }
      isUnfinished = isUnfinished || rest
    }
    return (count, isUnfinished)
  }

  private func seriesNumbers() throws -> [Int64] {
    try database.rows("SELECT id FROM series ORDER BY id").map { try $0[0] }
  }
}
