internal import ExposureKeys
package import KeyNormalization

/// Which claims were known at an event: those that had arrived, and that no recall had withdrawn.
package struct RowHorizon: Sendable {
  package var arrival: Int64
  package var recall: Int64

  package init(arrival: Int64, recall: Int64) {
    self.arrival = arrival
    self.recall = recall
  }

  package static let now = RowHorizon(arrival: .max, recall: .max)

  /// Whether it had come.
  @inline(__always)
  package func has(_ row: ClaimRow) -> Bool { Int64(row.arrival) <= arrival }

  /// Whether no recall had withdrawn it.
  @inline(__always)
  package func stands(_ row: ClaimRow) -> Bool { row.stands || Int64(row.recall) > recall }
}

extension Embargo {
  package mutating func add(_ row: ClaimRow) { add(row.statement, about: row.subject) }
}

/// A page that is filled from rows, in the order of key data: the store's numbers become those of the page.
package struct ClaimPageRows {
  package private(set) var claims = ClaimSet()
  package var embargo = Embargo()
  private let horizon: RowHorizon
  /// Withdrawn claims about the key that is being read. They count for how long it is valid, and for nothing else; a key
  /// that nobody claims any more is not in the page.
  private var withdrawn: [ClaimRow] = []
  private var last: TemporaryExposureKey?
  private var origins: [OriginID?] = []
  private var regions: [RegionClaim.ID?] = []
  private var sources: [SourceID?] = []
  /// Whether other numbers of the store are other names in the page: then its rows, each of which is there once, are other claims.
  private var areDistinct = true

  package init(_ horizon: RowHorizon) { self.horizon = horizon }

  /// Whether a row begins the claims about another key.
  package func isFull(before row: ClaimRow) -> Bool {
    last != nil && last != row.key && horizon.has(row) && horizon.stands(row)
  }

  @inline(__always)
  package mutating func take(_ row: ClaimRow, names: TableTransaction) throws {
    guard horizon.has(row) else { return }
    if withdrawn.last?.key != row.key { withdrawn.removeAll(keepingCapacity: true) }
    guard horizon.stands(row) else {
      if last == row.key { embargo.add(row) } else { withdrawn.append(row) }
      return
    }
    last = row.key
    for row in withdrawn { embargo.add(row) }
    withdrawn.removeAll(keepingCapacity: true)
    try insert(row, names: names)
  }

  package mutating func insert(_ row: ClaimRow, names: TableTransaction) throws {
    let regionSet =
      try regions[known: row.regions]
      ?? regions.know(
        row.regions, &areDistinct, claims.id(ofVisited: row.regions == 0 ? nil : try names.regions(row.regions)))
    let origin =
      try origins[known: row.origin]
      ?? origins.know(
        row.origin, &areDistinct, row.origin == 0 ? .lost : claims.id(ofOrigin: try names.origin(row.origin)))
    let source =
      try sources[known: row.source]
      ?? sources.know(row.source, &areDistinct, claims.id(of: try names.source(row.source)))
    let claim = AdmittedClaim(
      subject: row.subject, statement: row.statement, regions: regionSet, origin: origin, source: source)
    if areDistinct { claims.append(distinct: claim) } else { claims.insert(stored: claim) }
  }
}

extension Array {
  fileprivate subscript<Wrapped>(known number: Int32) -> Wrapped? where Element == Wrapped? {
    number >= 0 && number < count ? self[Int(number)] : nil
  }

  fileprivate mutating func know<Wrapped: Equatable>(
    _ number: Int32, _ areDistinct: inout Bool, _ element: Wrapped
  ) -> Wrapped where Element == Wrapped? {
    if contains(element) { areDistinct = false }
    if number >= count { append(contentsOf: repeatElement(nil, count: Int(number) + 1 - count)) }
    if number >= 0 { self[Int(number)] = element }
    return element
  }
}
