package import ExposureKeys

/// A transaction of a database, as the tables of the store see it.
///
/// The store's SQL is written once, for SQLite 3.40 and PostgreSQL 13 alike: parameters are `$1`, `$2`, … and may stand twice and
/// in any order; writing uses `ON CONFLICT`. A driver runs it. What the two databases spell differently is in ``SQLDialect``.
package protocol SQLSession: AnyObject {
  var dialect: SQLDialect { get }

  /// Runs one statement.
  ///
  /// - Returns: how many rows it wrote.
  @discardableResult
  func run(_ sql: String, with values: [SQLValue]) throws -> Int

  /// Runs a query and hands over its rows in their order.
  func each(_ sql: String, with values: [SQLValue], _ body: (SQLRow) throws -> Void) throws

  /// Numbers for the next rows of a table, which follow each other. A number is never given twice, also where its row is gone.
  ///
  /// - Returns: the first one. The caller adds its rows before it asks again.
  /// - Throws: ``StorageFault`` in a transaction that only reads.
  func nextNumbers(_ count: Int, of table: String) throws -> Int64

  /// The last number that was given to a row of a table; 0 before the first one.
  func lastNumber(of table: String) throws -> Int64

  /// The last numbers that were given, by table.
  func lastNumbers() throws -> [String: Int64]

  /// Has tables count on from these numbers, or from the highest that they have.
  func setLastNumbers(_ numbers: [String: Int64]) throws

  /// What the database takes for the time; `nil` where it runs in this process.
  func serverTime() throws -> Instant?

  /// Adds rows, each with as many values as there are columns.
  ///
  /// - Parameter conflict: what follows the values, such as `ON CONFLICT … DO NOTHING`. No two rows are in conflict with each other.
  func insert(into table: String, _ columns: [String], _ rows: [[SQLValue]], _ conflict: String) throws

  /// Adds a row with a column `bytes` that may be as large as a document.
  ///
  /// - Parameters:
  ///   - columns: the other ones; the first one is the row's number.
  func insert(into table: String, _ columns: [String], _ values: [SQLValue], bytes: StoredBytes) throws

  /// The column `bytes` of a row; `nil` where there is no such row.
  ///
  /// - Parameter key: the column that has the row's number.
  func bytes(in table: String, where key: String, is number: Int64) throws -> [UInt8]?
}

extension SQLSession {
  package func nextNumber(of table: String) throws -> Int64 { try nextNumbers(1, of: table) }

  @discardableResult
  package func run(_ sql: String, _ values: any SQLArgument...) throws -> Int {
    try run(sql, with: values.map(\.sqlValue))
  }

  package func rows(_ sql: String, with values: [SQLValue]) throws -> [SQLRow] {
    var rows: [SQLRow] = []
    try each(sql, with: values) { rows.append($0) }
    return rows
  }

  package func rows(_ sql: String, _ values: any SQLArgument...) throws -> [SQLRow] {
    try rows(sql, with: values.map(\.sqlValue))
  }

  package func row(_ sql: String, _ values: any SQLArgument...) throws -> SQLRow? {
    try rows(sql, with: values.map(\.sqlValue)).first
  }

  /// The first column of the first row; `nil` where there is no row, or it has NULL.
  package func value<Value: SQLReadable>(_ sql: String, _ values: any SQLArgument...) throws -> Value? {
    try rows(sql, with: values.map(\.sqlValue)).first.flatMap { try $0[0] as Value? }
  }

  /// Runs a statement for a list of values, in parts that both databases take.
  ///
  /// - Parameters:
  ///   - taken: how many parameters the statement has beside the list, which comes behind them.
  ///   - body: is given the list as SQL, `($3, $4)`, and its values. The last value may stand in it several times, so that few
  ///     different statements have to be prepared.
  package func inParts(
    _ values: [SQLValue], behind taken: Int = 0, _ body: (_ list: String, _ values: [SQLValue]) throws -> Void
  ) throws {
    for start in stride(from: 0, to: values.count, by: Self.partSize) {
      var part = Array(values[start..<min(start + Self.partSize, values.count)])
      var size = 1
      while size < part.count { size *= 2 }
      part += repeatElement(part[part.count - 1], count: size - part.count)
      try body("(\((1...size).map { "$\(taken + $0)" }.joined(separator: ", ")))", part)
    }
  }

  package func insert(into table: String, _ columns: [String], _ rows: [[SQLValue]]) throws {
    try insert(into: table, columns, rows, "")
  }

  /// Values of one statement.
  private static var partSize: Int { 512 }
}

/// What the two databases spell differently.
package enum SQLDialect: Sendable {
  case sqlite
  case postgresql

  /// Whether bytes or a text hold others: a condition.
  package func holds(_ whole: String, _ part: String, areBytes: Bool) -> String {
    switch self {
    case .sqlite: "instr(\(whole), \(part)) > 0"
    case .postgresql: areBytes ? "position(\(part) IN \(whole)) > 0" : "strpos(\(whole), \(part)) > 0"
    }
  }
}

/// A parameter of a statement, with its type: NULL has one, too.
package enum SQLValue: Hashable, Sendable {
  case int(Int64?)
  case text(String?)
  case bytes([UInt8]?)
}

/// What can stand for a parameter.
package protocol SQLArgument {
  var sqlValue: SQLValue { get }
  static var sqlNull: SQLValue { get }
}

extension SQLArgument where Self: BinaryInteger {
  package var sqlValue: SQLValue { .int(Int64(clamping: self)) }
  package static var sqlNull: SQLValue { .int(nil) }
}

extension Int: SQLArgument {}
extension Int32: SQLArgument {}
extension Int64: SQLArgument {}

/// 0 or 1.
extension Bool: SQLArgument {
  package var sqlValue: SQLValue { .int(self ? 1 : 0) }
  package static var sqlNull: SQLValue { .int(nil) }
}

extension String: SQLArgument {
  package var sqlValue: SQLValue { .text(self) }
  package static var sqlNull: SQLValue { .text(nil) }
}

extension [UInt8]: SQLArgument {
  package var sqlValue: SQLValue { .bytes(self) }
  package static var sqlNull: SQLValue { .bytes(nil) }
}

extension TemporaryExposureKey: SQLArgument {
  package var sqlValue: SQLValue {
    .bytes(
      [UInt8](unsafeUninitializedCapacity: Self.byteCount) { room, count in
        guard let start = room.baseAddress else { return }
        store(to: UnsafeMutableRawPointer(start))
        count = Self.byteCount
      })
  }
  package static var sqlNull: SQLValue { .bytes(nil) }
}

/// Seconds since 1970.
extension Instant: SQLArgument {
  package var sqlValue: SQLValue { .int(secondsSince1970) }
  package static var sqlNull: SQLValue { .int(nil) }
}

extension Optional: SQLArgument where Wrapped: SQLArgument {
  package var sqlValue: SQLValue { self?.sqlValue ?? Wrapped.sqlNull }
  package static var sqlNull: SQLValue { Wrapped.sqlNull }
}
