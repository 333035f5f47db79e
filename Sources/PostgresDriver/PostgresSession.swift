import ExposureKeys
import KeyStorage

/// A transaction of PostgreSQL for the tables of the store.
final class PostgresSession: SQLSession {
  private let database: PostgresConnection
  /// `nil` in a transaction that only reads.
  private let counters: Counters?

  init(_ database: PostgresConnection, _ counters: Counters?) { (self.database, self.counters) = (database, counters) }

  var dialect: SQLDialect { .postgresql }

  func run(_ sql: String, with values: [SQLValue]) throws -> Int {
    try database.execute(sql, values.map(PostgresValue.init)).changes
  }

  func each(_ sql: String, with values: [SQLValue], _ body: (SQLRow) throws -> Void) throws {
    let result = try database.execute(sql, values.map(PostgresValue.init))
    let columns = SQLColumns(result.columnNames, of: sql)
    for row in result.rows {
      try body(SQLRow(columns, try result.columnNames.indices.map { try row.value(Int32($0)) }))
    }
  }

  func insert(into table: String, _ columns: [String], _ rows: [[SQLValue]], _ conflict: String) throws {
    let places = columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
    for start in stride(from: 0, to: rows.count, by: Self.rowsAtOnce) {
      let part = rows[start..<min(start + Self.rowsAtOnce, rows.count)]
      let values = columns.indices.map { column in PostgresValue(array: part.map { $0[column] }) }
      _ = try database.execute(
        "INSERT INTO \(table) (\(columns.joined(separator: ", "))) SELECT * FROM unnest(\(places)) \(conflict)", values)
    }
  }

  private static let rowsAtOnce = 8192

  func lastNumber(of table: String) throws -> Int64 { try writing().last(table) }

  func lastNumbers() throws -> [String: Int64] {
    var numbers: [String: Int64] = [:]
    for row in try rows("SELECT name, last FROM counters WHERE name <> 'writes'") {
      let name: String = try row[0]
      numbers[name] = try counters.map { $0.last(name) } ?? row[1]
    }
    return numbers
  }

  func setLastNumbers(_ numbers: [String: Int64]) throws {
    let counters = try writing()
    for table in try lastNumbers().keys {
      let last: Int64? = try value("SELECT max(id) FROM \(table)")
      counters.set(table, max(numbers[table] ?? 0, last ?? 0))
    }
  }

  func nextNumbers(_ count: Int, of table: String) throws -> Int64 {
    let counters = try writing()
    let last = counters.last(table)
    counters.set(table, last + Int64(count))
    return last + 1
  }

  private func writing() throws -> Counters {
    guard let counters else { throw StorageFault(.held, "nothing is written in a transaction that reads") }
    return counters
  }

  /// The server's clock is every replica's.
  func serverTime() throws -> Instant? {
    try value("SELECT CAST(extract(epoch FROM clock_timestamp()) AS bigint)")
  }

  func insert(into table: String, _ columns: [String], _ values: [SQLValue], bytes: StoredBytes) throws {
    try insert(into: table, columns + ["bytes"], [values + [.bytes(try bytes.bytes())]])
  }

  func bytes(in table: String, where key: String, is number: Int64) throws -> [UInt8]? {
    try value("SELECT bytes FROM \(table) WHERE \(key) = $1", number)
  }
}

extension PostgresValue {
  init(_ value: SQLValue) {
    switch value {
    case .int(let number): self = .int(number)
    case .text(let text): self = .text(text)
    case .bytes(let bytes): self = .bytes(bytes)
    }
  }

  /// - Parameter values: of one type.
  init(array values: [SQLValue]) {
    switch values.first {
    case .text: self = .texts(values.map { if case .text(let text) = $0 { text } else { nil } })
    case .bytes: self = .blobs(values.map { if case .bytes(let bytes) = $0 { bytes } else { nil } })
    case .int, nil: self = .ints(values.map { if case .int(let number) = $0 { number } else { nil } })
    }
  }
}

extension PostgresRow {
  /// Whatever is in a column.
  fileprivate func value(_ column: Int32) throws -> StoredValue {
    if isNull(column) { return .none }
    return switch result.type(of: column) {
    case 17: .bytes(try [UInt8](self, column))
    case 25, 1043, 19: .text(try String(self, column))
    default: .number(try integer(column))
    }
  }
}
