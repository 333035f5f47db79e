import ExposureKeys
import GRDB
import KeyNormalization
import KeyStorage

/// One transaction of the database, for the time of its body.
final class SQLiteTransaction: ClaimTables {
  let database: Database
  let sql: any SQLSession
  var names: Names
  /// Whether the log of changes has to go as well, which has what was deleted.
  var hasErased = false
  /// When the last token ended that was forgotten, once somebody has asked for it.
  var endOfForgotten: Instant??

  /// The filters that are known of the state before; `nil` where none are read.
  let filters: [Int32: RunFilters]?
  /// All claims, once somebody has asked for them.
  var runs: ClaimRuns?
  /// What series have released, by their numbers, once somebody has asked for it.
  var releases: [Int64: ClaimRuns] = [:]
  let releaseNames: ReleaseNames
  /// Claims that expiry looks at.
  private let expiredAtOnce: Int
  /// Up to so many claims the agenda mixes their key data with others'.
  let smallBatch: Int
  /// Whether it may change anything.
  var isWriting: Bool { filters != nil }

  /// - Parameter filters: `nil` for who only reads.
  init(
    _ database: Database, names: Names, filters: [Int32: RunFilters]? = nil,
    expiredAtOnce: Int = StoreTuning.expiredAtOnce, smallBatch: Int = RunTiers.smallBatch, isTransaction: Bool = true
  ) {
    self.smallBatch = smallBatch
    self.expiredAtOnce = expiredAtOnce
    self.database = database
    sql = SQLiteSession(database, isTransaction: isTransaction)
    self.names = names
    self.filters = filters
    releaseNames = ReleaseNames(sql)
  }

  func claimRuns() throws -> ClaimRuns {
    if let runs { return runs }
    let read = try ClaimRuns(try SQLiteSegments(database, sql), filters: filters)
    runs = read
    return read
  }

  func releaseRuns(of series: Int64) throws -> ClaimRuns {
    if let known = releases[series] { return known }
    let read = try ClaimRuns(
      try SQLiteSegments(database, sql, .released(series: series)), filters: isWriting ? [:] : nil)
    releases[series] = read
    return read
  }

  func expire(keysExpiredBefore limit: Instant, contentBytes: Int, at now: Instant) throws -> ExpiryReceipt {
    var receipt = try expireRuns(endingBy: limit.secondsSince1970, limit: expiredAtOnce)
    try SQLiteAgenda(database).expire(endingBy: limit.secondsSince1970)
    try expireRows(keysExpiredBefore: limit, contentBytes: contentBytes, at: now, &receipt)
    return receipt
  }

  func eraseRows(about key: TemporaryExposureKey) throws -> Int {
    hasErased = true
    try SQLiteAgenda(database).erase(key)
    return try eraseReleases(about: key)
  }
}
