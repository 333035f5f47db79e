import ExposureKeys
import KeyStorage
import SQLite

/// Copies the blocks of a table of which pages cannot be read: all rows that stand on other pages. Where some are gone a block without
/// content is put, so that a repair knows in which place of which run claims are to be looked for.
struct SavedBlocks {
  private let damaged: Database
  private let database: Database
  private let name: String
  private let runs: String

  /// - Parameters:
  ///   - prefix: with which the names of the tables begin.
  ///   - damaged: is in no transaction.
  init(_ prefix: String, from damaged: Database, into database: Database) {
    (self.damaged, self.database) = (damaged, database)
    (name, runs) = ("\(prefix)_blocks", "\(prefix)_runs")
  }

  /// - Parameter parts: of the damaged table. The list of runs is copied already.
  func copy(_ parts: [TableTree.Part]) throws {
    // Behind these rows some may be gone.
    var gaps: [Int64] = []
    for part in parts {
      if part.state == .lost {
        gaps.append(part.after)
      } else {
        try copy(part, noting: &gaps)
      }
    }
    // What was never a block of a run, nobody would remove.
    try database.execute(sql: "DELETE FROM \(name) WHERE id >> 32 NOT IN (SELECT id FROM \(runs))")
    for gap in gaps { try mark(behind: gap) }
  }

  private func copy(_ part: TableTree.Part, noting gaps: inout [Int64]) throws {
    var read = [part.after]
    var isWhole = try copy(after: part.after, upTo: part.upTo, isBackwards: false) { read.append($0) }
    if !isWhole {
      let last = read[read.count - 1]
      var behind: [Int64] = []
      isWhole = try copy(after: last, upTo: part.upTo, isBackwards: true) { behind.append($0) }
      if !isWhole { gaps.append(last) }
      read += behind.reversed()
    }
    if part.state == .damaged { gaps += read }
  }

  /// - Returns: whether it came to the end.
  private func copy(after: Int64, upTo: Int64, isBackwards: Bool, _ copied: (Int64) -> Void) throws -> Bool {
    let rows = try RawStatement(
      damaged, "SELECT id, claims FROM \(name) WHERE id > ?1 AND id <= ?2 ORDER BY id \(isBackwards ? "DESC" : "ASC")")
    let insertion = try RawStatement(database, "INSERT OR IGNORE INTO \(name) (id, claims) VALUES (?1, ?2)")
    defer { rows.reset() }
    rows.bind(after, at: 1)
    rows.bind(upTo, at: 2)
    while true {
      do {
        guard try rows.step() else { return true }
      } catch let error as DatabaseError
        where error.resultCode == .corrupt || error.extendedResultCode == .damagedPage
      {
        return false
      }
      let number = rows.int(at: 0)
      let content = Array(rows.bytes(at: 1))
      if number > 0, !content.isEmpty {
        insertion.bind(number, at: 1)
        try insertion.bind(bytes: content, at: 2) { _ = try insertion.run() }
      }
      copied(number)
    }
  }

  /// Puts blocks without content behind the last row that is there, up to the next one: one in each run.
  private func mark(behind gap: Int64) throws {
    let before = try Row.fetchOne(
      database, sql: "SELECT id, claims FROM \(name) WHERE id <= ? ORDER BY id DESC LIMIT 1", arguments: [gap])
    let end =
      try BlockPlace.fetchOne(
        database, sql: "SELECT id FROM \(name) WHERE id > ? ORDER BY id LIMIT 1", arguments: [gap])?.rawValue ?? .max
    var start: Int64 = 0
    if let before {
      let (place, content): (BlockPlace, [UInt8]) = try (before["id"], before["claims"])
      // There is one already.
      if content.isEmpty { return }
      start = Self.end(of: content, at: place)
    }
    let numbers = try Int64.fetchAll(
      database, sql: "SELECT id FROM \(runs) WHERE id BETWEEN ? AND ? ORDER BY id",
      arguments: [start >> 32, end >> 32])
    for run in numbers {
      let place = max(start, run << 32)
      guard place < end else { continue }
      try database.execute(
        sql: "INSERT OR IGNORE INTO \(name) (id, claims) VALUES (?, zeroblob(0))", arguments: [place])
    }
  }

  /// The first place behind the claims of a block; behind its own where they cannot be read.
  private static func end(of content: [UInt8], at place: BlockPlace) -> Int64 {
    var rows: [ClaimRow] = []
    let isWhole = content.withUnsafeBytes { (try? ClaimBlock.decode($0, into: &rows)) != nil }
    guard isWhole, let last = rows.last, last.key.high >> 32 >= UInt64(place.prefix) else { return place.rawValue + 1 }
    return BlockPlace(run: place.run, prefix: UInt32(truncatingIfNeeded: last.key.high >> 32)).rawValue + 1
  }
}
