internal import KeyDevice
internal import KeyFormats

/// Databases of sightings, recognised by their tables.
enum SightingDatabase {
  static func open(path: [UInt8], byteCount: Int) throws -> (SightingFormat, any SightingRecords) {
    let database = try ReadOnlyDatabase(path: path, byteCount: byteCount)
    let advertisements = try database.columns(of: "advertisements")
    if advertisements.isSuperset(of: ["rpi", "timestamp"]) {
      let table = RowTable.microG(advertisements)
      return (.microG, try TableRecords(database, table, byteCount))
    }
    let apple = try database.columns(of: "en_advertisements")
    if apple.isSuperset(of: ["rpi", "timestamp"]) {
      return (.appleStore, try TableRecords(database, .appleStore(apple), byteCount))
    }
    let devices = try database.columns(of: "devices")
    if devices.isSuperset(of: ["id", "service_data", "last_seen"]) {
      return (.ramble, try RambleRecords(database, devices, try database.columns(of: "locations"), byteCount))
    }
    throw FormatError(
      .unrecognizedFormat,
      "this is an SQLite database without a table of sightings; expected microG's (advertisements) or RaMBLE's (devices)"
    )
  }

  /// A row takes four bytes at least, so a table that returns more rows leads in a circle.
  static func mostRows(_ byteCount: Int) -> Int { byteCount / 4 + 1 }

  static func tooManyRows(_ table: String, _ most: Int) -> FormatError {
    FormatError(
      .malformed, place: table, "more than \(most) rows, and the file has no room for them; the database is damaged")
  }
}

/// A table with a sighting in each row: where its values are, and in which units.
struct RowTable {
  let name: String
  /// Columns of a `SELECT`, `NULL` for those that the table does not have.
  fileprivate let columns: [String]
  fileprivate let isInMilliseconds: Bool
  /// Versions of microG have stored 0 for a mean that they could not form.
  fileprivate let zeroMeansNothing: Bool

  private static func selected(_ names: [String], of present: Set<String>) -> [String] {
    names.map { present.contains($0) ? $0 : "NULL" }
  }

  static func microG(_ present: Set<String>) -> RowTable {
    RowTable(
      name: "advertisements", columns: selected(["rpi", "aem", "timestamp", "rssi", "duration", ""], of: present),
      isInMilliseconds: true, zeroMeansNothing: true)
  }

  static func appleStore(_ present: Set<String>) -> RowTable {
    RowTable(
      name: "en_advertisements",
      columns: selected(["rpi", "encrypted_aem", "timestamp", "rssi", "", "scan_interval"], of: present),
      isInMilliseconds: false, zeroMeansNothing: false)
  }
}

/// Reads the rows of such a table.
final class TableRecords: SightingRecords {
  private let table: RowTable
  private let rows: ReadOnlyRows
  private let mostRows: Int
  private var rowNumber = 0

  init(_ database: ReadOnlyDatabase, _ table: RowTable, _ byteCount: Int) throws {
    self.table = table
    mostRows = SightingDatabase.mostRows(byteCount)
    database.open(tables: [table.name])
    rows = try database.statement("SELECT \(table.columns.joined(separator: ", ")) FROM \(table.name)")
  }

  func advance(into chunk: inout [Sighting], _ tally: inout SightingTally) throws -> Bool {
    guard try rows.step() else { return false }
    rowNumber += 1
    guard rowNumber <= mostRows else { throw SightingDatabase.tooManyRows(table.name, mostRows) }
    tally.records += 1
    let place = "\(table.name): row \(rowNumber)"
    let bytes = rows.bytes(0)
    guard let identifier = SightingFields.identifier(bytes) else {
      tally.reject(.identifier, place, "the identifier has \(bytes.count) bytes; expected 16")
      return true
    }
    guard let time = table.isInMilliseconds ? rows.number(2).flatMap(SightingFields.time(milliseconds:)) : rows.time(2)
    else {
      let found = rows.number(2).map { "timestamp \($0)" } ?? "no timestamp"
      tally.reject(
        .time, place, "\(found); expected \(table.isInMilliseconds ? "milliseconds" : "seconds") from 1970 to 2106")
      return true
    }
    // A broadcast without four bytes of metadata is one nonetheless.
    let metadata = SightingFields.metadata(rows.bytes(1))
    let duration = rows.number(4).map { UInt32(clamping: max(0, $0)) } ?? 0
    var strength = rows.number(3)
    if table.zeroMeansNothing, strength == 0, duration > 0 { strength = .min }
    chunk.append(
      Sighting(
        identifier: identifier, milliseconds: time, durationMilliseconds: duration, encryptedMetadata: metadata,
        rssi: SightingFields.strength(strength, &tally),
        secondsSincePreviousScan: rows.number(5).flatMap { UInt32(exactly: $0) }))
    return true
  }
}
