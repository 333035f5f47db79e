import KeyNormalization

/// What a claim states beside its rolling start, in one integer of at most four bytes: the bits of its ``Statement``.
enum ClaimWords {
  /// Which integers are statements, for the schema. `said` of a wrong type is refused by the table itself.
  ///
  /// A table keeps its check, and the list of report types may grow, so it lets through every one that has bits.
  static let check =
    "said BETWEEN 1 AND \(Statement.highest)"
    + Statement.Field.allCases.map { field in
      let bits = "said >> \(field.shift) & \(field.mask)"
      let highest = field == .reportType ? field.mask : field.highestNumber
      return " AND \(bits) BETWEEN \(field.isRequired ? 1 : 0) AND \(highest)"
    }.joined()
}
