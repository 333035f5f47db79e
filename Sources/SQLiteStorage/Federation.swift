import ExposureKeys
import KeyNormalization
import KeyStorage
import SQLite

extension SQLiteTransaction {
  func federationUpload(tagged tag: String, of country: String?) throws -> FederationUpload? {
    try Row.fetchOne(
      database, sql: "\(Self.uploadColumns) WHERE tag = ? AND (?2 IS NULL OR country = ?2) ORDER BY id",
      arguments: [tag, country]
    ).map(FederationUpload.init)
  }

  func knownFederationRows(_ rows: [[UInt8]]) throws -> Set<Int> {
    let statement = try database.cachedStatement(sql: "SELECT 1 FROM federation_rows WHERE digest = ?")
    var known: Set<Int> = []
    for (index, row) in rows.enumerated() {
      if try Int.fetchOne(statement, arguments: [row]) != nil { known.insert(index) }
    }
    return known
  }

  func waitingFederationUploads(limit: Int) throws -> [FederationUpload] {
    let reasons = FederationHolds.reasons.map { "'\($0.rawValue)'" }.joined(separator: ", ")
    return try Row.fetchAll(
      database,
      sql: """
        \(Self.uploadColumns) WHERE batch IS NULL AND withdrawal IS NULL AND key_count > 0
          AND NOT EXISTS (
            SELECT 1 FROM held WHERE held.document = federation_uploads.document AND held.reason IN (\(reasons)))
          AND NOT EXISTS (SELECT 1 FROM pauses WHERE kind = 'origin' AND name = country)
          AND NOT EXISTS (
            SELECT 1 FROM documents JOIN sources ON sources.id = documents.source
              JOIN pauses ON pauses.kind = 'source' AND pauses.name = sources.name
            WHERE documents.id = federation_uploads.document)
        ORDER BY id LIMIT ?
        """, arguments: [max(0, limit)]
    ).map(FederationUpload.init)
  }

  func federationUpload(of document: DocumentID) throws -> FederationUpload? {
    try Row.fetchOne(
      database, sql: "\(Self.uploadColumns) WHERE document = ? ORDER BY id", arguments: [document.rawValue]
    ).map(FederationUpload.init)
  }

  func unbatchedFederationUploads() throws -> (uploads: Int, keys: Int) {
    let row = try Row.fetchOne(
      database,
      sql: """
        SELECT count(*) AS uploads, coalesce(sum(key_count), 0) AS keys FROM federation_uploads
          WHERE batch IS NULL AND withdrawal IS NULL AND key_count > 0
        """)
    return try row.map { try ($0["uploads"], $0["keys"]) } ?? (0, 0)
  }

  func federationBatch(_ id: FederationBatchID) throws -> FederationBatch? {
    try federationBatch("id = ?", [id.rawValue])
  }

  func federationUploads(in batch: FederationBatchID) throws -> [FederationUpload] {
    try Row.fetchAll(database, sql: "\(Self.uploadColumns) WHERE batch = ? ORDER BY id", arguments: [batch.rawValue])
      .map(FederationUpload.init)
  }

  func federationKeys(of upload: FederationUploadID) throws -> [UInt8]? {
    try [UInt8].fetchOne(
      database, sql: "SELECT keys FROM federation_uploads WHERE id = ?", arguments: [upload.rawValue])
  }

  func federationBatch(of day: Day, number: Int) throws -> FederationBatch? {
    try federationBatch("day = ? AND number = ?", [day.daysSince1970, number])
  }

  func firstFederationBatch(since day: Day) throws -> FederationBatch? {
    try federationBatch("day >= ? ORDER BY id", [day.daysSince1970])
  }

  func federationBatch(behind batch: FederationBatchID) throws -> FederationBatch? {
    try federationBatch("id > ? ORDER BY id", [batch.rawValue])
  }

  func lastFederationBatch() throws -> FederationBatch? { try federationBatch("true ORDER BY id DESC", []) }

  func federationDays(since day: Day) throws -> [FederationDay] {
    try Row.fetchAll(
      database, sql: "SELECT * FROM federation_days WHERE day >= ? ORDER BY day, country",
      arguments: [day.daysSince1970]
    ).map {
      try FederationDay(
        day: Day(daysSince1970: $0["day"]), country: $0["country"], uploads: $0["uploads"], keys: $0["keys"])
    }
  }

  // MARK: Changes

  func add(_ upload: NewFederationUpload, as document: DocumentID, at now: Instant) throws -> FederationUpload {
    try requireDocument(document)
    try database.execute(
      sql: """
        INSERT INTO federation_uploads
          (document, country, tag, signature, canonical, time, until, key_count, audit, keys)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        document.rawValue, upload.country, upload.tag, upload.signatureDigest, upload.canonicalDigest,
        now.secondsSince1970, upload.until.secondsSince1970, upload.rows.count, upload.audit,
        upload.keys,
      ])
    let number = database.lastInsertedRowID
    let row = try database.cachedStatement(sql: "INSERT INTO federation_rows (digest, upload) VALUES (?, ?)")
    for digest in upload.rows { try row.execute(arguments: [digest, number]) }
    try database.execute(
      sql: """
        INSERT INTO federation_days (day, country, uploads, keys) VALUES (?, ?, 1, ?)
          ON CONFLICT (day, country) DO UPDATE SET uploads = uploads + 1, keys = keys + excluded.keys
        """, arguments: [now.day.daysSince1970, upload.country, upload.rows.count])
    return FederationUpload(
      id: FederationUploadID(rawValue: number), document: document, country: upload.country, tag: upload.tag,
      signatureDigest: upload.signatureDigest, canonicalDigest: upload.canonicalDigest, time: now,
      keyCount: upload.rows.count, audit: upload.audit)
  }

  func addFederationBatch(
    of uploads: [FederationUploadID], on day: Day, until end: Instant, at now: Instant
  ) throws -> FederationBatch {
    let last = try Int.fetchOne(
      database, sql: "SELECT max(number) FROM federation_batches WHERE day = ?", arguments: [day.daysSince1970])
    let number = (last ?? 0) + 1
    try database.execute(
      sql: "INSERT INTO federation_batches (day, number, made, until) VALUES (?, ?, ?, ?)",
      arguments: [day.daysSince1970, number, now.secondsSince1970, end.secondsSince1970])
    let batch = FederationBatch(
      id: FederationBatchID(rawValue: database.lastInsertedRowID), day: day, number: number, made: now)
    let statement = try database.cachedStatement(
      sql: "UPDATE federation_uploads SET batch = ?, until = ? WHERE id = ? AND batch IS NULL")
    for upload in uploads {
      try statement.execute(arguments: [batch.id.rawValue, end.secondsSince1970, upload.rawValue])
      guard database.changesCount == 1 else { throw StorageFault(.conflict, "an upload is in a batch already") }
    }
    return batch
  }

  func withdrawFederationUploads(
    _ uploads: FederationSelection, because reason: FederationUpload.Withdrawal
  ) throws {
    let update = "UPDATE federation_uploads SET withdrawal = :reason WHERE withdrawal IS NULL"
    switch uploads {
    case .document(let document):
      try database.execute(
        sql: "\(update) AND document = :document",
        arguments: ["reason": reason.rawValue, "document": document.rawValue])
    case .recalled(let request):
      try database.execute(
        sql: """
          \(update) AND country = :country AND (:since IS NULL OR time >= :since)
            AND (:document IS NULL OR document = :document)
            AND (:source IS NULL OR document IN
              (SELECT documents.id FROM documents JOIN sources ON sources.id = documents.source
                WHERE sources.name = :source))
          """,
        arguments: [
          "reason": reason.rawValue, "country": request.origin.uppercased(),
          "since": request.since?.secondsSince1970, "document": request.document?.rawValue, "source": request.source,
        ])
    }
  }

  /// The uploads in which the key data stands lose their keys: what is left of one would not be what was signed. Their country
  /// may send the others again.
  func eraseFederated(_ key: TemporaryExposureKey) throws {
    try database.execute(
      sql: "UPDATE federation_uploads SET keys = NULL, withdrawal = 'erased' WHERE instr(keys, ?) > 0",
      arguments: [Array(key.bytes)])
    try database.execute(
      sql: "DELETE FROM federation_rows WHERE upload IN (SELECT id FROM federation_uploads WHERE withdrawal = 'erased')"
    )
  }

  func expireFederated(at now: Instant) throws {
    let time = now.secondsSince1970
    try database.execute(
      sql: "DELETE FROM federation_rows WHERE upload IN (SELECT id FROM federation_uploads WHERE until <= ?)",
      arguments: [time])
    try database.execute(sql: "DELETE FROM federation_uploads WHERE until <= ?", arguments: [time])
    try database.execute(sql: "DELETE FROM federation_batches WHERE until <= ?", arguments: [time])
    try database.execute(
      sql: "DELETE FROM federation_days WHERE day <= ?", arguments: [now.day.daysSince1970 - 400])
  }

  private func federationBatch(_ condition: String, _ arguments: StatementArguments) throws -> FederationBatch? {
    try Row.fetchOne(
      database, sql: "SELECT * FROM federation_batches WHERE \(condition) LIMIT 1", arguments: arguments
    ).map {
      try FederationBatch(
        id: FederationBatchID(rawValue: $0["id"]), day: Day(daysSince1970: $0["day"]), number: $0["number"],
        made: $0.time("made"))
    }
  }

  /// Without the keys.
  private static let uploadColumns = """
    SELECT id, document, country, tag, signature, canonical, time, key_count, audit, batch, withdrawal
      FROM federation_uploads
    """
}

extension FederationUpload {
  fileprivate init(_ row: Row) throws {
    let batch: Int64? = try row["batch"]
    let isWithdrawn: String? = try row["withdrawal"]
    try self.init(
      id: FederationUploadID(rawValue: row["id"]), document: DocumentID(rawValue: row["document"]),
      country: row["country"], tag: row["tag"], signatureDigest: row["signature"], canonicalDigest: row["canonical"],
      time: row.time("time"), keyCount: row["key_count"], audit: row["audit"],
      batch: batch.map(FederationBatchID.init),
      withdrawal: isWithdrawn == nil ? nil : row.choice("withdrawal"))
  }
}
