import ExposureKeys
import KeyStorage

/// Compares what a schema has with the tables of this version, and the rows with what is allowed for them, whoever took the
/// constraints away.
///
/// The tables are made once more, as temporary ones of a transaction that keeps nothing.
struct SchemaCheck {
  let database: PostgresConnection
  let schema: String

  /// Something that a schema has.
  private struct Part: Hashable {
    let kind: String
    let table: String
    let words: String
  }

  /// What is asked of the rows of one table.
  private struct Demand {
    let table: String
    let words: String
    /// Which rows are not so.
    var condition = ""
    /// How many are not, where a condition cannot say it.
    var count = ""
    /// Other tables that are looked at.
    var others: Set<String> = []
    /// What holds it by itself where it is there.
    var keeper: Part?
  }

  /// - Parameter opening: begins a transaction that may write, with the schema in its path.
  func faults(_ opening: String) throws -> [String] {
    let (there, expected, demands, numbers) = try parts(opening)
    // The rows are looked at in one state, of which nobody makes another meanwhile.
    let (missing, faults) = compare(there, expected)
    var found = faults
    let whole = Set(expected.keys.map(\.table)).subtracting(missing)
    for (table, demands) in Dictionary(grouping: demands, by: \.table).sorted(by: { $0.key < $1.key })
    where whole.contains(table) {
      found += try rowFaults(table, demands.filter { $0.others.isSubset(of: whole) && !isKept($0, by: there) })
    }
    if whole.contains("counters") { found += try counterFaults(numbers, whole) }
    return found
  }

  /// What is there, and, after that is taken back, what this version makes.
  private func parts(
    _ opening: String
  ) throws -> (there: [Part: Int], expected: [Part: Int], [Demand], numbers: [String]) {
    try database.script("\(opening)SAVEPOINT before")
    let there = try parts(of: "(SELECT oid FROM pg_namespace WHERE nspname = \(literal(schema)))")
    try database.script("SET LOCAL search_path = pg_temp")
    // Temporary functions are found by their schema alone.
    try database.script(Schema.script.replacing("EXECUTE FUNCTION ", with: "EXECUTE FUNCTION pg_temp."))
    let expected = try parts(of: "pg_my_temp_schema()")
    let demands = try self.demands()
    let numbers: [String] = try database.rows("SELECT name FROM counters ORDER BY name").map { try $0[0] }
    try database.script("ROLLBACK TO before")
    return (there, expected, demands, numbers)
  }

  // MARK: Parts

  private func parts(of namespace: String) throws -> [Part: Int] {
    let rows = try database.rows(
      """
      WITH tables AS (
        SELECT c.*, n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relnamespace = \(namespace) AND c.relkind IN ('r', 'p', 'v', 'm', 'f'))
      SELECT 'table' AS kind, relname::text AS name, '' AS words FROM tables
      UNION ALL
      SELECT 'column', relname::text, quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod)
        || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
        || CASE WHEN a.attcollation <> t.typcollation THEN ' COLLATE ' || quote_ident(l.collname) ELSE '' END
        || coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')
      FROM tables c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_collation l ON l.oid = a.attcollation
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
      WHERE a.attnum > 0 AND NOT a.attisdropped
      UNION ALL
      SELECT 'constraint', relname::text, pg_get_constraintdef(k.oid)
      FROM tables c JOIN pg_constraint k ON k.conrelid = c.oid WHERE k.contype IN ('c', 'f', 'p', 'u', 'x')
      UNION ALL
      SELECT 'index', c.relname::text,
        replace(replace(pg_get_indexdef(i.indexrelid), quote_ident(c.nspname) || '.', ''), 'pg_temp.', '')
        || CASE WHEN i.indisvalid AND i.indisready THEN '' ELSE ', which is not valid' END
      FROM tables c JOIN pg_index i ON i.indrelid = c.oid
      UNION ALL
      SELECT 'trigger', relname::text, CASE WHEN t.tgisinternal THEN 'a constraint is switched off'
        ELSE t.tgname::text || CASE WHEN t.tgenabled IN ('O', 'A') THEN '' ELSE ', which is switched off' END END
      FROM tables c JOIN pg_trigger t ON t.tgrelid = c.oid WHERE NOT t.tgisinternal OR t.tgenabled = 'D'
      UNION ALL
      SELECT 'definition', relname::text, pg_get_viewdef(oid) FROM tables WHERE relkind = 'v'
      UNION ALL
      SELECT 'rule', c.relname::text, r.rulename::text FROM tables c JOIN pg_rewrite r ON r.ev_class = c.oid
      WHERE c.relkind IN ('r', 'p')
      UNION ALL
      SELECT 'property', relname::text, 'UNLOGGED, so that a crash empties it' FROM tables WHERE relpersistence = 'u'
      UNION ALL
      SELECT 'property', relname::text, 'ROW LEVEL SECURITY, which hides rows' FROM tables WHERE relrowsecurity
      """)
    var parts: [Part: Int] = [:]
    for row in rows {
      parts[Part(kind: try row["kind"], table: try row["name"], words: try row["words"]), default: 0] += 1
    }
    return parts
  }

  /// - Returns: the tables whose rows cannot be looked at, and what is wrong.
  private func compare(_ there: [Part: Int], _ expected: [Part: Int]) -> (closed: Set<String>, faults: [String]) {
    func tables(_ parts: [Part: Int]) -> Set<String> { Set(parts.keys.lazy.filter { $0.kind == "table" }.map(\.table)) }
    let (known, found) = (tables(expected), tables(there))
    var faults = known.subtracting(found).sorted().map {
      StoreViews.names.contains($0) ? StoreAddition.ofView($0) : "\($0): there is no such table"
    }
    faults += found.subtracting(known).sorted().map { "\($0): \(StoreAddition.words) such a table" }
    var closed = known.subtracting(found)
    for part in expected.keys.sorted(by: precedes) where found.contains(part.table) {
      if there[part, default: 0] >= expected[part, default: 0] { continue }
      faults.append(
        part.kind == "definition"
          ? StoreAddition.ofView(part.table) : "\(part.table): there is no \(part.kind) \(part.words)")
      if part.kind == "column" { closed.insert(part.table) }
    }
    for part in there.keys.sorted(by: precedes)
    where known.contains(part.table) && !["table", "definition"].contains(part.kind) {
      // Whoever wants to find something faster may.
      if part.kind == "index", !part.words.hasPrefix("CREATE UNIQUE"), !part.words.hasSuffix("not valid") { continue }
      if there[part, default: 0] > expected[part, default: 0] {
        faults.append("\(part.table): \(StoreAddition.words) the \(part.kind) \(part.words)")
      }
    }
    return (closed, faults)
  }

  private func precedes(_ left: Part, _ right: Part) -> Bool {
    (left.table, left.kind, left.words) < (right.table, right.kind, right.words)
  }

  // MARK: Rows

  private func isKept(_ demand: Demand, by there: [Part: Int]) -> Bool {
    demand.keeper.map { there[$0] != nil } ?? false
  }

  /// Reads a table once for all conditions.
  private func rowFaults(_ table: String, _ demands: [Demand]) throws -> [String] {
    var faults: [String] = []
    func note(_ count: Int64, _ demand: Demand) {
      if count > 0 { faults.append("\(table): \(count) rows against \(demand.words)") }
    }
    let conditions = demands.filter { !$0.condition.isEmpty }
    if !conditions.isEmpty {
      let counts = conditions.map { "count(*) FILTER (WHERE \($0.condition))" }.joined(separator: ", ")
      let row = try database.row("SELECT \(counts) FROM \(quoted(table))")
      for (place, demand) in conditions.enumerated() { note(try row?[place] ?? 0, demand) }
    }
    for demand in demands where demand.condition.isEmpty { note(try database.value(demand.count) ?? 0, demand) }
    return faults
  }

  /// What the constraints of the temporary tables ask for.
  private func demands() throws -> [Demand] {
    let checks = try database.rows(
      """
      SELECT c.relname::text AS name, pg_get_expr(k.conbin, k.conrelid) AS words
      FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
      WHERE c.relnamespace = pg_my_temp_schema() AND k.contype = 'c'
      UNION ALL
      SELECT c.relname::text, quote_ident(a.attname) || ' IS NOT NULL' FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      WHERE c.relnamespace = pg_my_temp_schema() AND c.relkind = 'r' AND a.attnum > 0 AND a.attnotnull AND NOT a.attisdropped
      ORDER BY 1, 2
      """
    ).map { row in
      let (table, words): (String, String) = (try row["name"], try row["words"])
      return Demand(table: table, words: words, condition: "NOT (\(words))")
    }
    let references = try database.rows(
      """
      SELECT c.relname::text AS name, pg_get_constraintdef(k.oid) AS words, o.relname::text AS other,
        (SELECT string_agg(format('it.%I = other.%I', a.attname, b.attname), ' AND ')
          FROM unnest(k.conkey, k.confkey) AS pair (mine, theirs)
          JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = pair.mine
          JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = pair.theirs) AS pairs,
        (SELECT string_agg(format('it.%I IS NOT NULL', a.attname), ' AND ')
          FROM unnest(k.conkey) AS mine JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = mine) AS said
      FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class o ON o.oid = k.confrelid
      WHERE c.relnamespace = pg_my_temp_schema() AND k.contype = 'f' ORDER BY 1, 2
      """
    ).map { row in
      let (table, other, pairs, said): (String, String, String, String) =
        (try row["name"], try row["other"], try row["pairs"], try row["said"])
      return Demand(
        table: table, words: try row["words"],
        count: "SELECT count(*) FROM \(quoted(table)) AS it WHERE \(said) AND NOT EXISTS "
          + "(SELECT 1 FROM \(quoted(other)) AS other WHERE \(pairs))", others: [other])
    }
    let unique = try database.rows(
      """
      SELECT c.relname::text AS name, pg_get_constraintdef(k.oid) AS words,
        (SELECT string_agg(quote_ident(a.attname), ', ')
          FROM unnest(k.conkey) AS mine JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = mine) AS names
      FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
      WHERE c.relnamespace = pg_my_temp_schema() AND k.contype IN ('p', 'u') ORDER BY 1, 2
      """
    ).map { row in
      let (table, words, names): (String, String, String) = (try row["name"], try row["words"], try row["names"])
      return Demand(
        table: table, words: words,
        count: "SELECT count(*) FROM (SELECT 1 FROM \(quoted(table)) GROUP BY \(names) HAVING count(*) > 1) AS twice",
        keeper: Part(kind: "constraint", table: table, words: words))
    }
    return checks + references + unique
  }

  /// Numbers are never given twice, so each count has reached what its table has.
  private func counterFaults(_ names: [String], _ whole: Set<String>) throws -> [String] {
    var counted: [String: Int64] = [:]
    for row in try database.rows("SELECT name, last FROM counters") { counted[try row[0]] = try row[1] }
    var faults: [String] = []
    for name in names {
      guard let last = counted[name] else {
        faults.append("counters: there is no row \(name)")
        continue
      }
      guard (0..<Int64.max / 2).contains(last) else {
        faults.append("counters: the row \(name) has \(last)")
        continue
      }
      guard name != "writes", whole.contains(name) else { continue }
      let highest: Int64 = try database.value("SELECT coalesce(max(id), 0) FROM \(quoted(name))") ?? 0
      if highest > last { faults.append("counters: the row \(name) has \(last), and its table has \(highest)") }
    }
    return faults + Set(counted.keys).subtracting(names).sorted().map { "counters: no version makes the row \($0)" }
  }

  private func literal(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }
}

extension TableTransaction {
  /// What is not as it was written.
  func damage(in database: PostgresConnection) throws -> [String] { try claimDamage() + formFaults(in: database) }

  /// Rows that have another form than those who read them need.
  private func formFaults(in database: PostgresConnection) throws -> [String] {
    var faults: [String] = []
    for row in try database.rows("SELECT name FROM notes ORDER BY name") {
      let name: String = try row[0]
      let value: [UInt8]? = try database.value("SELECT value FROM notes WHERE name = $1", name)
      if let fault = value.flatMap({ StoredNote.fault(in: $0, named: name) }) { faults.append("notes: \(fault)") }
    }
    for row in try database.rows(
      "SELECT duty, holder, isfinite(until) AND until < clock_timestamp() + interval '1 day' AS ends FROM leases ORDER BY duty"
    ) {
      let (duty, holder, ends): (String, String, Bool) = (try row[0], try row[1], try row[2])
      if duty.isEmpty { faults.append("leases: a row names no work") }
      if ReplicaName(holder) == nil { faults.append("leases: the holder of \(duty) is no name of a replica") }
      if !ends { faults.append("leases: \(duty) is held for longer than a day") }
    }
    let late: Int64? = try database.value(
      "SELECT count(*) FROM writers WHERE number > (SELECT last FROM counters WHERE name = 'writes') OR number < 1")
    if let late, late > 0 { faults.append("writers: \(late) have written more often than anybody has") }
    return try faults + readingFaults(and: [{ try self.readAllDocuments() }, { try self.readAllNames() }])
  }
}
