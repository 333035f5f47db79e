internal import ExposureKeys
package import KeyNormalization

/// The names that claims refer to by number: origins, sets of visited regions, sources. Only what a transaction found that
/// was kept stays known: numbers are never given twice, so it stays right when other processes write.
package struct Names: Sendable {
  private var origins: [Int32: String] = [:]
  private var regions: [Int32: [String]] = [:]
  private var sources: [Int32: Source] = [:]
  private var originNumbers: [String: Int32] = [:]
  private var regionNumbers: [[String]: Int32] = [:]
  private var sourceNumbers: [Source: Int32] = [:]

  package init() {}

  // MARK: From name to number, adding it

  mutating func number(ofOrigin name: String, adding sql: any SQLSession) throws -> Int32 {
    if let number = originNumbers[name] { return number }
    let number = try Self.number(of: name, inColumn: "name", of: "origins", adding: sql)
    set(name, number)
    return number
  }

  mutating func number(ofRegions names: [String]?, adding sql: any SQLSession) throws -> Int32 {
    guard let names else { return 0 }
    if let number = regionNumbers[names] { return number }
    let number = try Self.number(of: JSONColumn.encode(names), inColumn: "names", of: "regions", adding: sql)
    set(names, number)
    return number
  }

  private static func number(
    of text: String, inColumn column: String, of table: String, adding sql: any SQLSession
  ) throws -> Int32 {
    let known: Int32? = try sql.value("SELECT id FROM \(table) WHERE \(column) = $1", text)
    if let known { return known }
    let next = try short(sql.nextNumber(of: table))
    try sql.run("INSERT INTO \(table) (id, \(column)) VALUES ($1, $2)", next, text)
    return next
  }

  mutating func number(of source: Source, adding sql: any SQLSession) throws -> Int32 {
    if let number = sourceNumbers[source] { return number }
    // There are few of them.
    for row in try sql.rows("SELECT * FROM claim_sources WHERE name = $1", source.name) {
      set(try Source(row), try row["id"])
    }
    if let number = sourceNumbers[source] { return number }
    let number = try Self.short(sql.nextNumber(of: "claim_sources"))
    try sql.run(
      """
      INSERT INTO claim_sources (id, name, is_relay, carries, origin, vouched_by, signed_by, host, upload)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      """,
      number, source.name, source.isRelay,
      try source.isRelay ? source.carries.map { try JSONColumn.encode($0.sorted()) } : nil, source.origin,
      source.provenance.kind, source.provenance.signer, source.provenance.host, source.upload?.rawValue)
    set(source, number)
    return number
  }

  // MARK: From number to name

  mutating func origin(_ number: Int32, in sql: any SQLSession) throws -> String {
    if let name = origins[number] { return name }
    let found: String? = try sql.value("SELECT name FROM origins WHERE id = $1", number)
    guard let found else { throw Self.missing("origin", number) }
    set(found, number)
    return found
  }

  mutating func regions(_ number: Int32, in sql: any SQLSession) throws -> [String]? {
    if number == 0 { return nil }
    if let names = regions[number] { return names }
    let text: String? = try sql.value("SELECT names FROM regions WHERE id = $1", number)
    guard let text else { throw Self.missing("set of regions", number) }
    let names = try JSONColumn.decode([String].self, text)
    set(names, number)
    return names
  }

  mutating func source(_ number: Int32, in sql: any SQLSession) throws -> Source {
    if let source = sources[number] { return source }
    let row = try sql.row("SELECT * FROM claim_sources WHERE id = $1", number)
    guard let source = try row.map(Source.init) else { throw Self.missing("source", number) }
    set(source, number)
    return source
  }

  private static func missing(_ what: String, _ number: Int32) -> StorageFault {
    StorageFault(.corrupt, "a claim refers to \(what) \(number), which is not in the store")
  }

  private static func short(_ number: Int64) throws -> Int32 {
    guard let short = Int32(exactly: number) else {
      throw StorageFault(.full, "claims: number \(number) of a name, allowed 1...\(Int32.max)")
    }
    return short
  }

  private mutating func set(_ name: String, _ number: Int32) {
    origins[number] = name
    originNumbers[name] = number
  }

  private mutating func set(_ names: [String], _ number: Int32) {
    regions[number] = names
    regionNumbers[names] = number
  }

  private mutating func set(_ source: Source, _ number: Int32) {
    sources[number] = source
    sourceNumbers[source] = number
  }
}

extension TableTransaction {
  package func origin(_ number: Int32) throws -> String { try names.origin(number, in: sql) }
  package func regions(_ number: Int32) throws -> [String]? { try names.regions(number, in: sql) }
  package func source(_ number: Int32) throws -> Source { try names.source(number, in: sql) }

  /// The number of an origin, which is added when it is new.
  package func number(ofOrigin name: String) throws -> Int32 {
    try names.number(ofOrigin: name, adding: sql)
  }

  package func number(ofRegions regions: [String]?) throws -> Int32 {
    try names.number(ofRegions: regions, adding: sql)
  }

  /// The number of a source as claims name it, which is added when it is new.
  package func number(of source: Source) throws -> Int32 { try names.number(of: source, adding: sql) }

  /// `nil` where no claim has named the origin.
  package func knownNumber(ofOrigin name: String) throws -> Int64? { try numbered(name, in: "origins") }
  /// `nil` where the series has released nothing.
  package func knownNumber(ofSeries name: String) throws -> Int64? { try numbered(name, in: "series") }
  /// The number of a series, which is added when it is new.
  package func number(ofSeries name: String) throws -> Int64 { try interned(name, in: "series") }

  /// Reads every name, and every word that claims are held for, as those read it who need it.
  package func readAllNames() throws {
    for row in try sql.rows("SELECT id FROM origins ORDER BY id") { _ = try origin(try row[0]) }
    for row in try sql.rows("SELECT id FROM regions ORDER BY id") { _ = try regions(try row[0]) }
    for row in try sql.rows("SELECT id FROM claim_sources ORDER BY id") { _ = try source(try row[0]) }
    for row in try sql.rows("SELECT DISTINCT reason FROM held") { _ = try row.choice("reason") as AdmissionReason }
    for row in try sql.rows("SELECT DISTINCT regions FROM uploads") {
      _ = try JSONColumn.decode([String].self, try row[0])
    }
  }

  /// In the order of their names.
  package func numberedSeries() throws -> [(number: Int64, name: String)] {
    try sql.rows("SELECT id, name FROM series ORDER BY name").map { (try $0["id"], try $0["name"]) }
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

  fileprivate init(_ row: SQLRow) throws {
    let kind: String = try row["vouched_by"]
    let (signer, host): (String?, String?) = (try row["signed_by"], try row["host"])
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
  fileprivate init(_ row: SQLRow) throws {
    let carries: String? = try row["carries"]
    self.init(
      name: try row["name"], isRelay: try row["is_relay"],
      carries: try carries.map { Set(try JSONColumn.decode([String].self, $0)) }, origin: try row["origin"],
      provenance: try Provenance(row), upload: try UploadStanding.stored(try row["upload"]))
  }
}
