import ExposureKeys
import KeyNormalization
import KeyStorage
import SQLite
import Synchronization

/// The names that claims refer to by number: origins, sets of visited regions, sources. A writer has all of them; a
/// reader looks up those that it does not have, because another process may have added them.
struct Names: Sendable {
  private(set) var origins: [String?] = [""]
  private(set) var regions: [[String]?] = [nil]
  private(set) var sources: [Source?] = []
  private var originNumbers: [String: Int64] = [:]
  private var regionNumbers: [[String]: Int64] = [:]
  private var sourceNumbers: [Source: Int64] = [:]

  /// Everything that the store has.
  static func load(from database: Database) throws -> Names {
    var names = Names()
    try names.learn(from: database)
    return names
  }

  /// Looks up what another process has added: numbers only grow.
  mutating func learn(from database: Database) throws {
    for row in try Row.fetchAll(
      database, sql: "SELECT id, name FROM origins WHERE id >= ?", arguments: [origins.count])
    {
      try setOrigin(row["name"], number: row["id"])
    }
    for row in try Row.fetchAll(
      database, sql: "SELECT id, names FROM regions WHERE id >= ?", arguments: [regions.count])
    {
      try setRegions(try JSONColumn.decode([String].self, row["names"]), number: row["id"])
    }
    for row in try Row.fetchAll(
      database, sql: "SELECT * FROM claim_sources WHERE id >= ?", arguments: [sources.count])
    {
      try setSource(try Source(row), number: row["id"])
    }
  }

  // MARK: From name to number, adding it

  mutating func number(ofOrigin name: String, adding database: Database) throws -> Int64 {
    if let number = originNumbers[name] { return number }
    try database.execute(sql: "INSERT INTO origins (id, name) VALUES (?, ?)", arguments: [origins.count, name])
    let number = Int64(origins.count)
    try setOrigin(name, number: number)
    return number
  }

  mutating func number(ofRegions names: [String]?, adding database: Database) throws -> Int64 {
    guard let names else { return 0 }
    if let number = regionNumbers[names] { return number }
    try database.execute(
      sql: "INSERT INTO regions (id, names) VALUES (?, ?)", arguments: [regions.count, try JSONColumn.encode(names)])
    let number = Int64(regions.count)
    try setRegions(names, number: number)
    return number
  }

  mutating func number(of source: Source, adding database: Database) throws -> Int64 {
    if let number = sourceNumbers[source] { return number }
    try database.execute(
      sql: """
        INSERT INTO claim_sources (id, name, is_relay, carries, origin, vouched_by, signed_by, host, upload)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        sources.count, source.name, source.isRelay ? 1 : 0,
        try source.isRelay ? source.carries.map { try JSONColumn.encode($0.sorted()) } : nil, source.origin,
        source.provenance.kind, source.provenance.signer, source.provenance.host, source.upload?.rawValue,
      ])
    let number = Int64(sources.count)
    try setSource(source, number: number)
    return number
  }

  // MARK: From number to name

  mutating func origin(_ number: Int64, in database: Database) throws -> String {
    if number < origins.count, let name = origins[Int(number)] { return name }
    let name = try String.fetchOne(database, sql: "SELECT name FROM origins WHERE id = ?", arguments: [number])
    guard let name else { throw Self.missing("origin", number) }
    try setOrigin(name, number: number)
    return name
  }

  mutating func regions(_ number: Int64, in database: Database) throws -> [String]? {
    if number == 0 { return nil }
    if number < regions.count, let names = regions[Int(number)] { return names }
    let text = try String.fetchOne(database, sql: "SELECT names FROM regions WHERE id = ?", arguments: [number])
    guard let text else { throw Self.missing("set of regions", number) }
    let names = try JSONColumn.decode([String].self, text)
    try setRegions(names, number: number)
    return names
  }

  mutating func source(_ number: Int64, in database: Database) throws -> Source {
    if number < sources.count, let source = sources[Int(number)] { return source }
    let row = try Row.fetchOne(database, sql: "SELECT * FROM claim_sources WHERE id = ?", arguments: [number])
    guard let source = try row.map(Source.init) else { throw Self.missing("source", number) }
    try setSource(source, number: number)
    return source
  }

  private static func missing(_ what: String, _ number: Int64) -> StorageFault {
    StorageFault(.corrupt, "a claim refers to \(what) \(number), which is not in the store")
  }

  /// Names are few, and numbered one after the other; a list has a place for each number.
  private static func place(_ number: Int64) throws -> Int {
    guard let place = Int(exactly: number), (0..<mostNames).contains(place) else {
      throw StorageFault(.corrupt, "a name has the number \(number), allowed 0..<\(mostNames)")
    }
    return place
  }

  private static let mostNames = 1 << 24

  private mutating func setOrigin(_ name: String, number: Int64) throws {
    try origins.set(name, at: Self.place(number))
    originNumbers[name] = number
  }

  private mutating func setRegions(_ names: [String], number: Int64) throws {
    try regions.set(names, at: Self.place(number))
    regionNumbers[names] = number
  }

  private mutating func setSource(_ source: Source, number: Int64) throws {
    try sources.set(source, at: Self.place(number))
    sourceNumbers[source] = number
  }
}

extension Array {
  fileprivate mutating func set<Wrapped>(_ element: Wrapped, at index: Int) where Element == Wrapped? {
    if index >= count { append(contentsOf: repeatElement(nil, count: index + 1 - count)) }
    self[index] = element
  }
}

extension SQLiteTransaction {
  func origin(_ number: Int32) throws -> String { try names.origin(Int64(number), in: database) }
  func regions(_ number: Int32) throws -> [String]? { try names.regions(Int64(number), in: database) }
  func source(_ number: Int32) throws -> Source { try names.source(Int64(number), in: database) }

  func number(ofOrigin name: String) throws -> Int32 {
    Int32(truncatingIfNeeded: try names.number(ofOrigin: name, adding: database))
  }

  func number(ofRegions regions: [String]?) throws -> Int32 {
    Int32(truncatingIfNeeded: try names.number(ofRegions: regions, adding: database))
  }

  func number(of source: Source) throws -> Int32 {
    Int32(truncatingIfNeeded: try names.number(of: source, adding: database))
  }

  func knownNumber(ofOrigin name: String) throws -> Int64? { try numbered(name, in: "origins") }
  func knownNumber(ofSeries name: String) throws -> Int64? { try numbered(name, in: "series") }
  func number(ofSeries name: String) throws -> Int64 { try interned(name, in: "series") }

  func numberedSeries() throws -> [(number: Int64, name: String)] {
    try Row.fetchAll(database, sql: "SELECT id, name FROM series ORDER BY name").map { try ($0["id"], $0["name"]) }
  }
}

extension Provenance {
  /// As the schema spells it.
  fileprivate var kind: String {
    switch self {
    case .signed: "signature"
    case .host: "host"
    case .origins: "origins"
    case .assertedByOperator: "operator"
    }
  }

  fileprivate var signer: String? {
    if case .signed(by: let signer) = self { signer } else { nil }
  }

  fileprivate var host: String? {
    if case .host(let name) = self { name } else { nil }
  }

  fileprivate init(_ row: Row) throws {
    let kind: String = try row["vouched_by"]
    let (signer, host): (String?, String?) = try (row["signed_by"], row["host"])
    switch (kind, signer, host) {
    case ("signature", let signer?, nil): self = .signed(by: signer)
    case ("host", nil, let host?): self = .host(host)
    case ("origins", nil, nil): self = .origins
    case ("operator", nil, nil): self = .assertedByOperator
    default: throw StorageFault(.corrupt, "a source of claims is vouched for by \(kind), and does not say by whom")
    }
  }
}

extension Source {
  fileprivate init(_ row: Row) throws {
    try self.init(
      name: row["name"], isRelay: row["is_relay"],
      carries: (row["carries"] as String?).map { Set(try JSONColumn.decode([String].self, $0)) },
      origin: row["origin"], provenance: Provenance(row), upload: UploadStanding.stored(row["upload"]))
  }
}

/// The names of the last transaction that was kept.
final class SharedNames: Sendable {
  private let names = Mutex(Names())
  /// What SQLite says of commits by others, as the writing connection saw it last.
  private let otherCommits = Mutex<Int64?>(nil)

  /// The names, after looking up those of other processes where one has written since.
  ///
  /// - Parameter database: the writing connection, inside a transaction, so that nobody else writes now.
  /// - Returns: also whether another process may have written since.
  func known(to database: Database) throws -> (names: Names, othersWrote: Bool) {
    let commits = try Int64.fetchOne(database, sql: "PRAGMA data_version")
    var known = latest
    let othersWrote = otherCommits.withLock({ $0 != commits })
    if othersWrote {
      try known.learn(from: database)
      latest = known
      otherCommits.withLock { $0 = commits }
    }
    return (known, othersWrote)
  }

  var latest: Names {
    get { names.withLock { $0 } }
    set { names.withLock { $0 = newValue } }
  }
}
