internal import ExposureKeys

// The claims, a row each, in the order of key data.

/// All claims from some key data on, some at a time.
struct ClaimCursor {
  private let sql: any SQLSession
  private let start: TemporaryExposureKey?
  private var rows: [ClaimRow] = []
  private var next = 0
  private var isLast = false

  /// Rows that are read at once. The first time there are fewer, for a caller that needs few.
  private var count = 256
  private static let most = 8192

  fileprivate init(_ sql: any SQLSession, from start: TemporaryExposureKey?) { (self.sql, self.start) = (sql, start) }

  mutating func take() throws -> ClaimRow? {
    if next == rows.count {
      if isLast { return nil }
      try read()
      if rows.isEmpty { return nil }
    }
    defer { next += 1 }
    return rows[next]
  }

  private mutating func read() throws {
    let place = rows.last?.identity ?? start.map { [$0.sqlValue] } ?? []
    let condition =
      switch place.count {
      case 0: ""
      case 1: "WHERE key >= $1"
      default: "WHERE (\(ClaimRow.identityColumns)) > (\(place.indices.map { "$\($0 + 1)" }.joined(separator: ", ")))"
      }
    rows.removeAll(keepingCapacity: true)
    next = 0
    try sql.eachClaim("\(condition) ORDER BY \(ClaimRow.identityColumns) LIMIT \(count)", with: place) {
      rows.append($0)
    }
    isLast = rows.count < count
    count = min(4 * count, Self.most)
  }
}

extension TableTransaction {
  func claimRows(from start: TemporaryExposureKey? = nil) -> ClaimCursor { ClaimCursor(sql, from: start) }

  /// What there is about key data, in its order.
  ///
  /// - Parameter keys: in order, each once.
  func claimRows(about keys: [TemporaryExposureKey]) throws -> [ClaimRow] {
    var found: [ClaimRow] = []
    try sql.inParts(keys.map(\.sqlValue)) { list, part in
      try sql.eachClaim("WHERE key IN \(list) ORDER BY \(ClaimRow.identityColumns)", with: part) { found.append($0) }
    }
    return found
  }

  /// Adds claims that are not there.
  func addClaims(_ rows: [ClaimRow]) throws {
    try sql.insert(
      into: "claims", ClaimRow.allColumns, rows.map { $0.identity + [$0.arrival.sqlValue, $0.recall.sqlValue] })
  }

  /// Removes claims that end by an interval, or are about one key data.
  ///
  /// - Returns: how many there were, and how many of them stood.
  func removeClaims(_ condition: String, with values: [SQLValue]) throws -> (all: Int, standing: Int) {
    var count = (all: 0, standing: 0)
    try sql.each("DELETE FROM claims WHERE \(condition) RETURNING recall", with: values) { row in
      count.all += 1
      if try row[0] as Int64 == 0 { count.standing += 1 }
    }
    if count.standing > 0 { try addToTotal(-count.standing) }
    return count
  }
}

extension SQLSession {
  /// Hands over claims.
  ///
  /// - Parameter rest: what stands behind the name of the table.
  func eachClaim(_ rest: String, with values: [SQLValue], _ body: (ClaimRow) throws -> Void) throws {
    try each("SELECT \(ClaimRow.allColumns.joined(separator: ", ")) FROM claims \(rest)", with: values) { row in
      var claim = try ClaimRow(row)
      (claim.arrival, claim.recall) = (try row[6], try row[7])
      if claim.isNegative { throw StorageFault(.corrupt, "claims: a row has a number below 0") }
      try body(claim)
    }
  }
}
