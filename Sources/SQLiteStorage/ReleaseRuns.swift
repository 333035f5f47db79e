import ExposureKeys
import GRDB
import KeyNormalization
import KeyStorage

// What series have released, kept as claims are: in runs, in the order of key data, one set of them for each series; see
// ``ReleaseRow``. What does not fit into a row of a run, and what an earlier version wrote, is a row of the table `released`,
// which is empty mostly; each key is in one of both.

/// The numbers of the names whose opinions are in releases; 0 is nobody's.
final class ReleaseNames {
  private let database: Database
  private var texts: [Int64: String] = [:]
  /// What was asked last: many keys that follow each other have the same names.
  private var last: (number: Int64, origins: ReleasingOrigins)?
  private var numbers: [String: Int64] = [:]

  init(_ database: Database) { self.database = database }

  func origins(_ number: Int64) throws -> ReleasingOrigins? {
    if number == 0 { return nil }
    if let last, last.number == number { return last.origins }
    guard
      let text = try texts[number]
        ?? String.fetchOne(database, sql: "SELECT names FROM release_origins WHERE id = ?", arguments: [number])
    else { throw StorageFault(.corrupt, "a released key refers to names \(number), which are not in the store") }
    texts[number] = text
    let origins = ReleasingOrigins(text: text)
    last = (number, origins)
    return origins
  }

  func number(of origins: ReleasingOrigins?) throws -> Int64 {
    guard let text = origins?.text else { return 0 }
    if let number = numbers[text] { return number }
    try database.execute(sql: "INSERT OR IGNORE INTO release_origins (names) VALUES (?)", arguments: [text])
    let number = try Int64.fetchOne(database, sql: "SELECT id FROM release_origins WHERE names = ?", arguments: [text])
    numbers[text] = number
    return number ?? 0
  }
}

extension SQLiteTransaction {
  /// What a series has released.
  func releaseRuns(of series: Int64) throws -> ClaimRuns {
    if let known = releases[series] { return known }
    let read = try ClaimRuns(try SQLiteSegments(database, .released(series: series)), filters: isWriting ? [:] : nil)
    releases[series] = read
    return read
  }

  /// Whether releases of a series stand in the table as well.
  private func hasTable(of series: Int64) throws -> Bool {
    try Bool.fetchOne(
      try database.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM released WHERE series = ?)"),
      arguments: [series]) ?? false
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
    for bundle in Set(keys.map(\.bundle)) {
      let isThere = try Int.fetchOne(database, sql: "SELECT 1 FROM bundles WHERE id = ?", arguments: [bundle.rawValue])
      if isThere == nil { throw StorageFault.noBundle(bundle) }
    }
    if keys.isEmpty { return }
    let number = try interned(series, in: "series")
    let runs = try releaseRuns(of: number)
    let sorted = keys.sorted { $0.subject < $1.subject }
    let inTable =
      try hasTable(of: number) ? Set(try releasedInTable(by: number, about: sorted.keyData).map(\.subject)) : []
    let division = try ReleaseRow.Division(sorted, inTable: inTable, there: try runs.rows(about: sorted.keyData)) {
      ReleaseRow.row(of: $0, origins: try releaseNames.number(of: $0.origins))
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
    for series in try Int64.fetchAll(database, sql: "SELECT id FROM series") {
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
    for series in try Int64.fetchAll(database, sql: "SELECT id FROM series ORDER BY id") {
      let rest = try releaseRuns(of: series).expire(endingBy: end, limit: limit) { _ in count += 1 }
      isUnfinished = isUnfinished || rest
    }
    return (count, isUnfinished)
  }
}
