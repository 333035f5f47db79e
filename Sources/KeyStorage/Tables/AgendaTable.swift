package import ExposureKeys

// The agenda: key data that a round has to look at, by the hour for which it is noted, with a number that is no lower than that of the
// event with which it came. Key data of small batches has a row each, so that no row shows which came together. That of a large one is
// a list, which costs a tenth of the rows.

extension TableTransaction {
  package func agenda(
    after event: EventID, endingIn hours: ClosedRange<Int64>, limit: Int
  ) throws -> [TemporaryExposureKey]? {
    guard try agendaFloor().knows(after: event, endingIn: hours) else { return nil }
    let most = limit < Int.max ? limit + 1 : limit
    let condition = "hour <= $1 AND (event > $2 OR hour >= $3)"
    let asked: [SQLValue] = [.int(hours.upperBound), .int(event.rawValue), .int(hours.lowerBound)]
    let listed: Int64 =
      try sql.rows(
        "SELECT CAST(coalesce(sum(length(keys)), 0) AS bigint) FROM agenda_lists WHERE \(condition)", with: asked
      ).first?[0] ?? 0
    // A key of a short period is in two lists.
    if listed / Int64(2 * TemporaryExposureKey.byteCount) > limit { return nil }
    var keys: [TemporaryExposureKey] = []
    try sql.each(
      "SELECT DISTINCT key FROM agenda WHERE \(condition) ORDER BY key LIMIT $4", with: asked + [most.sqlValue]
    ) { keys.append(try $0[0]) }
    if listed > 0 {
      var isWhole = true
      try sql.each("SELECT keys FROM agenda_lists WHERE \(condition)", with: asked) { row in
        if let list = Self.keys(in: try row[0]) { keys.append(contentsOf: list) } else { isWhole = false }
      }
      // A round then looks at everything. store check names the row.
      guard isWhole else { return nil }
      keys.sort()
      var last: TemporaryExposureKey?
      keys.removeAll { key in
        defer { last = key }
        return key == last
      }
    }
    return keys.count > limit ? nil : keys
  }

  /// - Returns: `nil` for what is no list.
  private static func keys(in list: [UInt8]) -> [TemporaryExposureKey]? {
    guard list.count.isMultiple(of: TemporaryExposureKey.byteCount) else { return nil }
    return list.withUnsafeBytes { bytes in
      stride(from: 0, to: bytes.count, by: TemporaryExposureKey.byteCount).compactMap { offset in
        bytes.baseAddress.map { TemporaryExposureKey(loadingFrom: $0 + offset) }
      }
    }
  }

  private static func list(_ keys: some Collection<TemporaryExposureKey>) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: keys.count * TemporaryExposureKey.byteCount) { room, filled in
      for key in keys {
        guard let base = room.baseAddress else { return }
        key.store(to: base + filled)
        filled += TemporaryExposureKey.byteCount
      }
    }
  }

  /// - Parameter condition: of hours and events.
  func forgetAgenda(_ condition: String, _ values: any SQLArgument...) throws {
    for table in ["agenda", "agenda_lists"] {
      try sql.run("DELETE FROM \(table) WHERE \(condition)", with: values.map(\.sqlValue))
    }
  }

  func eraseFromAgenda(_ key: TemporaryExposureKey) throws {
    try sql.run("DELETE FROM agenda WHERE key = $1", key)
    var lists: [(id: Int64, keys: [TemporaryExposureKey]?)] = []
    try sql.each("SELECT id, keys FROM agenda_lists", with: []) { row in
      // The key may be anywhere in what is no list, so that goes as a whole.
      guard let keys = Self.keys(in: try row[1]) else { return lists.append((try row[0], nil)) }
      if keys.contains(key) { lists.append((try row[0], keys.filter { $0 != key })) }
    }
    for list in lists {
      if let keys = list.keys, !keys.isEmpty {
        try sql.run("UPDATE agenda_lists SET keys = $1 WHERE id = $2", with: [.bytes(Self.list(keys)), .int(list.id)])
      } else {
        try sql.run("DELETE FROM agenda_lists WHERE id = $1", list.id)
      }
      if list.keys == nil { try sql.run("UPDATE agenda_floor SET event = $1", try sql.lastNumber(of: "events")) }
    }
  }

  func agendaFloor() throws -> AgendaFloor {
    guard let row = try sql.row("SELECT event, hour FROM agenda_floor") else {
      throw StorageFault(.corrupt, "agenda: how far it was forgotten is not there")
    }
    return AgendaFloor(event: EventID(rawValue: try row[0]), hour: try row[1])
  }

  package func lookAgain(at keys: [TemporaryExposureKey]) throws {
    try note(keys.map { (AgendaHour.now, $0) }, isOpen: true, isSmall: keys.count <= smallBatch)
  }

  package func sweepAgenda(to floor: AgendaFloor) throws {
    let known = try agendaFloor()
    let floor = known.raised(to: floor)
    guard floor != known else { return }
    if sql.dialect == .postgresql { try mix(since: known) }
    try forgetAgenda("event <= $1 AND hour <= $2", floor.event.rawValue, floor.hour)
    try sql.run("UPDATE agenda_floor SET event = $1, hour = $2", floor.event.rawValue, floor.hour)
  }

  /// PostgreSQL shows by `xmin` and `ctid` which rows one transaction has written. So claims that came in small batches since the last
  /// time are written once more, all together and in the order of key data. Their numbers are coarse, so some were written so before.
  private func mix(since floor: AgendaFloor) throws {
    let columns = ClaimRow.allColumns.joined(separator: ", ")
    try sql.run(
      """
      WITH mixed AS (
        DELETE FROM claims WHERE key IN (SELECT key FROM agenda WHERE event >= $1 AND event & 255 = 255)
        RETURNING \(columns))
      INSERT INTO claims (\(columns)) SELECT \(columns) FROM mixed ORDER BY \(ClaimRow.identityColumns)
      """, floor.event.rawValue)
  }

  /// Notes claims that came in or were put aside.
  func note(_ rows: [ClaimRow]) throws {
    var noted: [(hour: Int64, key: TemporaryExposureKey)] = []
    noted.reserveCapacity(rows.count)
    for row in rows {
      let (hour, short) = row.statement.agendaHours(from: row.rollingStart)
      noted.append((hour, row.key))
      if let short { noted.append((short, row.key)) }
    }
    try note(noted, isOpen: true, isSmall: rows.count <= smallBatch)
  }

  /// Notes key data of claims that are not said any more: it may be due at once. The event may be written down later.
  func noteLoss(of rows: [ClaimRow]) throws {
    try note(rows.map { (AgendaHour.now, $0.key) }, isOpen: false, isSmall: rows.count <= smallBatch)
  }

  /// - Parameters:
  ///   - isOpen: whether the last event is one of this transaction.
  ///   - isSmall: whether it may be one person's: then the number is a coarse one, which does not tell which key data came together.
  private func note(_ noted: [(hour: Int64, key: TemporaryExposureKey)], isOpen: Bool, isSmall: Bool) throws {
    if noted.isEmpty { return }
    let last = try sql.lastNumber(of: "events")
    let number = isOpen ? last : last + 1
    guard isSmall else {
      for (hour, noted) in Dictionary(grouping: noted, by: \.hour).sorted(by: { $0.key < $1.key }) {
        try sql.run(
          "INSERT INTO agenda_lists (id, hour, event, keys) VALUES ($1, $2, $3, $4)",
          with: [
            .int(try sql.nextNumber(of: "agenda_lists")), .int(hour), .int(number),
            .bytes(Self.list(noted.lazy.map(\.key))),
          ])
      }
      return
    }
    // A statement of PostgreSQL changes a row once.
    let sorted = noted.sorted { ($0.hour, $0.key) < ($1.hour, $1.key) }
    var rows: [[SQLValue]] = []
    for (index, entry) in sorted.enumerated() where index == 0 || entry != sorted[index - 1] {
      rows.append([.int(entry.hour), entry.key.sqlValue, .int(number | 255)])
    }
    try sql.insert(
      into: "agenda", ["hour", "key", "event"], rows, "ON CONFLICT (hour, key) DO UPDATE SET event = excluded.event")
  }
}
