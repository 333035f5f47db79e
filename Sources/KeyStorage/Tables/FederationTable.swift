package import ExposureKeys
internal import KeyNormalization

extension TableTransaction {
  package func federationUpload(tagged tag: String, of country: String?) throws -> FederationUpload? {
    try sql.row("\(uploadColumns) WHERE tag = $1 AND ($2 IS NULL OR country = $2) ORDER BY id", tag, country)
      .map(FederationUpload.init)
  }

  package func knownFederationRows(_ rows: [[UInt8]]) throws -> Set<Int> {
    var known: Set<[UInt8]> = []
    try sql.inParts(rows.map(\.sqlValue)) { list, part in
      try sql.each("SELECT digest FROM federation_rows WHERE digest IN \(list)", with: part) { known.insert(try $0[0]) }
    }
    return Set(rows.indices.filter { known.contains(rows[$0]) })
  }

  package func waitingFederationUploads(limit: Int) throws -> [FederationUpload] {
    let reasons = FederationHolds.reasons.map { "'\($0.rawValue)'" }.joined(separator: ", ")
    return try sql.rows(
      """
      \(uploadColumns) WHERE batch IS NULL AND withdrawal IS NULL AND key_count > 0
        AND NOT EXISTS (
          SELECT 1 FROM held WHERE held.document = federation_uploads.document AND held.reason IN (\(reasons)))
        AND NOT EXISTS (SELECT 1 FROM pauses WHERE kind = 'origin' AND name = country)
        AND NOT EXISTS (
          SELECT 1 FROM documents JOIN sources ON sources.id = documents.source
            JOIN pauses ON pauses.kind = 'source' AND pauses.name = sources.name
          WHERE documents.id = federation_uploads.document)
      ORDER BY id LIMIT $1
      """, max(0, limit)
    ).map(FederationUpload.init)
  }

  package func federationUpload(of document: DocumentID) throws -> FederationUpload? {
    try sql.row("\(uploadColumns) WHERE document = $1 ORDER BY id", document.rawValue).map(
      FederationUpload.init)
  }

  package func unbatchedFederationUploads() throws -> (uploads: Int, keys: Int) {
    let row = try sql.row(
      """
      SELECT count(*) AS uploads, CAST(coalesce(sum(key_count), 0) AS bigint) AS keys FROM federation_uploads
        WHERE batch IS NULL AND withdrawal IS NULL AND key_count > 0
      """)
    return try row.map { (try $0["uploads"], try $0["keys"]) } ?? (0, 0)
  }

  package func federationBatch(_ id: FederationBatchID) throws -> FederationBatch? {
    try federationBatch("id = $1", id.rawValue)
  }

  package func federationUploads(in batch: FederationBatchID) throws -> [FederationUpload] {
    try sql.rows("\(uploadColumns) WHERE batch = $1 ORDER BY id", batch.rawValue)
      .map(FederationUpload.init)
  }

  package func federationKeys(of upload: FederationUploadID) throws -> [UInt8]? {
    try sql.value("SELECT keys FROM federation_uploads WHERE id = $1", upload.rawValue)
  }

  package func federationBatch(of day: Day, number: Int) throws -> FederationBatch? {
    try federationBatch("day = $1 AND number = $2", day.daysSince1970, number)
  }

  package func firstFederationBatch(since day: Day) throws -> FederationBatch? {
    try federationBatch("day >= $1 ORDER BY id", day.daysSince1970)
  }

  package func federationBatch(behind batch: FederationBatchID) throws -> FederationBatch? {
    try federationBatch("id > $1 ORDER BY id", batch.rawValue)
  }

  package func lastFederationBatch() throws -> FederationBatch? { try federationBatch("true ORDER BY id DESC") }

  package func federationDays(since day: Day) throws -> [FederationDay] {
    try sql.rows("SELECT * FROM federation_days WHERE day >= $1 ORDER BY day, country", day.daysSince1970).map {
      FederationDay(
        day: Day(daysSince1970: try $0["day"]), country: try $0["country"], uploads: try $0["uploads"],
        keys: try $0["keys"])
    }
  }

  // MARK: Changes

  package func add(_ upload: NewFederationUpload, as document: DocumentID, at now: Instant) throws -> FederationUpload {
    try requireDocument(document)
    let number = try sql.nextNumber(of: "federation_uploads")
    try sql.run(
      """
      INSERT INTO federation_uploads
        (id, document, country, tag, signature, canonical, time, until, key_count, audit, keys)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
      """,
      number, document.rawValue, upload.country, upload.tag, upload.signatureDigest, upload.canonicalDigest,
      now, upload.until, upload.rows.count, upload.audit, upload.keys)
    try sql.insert(into: "federation_rows", ["digest", "upload"], upload.rows.map { [.bytes($0), .int(number)] })
    try sql.run(
      """
      INSERT INTO federation_days (day, country, uploads, keys) VALUES ($1, $2, 1, $3)
        ON CONFLICT (day, country) DO UPDATE SET uploads = federation_days.uploads + 1,
          keys = federation_days.keys + excluded.keys
      """, now.day.daysSince1970, upload.country, upload.rows.count)
    return FederationUpload(
      id: FederationUploadID(rawValue: number), document: document, country: upload.country, tag: upload.tag,
      signatureDigest: upload.signatureDigest, canonicalDigest: upload.canonicalDigest, time: now,
      keyCount: upload.rows.count, audit: upload.audit)
  }

  package func addFederationBatch(
    of uploads: [FederationUploadID], on day: Day, until end: Instant, at now: Instant
  ) throws -> FederationBatch {
    let last: Int? = try sql.value("SELECT max(number) FROM federation_batches WHERE day = $1", day.daysSince1970)
    let number = (last ?? 0) + 1
    let id = try sql.nextNumber(of: "federation_batches")
    try sql.run(
      "INSERT INTO federation_batches (id, day, number, made, until) VALUES ($1, $2, $3, $4, $5)", id,
      day.daysSince1970, number, now, end)
    let batch = FederationBatch(
      id: FederationBatchID(rawValue: id), day: day, number: number, made: now)
    var changed = 0
    try sql.inParts(uploads.map(\.rawValue.sqlValue), behind: 2) { list, part in
      changed += try sql.run(
        "UPDATE federation_uploads SET batch = $1, until = $2 WHERE batch IS NULL AND id IN \(list)",
        with: [.int(id), end.sqlValue] + part)
    }
    guard changed == uploads.count else { throw StorageFault(.conflict, "an upload is in a batch already") }
    return batch
  }

  package func withdrawFederationUploads(
    _ uploads: FederationSelection, because reason: FederationUpload.Withdrawal
  ) throws {
    let update = "UPDATE federation_uploads SET withdrawal = $1 WHERE withdrawal IS NULL"
    switch uploads {
    case .document(let document):
      try sql.run("\(update) AND document = $2", reason.rawValue, document.rawValue)
    case .recalled(let request):
      try sql.run(
        """
        \(update) AND country = $2 AND ($3 IS NULL OR time >= $3)
          AND ($4 IS NULL OR document = $4)
          AND ($5 IS NULL OR document IN
            (SELECT documents.id FROM documents JOIN sources ON sources.id = documents.source
              WHERE sources.name = $5))
        """,
        reason.rawValue, request.origin.uppercased(), request.since, request.document?.rawValue,
        request.source)
    }
  }

  /// The uploads in which the key data stands lose their keys: what is left of one would not be what was signed. Their country
  /// may send the others again.
  package func eraseFederated(_ key: TemporaryExposureKey) throws {
    try sql.run(
      "UPDATE federation_uploads SET keys = NULL, withdrawal = 'erased' WHERE \(sql.dialect.holds("keys", "$1", areBytes: true))",
      key)
    try sql.run(
      "DELETE FROM federation_rows WHERE upload IN (SELECT id FROM federation_uploads WHERE withdrawal = 'erased')"
    )
  }

  package func expireFederated(at now: Instant) throws {
    let time = now
    try sql.run(
      "DELETE FROM federation_rows WHERE upload IN (SELECT id FROM federation_uploads WHERE until <= $1)", time)
    try sql.run("DELETE FROM federation_uploads WHERE until <= $1", time)
    try sql.run("DELETE FROM federation_batches WHERE until <= $1", time)
    try sql.run("DELETE FROM federation_days WHERE day <= $1", now.day.daysSince1970 - 400)
  }

  private func federationBatch(_ condition: String, _ values: any SQLArgument...) throws -> FederationBatch? {
    try sql.rows(
      "SELECT * FROM federation_batches WHERE \(condition) LIMIT 1", with: values.map(\.sqlValue)
    ).first.map {
      FederationBatch(
        id: FederationBatchID(rawValue: try $0["id"]), day: Day(daysSince1970: try $0["day"]), number: try $0["number"],
        made: try $0["made"])
    }
  }
}

/// Without the keys.
private let uploadColumns = """
  SELECT id, document, country, tag, signature, canonical, time, key_count, audit, batch, withdrawal
    FROM federation_uploads
  """

extension FederationUpload {
  fileprivate init(_ row: SQLRow) throws {
    let batch: Int64? = try row["batch"]
    let isWithdrawn: String? = try row["withdrawal"]
    self.init(
      id: FederationUploadID(rawValue: try row["id"]), document: DocumentID(rawValue: try row["document"]),
      country: try row["country"], tag: try row["tag"], signatureDigest: try row["signature"],
      canonicalDigest: try row["canonical"],
      time: try row["time"], keyCount: try row["key_count"], audit: try row["audit"],
      batch: batch.map(FederationBatchID.init),
      withdrawal: isWithdrawn == nil ? nil : try row.choice("withdrawal"))
  }
}
