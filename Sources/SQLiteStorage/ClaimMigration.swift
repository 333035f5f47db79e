import ExposureKeys
import KeyStorage
import SQLite

/// From claims as rows, as earlier versions had them, to claims in runs.
extension Schema {
  static let runsBegun = "tables for runs of claims"

  /// Brings a store up to this version. Claims that an earlier one kept as rows are moved some at a time: each is a row or in a run
  /// whenever that is interrupted, and the next opening goes on.
  static func migrate(_ pool: DatabasePool) throws {
    if try !pool.read({ try migrator.appliedIdentifiers($0).contains(runsBegun) }) {
      try migrator.migrate(pool, upTo: runsBegun)
    }
    if try pool.read({ try $0.tableExists("claims") }) {
      let (left, moved) = try pool.read { database in
        (
          try Int.fetchOne(database, sql: "SELECT count(*) FROM claims") ?? 0,
          try Int.fetchOne(database, sql: "SELECT ifnull(sum(claims), 0) FROM claim_runs") ?? 0
        )
      }
      repeat {
        let done = try pool.read { try Int.fetchOne($0, sql: "SELECT ifnull(sum(claims), 0) FROM claim_runs") ?? 0 }
        OpeningProgress.tell(OpeningStep(.moving, done: done, of: left + moved))
      } while try pool.write { try moveClaims(in: $0) }
    }
    try migrator.migrate(pool)
  }

  /// Moves the next claims from the table of earlier versions into the run that takes them, which ends before them.
  ///
  /// - Parameter limit: how many, about.
  /// - Returns: whether there may be more.
  static func moveClaims(in database: Database, limit: Int = StoreTuning.movedAtOnce) throws -> Bool {
    let statement = try RawStatement(
      database, "SELECT \(ClaimRow.columns), arrival, ifnull(recall, 0) FROM claims ORDER BY \(ClaimRow.columns)")
    var rows: [ClaimRow] = []
    while try statement.step() {
      var row = try ClaimRow(statement)
      // Claims whose key data begins alike go together.
      if rows.count >= limit, rows.last.map({ $0.key.high >> 32 != row.key.high >> 32 }) ?? false {
        break
      }
      guard let arrival = Int32(exactly: statement.int(at: 6)), let recall = Int32(exactly: statement.int(at: 7)) else {
        throw StorageFault(.corrupt, "a claim of arrival \(statement.int(at: 6)), at most \(Int32.max) are allowed")
      }
      (row.arrival, row.recall) = (arrival, recall)
      rows.append(row)
    }
    statement.reset()
    guard let last = rows.last else { return false }
    try ClaimRuns(try SQLiteSegments(database), filters: [:]).append(rows)
    let removal = try RawStatement(database, "DELETE FROM claims WHERE key <= ?1")
    try withBytes(of: last.key) { bytes in
      removal.bind(key: bytes, at: 1)
      _ = try removal.run()
    }
    return true
  }
}
