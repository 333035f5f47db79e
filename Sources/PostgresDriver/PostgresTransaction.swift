import ExposureKeys
import KeyNormalization
import KeyStorage

/// One transaction of the database, for the time of its body.
final class PostgresTransaction: ClaimTables {
  let database: PostgresConnection
  let sql: any SQLSession
  var names: Names
  /// Whether the tables are to be vacuumed, which have what was deleted.
  var hasErased = false
  /// When the last token ended that was forgotten, once somebody has asked for it.
  var endOfForgotten: Instant??
  /// `nil` for who only reads.
  private let counters: Counters?

  /// The filters that are known of the state before; `nil` where none are read.
  let filters: [Int32: RunFilters]?
  /// All claims, once somebody has asked for them.
  var runs: ClaimRuns?
  /// What series have released, by their numbers, once somebody has asked for it.
  var releases: [Int64: ClaimRuns] = [:]
  let releaseNames: ReleaseNames
  /// Whether it may change anything.
  var isWriting: Bool { filters != nil }

  /// The rows of the runs that were asked for.
  var segments: [SegmentTables: PostgresSegments] = [:]

  /// - Parameters:
  ///   - counters: `nil` for who only reads, as is `filters`.
  init(
    _ database: PostgresConnection, names: Names, counters: Counters? = nil, filters: [Int32: RunFilters]? = nil
  ) {
    self.database = database
    sql = PostgresSession(database, counters)
    self.names = names
    self.counters = counters
    self.filters = filters
    releaseNames = ReleaseNames(sql)
  }

  /// Sends what waits to be written; before the end.
  func finish() throws {
    for tables in segments.values { try tables.flush() }
  }

  /// - Throws: ``StorageFault`` in a transaction that reads.
  func counting() throws -> Counters { try Self.writing(counters) }

  static func writing(_ counters: Counters?) throws -> Counters {
    guard let counters else { throw StorageFault(.held, "nothing is written in a transaction that reads") }
    return counters
  }

  func claimRuns() throws -> ClaimRuns {
    if let runs { return runs }
    let read = try ClaimRuns(segments(.claims), filters: filters)
    runs = read
    return read
  }

  func releaseRuns(of series: Int64) throws -> ClaimRuns {
    if let known = releases[series] { return known }
    let read = try ClaimRuns(segments(.released(series: series)), filters: isWriting ? [:] : nil)
    releases[series] = read
    return read
  }

  func segments(_ tables: SegmentTables) throws -> PostgresSegments {
    if let known = segments[tables] { return known }
    let new = PostgresSegments(database, tables, counters: isWriting ? try counting() : nil)
    segments[tables] = new
    return new
  }

  func expire(keysExpiredBefore limit: Instant, contentBytes: Int, at now: Instant) throws -> ExpiryReceipt {
    var receipt = try expireRuns(endingBy: limit.secondsSince1970, limit: Self.expiredAtOnce)
    try agendaTable().expire(endingBy: limit.secondsSince1970)
    try expireRows(keysExpiredBefore: limit, contentBytes: contentBytes, at: now, &receipt)
    return receipt
  }

  func eraseRows(about key: TemporaryExposureKey) throws -> Int {
    hasErased = true
    try agendaTable().erase(key)
    return try eraseReleases(about: key)
  }

  /// Claims that expiry looks at in one transaction.
  private static let expiredAtOnce = 1_000_000
}
