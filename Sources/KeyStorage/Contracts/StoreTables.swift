internal import ExposureKeys

/// A value of a row, as every store can keep it.
package enum StoredValue: Hashable, Sendable {
  case none
  case number(Int64)
  case text(String)
  case bytes([UInt8])
}

/// A table of rows: what a store has, as it is moved from one to another. Stores in databases have the same tables.
package struct StoreTable: Hashable, Sendable {
  package let name: String
  /// Those first by which rows are found and ordered.
  package let columns: [String]
  package let keyCount: Int
  /// Rows that are read at once: some have a document each.
  package let pageSize: Int
  package var key: ArraySlice<String> { columns.prefix(keyCount) }

  init(_ name: String, key: String, _ columns: String = "", pageSize: Int = 2000) {
    self.name = name
    let key = key.split(separator: " ").map(String.init)
    self.columns = key + columns.split(separator: " ").map(String.init)
    keyCount = key.count
    self.pageSize = pageSize
  }

  /// Those first to which others refer.
  package static let all: [StoreTable] = [
    StoreTable(
      "sources", key: "id", "name cursor last_attempt last_success failures next_attempt fault_code fault_reason"),
    StoreTable(
      "documents", key: "id",
      """
      source name state fault_code fault_reason attempts next_attempt discovered changed byte_count digest entity_tag \
      last_modified format vouched_by received new known held rejections allowances read_by read_digest read_at
      """),
    StoreTable("contents", key: "document", "until bytes", pageSize: 1),
    StoreTable("salts", key: "document", "salt"),
    StoreTable("pauses", key: "kind name", "since reason who"),
    StoreTable("events", key: "id", "time kind subject who why"),
    StoreTable("log_queue", key: "id", "event kind bytes", pageSize: 500),
    StoreTable("uploads", key: "id", "event door regions certificate"),
    StoreTable("used_tokens", key: "digest", "until"),
    StoreTable("origins", key: "id", "name"),
    StoreTable("regions", key: "id", "names"),
    StoreTable("claim_sources", key: "id", "name is_relay origin signed_by vouched_by host carries upload"),
    StoreTable("arrivals", key: "id", "document event time"),
    StoreTable("volumes", key: "arrival origin", "claims"),
    StoreTable("recalls", key: "id", "origin since document event time claims who why of_source"),
    StoreTable("held", key: "document key rolling_start said origin source regions", "event reason"),
    StoreTable("totals", key: "id", "claims"),
    StoreTable("claims", key: "key rolling_start said origin source regions", "arrival recall"),
    StoreTable("series", key: "id", "name"),
    StoreTable(
      "bundles", key: "id",
      """
      series kind ordinal start_time end_time path key_count revised_key_count byte_count archive_digest export_digest \
      key_id key_version state changed published
      """),
    StoreTable("bundle_contents", key: "bundle", "bytes", pageSize: 1),
    StoreTable("stagings", key: "event", "first_bundle last_bundle recipe", pageSize: 64),
    StoreTable("recipes", key: "bundle", "staging recipe", pageSize: 500),
    StoreTable(
      "released", key: "series key rolling_start",
      """
      rolling_period transmission_risk report_type days_since_onset fields bundle revisions origins first_bundle \
      revision_bundle earlier
      """),
    StoreTable("notes", key: "name", "value", pageSize: 16),
    StoreTable("log_heads", key: "name", "size root key signed pending", pageSize: 1),
    StoreTable("destinations", key: "id", "name"),
    StoreTable(
      "pushes", key: "id", "destination tag signature media_type key_count digest state staged changed bytes",
      pageSize: 1),
    StoreTable(
      "pushed_keys", key: "destination key rolling_start",
      """
      rolling_period transmission_risk report_type days_since_onset visited state push position stored_type failures \
      reason changed
      """),
    StoreTable("agenda", key: "hour key", "event"),
    StoreTable("agenda_lists", key: "id", "hour event keys"),
    StoreTable("agenda_floor", key: "id", "event hour"),
    StoreTable("federation_batches", key: "id", "day number made until"),
    StoreTable(
      "federation_uploads", key: "id",
      "document country tag signature canonical time until key_count batch withdrawal audit keys", pageSize: 1),
    StoreTable("federation_rows", key: "digest", "upload"),
    StoreTable("federation_days", key: "day country", "uploads keys"),
  ]
}

/// A store's tables as they are, to move them to another place and for nothing else.
private struct MovableTables {
  let store: any Store

  /// Rows in the order of their keys, at most one page of them, behind a key; `nil` is from the first one on.
  func rows(of table: StoreTable, behind key: [StoredValue]?) async throws -> [[StoredValue]] {
    let places = table.key.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
    let names = table.key.joined(separator: ", ")
    return try await select(
      """
      SELECT \(table.columns.joined(separator: ", ")) FROM \(table.name)
      WHERE \(key == nil ? "true" : "(\(names)) > (\(places))") ORDER BY \(names) LIMIT \(table.pageSize)
      """, key ?? [])
  }

  /// The key of the last row.
  func lastKey(of table: StoreTable) async throws -> [StoredValue]? {
    try await select(
      """
      SELECT \(table.key.joined(separator: ", ")) FROM \(table.name)
      ORDER BY \(table.key.map { "\($0) DESC" }.joined(separator: ", ")) LIMIT 1
      """, []
    ).first
  }

  /// In place of those that have the same keys.
  func put(_ rows: [[StoredValue]], into table: StoreTable) async throws {
    // NULL is written as it is: a page does not have the types of its columns.
    let changes = table.columns.dropFirst(table.keyCount).map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    try await change { sql in
      let atOnce = max(1, min(table.pageSize, 512 / table.columns.count))
      for start in stride(from: 0, to: rows.count, by: atOnce) {
        let part = rows[start..<min(start + atOnce, rows.count)]
        var next = 0
        let places = part.map { row in
          let values = row.map { value in
            if value == .none { return "NULL" }
            next += 1
            return "$\(next)"
          }
          return "(\(values.joined(separator: ", ")))"
        }
        try sql.run(
          """
          INSERT INTO \(table.name) (\(table.columns.joined(separator: ", "))) VALUES \(places.joined(separator: ", "))
          ON CONFLICT (\(table.key.joined(separator: ", "))) DO \(changes.isEmpty ? "NOTHING" : "UPDATE SET \(changes)")
          """, with: part.flatMap { $0.compactMap(SQLValue.init) })
      }
    }
  }

  func removeRow(_ key: [StoredValue], of table: StoreTable) async throws {
    let condition = table.key.enumerated().map { "\($1) = $\($0 + 1)" }.joined(separator: " AND ")
    try await change { try $0.run("DELETE FROM \(table.name) WHERE \(condition)", with: key.compactMap(SQLValue.init)) }
  }

  /// The last numbers that were given, by table.
  func lastNumbers() async throws -> [String: Int64] {
    try await store.read { try Self.session(of: $0).lastNumbers() }
  }

  func setLastNumbers(_ numbers: [String: Int64]) async throws { try await change { try $0.setLastNumbers(numbers) } }

  private func select(_ sql: String, _ values: [StoredValue]) async throws -> [[StoredValue]] {
    try await store.read { state in
      try Self.session(of: state).rows(sql, with: values.compactMap(SQLValue.init)).map(\.values)
    }
  }

  private func change(_ body: @escaping @Sendable (any SQLSession) throws -> Void) async throws {
    try await store.write(as: .moving) { try body(try Self.session(of: $0)) }
  }

  private static func session(of state: any StoredState) throws -> any SQLSession {
    guard let tables = state as? TableTransaction else {
      throw StorageFault(.unsupported, "a store without tables cannot be copied")
    }
    return tables.sql
  }
}

extension SQLValue {
  /// `nil` is NULL.
  fileprivate init?(_ value: StoredValue) {
    switch value {
    case .none: return nil
    case .number(let number): self = .int(number)
    case .text(let text): self = .text(text)
    case .bytes(let bytes): self = .bytes(bytes)
    }
  }
}

/// Moves all that a store has into another one that has nothing. What is interrupted goes on where it was; the store that is
/// copied must not change meanwhile, and both are compared in the end.
package struct StoreMove: Sendable {
  private let source: MovableTables
  private let target: MovableTables

  /// A note in a store that is not whole yet. Nobody but a copy opens it.
  package static let markName = "copy.unfinished"
  package static func unfinished(_ place: String) -> StorageFault {
    StorageFault(.incompatible, "\(place): a copy into it is not whole yet; keyferry store copy goes on with it")
  }

  private static let mark: [StoredValue] = [.text(markName)]

  package init(from source: any Store, to target: any Store) {
    (self.source, self.target) = (MovableTables(store: source), MovableTables(store: target))
  }

  /// - Parameter progress: is told the table, and how many rows of all are there.
  /// - Returns: how many rows the stores have.
  /// - Throws: ``StorageFault`` `conflict` where the target has something that no copy began, or both are not alike in the end.
  package func run(_ progress: @Sendable (_ table: String, _ rows: Int) -> Void = { _, _ in }) async throws -> Int {
    guard let notes = StoreTable.all.first(where: { $0.name == "notes" }) else { return 0 }
    try await begin(notes)
    var count = 0
    for table in StoreTable.all {
      // The last one may have been begun; singletons are there from the beginning.
      var last = table.name == notes.name ? nil : try await target.lastKey(of: table)
      if table.keyCount == 1, last == [.number(1)] { last = nil }
      while true {
        let rows = try await source.rows(of: table, behind: last)
        guard let end = rows.last else { break }
        try await target.put(rows, into: table)
        last = Array(end.prefix(table.keyCount))
        count += rows.count
        progress(table.name, count)
      }
    }
    try await target.setLastNumbers(try await source.lastNumbers())
    let compared = try await compare(progress)
    try await target.removeRow(Self.mark, of: notes)
    return compared
  }

  private func begin(_ notes: StoreTable) async throws {
    let isBegun = try await target.rows(of: notes, behind: nil).contains { $0.first == Self.mark.first }
    if isBegun { return }
    for table in StoreTable.all where table.name != "totals" && table.name != "agenda_floor" {
      guard try await target.lastKey(of: table) == nil else {
        throw StorageFault(.conflict, "the other store has \(table.name) already; a copy needs an empty one")
      }
    }
    try await target.put([Self.mark + [.bytes([1])]], into: notes)
  }

  /// - Returns: how many rows both have.
  private func compare(_ progress: @Sendable (String, Int) -> Void) async throws -> Int {
    var count = 0
    for table in StoreTable.all {
      var places: (left: [StoredValue]?, right: [StoredValue]?)
      var isOver = false
      while !isOver {
        var left = try await source.rows(of: table, behind: places.left)
        var right = try await target.rows(of: table, behind: places.right)
        if table.name == "notes" {
          // There are few of them, and one is the copy's own.
          left = try await rest(of: table, in: source, behind: left)
          right = try await rest(of: table, in: target, behind: right).filter { $0.first != Self.mark.first }
          isOver = true
        }
        guard left == right else {
          throw StorageFault(
            .conflict,
            "\(table.name) is not the same in both stores: one was changed meanwhile; remove the copy and begin again")
        }
        guard let end = left.last else { break }
        places = (Array(end.prefix(table.keyCount)), Array(end.prefix(table.keyCount)))
        count += left.count
        progress("comparing \(table.name)", count)
      }
    }
    return count
  }

  private func rest(
    of table: StoreTable, in store: MovableTables, behind first: [[StoredValue]]
  ) async throws -> [[StoredValue]] {
    var rows = first
    while let end = rows.last {
      let next = try await store.rows(of: table, behind: Array(end.prefix(table.keyCount)))
      if next.isEmpty { break }
      rows += next
    }
    return rows
  }
}
