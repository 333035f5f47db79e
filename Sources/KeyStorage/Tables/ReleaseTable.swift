internal import ExposureKeys
internal import KeyNormalization

// What series have released: see `ReleaseTables`. The table is in Bundles.swift.

extension ReleaseNames {
  package convenience init(_ sql: any SQLSession) {
    self.init(
      text: { try sql.value("SELECT names FROM release_origins WHERE id = $1", $0) },
      number: { text in
        let known: Int64? = try sql.value("SELECT id FROM release_origins WHERE names = $1", text)
        if let known { return known }
        let number = try sql.nextNumber(of: "release_origins")
        try sql.run("INSERT INTO release_origins (id, names) VALUES ($1, $2)", number, text)
        return number
      })
  }
}

extension ClaimTables {
  package func hasReleasesInTable(of series: Int64) throws -> Bool {
    try sql.row("SELECT 1 FROM released WHERE series = $1 LIMIT 1", series) != nil
  }

  /// - Throws: ``StorageFault`` `notFound` where one of the bundles is not there.
  package func requireBundles(_ bundles: Set<BundleID>) throws {
    for bundle in bundles.sorted() {
      let isThere = try sql.row("SELECT 1 FROM bundles WHERE id = $1", bundle.rawValue) != nil
      if !isThere { throw StorageFault.noBundle(bundle) }
    }
  }
}
