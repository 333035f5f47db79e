package import ExposureKeys
internal import KeyNormalization

extension TableTransaction {
  package func documents(of source: String?, in states: Set<DocumentState>, limit: Int) throws -> [DocumentRecord] {
    let ofSource = source == nil ? "" : " AND source = (SELECT id FROM sources WHERE name = $2)"
    let rows = try sql.rows(
      "\(documentSelection) WHERE state IN \(words(states))\(ofSource) ORDER BY documents.id DESC LIMIT $1",
      with: [max(0, limit).sqlValue] + (source.map { [.text($0)] } ?? []))
    return try rows.reversed().map(DocumentRecord.init)
  }

  /// Reads every document as those read it who need it, and keeps none: there may be very many.
  package func readAllDocuments() throws {
    var last = Int64.min
    while true {
      let rows = try sql.rows("\(documentSelection) WHERE documents.id > $1 ORDER BY documents.id LIMIT 1000", last)
      guard let end = rows.last else { return }
      for row in rows { _ = try DocumentRecord(row) }
      last = try end["id"]
    }
  }

  package func documents(of source: String, rejecting reason: String) throws -> [DocumentRecord] {
    let rows = try sql.rows(
      """
      \(documentSelection)
      WHERE documents.source = (SELECT id FROM sources WHERE name = $1) AND state = 'recorded'
        AND \(sql.dialect.holds("rejections", "$2", areBytes: false)) AND EXISTS (SELECT 1 FROM contents WHERE document = documents.id)
      ORDER BY documents.id
      """, source, "\"\(reason)\":")
    return try rows.map(DocumentRecord.init).filter { $0.facts?.rejections[reason] != nil }
  }

  package func waitingDocuments(limit: Int) throws -> WaitingDocuments {
    let waits = """
      state = 'quarantined' OR state = 'recorded' AND EXISTS (
        SELECT 1 FROM held
        WHERE document = documents.id AND reason <> '\(AdmissionReason.documentRefused.rawValue)')
      """
    let rows = try sql.rows(
      """
      \(documentSelection)
      WHERE documents.id IN (SELECT id FROM documents WHERE \(waits) ORDER BY changed DESC, id DESC LIMIT $1)
      ORDER BY changed DESC, documents.id DESC
      """, max(0, limit))
    let count: Int = try sql.value("SELECT count(*) FROM documents WHERE \(waits)") ?? 0
    return WaitingDocuments(newest: try rows.map { try waiting(DocumentRecord($0)) }, count: count)
  }

  package func holds(of document: DocumentID) throws -> [String: Int] {
    let rows = try sql.rows(
      "SELECT reason, count(*) AS claims FROM held WHERE document = $1 AND reason <> $2 GROUP BY reason",
      document.rawValue, AdmissionReason.documentRefused.rawValue)
    return Dictionary(try rows.map { (try $0["reason"], try $0["claims"]) }, uniquingKeysWith: +)
  }

  package func document(_ id: DocumentID) throws -> DocumentRecord? {
    try document(where: "documents.id = $1", id.rawValue)
  }

  package func document(named name: String, of source: String) throws -> DocumentRecord? {
    try document(
      where: "documents.source = (SELECT id FROM sources WHERE name = $1) AND documents.name = $2", source, name)
  }

  package func content(of document: DocumentID) throws -> [UInt8]? {
    try sql.bytes(in: "contents", where: "document", is: document.rawValue)
  }

  package func salt(of document: DocumentID) throws -> [UInt8]? {
    try sql.value("SELECT salt FROM salts WHERE document = $1", document.rawValue)
  }

  package func keep(salt: [UInt8], of document: DocumentID) throws {
    try sql.run(
      """
      INSERT INTO salts (document, salt) SELECT document, $1 FROM contents WHERE document = $2
      ON CONFLICT (document) DO UPDATE SET salt = excluded.salt
      """, salt, document.rawValue)
  }

  package func keptContents() throws -> [(document: DocumentID, byteCount: Int)] {
    try sql.rows("SELECT document, length(bytes) AS size FROM contents ORDER BY document")
      .map { (document: DocumentID(rawValue: try $0["document"]), byteCount: try $0["size"]) }
  }

  package func summary(of source: String) throws -> SourceSummary {
    var summary = SourceSummary()
    guard let number = try numbered(source, in: "sources") else { return summary }
    let counts = try sql.rows(
      """
      SELECT state, count(*) AS documents, CAST(coalesce(sum(received), 0) AS bigint) AS received, CAST(coalesce(sum(new), 0) AS bigint) AS new,
        CAST(coalesce(sum(known), 0) AS bigint) AS known, CAST(coalesce(sum(held), 0) AS bigint) AS held
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
    let rejections = try sql.rows(
      "SELECT rejections FROM documents WHERE source = $1 AND state = 'recorded' AND rejections <> '{}'", number)
    for row in rejections {
      let counts = try JSONColumn.decode([String: Int].self, row[0])
      summary.counts.rejections.merge(counts) { first, second in
        let (sum, overflows) = first.addingReportingOverflow(second)
        return overflows ? .max : sum
      }
    }
    return summary
  }

  package func add(documents names: [String], of source: String, at now: Instant) throws -> DiscoveredDocuments {
    let number = try sourceNumber(source)
    var seen: Set<String> = []
    try sql.inParts(names.map(\.sqlValue), behind: 1) { list, part in
      try sql.each("SELECT name FROM documents WHERE source = $1 AND name IN \(list)", with: [.int(number)] + part) {
        seen.insert(try $0[0])
      }
    }
    let fresh = names.filter { seen.insert($0).inserted }
    let first = try sql.nextNumbers(fresh.count, of: "documents")
    let new = fresh.indices.map { first + Int64($0) }
    try sql.insert(
      into: "documents", ["id", "source", "name", "state", "discovered", "changed"],
      zip(new, fresh).map { [.int($0), .int(number), .text($1), .text("discovered"), now.sqlValue, now.sqlValue] })
    var byName: [String: DocumentRecord] = [:]
    try sql.inParts(names.map(\.sqlValue), behind: 1) { list, part in
      try sql.each(
        "\(documentSelection) WHERE documents.source = $1 AND documents.name IN \(list)", with: [.int(number)] + part
      ) { row in
        let record = try DocumentRecord(row)
        byName[record.name] = record
      }
    }
    let all = try names.map { name in
      guard let record = byName[name] else {
        throw StorageFault(.corrupt, "a document of source \(source) was written and is not there")
      }
      return record
    }
    return DiscoveredDocuments(all: all, new: new.map(DocumentID.init))
  }

  package func move(
    _ document: DocumentID, to state: DocumentState, fault: DocumentFault?, nextAttempt: Instant?, at now: Instant
  ) throws {
    let fault = state.keepsFault ? fault : nil
    try change(
      document,
      """
      state = $2, fault_code = $3, fault_reason = $4, next_attempt = $5, changed = $6, attempts = attempts + $7
      """,
      state.rawValue, fault?.code.rawValue, fault?.reason, nextAttempt, now,
      state == .quarantined || state == .givenUp ? 1 : 0)
  }

  package func keep(_ bytes: StoredBytes, of document: DocumentID, until end: Instant) throws {
    try requireDocument(document)
    // What salts its commitment goes with what was there.
    try sql.run("DELETE FROM contents WHERE document = $1", document.rawValue)
    try sql.insert(into: "contents", ["document", "until"], [.int(document.rawValue), end.sqlValue], bytes: bytes)
  }

  package func complete(_ document: DocumentID, _ facts: DocumentFacts, at now: Instant) throws {
    try change(
      document, "state = 'recorded', fault_code = NULL, fault_reason = NULL, next_attempt = NULL, changed = $2", now)
    try setFacts(facts, of: document)
  }

  package func setFacts(_ facts: DocumentFacts, of document: DocumentID) throws {
    try change(
      document,
      """
      byte_count = $2, digest = $3, entity_tag = $4, last_modified = $5, format = $6, vouched_by = $7, received = $8, new = $9,
      known = $10, held = $11, rejections = $12, allowances = $13, read_by = $14, read_digest = $15, read_at = $16
      """,
      facts.byteCount, facts.digest, facts.entityTag, facts.lastModified, facts.format, facts.vouchedBy, facts.received,
      facts.new, facts.known, facts.held, try JSONColumn.encode(facts.rejections),
      try JSONColumn.encode(facts.allowances), facts.reading?.policy, facts.reading?.digest, facts.reading?.time)
  }

  /// - Throws: ``StorageFault`` `notFound`.
  package func requireDocument(_ id: DocumentID) throws {
    guard try sql.row("SELECT 1 FROM documents WHERE id = $1", id.rawValue) != nil else {
      throw StorageFault.noDocument(id)
    }
  }

  /// - Parameter values: of `$2` and what follows.
  private func change(_ document: DocumentID, _ assignments: String, _ values: any SQLArgument...) throws {
    let changed = try sql.run(
      "UPDATE documents SET \(assignments) WHERE id = $1", with: [.int(document.rawValue)] + values.map(\.sqlValue))
    if changed == 0 { throw StorageFault.noDocument(document) }
  }

  private func document(where condition: String, _ values: any SQLArgument...) throws -> DocumentRecord? {
    try sql.rows("\(documentSelection) WHERE \(condition)", with: values.map(\.sqlValue)).first.map(DocumentRecord.init)
  }
}

private let documentSelection = """
  SELECT documents.*, (SELECT name FROM sources WHERE id = documents.source) AS source_name FROM documents
  """

extension DocumentRecord {
  fileprivate init(_ row: SQLRow) throws {
    self.init(
      id: DocumentID(rawValue: try row["id"]), source: try row["source_name"], name: try row["name"],
      state: try row.choice("state"), fault: try row.fault, attempts: try row["attempts"],
      nextAttempt: try row["next_attempt"], discovered: try row["discovered"], changed: try row["changed"],
      facts: try DocumentFacts(row))
  }
}

extension DocumentFacts {
  /// `nil` while the document was never recorded.
  fileprivate init?(_ row: SQLRow) throws {
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
  fileprivate init?(_ row: SQLRow) throws {
    let (by, of): (String?, String?) = (try row["read_by"], try row["read_digest"])
    let at: Instant? = try row["read_at"]
    guard let policy = by, let digest = of, let time = at else { return nil }
    self.init(policy: policy, digest: digest, time: time)
  }
}
