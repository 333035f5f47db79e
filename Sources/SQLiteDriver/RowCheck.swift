import GRDB
import KeyStorage

/// Reads all rows as those read them who need them: what a table allows may be more than that.
struct RowCheck {
  private let database: Database
  private let sql: SQLiteSession

  init(_ database: Database) {
    self.database = database
    sql = SQLiteSession(database, isTransaction: false)
  }

  private static let most: Int64 = 1 << 53

  func faults() throws -> [String] {
    var faults = try numbers() + checks()
    for row in try sql.rows("SELECT name, value FROM notes ORDER BY name") {
      let (name, value): (String, [UInt8]) = try (row["name"], row["value"])
      if let fault = StoredNote.fault(in: value, named: name) { faults.append("notes: \(fault)") }
    }
    // They would say the same in other words.
    guard faults.isEmpty else { return faults }
    let transaction = TableTransaction(sql, names: Names())
    return try transaction.readingFaults(and: [
      { try transaction.readAllDocuments() }, { try transaction.readAllNames() },
    ])
  }

  /// Counts, numbers of rows and times beyond what a store writes.
  private func numbers() throws -> [String] {
    let rows = try sql.rows(
      """
      SELECT tables.name AS "table", columns.name AS "column"
      FROM pragma_table_list AS tables, pragma_table_xinfo(tables.name) AS columns
      WHERE tables.schema = 'main' AND tables.strict AND columns.type = 'INTEGER' ORDER BY 1, 2
      """)
    var columns: [String: [String]] = [:]
    for row in rows {
      let (table, column): (String, String) = try (row["table"], row["column"])
      columns[table, default: []].append(column)
    }
    var faults: [String] = []
    for (table, names) in columns.sorted(by: { $0.key < $1.key }) {
      let sums = names.map { "total(\"\($0)\" NOT BETWEEN -\(Self.most) AND \(Self.most))" }.joined(separator: ", ")
      guard let row = try sql.row("SELECT \(sums) FROM \"\(table)\"") else { continue }
      for (index, name) in names.enumerated() {
        let count: Int = try row[index]
        if count > 0 { faults.append("\(table): \(Self.rows(count)) with a number in \(name) that no store writes") }
      }
    }
    return faults
  }

  /// Numbers are never given twice, so each count has reached what its table has.
  func sequences() throws -> [String] {
    try StoreSchema.numbered.sorted().compactMap { table in
      let row = try sql.row(
        """
        SELECT (SELECT max(id) FROM "\(table)"), (SELECT CASE WHEN typeof(seq) = 'integer' AND seq BETWEEN 0 AND $1
          THEN seq ELSE -1 END FROM sqlite_sequence WHERE name = $2)
        """, Self.most, table)
      guard let row, case (let highest, let last) = (try row[0] as Int64? ?? 0, try row[1] as Int64? ?? 0) else {
        return nil
      }
      if last < 0 { return "sqlite_sequence: the last number of \(table) is none that a store writes" }
      return highest > last
        ? "sqlite_sequence: the last number of \(table) is \(last), and the table has \(highest)" : nil
    }
  }

  /// What the tables ask of rows. SQLite looks at it when rows are written, and not in a file that is only read.
  private func checks() throws -> [String] {
    let tables = try Schema.inMemory {
      try $0.rows("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql LIKE '%CHECK%' ORDER BY name")
    }
    return try tables.flatMap { row -> [String] in
      let (table, words): (String, String) = try (row["name"], row["sql"])
      return try Self.conditions(in: words).compactMap { condition in
        let found: Int? = try sql.value("SELECT count(*) FROM \"\(table)\" WHERE NOT \(condition)")
        let count = found ?? 0
        return count > 0 ? "\(table): \(Self.rows(count)) against \(condition)" : nil
      }
    }
  }

  /// What stands behind each CHECK, with its brackets. Our texts have none that do not belong together.
  private static func conditions(in sql: String) -> [String] {
    sql.ranges(of: "CHECK (").map { range in
      var depth = 0
      let rest = sql[sql.index(before: range.upperBound)...]
      let end = rest.firstIndex { character in
        depth += character == "(" ? 1 : character == ")" ? -1 : 0
        return depth == 0
      }
      return String(rest[...(end ?? rest.index(before: rest.endIndex))])
    }
  }

  private static func rows(_ count: Int) -> String { count == 1 ? "a row" : "\(count) rows" }
}
