/// A table for analysis: what it holds, a row after the other.
package struct TableDescription: Hashable, Sendable {
  package var name: String
  /// One or more, with names of their own.
  package var columns: [Column]

  package struct Column: Hashable, Sendable {
    package var name: String
    package var kind: ColumnKind
    /// Whether a row may have no value.
    package var isOptional: Bool
    /// Whether rows are looked up by it.
    package var isIndexed: Bool

    package init(_ name: String, _ kind: ColumnKind, isOptional: Bool = false, isIndexed: Bool = false) {
      self.name = name
      self.kind = kind
      self.isOptional = isOptional
      self.isIndexed = isIndexed
    }
  }

  package init(_ name: String, _ columns: [Column]) {
    self.name = name
    self.columns = columns
  }
}

/// What the values of a column are.
package enum ColumnKind: Hashable, Sendable {
  case boolean
  case int32
  case int64
  /// Milliseconds since 1970, UTC.
  case timestamp
  case text
  case bytes
}
