package import ExposureKeys
package import KeyNormalization

extension TableTransaction {
  package func released(
    by series: String, from start: TemporaryExposureKey, limit: Int, before bundle: BundleID?
  ) throws -> [ReleasedKey] {
    guard limit > 0, let number = try knownNumber(ofSeries: series) else { return [] }
    return try released(by: number, from: start, limit: limit, before: bundle)
  }

  package func released(by series: String, about keys: [TemporaryExposureKey]) throws -> [ReleasedKey] {
    guard let number = try knownNumber(ofSeries: series) else { return [] }
    return try released(by: number, about: keys)
  }

  /// - Throws: ``StorageFault`` `notFound` where one of the bundles is not there.
  package func release(_ keys: [ReleasedKey], by series: String) throws {
    for bundle in Set(keys.map(\.bundle)).sorted() {
      let isThere = try sql.row("SELECT 1 FROM bundles WHERE id = $1", bundle.rawValue) != nil
      if !isThere { throw StorageFault.noBundle(bundle) }
    }
    if keys.isEmpty { return }
    let number = try number(ofSeries: series)
    // A statement writes each key once, so a later release of the same key needs another statement.
    var rest = keys
    while !rest.isEmpty {
      var (first, later): ([ReleasedKey], [ReleasedKey]) = ([], [])
      var seen: Set<KeySubject> = []
      for key in rest { if seen.insert(key.subject).inserted { first.append(key) } else { later.append(key) } }
      try write(first.sorted { $0.subject < $1.subject }, releasedBy: number)
      rest = later
    }
  }
}

extension ReleasedKey {
  /// What it is about.
  package var subject: KeySubject { KeySubject(key: key.key, rollingStart: key.rollingStartWord) }
}
