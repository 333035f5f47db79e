import ExposureKeys
import GRDB
import KeyNormalization
import KeyStorage

// What series have released, kept as claims are: in runs, in the order of key data, one set of them for each series. A
// release is a row of seven numbers. What does not fit into one, and what an earlier version wrote, is a row of the table
// `released`, which is empty mostly; each key is in one of both.

extension ClaimRow {
  /// A release as a row; `nil` where it does not fit.
  ///
  /// What was said stands in its place. `origin` has the number of the names whose opinions were in the first release, and
  /// the number of revisions in its lowest three bits; `source` the bundle, `regions` the first one where it is another,
  /// `arrival` what the first release said before the revision that bundle `recall` has.
  init?(_ released: ReleasedKey, origins: Int64) {
    let key = released.key
    guard let said = try? Statement(StatedFields(key)), said.claim(about: key.subjectOfRelease) == key,
      let bundle = Int32(exactly: released.bundle.rawValue), (0...7).contains(released.revisions), bundle >= 0,
      let numbers = Int32(exactly: origins << 3 | Int64(released.revisions)), numbers >= 0
    else { return nil }
    self.init(
      key: key.key, rollingStart: key.rollingStartWord, said: ClaimWords.pack(said), origin: numbers, source: bundle,
      regions: 0)
  }

  /// As a later bundle says it.
  func released(again other: ClaimRow) -> ClaimRow {
    var row = other
    // Whose opinions were in the first release stays.
    row.origin = origin & ~7 | other.origin & 7
    row.regions = regions == 0 ? source : regions
    (row.arrival, row.recall) = (arrival, recall)
    if other.origin & 7 > origin & 7 { (row.arrival, row.recall) = (said, other.source) }
    return row
  }

  var firstBundle: BundleID { BundleID(rawValue: Int64(regions == 0 ? source : regions)) }

  /// - Parameter bundle: as it was before this one; `nil` is now.
  func release(before bundle: BundleID?, _ names: ReleaseNames) throws -> ReleasedKey {
    var (said, revisions) = (ClaimWords.unpack(said), origin & 7)
    if let bundle, arrival != 0, Int64(recall) >= bundle.rawValue {
      (said, revisions) = (ClaimWords.unpack(arrival), 0)
    }
    return ReleasedKey(
      key: said.claim(about: subject), bundle: BundleID(rawValue: Int64(source)), revisions: revisions,
      origins: try names.origins(Int64(origin >> 3)))
  }
}

extension ClaimedKey {
  fileprivate var subjectOfRelease: KeySubject { KeySubject(key: key, rollingStart: rollingStartWord) }
}

/// The numbers of the names whose opinions are in releases; 0 is nobody's.
final class ReleaseNames {
  private let database: Database
  private var texts: [Int64: String] = [:]
  private var numbers: [String: Int64] = [:]

  init(_ database: Database) { self.database = database }

  func origins(_ number: Int64) throws -> ReleasingOrigins? {
    if number == 0 { return nil }
    if let text = texts[number] { return ReleasingOrigins(text: text) }
    guard
      let text = try String.fetchOne(
        database, sql: "SELECT names FROM release_origins WHERE id = ?", arguments: [number])
    else { throw StorageFault(.corrupt, "a released key refers to names \(number), which are not in the store") }
    texts[number] = text
    return ReleasingOrigins(text: text)
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
      if let bundle, row.firstBundle >= bundle { continue }
      found.append(try row.release(before: bundle, releaseNames))
    }
    guard try hasTable(of: number) else { return found }
    found += try releasedInTable(by: number, from: start, limit: limit, before: bundle)
    return Array(found.sorted { $0.key.subjectOfRelease < $1.key.subjectOfRelease }.prefix(limit))
  }

  func released(by series: String, about keys: [TemporaryExposureKey]) throws -> [ReleasedKey] {
    guard let number = try numbered(series, in: "series") else { return [] }
    var found = try releaseRuns(of: number).rows(about: keys).map { try $0.release(before: nil, releaseNames) }
    guard try hasTable(of: number) else { return found }
    found += try releasedInTable(by: number, about: keys)
    return found.sorted { $0.key.subjectOfRelease < $1.key.subjectOfRelease }
  }

  func release(_ keys: [ReleasedKey], by series: String) throws {
    for bundle in Set(keys.map(\.bundle)) {
      let isThere = try Int.fetchOne(database, sql: "SELECT 1 FROM bundles WHERE id = ?", arguments: [bundle.rawValue])
      if isThere == nil { throw StorageFault.noBundle(bundle) }
    }
    if keys.isEmpty { return }
    let number = try interned(series, in: "series")
    let runs = try releaseRuns(of: number)
    let sorted = keys.sorted { $0.key.subjectOfRelease < $1.key.subjectOfRelease }
    var inTable =
      try hasTable(of: number)
      ? Set(try releasedInTable(by: number, about: sorted.keyData).map(\.key.subjectOfRelease)) : []
    let there = try runs.rows(about: sorted.keyData)
    var (new, changed, odd): ([ClaimRow], [ClaimRow], [ReleasedKey]) = ([], [], [])
    var next = 0
    for released in sorted {
      let subject = released.key.subjectOfRelease
      guard !inTable.contains(subject),
        let row = ClaimRow(released, origins: try releaseNames.number(of: released.origins))
      else {
        odd.append(released)
        // What is said of it later in this release comes behind it.
        inTable.insert(subject)
        continue
      }
      while next < there.count, there[next].subject < subject { next += 1 }
      if let last = new.last, last.subject == subject {
        new[new.count - 1] = last.released(again: row)
      } else if next < there.count, there[next].subject == subject {
        changed.append(row)
      } else {
        new.append(row)
      }
    }
    try runs.change(about: changed) { row, others in
      others.reduce(row) { $1.rollingStart == row.rollingStart ? $0.released(again: $1) : $0 }
    }
    try runs.add(new)
    try runs.merge(after: new.count)
    try moveToTable(odd, of: number, from: runs)
    try releaseInTable(odd, by: number)
  }

  /// A release that does not fit into a row takes the one with it that is there.
  private func moveToTable(_ odd: [ReleasedKey], of series: Int64, from runs: ClaimRuns) throws {
    for released in odd {
      let subject = released.key.subjectOfRelease
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

extension [ReleasedKey] {
  /// Each once, where they stand in its order.
  fileprivate var keyData: [TemporaryExposureKey] {
    var keys: [TemporaryExposureKey] = []
    for released in self where keys.last != released.key.key { keys.append(released.key.key) }
    return keys
  }
}
