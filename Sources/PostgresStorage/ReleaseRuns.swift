import ExposureKeys
import KeyStorage

// What series have released: see `ReleaseTables`. The table is in Bundles.swift.

extension ReleaseNames {
  /// - Parameter counters: `nil` for who only reads.
  convenience init(_ database: PostgresConnection, _ counters: Counters?) {
    self.init(
      text: { try database.value("SELECT names FROM release_origins WHERE id = $1", $0) },
      number: { text in
        let known: Int64? = try database.value("SELECT id FROM release_origins WHERE names = $1", text)
        if let known { return known }
        let number = try PostgresTransaction.writing(counters).next("release_origins")
        try database.run("INSERT INTO release_origins (id, names) VALUES ($1, $2)", number, text)
        return number
      })
  }
}

extension PostgresTransaction {
  func releaseRuns(of series: Int64) throws -> ClaimRuns {
    if let known = releases[series] { return known }
    let read = try ClaimRuns(segments(.released(series: series)), filters: isWriting ? [:] : nil)
    releases[series] = read
    return read
  }

  func hasReleasesInTable(of series: Int64) throws -> Bool {
    try database.row("SELECT 1 FROM released WHERE series = $1 LIMIT 1", series) != nil
  }

  func requireBundles(_ bundles: Set<BundleID>) throws {
    if bundles.isEmpty { return }
    let known: [Int64] = try database.rows(
      "SELECT id FROM bundles WHERE id = ANY ($1)", PostgresValue.ints(bundles.sorted().map(\.rawValue))
    ).map { try $0[0] }
    if let missing = bundles.sorted().first(where: { !known.contains($0.rawValue) }) {
      throw StorageFault.noBundle(missing)
    }
  }
}
