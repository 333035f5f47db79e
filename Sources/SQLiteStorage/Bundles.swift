import ExposureKeys
import GRDB
import KeyStorage

extension SQLiteTransaction {
  func bundles(of series: String?, in states: Set<BundleState>) throws -> [BundleRecord] {
    var condition = "bundles.state IN (\(states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")))"
    var arguments: StatementArguments = []
    if let series {
      condition += " AND bundles.series = (SELECT id FROM series WHERE name = ?)"
      arguments += [series]
    }
    // Each round asks for all bundles several times.
    let statement = try database.cachedStatement(
      sql: """
        SELECT bundles.id, series.name, ordinal, start_time, end_time, path, key_count, revised_key_count, byte_count,
          archive_digest, export_digest, key_id, key_version, published, kind, state, changed
        FROM bundles JOIN series ON series.id = bundles.series WHERE \(condition) ORDER BY bundles.id
        """)
    return try Row.fetchAll(statement, arguments: arguments).map(BundleRecord.init)
  }

  func content(of bundle: BundleID) throws -> [UInt8]? {
    try database.storedBytes(of: bundle.rawValue, in: .bundleContents)
  }

  func stage(_ bundle: NewBundle, _ content: StoredBytes, at now: Instant) throws -> BundleRecord {
    let series = try interned(bundle.series, in: "series")
    try database.execute(
      sql: """
        INSERT INTO bundles (series, kind, ordinal, start_time, end_time, path, key_count, revised_key_count, byte_count,
          archive_digest, export_digest, key_id, key_version, state, changed)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'staged', ?) ON CONFLICT (series, kind, ordinal) DO NOTHING
        """,
      arguments: [
        series, bundle.kind.rawValue, bundle.ordinal, bundle.start, bundle.end, bundle.path, bundle.keyCount,
        bundle.revisedKeyCount, bundle.byteCount, bundle.archiveDigest, bundle.exportDigest, bundle.keyID,
        bundle.keyVersion, now.secondsSince1970,
      ])
    if database.changesCount == 0 { throw StorageFault.placeTaken(bundle) }
    let id = BundleID(rawValue: database.lastInsertedRowID)
    let statement = try RawStatement(database, "INSERT INTO bundle_contents (bundle, bytes) VALUES (?, ?)")
    statement.bind(id.rawValue, at: 1)
    statement.bind(zeroBytes: content.count, at: 2)
    _ = try statement.run()
    try database.fill(.bundleContents, id.rawValue, with: content)
    return BundleRecord(id: id, bundle: bundle, state: .staged, changed: now, published: nil)
  }

  func move(_ bundle: BundleID, to state: BundleState, at now: Instant) throws {
    try database.execute(
      sql: """
        UPDATE bundles SET state = :state, changed = :now,
          published = CASE WHEN :state = 'published' THEN ifnull(published, :now) ELSE published END
        WHERE id = :id
        """, arguments: ["state": state.rawValue, "now": now.secondsSince1970, "id": bundle.rawValue])
    if database.changesCount == 0 { throw StorageFault.noBundle(bundle) }
    if state != .staged {
      try database.execute(sql: "DELETE FROM bundle_contents WHERE bundle = ?", arguments: [bundle.rawValue])
    }
  }

  // MARK: Released keys

  func released(by series: String, from start: TemporaryExposureKey, limit: Int) throws -> [ReleasedKey] {
    guard let number = try numbered(series, in: "series") else { return [] }
    let statement = try RawStatement(
      database,
      """
      SELECT key, rolling_start, rolling_period, transmission_risk, report_type, days_since_onset, fields, bundle,
        revisions, origins
      FROM released WHERE series = ? AND key >= ? ORDER BY key, rolling_start LIMIT ?
      """)
    defer { statement.reset() }
    return try withBytes(of: start) { bytes in
      statement.bind(number, at: 1)
      statement.bind(key: bytes, at: 2)
      statement.bind(Int64(max(0, limit)), at: 3)
      var keys: [ReleasedKey] = []
      while try statement.step() {
        let key = ClaimedKey(
          key: try statement.key(at: 0), rollingStartWord: statement.int32(at: 1),
          rollingPeriodWord: statement.int32(at: 2), transmissionRiskWord: statement.int32(at: 3),
          reportTypeWord: statement.int32(at: 4), daysSinceOnsetWord: statement.int32(at: 5),
          fields: KeyFields(rawValue: UInt32(truncatingIfNeeded: statement.int(at: 6))))
        keys.append(
          ReleasedKey(
            key: key, bundle: BundleID(rawValue: statement.int(at: 7)), revisions: statement.int32(at: 8),
            origins: statement.text(at: 9).map(ReleasingOrigins.init(text:))))
      }
      return keys
    }
  }

  func release(_ keys: [ReleasedKey], by series: String) throws {
    for bundle in Set(keys.map(\.bundle)) {
      let isThere = try Int.fetchOne(database, sql: "SELECT 1 FROM bundles WHERE id = ?", arguments: [bundle.rawValue])
      if isThere == nil { throw StorageFault.noBundle(bundle) }
    }
    let number = try interned(series, in: "series")
    let statement = try RawStatement(
      database,
      """
      INSERT INTO released (series, key, rolling_start, rolling_period, transmission_risk, report_type,
        days_since_onset, fields, bundle, revisions, origins)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (series, key, rolling_start) DO UPDATE SET rolling_period = excluded.rolling_period,
        transmission_risk = excluded.transmission_risk, report_type = excluded.report_type,
        days_since_onset = excluded.days_since_onset, fields = excluded.fields, bundle = excluded.bundle,
        revisions = excluded.revisions
      """)
    statement.bind(number, at: 1)
    for released in keys.sorted(by: { $0.key.key < $1.key.key }) {
      let key = released.key
      _ = try withBytes(of: key.key) { bytes in
        statement.bind(key: bytes, at: 2)
        statement.bind(key.rollingStartWord, at: 3)
        statement.bind(key.rollingPeriodWord, at: 4)
        statement.bind(key.transmissionRiskWord, at: 5)
        statement.bind(key.reportTypeWord, at: 6)
        statement.bind(key.daysSinceOnsetWord, at: 7)
        statement.bind(Int64(key.fields.rawValue), at: 8)
        statement.bind(released.bundle.rawValue, at: 9)
        statement.bind(released.revisions, at: 10)
        return try statement.bind(text: released.origins?.text, at: 11) { try statement.run() }
      }
    }
  }
}

extension BundleRecord {
  /// Numbers and not names: a name is looked for in the whole row.
  fileprivate init(_ row: Row) throws {
    let bundle = NewBundle(
      series: row[1], kind: try row.choice("kind"), ordinal: row[2], start: row[3], end: row[4], path: row[5],
      keyCount: row[6], revisedKeyCount: row[7], byteCount: row[8], archiveDigest: row[9], exportDigest: row[10],
      keyID: row[11], keyVersion: row[12])
    let published: Int64? = row[13]
    self.init(
      id: BundleID(rawValue: row[0]), bundle: bundle, state: try row.choice("state"),
      changed: Instant(secondsSince1970: row[16]), published: published.map(Instant.init(secondsSince1970:)))
  }
}
