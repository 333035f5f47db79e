/// A table for analysis: what it holds, a row after the other.
public struct TableDescription: Hashable, Sendable {
  public var name: String
  /// One or more, with names of their own.
  public var columns: [Column]

  public struct Column: Hashable, Sendable {
    public var name: String
    public var kind: ColumnKind
    /// Whether a row may have no value.
    public var isOptional: Bool
    /// Whether rows are looked up by it, where a store can help with that.
    public var isIndexed: Bool

    public init(_ name: String, _ kind: ColumnKind, isOptional: Bool = false, isIndexed: Bool = false) {
      self.name = name
      self.kind = kind
      self.isOptional = isOptional
      self.isIndexed = isIndexed
    }
  }

  public init(_ name: String, _ columns: [Column]) {
    self.name = name
    self.columns = columns
  }
}

/// What the values of a column are.
public enum ColumnKind: Hashable, Sendable {
  case boolean
  case int32
  case int64
  /// Milliseconds since 1970, UTC.
  case timestamp
  case text
  /// So many bytes each.
  case bytes(Int)
}

/// A column that takes the value of the row that is being written: one for each row, or none where it is optional.
public protocol TableColumn: AnyObject {
  /// A number, or for a boolean 0 and 1, or milliseconds since 1970.
  func append(_ number: Int64)
  func append(_ text: String)
  /// - Parameter bytes: as many as the kind says.
  func append(bytes: [UInt8])
  func appendNothing()
}

extension TableColumn {
  public func append(_ value: Bool) { append(value ? 1 : 0) }
  public func append(optional number: (some BinaryInteger)?) {
    if let number { append(Int64(clamping: number)) } else { appendNothing() }
  }
  public func append(optional text: String?) { if let text { append(text) } else { appendNothing() } }
}

/// A table that is being written.
public protocol TableRows: AnyObject {
  /// In the order of the description.
  var columns: [any TableColumn] { get }
  /// Ends a row: every column has been given its value.
  func endRow() throws
}

/// Where tables are written to.
public protocol TableStore: AnyObject {
  /// Begins a table. Several may be written by turns.
  func table(_ description: TableDescription) throws -> any TableRows
  /// Writes what is left. Nothing is complete before.
  func finish() throws
}
