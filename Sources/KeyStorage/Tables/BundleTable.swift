package import ExposureKeys
internal import KeyNormalization

extension TableTransaction {
  package func bundles(of series: String?, in states: Set<BundleState>) throws -> [BundleRecord] {
    let ofSeries = series == nil ? "" : " AND bundles.series = (SELECT id FROM series WHERE name = $1)"
    let condition = "bundles.state IN \(words(states))\(ofSeries)"
    return try sql.rows(
      """
      SELECT bundles.id, series.name, ordinal, start_time, end_time, path, key_count, revised_key_count, byte_count,
        archive_digest, export_digest, key_id, key_version, published, kind, state, changed
      FROM bundles JOIN series ON series.id = bundles.series WHERE \(condition) ORDER BY bundles.id
      """, with: series.map { [.text($0)] } ?? []
    ).map(BundleRecord.init)
  }

  package func content(of bundle: BundleID) throws -> [UInt8]? {
    try sql.bytes(in: "bundle_contents", where: "bundle", is: bundle.rawValue)
  }

  package func stage(_ bundle: NewBundle, _ content: StoredBytes, at now: Instant) throws -> BundleRecord {
    let series = try interned(bundle.series, in: "series")
    let isTaken = try sql.row(
      "SELECT 1 FROM bundles WHERE series = $1 AND kind = $2 AND ordinal = $3", series, bundle.kind.rawValue,
      bundle.ordinal)
    if isTaken != nil { throw StorageFault.placeTaken(bundle) }
    let id = BundleID(rawValue: try sql.nextNumber(of: "bundles"))
    try sql.run(
      """
      INSERT INTO bundles (id, series, kind, ordinal, start_time, end_time, path, key_count, revised_key_count, byte_count,
        archive_digest, export_digest, key_id, key_version, state, changed)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 'staged', $15)
      """,
      id.rawValue, series, bundle.kind.rawValue, bundle.ordinal, bundle.start, bundle.end, bundle.path, bundle.keyCount,
      bundle.revisedKeyCount, bundle.byteCount, bundle.archiveDigest, bundle.exportDigest, bundle.keyID,
      bundle.keyVersion, now)
    try sql.insert(into: "bundle_contents", ["bundle"], [.int(id.rawValue)], bytes: content)
    return BundleRecord(id: id, bundle: bundle, state: .staged, changed: now, published: nil)
  }

  package func move(_ bundle: BundleID, to state: BundleState, at now: Instant) throws {
    let changed = try sql.run(
      """
      UPDATE bundles SET state = $1, changed = $2,
        published = CASE WHEN $1 = 'published' THEN coalesce(published, $2) ELSE published END
      WHERE id = $3
      """, state.rawValue, now, bundle.rawValue)
    if changed == 0 { throw StorageFault.noBundle(bundle) }
    if state != .staged {
      try sql.run("DELETE FROM bundle_contents WHERE bundle = $1", bundle.rawValue)
    }
  }

  // MARK: Recipes

  package func recipe(of bundle: BundleID) throws -> StagedRecipe? {
    let row = try sql.row(
      """
      SELECT stagings.event AS event, events.time AS time, stagings.first_bundle AS first,
        stagings.last_bundle AS last, stagings.recipe AS round,
        recipes.recipe AS own
      FROM recipes JOIN stagings ON stagings.event = recipes.staging JOIN events ON events.id = stagings.event
      WHERE recipes.bundle = $1
      """, bundle.rawValue)
    return try row.map { row in
      StagedRecipe(
        event: EventStamp(id: EventID(rawValue: try row["event"]), time: try row["time"]),
        first: BundleID(rawValue: try row["first"]), last: BundleID(rawValue: try row["last"]),
        round: try row["round"], bundle: try row["own"])
    }
  }

  package func keep(_ recipe: NewRecipe, of bundles: [BundleID], stagedIn event: EventStamp) throws {
    guard let first = bundles.first, let last = bundles.last else { return }
    try sql.run(
      "INSERT INTO stagings (event, first_bundle, last_bundle, recipe) VALUES ($1, $2, $3, $4)", event.id.rawValue,
      first.rawValue, last.rawValue, recipe.round)
    try sql.insert(
      into: "recipes", ["bundle", "staging", "recipe"],
      zip(bundles, recipe.bundles).map { [.int($0.rawValue), .int(event.id.rawValue), .bytes($1)] })
  }

  // MARK: Released keys

  func released(
    by series: Int64, from start: TemporaryExposureKey, limit: Int, before bundle: BundleID?
  ) throws -> [ReleasedKey] {
    let values: [any SQLArgument] = [series, start, max(0, limit)] + (bundle.map { [$0.rawValue] } ?? [])
    let rows = try sql.rows(
      """
      \(releasedColumns), revision_bundle, earlier
      FROM released WHERE series = $1 AND key >= $2\(bundle == nil ? "" : " AND coalesce(first_bundle, bundle) < $4")
      ORDER BY key, rolling_start LIMIT $3
      """, with: values.map(\.sqlValue))
    return try rows.map { row in
      let released = try ReleasedKey(row)
      let (revision, earlier): (Int64?, String?) = (try row["revision_bundle"], try row["earlier"])
      guard let bundle, let revision, let earlier, revision >= bundle.rawValue else { return released }
      return try released.before(earlier)
    }
  }

  func released(by series: Int64, about keys: [TemporaryExposureKey]) throws -> [ReleasedKey] {
    var found: [ReleasedKey] = []
    try sql.inParts(keys.map(\.sqlValue), behind: 1) { list, part in
      try sql.each(
        "\(releasedColumns) FROM released WHERE series = $1 AND key IN \(list) ORDER BY key, rolling_start",
        with: [.int(series)] + part
      ) { found.append(try ReleasedKey($0)) }
    }
    return found
  }

  /// The first bundle with which a series has released a key, the last one, and the one that revised it; empty where the table
  /// does not have it.
  func bundles(releasedBy series: Int64, about subject: KeySubject) throws -> Set<BundleID> {
    let row = try sql.rows(
      "SELECT bundle, first_bundle, revision_bundle FROM released WHERE series = $1 AND key = $2 AND rolling_start = $3",
      series, subject.key.bytes, subject.rollingStart
    ).first
    guard let row else { return [] }
    let numbers: [Int64?] = [try row[0], try row[1], try row[2]]
    return Set(numbers.compactMap(\.self).map(BundleID.init))
  }

  /// - Parameter keys: each once.
  func write(_ keys: [ReleasedKey], releasedBy series: Int64) throws {
    try sql.insert(
      into: "released",
      [
        "series", "key", "rolling_start", "rolling_period", "transmission_risk", "report_type", "days_since_onset",
        "fields",
        "bundle", "revisions", "origins",
      ],
      keys.map { released in
        let key = released.key
        return [
          .int(series), key.key.sqlValue, key.rollingStartWord.sqlValue, key.rollingPeriodWord.sqlValue,
          key.transmissionRiskWord.sqlValue, key.reportTypeWord.sqlValue, key.daysSinceOnsetWord.sqlValue,
          .int(Int64(key.fields.rawValue)), .int(released.bundle.rawValue), released.revisions.sqlValue,
          .text(released.origins?.text),
        ]
      },
      """
      ON CONFLICT (series, key, rolling_start) DO UPDATE SET rolling_period = excluded.rolling_period,
        transmission_risk = excluded.transmission_risk, report_type = excluded.report_type,
        days_since_onset = excluded.days_since_onset, fields = excluded.fields, bundle = excluded.bundle,
        revisions = excluded.revisions, first_bundle = coalesce(released.first_bundle, released.bundle),
        revision_bundle = CASE WHEN excluded.revisions > released.revisions THEN excluded.bundle
          ELSE released.revision_bundle END,
        earlier = CASE WHEN excluded.revisions > released.revisions
          THEN released.rolling_period || ',' || released.transmission_risk || ',' || released.report_type || ','
            || released.days_since_onset || ',' || released.fields
          ELSE released.earlier END
      """)
  }
}

private let releasedColumns = """
  SELECT key, rolling_start, rolling_period, transmission_risk, report_type, days_since_onset, fields, bundle, revisions,
    origins
  """

/// In seconds: beyond every time that is written.
private let latestTime: Int64 = 1 << 40

extension ReleasedKey {
  fileprivate init(_ row: SQLRow) throws {
    let key = ClaimedKey(
      key: try row[0], rollingStartWord: try row[1], rollingPeriodWord: try row[2], transmissionRiskWord: try row[3],
      reportTypeWord: try row[4], daysSinceOnsetWord: try row[5],
      fields: KeyFields(rawValue: UInt32(truncatingIfNeeded: try row[6] as Int64)))
    let origins: String? = try row[9]
    self.init(
      key: key, bundle: BundleID(rawValue: try row[7]), revisions: try row[8],
      origins: origins.map(ReleasingOrigins.init(text:)))
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

extension BundleRecord {
  fileprivate init(_ row: SQLRow) throws {
    let bundle = NewBundle(
      series: try row[1], kind: try row.choice("kind"), ordinal: try row[2], start: try row[3], end: try row[4],
      path: try row[5], keyCount: try row[6], revisedKeyCount: try row[7], byteCount: try row[8],
      archiveDigest: try row[9], exportDigest: try row[10], keyID: try row[11], keyVersion: try row[12])
    // It is a file in the publication folder, which is removed when its time is over.
    let parts = bundle.path.split(separator: "/", omittingEmptySubsequences: false)
    if bundle.path.contains("\0") || parts.contains(where: { ["", ".", ".."].contains($0) }) {
      throw StorageFault(
        .corrupt,
        "the column path of bundles has \(bundle.path.prefix(80)), allowed is a path in the publication folder")
    }
    for time in [bundle.start, bundle.end] where !(0..<latestTime).contains(time) {
      throw StorageFault(.corrupt, "a bundle of the store has the time \(time), allowed 0..<\(latestTime)")
    }
    self.init(
      id: BundleID(rawValue: try row[0]), bundle: bundle, state: try row.choice("state"), changed: try row[16],
      published: try row[13])
  }
}
