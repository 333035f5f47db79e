import ExposureKeys
import GRDB
import KeyStorage
import Synchronization

/// Which runs.
enum SegmentTables: Hashable {
  case claims
  /// What a series has released.
  case released(series: Int64)

  var prefix: String {
    switch self {
    case .claims: "claim"
    case .released: "release"
    }
  }

  /// What a list of runs says of those that are others'.
  fileprivate var series: Int64? {
    switch self {
    case .claims: nil
    case .released(let series): series
    }
  }
}

/// Runs as rows of SQLite: a block fills a page, so that one key is found by reading one.
final class SQLiteSegments: ClaimSegments {
  private let database: Database
  private let sql: any SQLSession
  private let tables: SegmentTables
  private let before: RawStatement
  private let behind: RawStatement
  private let placeBehind: RawStatement
  private let insertion: RawStatement
  private let removal: RawStatement

  init(_ database: Database, _ sql: any SQLSession, _ tables: SegmentTables = .claims) throws {
    (self.database, self.sql) = (database, sql)
    self.tables = tables
    let blocks = "\(tables.prefix)_blocks"
    before = try RawStatement(
      database, "SELECT id, claims FROM \(blocks) WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1")
    behind = try RawStatement(
      database, "SELECT id, claims FROM \(blocks) WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT 1")
    placeBehind = try RawStatement(
      database, "SELECT id FROM \(blocks) WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT 1")
    insertion = try RawStatement(database, "INSERT OR REPLACE INTO \(blocks) (id, claims) VALUES (?1, ?2)")
    removal = try RawStatement(database, "DELETE FROM \(blocks) WHERE id = ?1")
  }

  var content: String {
    guard let series = tables.series else { return "claims" }
    let name: String? = try? sql.value("SELECT name FROM series WHERE id = $1", series)
    return "releases of \(name ?? "series \(series)")"
  }

  func runs() throws -> [ClaimRun] {
    let rows =
      if let series = tables.series {
        try sql.rows("SELECT * FROM \(tables.prefix)_runs WHERE series = $1 ORDER BY id", series)
      } else {
        try sql.rows("SELECT * FROM \(tables.prefix)_runs ORDER BY id")
      }
    return try rows.map { row in
      let sweep: Int64? = try row["sweep"]
      return try ClaimRun(
        number: row["id"], rowCount: row["claims"], firstEnd: row["first_end"], hasFilters: row["has_filters"],
        into: row["target"],
        sweep: sweep.map { try ClaimRun.Sweep(next: UInt32(truncatingIfNeeded: $0), firstEnd: row["sweep_end"]) })
    }
  }

  func withBlock(
    atOrBefore place: BlockPlace, _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    before.bind(BlockPlace(run: place.run, prefix: 0).rawValue, at: 1)
    before.bind(place.rawValue, at: 2)
    return try read(before, body)
  }

  func withBlock(
    behind place: BlockPlace, _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    behind.bind(place.rawValue, at: 1)
    behind.bind(BlockPlace(run: place.run, prefix: .max).rawValue, at: 2)
    return try read(behind, body)
  }

  private func read(
    _ statement: RawStatement, _ body: (BlockPlace, UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    defer { statement.reset() }
    guard try statement.step() else { return false }
    try body(BlockPlace(rawValue: statement.int(at: 0)), statement.bytes(at: 1))
    return true
  }

  func place(behind place: BlockPlace) throws -> BlockPlace? {
    placeBehind.bind(place.rawValue, at: 1)
    placeBehind.bind(BlockPlace(run: place.run, prefix: .max).rawValue, at: 2)
    defer { placeBehind.reset() }
    return try placeBehind.step() ? BlockPlace(rawValue: placeBehind.int(at: 0)) : nil
  }

  func filters(of run: Int32) throws -> [(place: BlockPlace, filter: ClaimFilter)] {
    let statement = try RawStatement(
      database, "SELECT id, filter FROM \(tables.prefix)_filters WHERE id BETWEEN ?1 AND ?2 ORDER BY id")
    defer { statement.reset() }
    statement.bind(BlockPlace(run: run, prefix: 0).rawValue, at: 1)
    statement.bind(BlockPlace(run: run, prefix: .max).rawValue, at: 2)
    var filters: [(place: BlockPlace, filter: ClaimFilter)] = []
    while try statement.step() {
      let place = BlockPlace(rawValue: statement.int(at: 0))
      guard let filter = ClaimFilter(statement.bytes(at: 1)) else {
        throw StorageFault(
          .corrupt, "\(content): the filter at \(place.prefix) of run \(run) is not what was written")
      }
      filters.append((place, filter))
    }
    return filters
  }

  func newRunNumber() throws -> Int32 {
    if let series = tables.series {
      try sql.run(
        "INSERT INTO \(tables.prefix)_runs (series, claims, first_end, has_filters) VALUES ($1, 0, 0, 0)", series)
    } else {
      try sql.run("INSERT INTO \(tables.prefix)_runs (claims, first_end, has_filters) VALUES (0, 0, 0)")
    }
    guard let number = Int32(exactly: database.lastInsertedRowID) else {
      throw StorageFault(
        .full, "\(content): run \(database.lastInsertedRowID), at most \(Int32.max) are allowed")
    }
    return number
  }

  func save(_ run: ClaimRun) throws {
    try sql.run(
      """
      UPDATE \(tables.prefix)_runs
      SET claims = $1, first_end = $2, has_filters = $3, target = $4, sweep = $5, sweep_end = $6 WHERE id = $7
      """, run.rowCount, run.firstEnd, run.hasFilters, run.into, run.sweep.map { Int64($0.next) }, run.sweep?.firstEnd,
      run.number)
  }

  func remove(_ run: Int32) throws {
    let (first, last) = (BlockPlace(run: run, prefix: 0).rawValue, BlockPlace(run: run, prefix: .max).rawValue)
    try sql.run("DELETE FROM \(tables.prefix)_blocks WHERE id BETWEEN $1 AND $2", first, last)
    try sql.run("DELETE FROM \(tables.prefix)_filters WHERE id BETWEEN $1 AND $2", first, last)
    try sql.run("DELETE FROM \(tables.prefix)_runs WHERE id = $1", run)
  }

  func put(_ block: [UInt8], at place: BlockPlace) throws {
    insertion.bind(place.rawValue, at: 1)
    try insertion.bind(bytes: block, at: 2) { try insertion.run() }
  }

  func removeBlock(at place: BlockPlace) throws {
    removal.bind(place.rawValue, at: 1)
    try removal.run()
  }

  func put(_ filter: ClaimFilter, at place: BlockPlace) throws {
    let statement = try RawStatement(
      database, "INSERT OR REPLACE INTO \(tables.prefix)_filters (id, filter) VALUES (?1, ?2)")
    statement.bind(place.rawValue, at: 1)
    try statement.bind(bytes: filter.bytes, at: 2) { try statement.run() }
  }
}

/// The filters of the runs as the last transaction that was kept left them.
final class SharedFilters: Sendable {
  private let filters = Mutex<[Int32: RunFilters]>([:])

  var latest: [Int32: RunFilters] {
    get { filters.withLock { $0 } }
    set { filters.withLock { $0 = newValue } }
  }
}

/// Whether another process has written to the file since this one did.
final class OtherWriters: Sendable {
  /// What SQLite says of commits by others, as the writing connection saw it last.
  private let commits = Mutex<Int64?>(nil)

  /// - Parameter database: the writing connection, inside a transaction, so that no other process writes now.
  func haveWritten(to database: Database) throws -> Bool {
    let now: Int64? = try SQLiteSession(database).value("PRAGMA data_version")
    return commits.withLock { commits in
      defer { commits = now }
      return commits != now
    }
  }
}
