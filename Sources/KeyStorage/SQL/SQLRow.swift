package import ExposureKeys
internal import FoundationEssentials

/// One row that a query gave. Reading it never traps: anyone with access to a database can write anything into it.
package struct SQLRow {
  private let columns: SQLColumns
  let values: [StoredValue]

  /// - Parameter values: as many as there are columns.
  package init(_ columns: SQLColumns, _ values: [StoredValue]) { (self.columns, self.values) = (columns, values) }

  /// - Throws: ``StorageFault`` `corrupt` where the column has something else, or a number beyond what a store writes.
  package subscript<Value: SQLReadable>(_ name: String) -> Value {
    get throws {
      guard let place = columns.places[name] else {
        throw StorageFault(.corrupt, "a row has no column \(columns.place(of: name))")
      }
      return try read(place, name)
    }
  }

  /// By its place.
  package subscript<Value: SQLReadable>(_ place: Int) -> Value {
    get throws { try read(place, columns.names.indices.contains(place) ? columns.names[place] : "\(place)") }
  }

  private func read<Value: SQLReadable>(_ place: Int, _ name: String) throws -> Value {
    guard values.indices.contains(place) else {
      throw StorageFault(.corrupt, "a row has no column \(columns.place(of: name))")
    }
    guard let value = Value(values[place]) else {
      throw StorageFault(
        .corrupt, "the column \(columns.place(of: name)) has \(values[place].kind), allowed is \(Value.kind)")
    }
    return value
  }
}

/// What the columns of a query are called.
package final class SQLColumns: Sendable {
  let names: [String]
  let places: [String: Int]
  private let sql: String

  /// - Parameter sql: the query.
  package init(_ names: [String], of sql: String) {
    self.names = names
    self.sql = sql
    places = Dictionary(zip(names, names.indices), uniquingKeysWith: { first, _ in first })
  }

  /// For messages: a column, and the table where the query asks one alone.
  fileprivate func place(of name: String) -> String {
    let words = sql.split { $0.isWhitespace || "();,".contains($0) }
    let tables = Set(words.indices.dropLast().filter { ["FROM", "JOIN"].contains(words[$0]) }.map { words[$0 + 1] })
    return tables.count == 1 ? "\(name) of \(tables.first ?? "")" : name
  }
}

extension StoredValue {
  /// For messages: numbers as they are, and nothing of texts and bytes, which may be key data.
  fileprivate var kind: String {
    switch self {
    case .none: "nothing"
    case .number(let number): "\(number)"
    case .text: "a text"
    case .bytes(let bytes): "\(bytes.count) bytes"
    }
  }
}

/// What can be read of a column.
package protocol SQLReadable {
  /// What is expected, for messages.
  static var kind: String { get }
  /// `nil` where the value is something else.
  init?(_ value: StoredValue)
}

/// A count, the number of a row, or a time in seconds: code that reads one may add to it and multiply it, and nothing overflows.
extension Int64: SQLReadable {
  package static var kind: String { "a whole number within ±2^53" }

  package init?(_ value: StoredValue) {
    guard case .number(let number) = value, (-Self.mostStored...Self.mostStored).contains(number) else { return nil }
    self = number
  }

  /// No store writes a larger number.
  package static var mostStored: Int64 { 1 << 53 }
}

extension Int: SQLReadable {
  package static var kind: String { Int64.kind }

  package init?(_ value: StoredValue) {
    guard let number = Int64(value) else { return nil }
    self = Int(number)
  }
}

extension Int32: SQLReadable {
  package static var kind: String { "a whole number of 32 bits" }

  package init?(_ value: StoredValue) {
    guard case .number(let number) = value else { return nil }
    self.init(exactly: number)
  }
}

extension Bool: SQLReadable {
  package static var kind: String { "0 or 1" }

  package init?(_ value: StoredValue) {
    switch value {
    case .number(0): self = false
    case .number(1): self = true
    default: return nil
    }
  }
}

extension String: SQLReadable {
  package static var kind: String { "a text" }

  package init?(_ value: StoredValue) {
    guard case .text(let text) = value else { return nil }
    self = text
  }
}

extension [UInt8]: SQLReadable {
  package static var kind: String { "bytes" }

  package init?(_ value: StoredValue) {
    guard case .bytes(let bytes) = value else { return nil }
    self = bytes
  }
}

extension TemporaryExposureKey: SQLReadable {
  package static var kind: String { "a key of 16 bytes" }

  package init?(_ value: StoredValue) {
    guard case .bytes(let bytes) = value, bytes.count == Self.byteCount else { return nil }
    let key = bytes.withUnsafeBytes { $0.baseAddress.map { TemporaryExposureKey(loadingFrom: $0) } }
    guard let key else { return nil }
    self = key
  }
}

extension Instant: SQLReadable {
  package static var kind: String { Int64.kind }

  package init?(_ value: StoredValue) {
    guard let seconds = Int64(value) else { return nil }
    self.init(secondsSince1970: seconds)
  }
}

extension Optional: SQLReadable where Wrapped: SQLReadable {
  package static var kind: String { "\(Wrapped.kind), or nothing" }

  package init?(_ value: StoredValue) {
    if value == .none {
      self = .none
      return
    }
    guard let wrapped = Wrapped(value) else { return nil }
    self = .some(wrapped)
  }
}

extension SQLRow {
  var fault: DocumentFault? {
    get throws {
      let (code, reason): (String?, String?) = (try self["fault_code"], try self["fault_reason"])
      guard let code, let reason else { return nil }
      return DocumentFault(code: FaultCode(rawValue: code), reason: reason)
    }
  }

  /// Which operator did it, and why; `nil` if no operator did.
  var word: Attribution? {
    get throws {
      let who: String? = try self["who"]
      return try who.map { Attribution(by: $0, reason: try self["why"]) }
    }
  }

  /// A text from a list in the schema.
  func choice<Choice: RawRepresentable>(_ column: String) throws -> Choice where Choice.RawValue == String {
    try Self.choice(self[column], column)
  }

  static func choice<Choice: RawRepresentable>(_ text: String, _ column: String) throws -> Choice
  where Choice.RawValue == String {
    guard let choice = Choice(rawValue: text) else {
      throw StorageFault(
        .corrupt, "\(column) \(text.isEmpty ? "of no letter" : String(text.prefix(40))) is none that a store has")
    }
    return choice
  }
}

/// Lists and counts that are columns of text.
package enum JSONColumn {
  package static func encode(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  package static func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
    let value: Value
    do {
      value = try JSONDecoder().decode(type, from: Data(text.utf8))
    } catch {
      throw StorageFault(
        .corrupt,
        "a list or counts in the store cannot be read: \(text.count) characters that are not the JSON that was written")
    }
    // A count is bounded like a column that is one.
    if let counts = value as? [String: Int], counts.values.contains(where: { Int64($0).magnitude > Int64.mostStored }) {
      throw StorageFault(.corrupt, "a count in the store is beyond ±2^53")
    }
    return value
  }
}
