import CPostgres
import ExposureKeys
import FoundationEssentials
import KeyStorage

/// What a statement gave. It is read only, and lives as long as one of its rows.
final class PostgresResult {
  private let result: OpaquePointer
  private var columns: [String: Int32] = [:]
  /// In their order.
  private(set) var columnNames: [String] = []

  /// - Parameter result: becomes its own.
  init(_ result: OpaquePointer) {
    self.result = result
    for column in 0..<PQnfields(result) {
      let name = PQfname(result, column).map { String(cString: $0) } ?? ""
      columns[name] = column
      columnNames.append(name)
    }
  }

  deinit { PQclear(result) }

  var count: Int { Int(PQntuples(result)) }
  var rows: [PostgresRow] { (0..<count).map { PostgresRow(self, Int32($0)) } }
  /// How many rows it wrote.
  var changes: Int { PQcmdTuples(result).map { Int(String(cString: $0)) ?? 0 } ?? 0 }
  /// The word for what was done.
  var tag: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

  func column(_ name: String) throws -> Int32 {
    guard let column = columns[name] else { throw Self.wrong("a row has no column \(name)") }
    return column
  }

  func type(of column: Int32) -> UInt32 { PQftype(result, column) }

  func isBinary(_ column: Int32) -> Bool { PQfformat(result, column) == 1 }

  /// The bytes of a value, as long as this lives; `nil` where it is NULL.
  func bytes(_ row: Int32, _ column: Int32) -> UnsafeRawBufferPointer? {
    guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else { return nil }
    return UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
  }

  static func wrong(_ what: String) -> StorageFault { StorageFault(.corrupt, "the database: \(what)") }
}

/// One row.
struct PostgresRow {
  let result: PostgresResult
  let row: Int32

  init(_ result: PostgresResult, _ row: Int32) {
    self.result = result
    self.row = row
  }

  subscript<Value: PostgresReadable>(_ name: String) -> Value {
    get throws { try Value(self, try result.column(name)) }
  }

  /// By its place.
  subscript<Value: PostgresReadable>(_ column: Int) -> Value {
    get throws { try Value(self, Int32(column)) }
  }

  func isNull(_ column: Int32) -> Bool { result.bytes(row, column) == nil }

  /// A count, the number of a row, or a time in seconds: who reads one may add to it and multiply it, and nothing overflows.
  fileprivate func number(_ column: Int32) throws -> Int64 {
    let number = try integer(column)
    guard (-Self.most...Self.most).contains(number) else {
      throw PostgresResult.wrong("a number is \(number), allowed -\(Self.most)...\(Self.most)")
    }
    return number
  }

  private static let most: Int64 = 1 << 53

  /// Any number.
  func integer(_ column: Int32) throws -> Int64 {
    guard let bytes = result.bytes(row, column) else { throw PostgresResult.wrong("a number is missing") }
    guard result.isBinary(column) else {
      guard let number = Int64(String(decoding: bytes, as: UTF8.self)) else {
        throw PostgresResult.wrong("a number is none")
      }
      return number
    }
    switch (result.type(of: column), bytes.count) {
    case (20, 8): return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    case (23, 4): return Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
    case (21, 2): return Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
    case (16, 1): return bytes[0] == 0 ? 0 : 1
    case (let type, _): throw PostgresResult.wrong("a number is of type \(type)")
    }
  }
}

/// What can be read of a column.
protocol PostgresReadable {
  init(_ row: PostgresRow, _ column: Int32) throws
}

extension Int64: PostgresReadable {
  init(_ row: PostgresRow, _ column: Int32) throws { self = try row.number(column) }
}

extension Int: PostgresReadable {
  init(_ row: PostgresRow, _ column: Int32) throws { self = Int(try row.number(column)) }
}

extension Int32: PostgresReadable {
  init(_ row: PostgresRow, _ column: Int32) throws {
    let number = try row.integer(column)
    guard let short = Int32(exactly: number) else { throw PostgresResult.wrong("a number is too large: \(number)") }
    self = short
  }
}

extension Bool: PostgresReadable {
  init(_ row: PostgresRow, _ column: Int32) throws { self = try row.integer(column) != 0 }
}

extension String: PostgresReadable {
  init(_ row: PostgresRow, _ column: Int32) throws {
    guard let bytes = row.result.bytes(row.row, column) else { throw PostgresResult.wrong("a text is missing") }
    self = withExtendedLifetime(row.result) { String(decoding: bytes, as: UTF8.self) }
  }
}

extension [UInt8]: PostgresReadable {
  init(_ row: PostgresRow, _ column: Int32) throws {
    guard let bytes = row.result.bytes(row.row, column) else { throw PostgresResult.wrong("bytes are missing") }
    self = withExtendedLifetime(row.result) { Array(bytes) }
  }
}

extension TemporaryExposureKey: PostgresReadable {
  init(_ row: PostgresRow, _ column: Int32) throws {
    guard let bytes = row.result.bytes(row.row, column), bytes.count == Self.byteCount, let start = bytes.baseAddress
    else { throw PostgresResult.wrong("a key is not sixteen bytes long") }
    self = withExtendedLifetime(row.result) { TemporaryExposureKey(loadingFrom: start) }
  }
}

extension Instant: PostgresReadable {
  init(_ row: PostgresRow, _ column: Int32) throws { self.init(secondsSince1970: try row.number(column)) }
}

extension Optional: PostgresReadable where Wrapped: PostgresReadable {
  init(_ row: PostgresRow, _ column: Int32) throws { self = row.isNull(column) ? nil : try Wrapped(row, column) }
}
