import ExposureKeys
internal import KeyNormalization
import KeyStorage

extension PostgresTransaction {
  func documents(of source: String?, in states: Set<DocumentState>, limit: Int) throws -> [DocumentRecord] {
    var conditions = ["state = ANY ($1)"]
    var arguments: [any PostgresArgument] = [PostgresValue.texts(states.map(\.rawValue).sorted())]
    if let source {
      arguments.append(source)
      conditions.append("source = (SELECT id FROM sources WHERE name = $2)")
    }
    arguments.append(max(0, limit))
    let rows = try database.rows(
      "\(Self.selection) WHERE \(conditions.joined(separator: " AND ")) ORDER BY documents.id DESC LIMIT $\(arguments.count)",
      with: arguments)
    return try rows.reversed().map(DocumentRecord.init)
  }

  /// Reads every document as those read it who need it, and keeps none: there may be very many.
  func readAllDocuments() throws {
    var last = Int64.min
    while true {
      let rows = try database.rows("\(Self.selection) WHERE documents.id > $1 ORDER BY documents.id LIMIT 1000", last)
      guard let end = rows.last else { return }
      for row in rows { _ = try DocumentRecord(row) }
      last = try end["id"]
    }
  }

  func documents(of source: String, rejecting reason: String) throws -> [DocumentRecord] {
    let rows = try database.rows(
      """
      \(Self.selection)
      WHERE documents.source = (SELECT id FROM sources WHERE name = $1) AND state = 'recorded'
        AND strpos(rejections, $2) > 0 AND EXISTS (SELECT 1 FROM contents WHERE document = documents.id)
      ORDER BY documents.id
      """, source, "\"\(reason)\":")
    return try rows.map(DocumentRecord.init).filter { $0.facts?.rejections[reason] != nil }
  }

  func waitingDocuments(limit: Int) throws -> WaitingDocuments {
    let waits = """
      state = 'quarantined' OR state = 'recorded' AND EXISTS (
        SELECT 1 FROM held
        WHERE document = documents.id AND reason <> '\(AdmissionReason.documentRefused.rawValue)')
      """
    let rows = try database.rows(
      """
      \(Self.selection)
      WHERE documents.id IN (SELECT id FROM documents WHERE \(waits) ORDER BY changed DESC, id DESC LIMIT $1)
      ORDER BY changed DESC, documents.id DESC
      """, max(0, limit))
    let count: Int = try database.value("SELECT count(*) FROM documents WHERE \(waits)") ?? 0
    return WaitingDocuments(newest: try rows.map { try waiting(DocumentRecord($0)) }, count: count)
  }

  func holds(of document: DocumentID) throws -> [String: Int] {
    let rows = try database.rows(
      "SELECT reason, count(*) AS claims FROM held WHERE document = $1 AND reason <> $2 GROUP BY reason",
      document.rawValue, AdmissionReason.documentRefused.rawValue)
    return Dictionary(try rows.map { (try $0["reason"], try $0["claims"]) }, uniquingKeysWith: +)
  }

  func document(_ id: DocumentID) throws -> DocumentRecord? {
    try document(where: "documents.id = $1", [id.rawValue])
  }

  func document(named name: String, of source: String) throws -> DocumentRecord? {
    try document(
      where: "documents.source = (SELECT id FROM sources WHERE name = $1) AND documents.name = $2", [source, name])
  }

  func content(of document: DocumentID) throws -> [UInt8]? {
    try database.value("SELECT bytes FROM contents WHERE document = $1", document.rawValue)
  }

  func salt(of document: DocumentID) throws -> [UInt8]? {
    try database.value("SELECT salt FROM salts WHERE document = $1", document.rawValue)
  }

  func keep(salt: [UInt8], of document: DocumentID) throws {
    try database.run(
      """
      INSERT INTO salts (document, salt) SELECT document, $1 FROM contents WHERE document = $2
      ON CONFLICT (document) DO UPDATE SET salt = excluded.salt
      """, salt, document.rawValue)
  }

  func keptContents() throws -> [(document: DocumentID, byteCount: Int)] {
    try database.rows("SELECT document, length(bytes) AS size FROM contents ORDER BY document")
      .map { (document: DocumentID(rawValue: try $0["document"]), byteCount: try $0["size"]) }
  }

  func summary(of source: String) throws -> SourceSummary {
    var summary = SourceSummary()
    guard let number = try numbered(source, in: "sources") else { return summary }
    let counts = try database.rows(
      """
      SELECT state, count(*) AS documents, coalesce(sum(received), 0)::bigint AS received, coalesce(sum(new), 0)::bigint AS new,
        coalesce(sum(known), 0)::bigint AS known, coalesce(sum(held), 0)::bigint AS held
      FROM documents WHERE source = $1 GROUP BY state
      """, number)
    for row in counts {
      let state: DocumentState = try row.choice("state")
      summary.documents[state] = try row["documents"]
      guard state == .recorded else { continue }
      summary.counts.received = try row["received"]
      summary.counts.new = try row["new"]
      summary.counts.known = try row["known"]
      summary.counts.held = try row["held"]
    }
    let rejections = try database.rows(
      "SELECT rejections FROM documents WHERE source = $1 AND state = 'recorded' AND rejections <> '{}'", number)
    for row in rejections {
      let text: String = try row[0]
      summary.counts.rejections.merge(try JSONColumn.decode([String: Int].self, text), uniquingKeysWith: +)
    }
    return summary
  }

  func add(documents names: [String], of source: String, at now: Instant) throws -> DiscoveredDocuments {
    let number = try sourceNumber(source)
    let known: [String] = try database.rows(
      "SELECT name FROM documents WHERE source = $1 AND name = ANY ($2)", number, PostgresValue.texts(names)
    ).map { try $0[0] }
    var seen = Set(known)
    let fresh = names.filter { seen.insert($0).inserted }
    let new = try fresh.map { _ in try counted("documents") }
    if !fresh.isEmpty {
      try database.run(
        """
        INSERT INTO documents (id, source, name, state, discovered, changed)
          SELECT id, $3, name, 'discovered', $4, $4 FROM unnest($1, $2) AS fresh (id, name)
        """, PostgresValue.ints(new), PostgresValue.texts(fresh), number, now.secondsSince1970)
    }
    let records = try database.rows(
      "\(Self.selection) WHERE documents.source = $1 AND documents.name = ANY ($2)", number, PostgresValue.texts(names)
    ).map(DocumentRecord.init)
    let byName = Dictionary(records.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let all = try names.map { name in
      guard let record = byName[name] else {
        throw StorageFault(.corrupt, "a document of source \(source) was written and is not there")
      }
      return record
    }
    return DiscoveredDocuments(all: all, new: new.map(DocumentID.init))
  }

  func move(
    _ document: DocumentID, to state: DocumentState, fault: DocumentFault?, nextAttempt: Instant?, at now: Instant
  ) throws {
    let fault = state.keepsFault ? fault : nil
    try change(
      document,
      """
      state = $1, fault_code = $2, fault_reason = $3, next_attempt = $4, changed = $5, attempts = attempts + $6
      """,
      [
        state.rawValue, fault?.code.rawValue, fault?.reason, nextAttempt?.secondsSince1970, now.secondsSince1970,
        state == .quarantined || state == .givenUp ? 1 : 0,
      ])
  }

  func keep(_ bytes: StoredBytes, of document: DocumentID, until end: Instant) throws {
    try requireDocument(document)
    // What salts its commitment goes with what was there.
    try database.run("DELETE FROM contents WHERE document = $1", document.rawValue)
    try database.run(
      "INSERT INTO contents (document, until, bytes) VALUES ($1, $2, $3)", document.rawValue, end.secondsSince1970,
      try bytes.bytes())
  }

  func complete(_ document: DocumentID, _ facts: DocumentFacts, at now: Instant) throws {
    try change(
      document, "state = 'recorded', fault_code = NULL, fault_reason = NULL, next_attempt = NULL, changed = $1",
      [now.secondsSince1970])
    try setFacts(facts, of: document)
  }

  func setFacts(_ facts: DocumentFacts, of document: DocumentID) throws {
    try change(
      document,
      """
      byte_count = $1, digest = $2, entity_tag = $3, last_modified = $4, format = $5, vouched_by = $6, received = $7, new = $8,
      known = $9, held = $10, rejections = $11, allowances = $12, read_by = $13, read_digest = $14, read_at = $15
      """,
      [
        facts.byteCount, facts.digest, facts.entityTag, facts.lastModified, facts.format, facts.vouchedBy,
        facts.received, facts.new, facts.known, facts.held, try JSONColumn.encode(facts.rejections),
        try JSONColumn.encode(facts.allowances), facts.reading?.policy, facts.reading?.digest,
        facts.reading?.time.secondsSince1970,
      ])
  }

  func requireDocument(_ id: DocumentID) throws {
    guard try database.row("SELECT 1 FROM documents WHERE id = $1", id.rawValue) != nil else {
      throw StorageFault.noDocument(id)
    }
  }

  private func change(_ document: DocumentID, _ assignments: String, _ arguments: [any PostgresArgument]) throws {
    let changed = try database.run(
      "UPDATE documents SET \(assignments) WHERE id = $\(arguments.count + 1)", with: arguments + [document.rawValue])
    if changed == 0 { throw StorageFault.noDocument(document) }
  }

  private func document(where condition: String, _ arguments: [any PostgresArgument]) throws -> DocumentRecord? {
    try database.row("\(Self.selection) WHERE \(condition)", with: arguments)
      .map(DocumentRecord.init)
  }

  private static let selection = """
    SELECT documents.*, (SELECT name FROM sources WHERE id = documents.source) AS source_name FROM documents
    """
}

extension DocumentRecord {
  fileprivate init(_ row: PostgresRow) throws {
    self.init(
      id: DocumentID(rawValue: try row["id"]), source: try row["source_name"], name: try row["name"],
      state: try row.choice("state"), fault: try row.fault, attempts: try row["attempts"],
      nextAttempt: try row["next_attempt"], discovered: try row["discovered"], changed: try row["changed"],
      facts: try DocumentFacts(row))
  }
}

extension DocumentFacts {
  /// `nil` while the document was never recorded.
  fileprivate init?(_ row: PostgresRow) throws {
    let stated: String? = try row["digest"]
    guard let digest = stated else { return nil }
    self.init(
      byteCount: try row["byte_count"], digest: digest, entityTag: try row["entity_tag"],
      lastModified: try row["last_modified"],
      format: try row["format"], vouchedBy: try row["vouched_by"], reading: try ReadingMark(row),
      counts: KeyCounts(
        received: try row["received"], new: try row["new"], known: try row["known"], held: try row["held"],
        rejections: try JSONColumn.decode([String: Int].self, try row["rejections"]),
        allowances: try JSONColumn.decode([String: Int].self, try row["allowances"])))
  }
}

extension ReadingMark {
  /// `nil` where it is not known.
  fileprivate init?(_ row: PostgresRow) throws {
    let (by, of): (String?, String?) = (try row["read_by"], try row["read_digest"])
    let at: Instant? = try row["read_at"]
    guard let policy = by, let digest = of, let time = at else { return nil }
    self.init(policy: policy, digest: digest, time: time)
  }
}
