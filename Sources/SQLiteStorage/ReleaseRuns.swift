import ExposureKeys
import KeyStorage
import SQLite

// What series have released: see `ReleaseTables`. The table is in Bundles.swift.

extension ReleaseNames {
  convenience init(_ database: Database) {
    self.init(
      text: { try String.fetchOne(database, sql: "SELECT names FROM release_origins WHERE id = ?", arguments: [$0]) },
      number: { text in
        try database.execute(sql: "INSERT OR IGNORE INTO release_origins (names) VALUES (?)", arguments: [text])
        return try Int64.fetchOne(database, sql: "SELECT id FROM release_origins WHERE names = ?", arguments: [text])
          ?? 0
      })
  }
}

extension SQLiteTransaction {
  func releaseRuns(of series: Int64) throws -> ClaimRuns {
    if let known = releases[series] { return known }
    let read = try ClaimRuns(try SQLiteSegments(database, .released(series: series)), filters: isWriting ? [:] : nil)
    releases[series] = read
    return read
  }

  func hasReleasesInTable(of series: Int64) throws -> Bool {
    try Bool.fetchOne(
      try database.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM released WHERE series = ?)"),
      arguments: [series]) ?? false
  }

  func requireBundles(_ bundles: Set<BundleID>) throws {
    for bundle in bundles {
      let isThere = try Int.fetchOne(database, sql: "SELECT 1 FROM bundles WHERE id = ?", arguments: [bundle.rawValue])
      if isThere == nil { throw StorageFault.noBundle(bundle) }
    }
  }
}
