package import ExposureKeys
internal import KeyNormalization

extension ClaimTables {
  package func released(
    by series: String, from start: TemporaryExposureKey, limit: Int, before bundle: BundleID?
  ) throws -> [ReleasedKey] {
    guard limit > 0, let number = try knownNumber(ofSeries: series) else { return [] }
    var found: [ReleasedKey] = []
    let names = releaseNames
    var rows = try releaseRuns(of: number).rows(from: start)
    while found.count < limit, let row = try rows.next() {
      if let bundle, ReleaseRow.firstBundle(of: row) >= bundle { continue }
      found.append(try ReleaseRow.release(of: row, before: bundle, names.origins))
    }
    guard try hasReleasesInTable(of: number) else { return found }
    found += try releasedInTable(by: number, from: start, limit: limit, before: bundle)
    return Array(found.sorted { $0.subject < $1.subject }.prefix(limit))
  }

  package func released(by series: String, about keys: [TemporaryExposureKey]) throws -> [ReleasedKey] {
    guard let number = try knownNumber(ofSeries: series) else { return [] }
    let names = releaseNames
    var found = try releaseRuns(of: number).rows(about: keys).map {
      try ReleaseRow.release(of: $0, before: nil, names.origins)
    }
    guard try hasReleasesInTable(of: number) else { return found }
    found += try releasedInTable(by: number, about: keys)
    return found.sorted { $0.subject < $1.subject }
  }

  package func release(_ keys: [ReleasedKey], by series: String) throws {
    try requireBundles(Set(keys.map(\.bundle)))
    if keys.isEmpty { return }
    let number = try number(ofSeries: series)
    let runs = try releaseRuns(of: number)
    let sorted = keys.sorted { $0.subject < $1.subject }
    let inTable =
      try hasReleasesInTable(of: number)
      ? Set(try releasedInTable(by: number, about: sorted.keyData).map(\.subject)) : []
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
}
