import ExposureKeys
import KeyNormalization
import KeyStorage
import SQLite

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

  // MARK: Recipes

  func recipe(of bundle: BundleID) throws -> StagedRecipe? {
    let row = try Row.fetchOne(
      database,
      sql: """
        SELECT stagings.event AS event, events.time AS time, stagings.first_bundle AS first,
          stagings.last_bundle AS last, stagings.recipe AS round,
          recipes.recipe AS own
        FROM recipes JOIN stagings ON stagings.event = recipes.staging JOIN events ON events.id = stagings.event
        WHERE recipes.bundle = ?
        """, arguments: [bundle.rawValue])
    return try row.map { row in
      try StagedRecipe(
        event: EventStamp(id: EventID(rawValue: row["event"]), time: row.time("time")),
        first: BundleID(rawValue: row["first"]), last: BundleID(rawValue: row["last"]),
        round: row["round"], bundle: row["own"])
    }
  }

  func keep(_ recipe: NewRecipe, of bundles: [BundleID], stagedIn event: EventStamp) throws {
    guard let first = bundles.first, let last = bundles.last else { return }
    try database.execute(
      sql: "INSERT INTO stagings (event, first_bundle, last_bundle, recipe) VALUES (?, ?, ?, ?)",
      arguments: [event.id.rawValue, first.rawValue, last.rawValue, recipe.round])
    for (bundle, own) in zip(bundles, recipe.bundles) {
      try database.execute(
        sql: "INSERT INTO recipes (bundle, staging, recipe) VALUES (?, ?, ?)",
        arguments: [bundle.rawValue, event.id.rawValue, own])
    }
  }

  // MARK: Released keys in a table

  func releasedInTable(
    by series: Int64, from start: TemporaryExposureKey, limit: Int, before bundle: BundleID?
  ) throws -> [ReleasedKey] {
    let statement = try RawStatement(
      database,
      """
      \(Self.releasedColumns)\(bundle == nil ? "" : ", revision_bundle, earlier")
      FROM released WHERE series = ? AND key >= ?\(bundle == nil ? "" : " AND ifnull(first_bundle, bundle) < ?4")
      ORDER BY key, rolling_start LIMIT ?3
      """)
    defer { statement.reset() }
    return try withBytes(of: start) { bytes in
      statement.bind(series, at: 1)
      statement.bind(key: bytes, at: 2)
      statement.bind(Int64(max(0, limit)), at: 3)
      if let bundle { statement.bind(bundle.rawValue, at: 4) }
      var keys: [ReleasedKey] = []
      while try statement.step() {
        let released = try ReleasedKey(statement)
        if let bundle, let earlier = statement.text(at: 11), statement.int(at: 10) >= bundle.rawValue {
          keys.append(try released.before(earlier))
        } else {
          keys.append(released)
        }
      }
      return keys
    }
  }

  func releasedInTable(by series: Int64, about keys: [TemporaryExposureKey]) throws -> [ReleasedKey] {
    let statement = try RawStatement(
      database, "\(Self.releasedColumns) FROM released WHERE series = ? AND key = ? ORDER BY rolling_start")
    defer { statement.reset() }
    statement.bind(series, at: 1)
    var found: [ReleasedKey] = []
    for key in keys {
      try withBytes(of: key) { bytes in
        statement.bind(key: bytes, at: 2)
        while try statement.step() { found.append(try ReleasedKey(statement)) }
        statement.reset()
      }
    }
    return found
  }

  func bundlesInTable(by series: Int64, about subject: KeySubject) throws -> Set<BundleID> {
    let statement = try RawStatement(
      database,
      "SELECT bundle, first_bundle, revision_bundle FROM released WHERE series = ? AND key = ? AND rolling_start = ?")
    defer { statement.reset() }
    return try withBytes(of: subject.key) { bytes in
      statement.bind(series, at: 1)
      statement.bind(key: bytes, at: 2)
      statement.bind(subject.rollingStart, at: 3)
      guard try statement.step() else { return [] }
      // Numbers begin with 1, and 0 is read where there is none.
      return Set((0..<3).map { BundleID(rawValue: statement.int(at: $0)) }.filter { $0.rawValue != 0 })
    }
  }

  private static let releasedColumns = """
    SELECT key, rolling_start, rolling_period, transmission_risk, report_type, days_since_onset, fields, bundle, revisions,
      origins
    """

  func releaseInTable(_ keys: [ReleasedKey], by series: Int64) throws {
    if keys.isEmpty { return }
    let statement = try RawStatement(
      database,
      """
      INSERT INTO released (series, key, rolling_start, rolling_period, transmission_risk, report_type,
        days_since_onset, fields, bundle, revisions, origins)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (series, key, rolling_start) DO UPDATE SET rolling_period = excluded.rolling_period,
        transmission_risk = excluded.transmission_risk, report_type = excluded.report_type,
        days_since_onset = excluded.days_since_onset, fields = excluded.fields, bundle = excluded.bundle,
        revisions = excluded.revisions, first_bundle = ifnull(first_bundle, bundle),
        revision_bundle = CASE WHEN excluded.revisions > revisions THEN excluded.bundle ELSE revision_bundle END,
        earlier = CASE WHEN excluded.revisions > revisions
          THEN printf('%d,%d,%d,%d,%d', rolling_period, transmission_risk, report_type, days_since_onset, fields)
          ELSE earlier END
      """)
    statement.bind(series, at: 1)
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

  /// A row of a run becomes one of the table.
  func putIntoTable(_ row: ClaimRow, of series: Int64) throws {
    let now = try ReleaseRow.release(of: row, before: nil, releaseNames.origins)
    try releaseInTable([now], by: series)
    let earlier = ReleaseRow.earlier(of: row)
    let words = earlier.map {
      "\($0.rollingPeriodWord),\($0.transmissionRiskWord),\($0.reportTypeWord),\($0.daysSinceOnsetWord),\($0.fields.rawValue)"
    }
    let statement = try RawStatement(
      database,
      """
      UPDATE released SET first_bundle = nullif(?4, 0), revision_bundle = nullif(?5, 0), earlier = ?6
      WHERE series = ?1 AND key = ?2 AND rolling_start = ?3
      """)
    _ = try withBytes(of: row.key) { bytes in
      statement.bind(series, at: 1)
      statement.bind(key: bytes, at: 2)
      statement.bind(row.rollingStart, at: 3)
      statement.bind(row.regions, at: 4)
      statement.bind(row.recall, at: 5)
      return try statement.bind(text: words, at: 6) { try statement.run() }
    }
  }
}

extension ReleasedKey {
  fileprivate init(_ statement: RawStatement) throws {
    let key = ClaimedKey(
      key: try statement.key(at: 0), rollingStartWord: statement.int32(at: 1),
      rollingPeriodWord: statement.int32(at: 2), transmissionRiskWord: statement.int32(at: 3),
      reportTypeWord: statement.int32(at: 4), daysSinceOnsetWord: statement.int32(at: 5),
      fields: KeyFields(rawValue: UInt32(truncatingIfNeeded: statement.int(at: 6))))
    self.init(
      key: key, bundle: BundleID(rawValue: statement.int(at: 7)), revisions: statement.int32(at: 8),
      origins: statement.text(at: 9).map(ReleasingOrigins.init(text:)))
  }

  /// As it was before its revision.
  fileprivate func before(_ text: String) throws -> ReleasedKey {
    let words = text.split(separator: ",").compactMap { Int32($0) }
    guard words.count == 5 else {
      throw StorageFault(.corrupt, "what a key was before its revision cannot be read")
    }
    var earlier = self
    earlier.key = ClaimedKey(
      key: key.key, rollingStartWord: key.rollingStartWord, rollingPeriodWord: words[0], transmissionRiskWord: words[1],
      reportTypeWord: words[2], daysSinceOnsetWord: words[3],
      fields: KeyFields(rawValue: UInt32(bitPattern: words[4])))
    earlier.revisions = 0
    return earlier
  }
}

/// In seconds: beyond every time that is written.
private let latest: Int64 = 1 << 40

extension BundleRecord {
  /// Numbers and not names: a name is looked for in the whole row.
  fileprivate init(_ row: Row) throws {
    for place in [3, 4] {
      let time: Int64 = try row[place]
      guard (0..<latest).contains(time) else {
        throw StorageFault(.corrupt, "a bundle of the store has the time \(time), allowed 0..<\(latest)")
      }
    }
    let bundle = try NewBundle(
      series: row[1], kind: row.choice("kind"), ordinal: row[2], start: row[3], end: row[4], path: row[5],
      keyCount: row[6], revisedKeyCount: row[7], byteCount: row[8], archiveDigest: row[9], exportDigest: row[10],
      keyID: row[11], keyVersion: row[12])
    let published: Int64? = try row[13]
    try self.init(
      id: BundleID(rawValue: row[0]), bundle: bundle, state: row.choice("state"),
      changed: Instant(secondsSince1970: row[16]), published: published.map(Instant.init(secondsSince1970:)))
  }
}
