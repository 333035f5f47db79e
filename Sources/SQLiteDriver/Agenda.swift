import ExposureKeys
import GRDB
import KeyStorage

/// The agenda as rows of SQLite: pieces of key data, by the hour and the event for which they are noted.
struct SQLiteAgenda {
  private let database: Database
  private let sql: SQLiteSession

  /// - Parameter isTransaction: as that of ``SQLiteSession``.
  init(_ database: Database, isTransaction: Bool = true) {
    self.database = database
    sql = SQLiteSession(database, isTransaction: isTransaction)
  }

  // MARK: Noting

  /// Also where routine events are gone.
  func lastEvent() throws -> EventID {
    let last: Int64? = try sql.value("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
    return EventID(rawValue: last ?? 0)
  }

  /// - Parameter hours: key data by hour, in order, each once.
  func note(_ hours: [Int64: [TemporaryExposureKey]], in event: EventID, isSmall: Bool) throws {
    for (hour, keys) in hours.sorted(by: { $0.key < $1.key }) {
      if isSmall {
        try noteSmall(keys, for: hour, in: event)
      } else {
        for start in stride(from: 0, to: keys.count, by: AgendaPiece.mostKeys) {
          try insert(keys[start..<min(start + AgendaPiece.mostKeys, keys.count)], for: hour, in: event, isSmall: false)
        }
      }
    }
  }

  private func noteSmall(_ keys: [TemporaryExposureKey], for hour: Int64, in event: EventID) throws {
    let floor = try self.floor()
    let smallest = try RawStatement(
      database,
      """
      SELECT id, keys FROM agenda WHERE hour = ?1 AND is_small = 1 AND NOT (event <= ?2 AND hour <= ?3)
      ORDER BY count LIMIT 1
      """)
    smallest.bind(hour, at: 1)
    smallest.bind(floor.event.rawValue, at: 2)
    smallest.bind(floor.hour, at: 3)
    var (number, piece): (Int64?, [TemporaryExposureKey]) = (nil, [])
    if try smallest.step() {
      number = smallest.int(at: 0)
      try decode(smallest, at: 1, into: &piece)
    }
    smallest.reset()
    if let number { try remove(number) }
    for piece in AgendaPiece.adding(keys, to: piece) { try insert(piece[...], for: hour, in: event, isSmall: true) }
  }

  private func insert(
    _ keys: ArraySlice<TemporaryExposureKey>, for hour: Int64, in event: EventID, isSmall: Bool
  ) throws {
    let statement = try RawStatement(
      database, "INSERT INTO agenda (hour, event, count, is_small, keys) VALUES (?1, ?2, ?3, ?4, ?5)")
    statement.bind(hour, at: 1)
    statement.bind(event.rawValue, at: 2)
    statement.bind(Int64(keys.count), at: 3)
    statement.bind(Int64(isSmall ? 1 : 0), at: 4)
    try statement.bind(bytes: AgendaPiece.encode(keys), at: 5) { try statement.run() }
  }

  private func remove(_ number: Int64) throws {
    try sql.run("DELETE FROM agenda WHERE id = $1", number)
  }

  // MARK: Reading

  func floor() throws -> AgendaFloor {
    guard let row = try sql.row("SELECT event, hour FROM agenda_floor") else {
      throw StorageFault(.corrupt, "agenda: how far it was forgotten is not there")
    }
    return try AgendaFloor(event: EventID(rawValue: row["event"]), hour: row["hour"])
  }

  /// - Returns: in order, each once; `nil` where some of it was forgotten, or there are more than `limit`.
  func keys(
    after event: EventID, endingIn hours: ClosedRange<Int64>, limit: Int
  ) throws -> [TemporaryExposureKey]? {
    guard try floor().knows(after: event, endingIn: hours) else { return nil }
    let conditions = [
      ("event > $1 AND hour <= $2", [event.rawValue, hours.upperBound]),
      ("hour BETWEEN $1 AND $2 AND event <= $3", [hours.lowerBound, hours.upperBound, event.rawValue]),
    ]
    var keys: [TemporaryExposureKey] = []
    for (condition, arguments) in conditions {
      let sum = try sql.rows(
        "SELECT ifnull(sum(count), 0) FROM agenda WHERE \(condition)", with: arguments.map(\.sqlValue))
      let count: Int? = try sum.first.map { try $0[0] }
      guard let count, keys.count + count <= limit else { return nil }
      keys.reserveCapacity(keys.count + count)
      let statement = try RawStatement(
        database, SQLiteSession.numbered("SELECT keys, id FROM agenda WHERE \(condition)"))
      defer { statement.reset() }
      for (index, argument) in arguments.enumerated() { statement.bind(argument, at: Int32(index + 1)) }
      while try statement.step() { try decode(statement, at: 0, into: &keys) }
    }
    keys.sort()
    var last: TemporaryExposureKey?
    keys.removeAll { key in
      defer { last = key }
      return key == last
    }
    return keys
  }

  private func decode(_ statement: RawStatement, at column: Int32, into keys: inout [TemporaryExposureKey]) throws {
    guard AgendaPiece.decode(statement.bytes(at: column), into: &keys) else {
      throw StorageFault(.corrupt, "agenda: a piece is not what was written")
    }
  }

  /// The pieces that are not what was written.
  func damage() throws -> [String] {
    let floor = try self.floor()
    let statement = try RawStatement(database, "SELECT keys FROM agenda WHERE NOT (event <= ?1 AND hour <= ?2)")
    statement.bind(floor.event.rawValue, at: 1)
    statement.bind(floor.hour, at: 2)
    defer { statement.reset() }
    var wrong = 0
    var keys: [TemporaryExposureKey] = []
    while try statement.step() {
      keys.removeAll(keepingCapacity: true)
      if !AgendaPiece.decode(statement.bytes(at: 0), into: &keys) { wrong += 1 }
    }
    return wrong == 0 ? [] : ["agenda: pieces that are not what was written: \(wrong)"]
  }

  // MARK: Forgetting

  /// Nobody reads below the floor, so that what lies there may go little by little: what is deleted is overwritten, and nobody who
  /// publishes waits for all of it.
  func sweep(to floor: AgendaFloor) throws {
    let known = try self.floor()
    let floor = known.raised(to: floor)
    var more = 0
    if floor != known {
      more = try count(below: floor, butNotBelow: known)
      try setFloor(floor)
    }
    // Twice what has come to lie there since, so that it does not grow for ever.
    try forget(atMost: min(StoreTuning.forgottenKeys + 2 * more, StoreTuning.mostForgottenKeys))
  }

  /// How much key data lies below one floor and not below an earlier one; `StoreTuning.mostForgottenKeys` is that much or more.
  private func count(below floor: AgendaFloor, butNotBelow known: AgendaFloor) throws -> Int {
    let count: Int64? = try sql.value(
      """
      SELECT ifnull(sum(min(max(count, 0), \(AgendaPiece.mostKeys))), 0) FROM agenda
      WHERE event <= $1 AND hour <= $2 AND NOT (event <= $3 AND hour <= $4)
      """, floor.event.rawValue, floor.hour, known.event.rawValue, known.hour)
    return min(Int(clamping: count ?? 0), StoreTuning.mostForgottenKeys)
  }

  /// - Parameter limit: of key data; the piece that reaches it goes, too.
  private func forget(atMost limit: Int) throws {
    let floor = try self.floor()
    let statement = try RawStatement(
      database, "SELECT id, count FROM agenda WHERE event <= ?1 AND hour <= ?2")
    statement.bind(floor.event.rawValue, at: 1)
    statement.bind(floor.hour, at: 2)
    var (numbers, keys): ([Int64], Int) = ([], 0)
    while keys < limit, try statement.step() {
      numbers.append(statement.int(at: 0))
      // A piece is never for nothing: small ones are many. What a file says is no larger than a piece can be.
      keys += min(max(Self.leastWork, Int(clamping: statement.int(at: 1))), AgendaPiece.mostKeys)
    }
    statement.reset()
    for number in numbers { try remove(number) }
  }

  /// What it takes to forget a piece, in key data.
  private static let leastWork = 64

  func setFloor(_ floor: AgendaFloor) throws {
    try sql.run(
      "INSERT OR REPLACE INTO agenda_floor (id, event, hour) VALUES (1, $1, $2)", floor.event.rawValue, floor.hour)
  }

  /// Hours of which all claims have expired.
  func expire(endingBy end: Int64) throws {
    try sql.run("DELETE FROM agenda WHERE hour BETWEEN $1 AND $2", AgendaHour.now + 1, end / 3600)
  }

  /// Reads all of it: a key is noted for hours that nobody remembers.
  func erase(_ key: TemporaryExposureKey) throws {
    try forget(atMost: .max)
    var found: [(number: Int64, keys: [TemporaryExposureKey])] = []
    let statement = try RawStatement(database, "SELECT id, keys FROM agenda")
    while try statement.step() {
      var keys: [TemporaryExposureKey] = []
      try decode(statement, at: 1, into: &keys)
      if keys.contains(key) { found.append((statement.int(at: 0), keys.filter { $0 != key })) }
    }
    statement.reset()
    for (number, keys) in found {
      if keys.isEmpty {
        try remove(number)
        continue
      }
      let change = try RawStatement(database, "UPDATE agenda SET keys = ?1, count = ?2 WHERE id = ?3")
      change.bind(Int64(keys.count), at: 2)
      change.bind(number, at: 3)
      try change.bind(bytes: AgendaPiece.encode(keys[...]), at: 1) { try change.run() }
    }
  }
}

extension SQLiteTransaction {
  func agenda(
    after event: EventID, endingIn hours: ClosedRange<Int64>, limit: Int
  ) throws -> [TemporaryExposureKey]? {
    try SQLiteAgenda(database).keys(after: event, endingIn: hours, limit: limit)
  }

  func lookAgain(at keys: [TemporaryExposureKey]) throws {
    try note(keys.isEmpty ? [:] : [AgendaHour.now: keys], of: keys.count, isOpen: true)
  }

  func sweepAgenda(to floor: AgendaFloor) throws { try SQLiteAgenda(database).sweep(to: floor) }

  /// Notes claims that came in or were put aside.
  ///
  /// - Parameter rows: in the order of key data.
  func note(_ rows: [ClaimRow]) throws { try note(rows.agenda, of: rows.count, isOpen: true) }

  /// Notes key data of claims that are not said any more: it may be due at once. The event may be written down later.
  func noteLoss(of rows: [ClaimRow]) throws {
    try note(rows.isEmpty ? [:] : [AgendaHour.now: Set(rows.map(\.key)).sorted()], of: rows.count, isOpen: false)
  }

  private func note(_ hours: [Int64: [TemporaryExposureKey]], of count: Int, isOpen: Bool) throws {
    if hours.isEmpty { return }
    let isSmall = count <= smallBatch
    let number = AgendaPiece.number(of: try SQLiteAgenda(database).lastEvent(), isOpen: isOpen, isSmall: isSmall)
    try SQLiteAgenda(database).note(hours, in: number, isSmall: isSmall)
  }
}
