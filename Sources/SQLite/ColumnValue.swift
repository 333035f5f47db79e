/// What a column of a row has, as SQLite stores it.
package enum DatabaseValue: Hashable, Sendable {
  case null
  case int64(Int64)
  case double(Double)
  case string(String)
  case blob([UInt8])

  /// For messages: the kind, and of texts and bytes never the content.
  var kind: String {
    switch self {
    case .null: "nothing"
    case .int64(let number): "\(number)"
    case .double(let number): "\(number)"
    case .string: "a text"
    case .blob: "bytes"
    }
  }
}

/// What can be written into a column, and read from one.
package protocol ColumnValue {
  /// What is expected, in words.
  static var kind: String { get }

  var databaseValue: DatabaseValue { get }

  /// `nil` where the value is of another kind, or beyond what this type holds.
  init?(_ value: DatabaseValue)
}

extension ColumnValue where Self: FixedWidthInteger {
  package static var kind: String { "a whole number of \(Self.min)...\(Self.max)" }

  package var databaseValue: DatabaseValue { .int64(Int64(clamping: self)) }

  package init?(_ value: DatabaseValue) {
    switch value {
    case .int64(let number): self.init(exactly: number)
    case .double(let number): self.init(exactly: number)
    default: return nil
    }
  }
}

extension Int32: ColumnValue {}
extension UInt32: ColumnValue {}

/// A count, the number of a row, or a time in seconds: who reads one may add to it and multiply it, and nothing overflows. Nothing has as
/// many of anything.
extension Int64: ColumnValue {
  package static var kind: String { "a whole number of \(-most)...\(most)" }
  private static let most: Int64 = 1 << 53

  package var databaseValue: DatabaseValue { .int64(self) }

  package init?(_ value: DatabaseValue) {
    let number: Int64?
    switch value {
    case .int64(let whole): number = whole
    case .double(let real): number = Int64(exactly: real)
    default: number = nil
    }
    guard let number, (-Self.most...Self.most).contains(number) else { return nil }
    self = number
  }
}

extension Int: ColumnValue {
  package static var kind: String { Int64.kind }

  package var databaseValue: DatabaseValue { .int64(Int64(self)) }

  package init?(_ value: DatabaseValue) {
    guard let number = Int64(value) else { return nil }
    self = Int(number)
  }
}

extension Bool: ColumnValue {
  package static var kind: String { "0 or 1" }

  package var databaseValue: DatabaseValue { .int64(self ? 1 : 0) }

  package init?(_ value: DatabaseValue) {
    guard case .int64(let number) = value else { return nil }
    self = number != 0
  }
}

extension String: ColumnValue {
  package static var kind: String { "a text" }

  package var databaseValue: DatabaseValue { .string(self) }

  package init?(_ value: DatabaseValue) {
    guard case .string(let text) = value else { return nil }
    self = text
  }
}

extension [UInt8]: ColumnValue {
  package static var kind: String { "bytes" }

  package var databaseValue: DatabaseValue { .blob(self) }

  package init?(_ value: DatabaseValue) {
    guard case .blob(let bytes) = value else { return nil }
    self = bytes
  }
}

extension DatabaseValue: ColumnValue {
  package static var kind: String { "anything" }

  package var databaseValue: DatabaseValue { self }

  package init?(_ value: DatabaseValue) { self = value }
}

extension Optional: ColumnValue where Wrapped: ColumnValue {
  package static var kind: String { "\(Wrapped.kind), or nothing" }

  package var databaseValue: DatabaseValue { self?.databaseValue ?? .null }

  package init?(_ value: DatabaseValue) {
    if value == .null {
      self = .none
      return
    }
    guard let wrapped = Wrapped(value) else { return nil }
    self = .some(wrapped)
  }
}

/// The values for the places of a statement: in their order (`?`), or by name (`:name`).
package struct StatementArguments: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  private(set) var values: [DatabaseValue] = []
  private(set) var named: [String: DatabaseValue] = [:]

  package init(arrayLiteral elements: (any ColumnValue)?...) {
    values = elements.map { $0?.databaseValue ?? .null }
  }

  package init(dictionaryLiteral elements: (String, (any ColumnValue)?)...) {
    named = Dictionary(elements.map { ($0, $1?.databaseValue ?? .null) }, uniquingKeysWith: { $1 })
  }

  package init(_ values: some Sequence<some ColumnValue>) {
    self.values = values.map(\.databaseValue)
  }

  package static func + (left: Self, right: Self) -> Self {
    var sum = left
    sum += right
    return sum
  }

  package static func += (left: inout Self, right: Self) {
    left.values += right.values
    left.named.merge(right.named) { $1 }
  }
}
