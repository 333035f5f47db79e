import GRDB
import KeyStorage

/// Compares the tables, columns, indexes and triggers of a file with what this version makes, whoever has changed them.
///
/// The tables are made once more, in memory.
enum SchemaCheck {
  private struct Part: Hashable {
    let kind: String
    let table: String
    let words: String

    var isWhole: Bool { kind == "table" || kind == "view" }
    var isDefinition: Bool { kind == "definition" }
  }

  /// - Returns: what lacks, and what somebody has added, in the order of the tables.
  static func faults(in database: Database) throws -> (lacking: [String], added: [String]) {
    var there = try parts(in: SQLiteSession(database, isTransaction: false))
    var expected = try Schema.inMemory(parts)
    // Where something else of a table differs, that says more than its whole text.
    for (table, parts) in Dictionary(grouping: there.symmetricDifference(expected), by: \.table)
    where parts.contains(where: { !$0.isDefinition }) {
      there = there.filter { !$0.isDefinition || $0.table != table }
      expected = expected.filter { !$0.isDefinition || $0.table != table }
    }
    let missing = Set(expected.subtracting(there).filter(\.isWhole).map(\.table))
    let foreign = Set(there.subtracting(expected).filter(\.isWhole).map(\.table))
    let views = Set(expected.filter { $0.kind == "view" }.map(\.table))
    let lacking = expected.subtracting(there).compactMap { part -> String? in
      if views.contains(part.table) { return nil }
      if part.kind == "table" { return "\(part.table): there is no such table" }
      if missing.contains(part.table) { return nil }
      return part.isDefinition
        ? "\(part.table): its definition is not the one that this version of Keyferry writes"
        : "\(part.table): there is no \(part.kind) \(part.words)"
    }
    let added = there.subtracting(expected).compactMap { part -> String? in
      if part.isWhole { return "\(part.table): \(StoreAddition.words) such a \(part.kind)" }
      return foreign.contains(part.table) || part.isDefinition
        ? nil : "\(part.table): \(StoreAddition.words) the \(part.kind) \(part.words)"
    }
    let changedViews = Set(expected.subtracting(there).map(\.table)).intersection(views).map(StoreAddition.ofView)
    return (lacking.sorted(), (added + changedViews).sorted())
  }

  private static func parts(in sql: SQLiteSession) throws -> Set<Part> {
    var parts: Set<Part> = []
    let tables = try sql.rows(
      """
      SELECT name, type, strict, wr FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
      """)
    for row in tables {
      let (table, type): (String, String) = try (row["name"], row["type"])
      parts.insert(Part(kind: type == "view" ? "view" : "table", table: table, words: ""))
      // To ask for the columns of a view is an error where a table that it reads lacks.
      if type == "view" { continue }
      func add(_ kind: String, _ words: String) { parts.insert(Part(kind: kind, table: table, words: words)) }
      if try row["strict"] { add("property", "STRICT") }
      if try row["wr"] { add("property", "WITHOUT ROWID") }
      for words in try columns(of: table, in: sql) { add("column", words) }
      for words in try indexes(of: table, in: sql) { add("index", words) }
      for words in try references(of: table, in: sql) { add("reference", words) }
    }
    for row in try sql.rows("SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view') AND sql NOT NULL") {
      parts.insert(Part(kind: "definition", table: try row["name"], words: try row["sql"]))
    }
    let triggers = try sql.rows("SELECT tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
    for row in triggers { parts.insert(Part(kind: "trigger", table: try row["tbl_name"], words: try row["sql"])) }
    return parts
  }

  private static func columns(of table: String, in sql: SQLiteSession) throws -> [String] {
    try sql.rows(
      """
      SELECT name || ' ' || type || iif("notnull", ' NOT NULL', '') || ifnull(' DEFAULT ' || dflt_value, '')
        || iif(pk > 0, ' PRIMARY KEY ' || pk, '') AS words FROM pragma_table_xinfo($1)
      """, table
    ).map { try $0["words"] }
  }

  /// One that the table's own words make has a name that counts them; it is told by its columns alone.
  private static func indexes(of table: String, in sql: SQLiteSession) throws -> [String] {
    try sql.rows(
      """
      SELECT iif(list.origin = 'c', list.name, '') || iif(list."unique", ' UNIQUE', '') || ' ('
        || (SELECT group_concat(ifnull(name, 'an expression') || iif("desc", ' DESC', '') || ' COLLATE ' || coll, ', ')
          FROM pragma_index_xinfo(list.name) WHERE key)
        || ')' || iif(list.partial, ' WHERE …', '') AS words
      FROM pragma_index_list($1) AS list
      """, table
    ).map { try ($0["words"] as String).trimmingPrefix(" ").description }
  }

  private static func references(of table: String, in sql: SQLiteSession) throws -> [String] {
    try sql.rows(
      """
      SELECT "from" || ' to ' || "table" || ifnull(' (' || "to" || ')', '') AS words FROM pragma_foreign_key_list($1)
      """, table
    ).map { try $0["words"] }
  }
}
