import ExposureKeys
import KeyNormalization
import KeyStorage

extension PostgresTransaction {
  func federationUpload(tagged tag: String, of country: String?) throws -> FederationUpload? {
    try database.row("\(Self.uploadColumns) WHERE tag = $1 AND ($2 IS NULL OR country = $2) ORDER BY id", tag, country)
      .map(FederationUpload.init)
  }

  func knownFederationRows(_ rows: [[UInt8]]) throws -> Set<Int> {
    let known: [[UInt8]] = try database.rows(
      "SELECT digest FROM federation_rows WHERE digest = ANY ($1)", PostgresValue.blobs(rows)
    ).map { try $0[0] }
    let digests = Set(known)
    return Set(rows.indices.filter { digests.contains(rows[$0]) })
  }

  func waitingFederationUploads(limit: Int) throws -> [FederationUpload] {
    let reasons = FederationHolds.reasons.map { "'\($0.rawValue)'" }.joined(separator: ", ")
    return try database.rows(
      """
      \(Self.uploadColumns) WHERE batch IS NULL AND withdrawal IS NULL AND key_count > 0
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

  func federationUpload(of document: DocumentID) throws -> FederationUpload? {
    try database.row("\(Self.uploadColumns) WHERE document = $1 ORDER BY id", document.rawValue).map(
      FederationUpload.init)
  }

  func unbatchedFederationUploads() throws -> (uploads: Int, keys: Int) {
    let row = try database.row(
      """
      SELECT count(*) AS uploads, coalesce(sum(key_count), 0)::bigint AS keys FROM federation_uploads
        WHERE batch IS NULL AND withdrawal IS NULL AND key_count > 0
      """)
    return try row.map { (try $0["uploads"], try $0["keys"]) } ?? (0, 0)
  }

  func federationBatch(_ id: FederationBatchID) throws -> FederationBatch? {
    try federationBatch("id = $1", [id.rawValue])
  }

  func federationUploads(in batch: FederationBatchID) throws -> [FederationUpload] {
    try database.rows("\(Self.uploadColumns) WHERE batch = $1 ORDER BY id", batch.rawValue)
      .map(FederationUpload.init)
  }

  func federationKeys(of upload: FederationUploadID) throws -> [UInt8]? {
    try database.value("SELECT keys FROM federation_uploads WHERE id = $1", upload.rawValue)
  }

  func federationBatch(of day: Day, number: Int) throws -> FederationBatch? {
    try federationBatch("day = $1 AND number = $2", [day.daysSince1970, number])
  }

  func firstFederationBatch(since day: Day) throws -> FederationBatch? {
    try federationBatch("day >= $1 ORDER BY id", [day.daysSince1970])
  }

  func federationBatch(behind batch: FederationBatchID) throws -> FederationBatch? {
    try federationBatch("id > $1 ORDER BY id", [batch.rawValue])
  }

  func lastFederationBatch() throws -> FederationBatch? { try federationBatch("true ORDER BY id DESC", []) }

  func federationDays(since day: Day) throws -> [FederationDay] {
    try database.rows("SELECT * FROM federation_days WHERE day >= $1 ORDER BY day, country", day.daysSince1970).map {
      FederationDay(
        day: Day(daysSince1970: try $0["day"]), country: try $0["country"], uploads: try $0["uploads"],
        keys: try $0["keys"])
    }
  }

  // MARK: Changes

  func add(_ upload: NewFederationUpload, as document: DocumentID, at now: Instant) throws -> FederationUpload {
    try requireDocument(document)
    let number = try counted("federation_uploads")
    try database.run(
      """
      INSERT INTO federation_uploads
        (id, document, country, tag, signature, canonical, time, until, key_count, audit, keys)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
      """,
      number, document.rawValue, upload.country, upload.tag, upload.signatureDigest, upload.canonicalDigest,
      now.secondsSince1970, upload.until.secondsSince1970, upload.rows.count, upload.audit, upload.keys)
    try database.run(
      "INSERT INTO federation_rows (digest, upload) SELECT digest, $2 FROM unnest($1) AS digest",
      PostgresValue.blobs(upload.rows), number)
    try database.run(
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

  func addFederationBatch(
    of uploads: [FederationUploadID], on day: Day, until end: Instant, at now: Instant
  ) throws -> FederationBatch {
    let last: Int? = try database.value("SELECT max(number) FROM federation_batches WHERE day = $1", day.daysSince1970)
    let number = (last ?? 0) + 1
    let id = try counted("federation_batches")
    try database.run(
      "INSERT INTO federation_batches (id, day, number, made, until) VALUES ($1, $2, $3, $4, $5)", id,
      day.daysSince1970, number, now.secondsSince1970, end.secondsSince1970)
    let batch = FederationBatch(
      id: FederationBatchID(rawValue: id), day: day, number: number, made: now)
    let changed = try database.run(
      "UPDATE federation_uploads SET batch = $1, until = $2 WHERE id = ANY ($3) AND batch IS NULL", id,
      end.secondsSince1970, PostgresValue.ints(uploads.map(\.rawValue)))
    guard changed == uploads.count else { throw StorageFault(.conflict, "an upload is in a batch already") }
    return batch
  }

  func withdrawFederationUploads(
    _ uploads: FederationSelection, because reason: FederationUpload.Withdrawal
  ) throws {
    let update = "UPDATE federation_uploads SET withdrawal = $1 WHERE withdrawal IS NULL"
    switch uploads {
    case .document(let document):
      try database.run("\(update) AND document = $2", reason.rawValue, document.rawValue)
    case .recalled(let request):
      try database.run(
        """
        \(update) AND country = $2 AND ($3 IS NULL OR time >= $3)
          AND ($4 IS NULL OR document = $4)
          AND ($5 IS NULL OR document IN
            (SELECT documents.id FROM documents JOIN sources ON sources.id = documents.source
              WHERE sources.name = $5))
        """,
        reason.rawValue, request.origin.uppercased(), request.since?.secondsSince1970, request.document?.rawValue,
        request.source)
    }
  }

  /// The uploads in which the key data stands lose their keys: what is left of one would not be what was signed. Their country
  /// may send the others again.
  func eraseFederated(_ key: TemporaryExposureKey) throws {
    try database.run(
      "UPDATE federation_uploads SET keys = NULL, withdrawal = 'erased' WHERE position($1 IN keys) > 0", key.bytes)
    try database.run(
      "DELETE FROM federation_rows WHERE upload IN (SELECT id FROM federation_uploads WHERE withdrawal = 'erased')"
    )
  }

  func expireFederated(at now: Instant) throws {
    let time = now.secondsSince1970
    try database.run(
      "DELETE FROM federation_rows WHERE upload IN (SELECT id FROM federation_uploads WHERE until <= $1)", time)
    try database.run("DELETE FROM federation_uploads WHERE until <= $1", time)
    try database.run("DELETE FROM federation_batches WHERE until <= $1", time)
    try database.run("DELETE FROM federation_days WHERE day <= $1", now.day.daysSince1970 - 400)
  }

  private func federationBatch(_ condition: String, _ arguments: [any PostgresArgument]) throws -> FederationBatch? {
    try database.row(
      "SELECT * FROM federation_batches WHERE \(condition) LIMIT 1", with: arguments
    ).map {
      FederationBatch(
        id: FederationBatchID(rawValue: try $0["id"]), day: Day(daysSince1970: try $0["day"]), number: try $0["number"],
        made: try $0["made"])
    }
  }

  /// Without the keys.
  private static let uploadColumns = """
    SELECT id, document, country, tag, signature, canonical, time, key_count, audit, batch, withdrawal
      FROM federation_uploads
    """
}

extension FederationUpload {
  fileprivate init(_ row: PostgresRow) throws {
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
