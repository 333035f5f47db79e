import ExposureKeys
internal import KeyNormalization
import KeyStorage
import SQLite

extension SQLiteTransaction {
  func documents(of source: String?, in states: Set<DocumentState>, limit: Int) throws -> [DocumentRecord] {
    var conditions = ["state IN (\(states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")))"]
    var arguments: StatementArguments = []
    if let source {
      conditions.append("source = (SELECT id FROM sources WHERE name = ?)")
      arguments += [source]
    }
    arguments += [max(0, limit)]
    let rows = try Row.fetchAll(
      database,
      sql: "\(Self.selection) WHERE \(conditions.joined(separator: " AND ")) ORDER BY documents.id DESC LIMIT ?",
      arguments: arguments)
    return try rows.reversed().map(DocumentRecord.init)
  }

  /// Reads every document as those read it who need it, and keeps none: there may be very many.
  func readAllDocuments() throws {
    var last = Int64.min
    while true {
      let rows = try Row.fetchAll(
        database, sql: "\(Self.selection) WHERE documents.id > ? ORDER BY documents.id LIMIT 1000", arguments: [last])
      guard let end = rows.last else { return }
      for row in rows { _ = try DocumentRecord(row) }
      last = try end["id"]
    }
  }

  func documents(of source: String, rejecting reason: String) throws -> [DocumentRecord] {
    let rows = try Row.fetchAll(
      database,
      sql: """
        \(Self.selection)
        WHERE documents.source = (SELECT id FROM sources WHERE name = ?) AND state = 'recorded'
          AND instr(rejections, ?) > 0 AND EXISTS (SELECT 1 FROM contents WHERE document = documents.id)
        ORDER BY documents.id
        """, arguments: [source, "\"\(reason)\":"])
    return try rows.map(DocumentRecord.init).filter { $0.facts?.rejections[reason] != nil }
  }

  func waitingDocuments(limit: Int) throws -> WaitingDocuments {
    let waits = """
      state = 'quarantined' OR state = 'recorded' AND EXISTS (
        SELECT 1 FROM held
        WHERE document = documents.id AND reason <> '\(AdmissionReason.documentRefused.rawValue)')
      """
    // What a row says is found for those alone that are told.
    let rows = try Row.fetchAll(
      database,
      sql: """
        \(Self.selection)
        WHERE documents.id IN (SELECT id FROM documents WHERE \(waits) ORDER BY changed DESC, id DESC LIMIT ?)
        ORDER BY changed DESC, documents.id DESC
        """, arguments: [max(0, limit)])
    let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM documents WHERE \(waits)") ?? 0
    return WaitingDocuments(newest: try rows.map { try waiting(DocumentRecord($0)) }, count: count)
  }

  func holds(of document: DocumentID) throws -> [String: Int] {
    let rows = try Row.fetchAll(
      database,
      sql: "SELECT reason, count(*) AS claims FROM held WHERE document = ? AND reason <> ? GROUP BY reason",
      arguments: [document.rawValue, AdmissionReason.documentRefused.rawValue])
    return Dictionary(try rows.map { try ($0["reason"], $0["claims"]) }, uniquingKeysWith: +)
  }

  func document(_ id: DocumentID) throws -> DocumentRecord? {
    try document(where: "documents.id = ?", [id.rawValue])
  }

  func document(named name: String, of source: String) throws -> DocumentRecord? {
    try document(
      where: "documents.source = (SELECT id FROM sources WHERE name = ?) AND documents.name = ?", [source, name])
  }

  func content(of document: DocumentID) throws -> [UInt8]? {
    try database.storedBytes(of: document.rawValue, in: .contents)
  }

  func salt(of document: DocumentID) throws -> [UInt8]? {
    try Row.fetchOne(database, sql: "SELECT salt FROM salts WHERE document = ?", arguments: [document.rawValue])
      .map { try $0["salt"] }
  }

  func keep(salt: [UInt8], of document: DocumentID) throws {
    try database.execute(
      sql: "INSERT OR REPLACE INTO salts (document, salt) SELECT document, ? FROM contents WHERE document = ?",
      arguments: [salt, document.rawValue])
  }

  func keptContents() throws -> [(document: DocumentID, byteCount: Int)] {
    try Row.fetchAll(database, sql: "SELECT document, length(bytes) AS size FROM contents ORDER BY document")
      .map { try (DocumentID(rawValue: $0["document"]), $0["size"]) }
  }

  func summary(of source: String) throws -> SourceSummary {
    var summary = SourceSummary()
    guard let number = try numbered(source, in: "sources") else { return summary }
    let counts = try Row.fetchAll(
      database,
      sql: """
        SELECT state, count(*) AS documents, ifnull(sum(received), 0) AS received, ifnull(sum(new), 0) AS new,
          ifnull(sum(known), 0) AS known, ifnull(sum(held), 0) AS held
        FROM documents WHERE source = ? GROUP BY state
        """, arguments: [number])
    for row in counts {
      let state: DocumentState = try row.choice("state")
      summary.documents[state] = try row["documents"]
      guard state == .recorded else { continue }
      summary.counts.received = try row["received"]
      summary.counts.new = try row["new"]
      summary.counts.known = try row["known"]
      summary.counts.held = try row["held"]
    }
    try Row.forEach(
      database,
      sql: "SELECT rejections FROM documents WHERE source = ? AND state = 'recorded' AND rejections <> '{}'",
      arguments: [number]
    ) { row in
      let text: String = try row["rejections"]
      summary.counts.rejections.merge(try JSONColumn.decode([String: Int].self, text), uniquingKeysWith: +)
    }
    return summary
  }

  func add(documents names: [String], of source: String, at now: Instant) throws -> DiscoveredDocuments {
    let number = try sourceNumber(source)
    let insertion = try database.cachedStatement(
      sql: """
        INSERT INTO documents (source, name, state, discovered, changed) VALUES (?, ?, 'discovered', ?, ?)
        ON CONFLICT (source, name) DO NOTHING
        """)
    let selection = try database.cachedStatement(
      sql: "\(Self.selection) WHERE documents.source = ? AND documents.name = ?")
    var new: [DocumentID] = []
    let all = try names.map { name in
      try insertion.execute(arguments: [number, name, now.secondsSince1970, now.secondsSince1970])
      if database.changesCount > 0 { new.append(DocumentID(rawValue: database.lastInsertedRowID)) }
      guard let row = try Row.fetchOne(selection, arguments: [number, name]) else {
        throw StorageFault(.corrupt, "a document of source \(source) was written and is not there")
      }
      return try DocumentRecord(row)
    }
    return DiscoveredDocuments(all: all, new: new)
  }

  func move(
    _ document: DocumentID, to state: DocumentState, fault: DocumentFault?, nextAttempt: Instant?, at now: Instant
  ) throws {
    let fault = state.keepsFault ? fault : nil
    try change(
      document,
      """
      state = ?, fault_code = ?, fault_reason = ?, next_attempt = ?, changed = ?, attempts = attempts + ?
      """,
      [
        state.rawValue, fault?.code.rawValue, fault?.reason, nextAttempt?.secondsSince1970, now.secondsSince1970,
        state == .quarantined || state == .givenUp ? 1 : 0,
      ])
  }

  func keep(_ bytes: StoredBytes, of document: DocumentID, until end: Instant) throws {
    try requireDocument(document)
    let statement = try RawStatement(
      database, "INSERT OR REPLACE INTO contents (document, until, bytes) VALUES (?, ?, ?)")
    statement.bind(document.rawValue, at: 1)
    statement.bind(end.secondsSince1970, at: 2)
    statement.bind(zeroBytes: bytes.count, at: 3)
    _ = try statement.run()
    try database.fill(.contents, document.rawValue, with: bytes)
  }

  func complete(_ document: DocumentID, _ facts: DocumentFacts, at now: Instant) throws {
    try change(
      document, "state = 'recorded', fault_code = NULL, fault_reason = NULL, next_attempt = NULL, changed = ?",
      [now.secondsSince1970])
    try setFacts(facts, of: document)
  }

  func setFacts(_ facts: DocumentFacts, of document: DocumentID) throws {
    try change(
      document,
      """
      byte_count = ?, digest = ?, entity_tag = ?, last_modified = ?, format = ?, vouched_by = ?, received = ?, new = ?,
      known = ?, held = ?, rejections = ?, allowances = ?, read_by = ?, read_digest = ?, read_at = ?
      """,
      [
        facts.byteCount, facts.digest, facts.entityTag, facts.lastModified, facts.format, facts.vouchedBy,
        facts.received, facts.new, facts.known, facts.held, try JSONColumn.encode(facts.rejections),
        try JSONColumn.encode(facts.allowances), facts.reading?.policy, facts.reading?.digest,
        facts.reading?.time.secondsSince1970,
      ])
  }

  func requireDocument(_ id: DocumentID) throws {
    let statement = try database.cachedStatement(sql: "SELECT 1 FROM documents WHERE id = ?")
    guard try Int.fetchOne(statement, arguments: [id.rawValue]) != nil else { throw StorageFault.noDocument(id) }
  }

  private func change(_ document: DocumentID, _ assignments: String, _ arguments: StatementArguments) throws {
    try database.execute(
      sql: "UPDATE documents SET \(assignments) WHERE id = ?", arguments: arguments + [document.rawValue])
    if database.changesCount == 0 { throw StorageFault.noDocument(document) }
  }

  private func document(where condition: String, _ arguments: StatementArguments) throws -> DocumentRecord? {
    try Row.fetchOne(database, sql: "\(Self.selection) WHERE \(condition)", arguments: arguments)
      .map(DocumentRecord.init)
  }

  private static let selection = """
    SELECT documents.*, (SELECT name FROM sources WHERE id = documents.source) AS source_name FROM documents
    """
}

extension DocumentRecord {
  fileprivate init(_ row: Row) throws {
    try self.init(
      id: DocumentID(rawValue: row["id"]), source: row["source_name"], name: row["name"],
      state: row.choice("state"), fault: row.fault, attempts: row["attempts"],
      nextAttempt: row.optionalTime("next_attempt"), discovered: row.time("discovered"), changed: row.time("changed"),
      facts: DocumentFacts(row))
  }
}

extension DocumentFacts {
  /// `nil` while the document was never recorded.
  fileprivate init?(_ row: Row) throws {
    guard let digest: String = try row["digest"] else { return nil }
    try self.init(
      byteCount: row["byte_count"], digest: digest, entityTag: row["entity_tag"], lastModified: row["last_modified"],
      format: row["format"], vouchedBy: row["vouched_by"], reading: ReadingMark(row),
      counts: KeyCounts(
        received: row["received"], new: row["new"], known: row["known"], held: row["held"],
        rejections: JSONColumn.decode([String: Int].self, row["rejections"]),
        allowances: JSONColumn.decode([String: Int].self, row["allowances"])))
  }
}

extension ReadingMark {
  /// `nil` where it is not known.
  fileprivate init?(_ row: Row) throws {
    guard let policy: String = try row["read_by"], let digest: String = try row["read_digest"],
      let time = try row.optionalTime("read_at")
    else { return nil }
    self.init(policy: policy, digest: digest, time: time)
  }
}
