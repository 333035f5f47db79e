import ExposureKeys
import KeyStorage

/// The agenda as rows: pieces of key data, by the hour and the event for which they are noted.
struct AgendaTable {
  let database: PostgresConnection
  let counters: Counters?

  // MARK: Noting

  /// - Parameter hours: key data by hour, in order, each once.
  func note(_ hours: [Int64: [TemporaryExposureKey]], in event: EventID, isSmall: Bool) throws {
    var pieces: [(hour: Int64, keys: ArraySlice<TemporaryExposureKey>)] = []
    for (hour, keys) in hours.sorted(by: { $0.key < $1.key }) {
      if isSmall {
        pieces += try renewedSmall(keys, for: hour).map { (hour, $0[...]) }
      } else {
        for start in stride(from: 0, to: keys.count, by: AgendaPiece.mostKeys) {
          pieces.append((hour, keys[start..<min(start + AgendaPiece.mostKeys, keys.count)]))
        }
      }
    }
    try insert(pieces, in: event, isSmall: isSmall)
  }

  /// Takes the smallest piece of an hour, and puts key data among it.
  private func renewedSmall(
    _ keys: [TemporaryExposureKey], for hour: Int64
  ) throws -> [[TemporaryExposureKey]] {
    var piece: [TemporaryExposureKey] = []
    let smallest = try database.row(
      "SELECT keys, id FROM agenda WHERE hour = $1 AND is_small = 1 ORDER BY count LIMIT 1", hour)
    if let smallest {
      try decode(smallest, into: &piece)
      try remove([try smallest[1]])
    }
    return AgendaPiece.adding(keys, to: piece)
  }

  private func insert(
    _ pieces: [(hour: Int64, keys: ArraySlice<TemporaryExposureKey>)], in event: EventID, isSmall: Bool
  ) throws {
    guard let counters, !pieces.isEmpty else { return }
    try database.run(
      """
      INSERT INTO agenda (id, hour, event, count, is_small, keys)
        SELECT id, hour, $5, count, $6, keys FROM unnest($1, $2, $3, $4) AS piece (id, hour, count, keys)
      """, PostgresValue.ints(pieces.map { _ in counters.next("agenda") }), PostgresValue.ints(pieces.map(\.hour)),
      PostgresValue.ints(pieces.map { Int64($0.keys.count) }),
      PostgresValue.blobs(pieces.map { AgendaPiece.encode($0.keys) }), event.rawValue, isSmall)
  }

  private func remove(_ numbers: [Int64]) throws {
    try database.run("DELETE FROM agenda WHERE id = ANY ($1)", PostgresValue.ints(numbers))
  }

  // MARK: Reading

  func floor() throws -> AgendaFloor {
    guard let row = try database.row("SELECT event, hour FROM agenda_floor") else {
      throw StorageFault(.corrupt, "agenda: how far it was forgotten is not there")
    }
    return AgendaFloor(event: EventID(rawValue: try row[0]), hour: try row[1])
  }

  /// - Returns: in order, each once; `nil` where some of it was forgotten, or there are more than `limit`.
  func keys(
    after event: EventID, endingIn hours: ClosedRange<Int64>, limit: Int
  ) throws -> [TemporaryExposureKey]? {
    guard try floor().knows(after: event, endingIn: hours) else { return nil }
    let conditions: [(String, [any PostgresArgument])] = [
      ("event > $1 AND hour <= $2", [event.rawValue, hours.upperBound]),
      ("hour BETWEEN $1 AND $2 AND event <= $3", [hours.lowerBound, hours.upperBound, event.rawValue]),
    ]
    var keys: [TemporaryExposureKey] = []
    for (condition, arguments) in conditions {
      let count = try database.rows(
        "SELECT coalesce(sum(count), 0)::bigint FROM agenda WHERE \(condition)", with: arguments
      ).first.map { try $0[0] as Int }
      guard let count, keys.count + count <= limit else { return nil }
      keys.reserveCapacity(keys.count + count)
      try eachPiece(condition, arguments) { try decode($0, into: &keys) }
    }
    keys.sort()
    var last: TemporaryExposureKey?
    keys.removeAll { key in
      defer { last = key }
      return key == last
    }
    return keys
  }

  /// Some at a time: all of them may be much. The first column has the keys, the second one the number.
  private func eachPiece(
    _ condition: String, _ arguments: [any PostgresArgument], _ body: (PostgresRow) throws -> Void
  ) throws {
    var last: Int64 = -1
    while true {
      let rows = try database.rows(
        """
        SELECT keys, id FROM agenda WHERE \(condition) AND id > $\(arguments.count + 1)
        ORDER BY id LIMIT \(Self.piecesAtOnce)
        """, with: arguments + [last])
      for row in rows {
        try body(row)
        last = try row[1]
      }
      if rows.count < Self.piecesAtOnce { return }
    }
  }

  private static let piecesAtOnce = 64

  private func decode(_ row: PostgresRow, into keys: inout [TemporaryExposureKey]) throws {
    guard try row.withBytes(0, { AgendaPiece.decode($0, into: &keys) }) else {
      throw StorageFault(.corrupt, "agenda: a piece is not what was written")
    }
  }

  /// The pieces that are not what was written.
  func damage() throws -> [String] {
    var wrong = 0
    var keys: [TemporaryExposureKey] = []
    try eachPiece("true", []) { row in
      keys.removeAll(keepingCapacity: true)
      if try !row.withBytes(0, { AgendaPiece.decode($0, into: &keys) }) { wrong += 1 }
    }
    return wrong == 0 ? [] : ["agenda: pieces that are not what was written: \(wrong)"]
  }

  // MARK: Forgetting

  func sweep(to floor: AgendaFloor) throws {
    let known = try self.floor()
    let floor = known.raised(to: floor)
    guard floor != known else { return }
    try database.run("DELETE FROM agenda WHERE event <= $1 AND hour <= $2", floor.event.rawValue, floor.hour)
    try database.run("UPDATE agenda_floor SET event = $1, hour = $2", floor.event.rawValue, floor.hour)
  }

  /// Hours of which all claims have expired.
  func expire(endingBy end: Int64) throws {
    try database.run("DELETE FROM agenda WHERE hour BETWEEN $1 AND $2", AgendaHour.now + 1, end / 3600)
  }

  /// Reads all of it: a key is noted for hours that nobody remembers.
  func erase(_ key: TemporaryExposureKey) throws {
    var found: [(number: Int64, keys: [TemporaryExposureKey])] = []
    try eachPiece("true", []) { row in
      var keys: [TemporaryExposureKey] = []
      try decode(row, into: &keys)
      if keys.contains(key) { found.append((try row[1], keys.filter { $0 != key })) }
    }
    for (number, keys) in found {
      if keys.isEmpty {
        try remove([number])
      } else {
        try database.run(
          "UPDATE agenda SET keys = $1, count = $2 WHERE id = $3", AgendaPiece.encode(keys[...]), keys.count, number)
      }
    }
  }
}

extension PostgresTransaction {
  func agendaTable() throws -> AgendaTable {
    AgendaTable(database: database, counters: isWriting ? try counting() : nil)
  }

  func agenda(
    after event: EventID, endingIn hours: ClosedRange<Int64>, limit: Int
  ) throws -> [TemporaryExposureKey]? {
    try agendaTable().keys(after: event, endingIn: hours, limit: limit)
  }

  func lookAgain(at keys: [TemporaryExposureKey]) throws {
    try note(keys.isEmpty ? [:] : [AgendaHour.now: keys], of: keys.count, isOpen: true)
  }

  func sweepAgenda(to floor: AgendaFloor) throws { try agendaTable().sweep(to: floor) }

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
    let isSmall = count <= RunTiers.smallBatch
    let last = EventID(rawValue: try counting().last("events"))
    let number = AgendaPiece.number(of: last, isOpen: isOpen, isSmall: isSmall)
    try agendaTable().note(hours, in: number, isSmall: isSmall)
  }

  /// What is not as it was written.
  func damage(limit: Int) throws -> [String] {
    _ = try agendaTable().floor()
    let found = try claimDamage(limit: limit) + agendaTable().damage() + formFaults()
    return Array(found.prefix(limit))
  }
}
