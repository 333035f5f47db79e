/// One row of an answer, copied out of SQLite.
package struct Row: Sendable {
  /// Of all rows of one answer.
  let columns: ColumnNames
  package let values: [DatabaseValue]
  package var columnNames: [String] { columns.names }

  /// A column by its number, from 0.
  ///
  /// - Throws: ``DatabaseError`` `mismatch` where it has something else: a file is not what was written.
  package subscript<Value: ColumnValue>(_ index: Int) -> Value {
    get throws {
      guard values.indices.contains(index) else {
        throw DatabaseError(resultCode: .range, message: "a row has no column \(index)")
      }
      return try Value(required: values[index], in: columns, index)
    }
  }

  /// A column by its name.
  ///
  /// - Throws: ``DatabaseError``: `mismatch` where it has something else, `range` where there is no such column.
  package subscript<Value: ColumnValue>(_ name: String) -> Value {
    get throws {
      guard let index = columns.names.firstIndex(of: name) else {
        throw DatabaseError(resultCode: .range, message: "a row has no column \(name)")
      }
      return try Value(required: values[index], in: columns, index)
    }
  }
}

/// What the columns of an answer are called.
final class ColumnNames: Sendable {
  let names: [String]
  /// What was asked.
  private let sql: String

  init(_ names: [String], of sql: String) {
    self.names = names
    self.sql = sql
  }

  /// For messages: a column, and the table that was asked where it was one alone.
  func place(of index: Int) -> String {
    let words = sql.split { $0.isWhitespace || $0 == "(" || $0 == ")" || $0 == ";" || $0 == "," }
    let tables = words.indices.dropLast().filter { ["from", "join"].contains(words[$0].lowercased()) }.map {
      words[$0 + 1]
    }
    return "\(names[index])\(Set(tables).count == 1 ? " of \(tables[0])" : "")"
  }
}

extension ColumnValue {
  init(required value: DatabaseValue, in columns: ColumnNames, _ index: Int) throws {
    guard let read = Self(value) else {
      throw DatabaseError(
        resultCode: .mismatch, message: "the column \(columns.place(of: index)) has \(value.kind), allowed \(Self.kind)"
      )
    }
    self = read
  }
}

// MARK: Asking

extension Row {
  /// All rows of an answer.
  package static func fetchAll(_ database: Database, sql: String, arguments: StatementArguments = [:]) throws -> [Row] {
    try database.withStatement(sql) { try fetchAll($0, arguments: arguments) }
  }

  package static func fetchAll(_ statement: Statement, arguments: StatementArguments = [:]) throws -> [Row] {
    var rows: [Row] = []
    try statement.forEachRow(arguments) { rows.append($0) }
    return rows
  }

  /// Hands over one row after the other.
  package static func forEach(
    _ database: Database, sql: String, arguments: StatementArguments = [:], _ body: (Row) throws -> Void
  ) throws {
    try database.withStatement(sql) { try $0.forEachRow(arguments, body) }
  }

  /// The first row; `nil` where there is none.
  package static func fetchOne(_ database: Database, sql: String, arguments: StatementArguments = [:]) throws -> Row? {
    try database.withStatement(sql) { try fetchOne($0, arguments: arguments) }
  }

  package static func fetchOne(_ statement: Statement, arguments: StatementArguments = [:]) throws -> Row? {
    try statement.firstRow(arguments)
  }
}

extension ColumnValue {
  /// The first column of all rows.
  package static func fetchAll(
    _ database: Database, sql: String, arguments: StatementArguments = [:]
  ) throws -> [Self] {
    try database.withStatement(sql) { statement in
      var values: [Self] = []
      try statement.forEachRow(arguments) { values.append(try $0[0]) }
      return values
    }
  }

  /// The first column of the first row; `nil` where there is no row, or nothing in it.
  package static func fetchOne(
    _ database: Database, sql: String, arguments: StatementArguments = [:]
  ) throws -> Self? {
    try database.withStatement(sql) { try fetchOne($0, arguments: arguments) }
  }

  package static func fetchOne(_ statement: Statement, arguments: StatementArguments = [:]) throws -> Self? {
    guard let row = try statement.firstRow(arguments) else { return nil }
    return try row[0] as Self?
  }
}
