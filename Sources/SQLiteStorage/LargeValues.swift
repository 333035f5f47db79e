import CSQLite
import KeyStorage
import SQLite

/// A column of bytes that may be as large as a document. It is written and read piece by piece: SQLite would copy it as a
/// whole, several times.
enum LargeValue {
  /// Of documents.
  case contents
  /// Of staged bundles.
  case bundleContents

  fileprivate var table: String {
    switch self {
    case .contents: "contents"
    case .bundleContents: "bundle_contents"
    }
  }

  fileprivate var identity: String {
    switch self {
    case .contents: "document"
    case .bundleContents: "bundle"
    }
  }
}

extension Database {
  /// Writes bytes over the zeros that stand in a row, as many as there are.
  func fill(_ value: LargeValue, _ row: Int64, with bytes: StoredBytes) throws {
    if bytes.count == 0 { return }
    let blob = try open(value, row, isWritten: true)
    defer { sqlite3_blob_close(blob) }
    try bytes.forEachPiece { offset, piece in
      try require(sqlite3_blob_write(blob, piece.baseAddress, Int32(piece.count), Int32(offset)))
    }
  }

  /// The bytes of a row; `nil` when there is none.
  func storedBytes(of row: Int64, in value: LargeValue) throws -> [UInt8]? {
    let count = try Int.fetchOne(
      self, sql: "SELECT length(bytes) FROM \(value.table) WHERE \(value.identity) = ?", arguments: [row])
    guard let count else { return nil }
    if count == 0 { return [] }
    let blob = try open(value, row, isWritten: false)
    defer { sqlite3_blob_close(blob) }
    return try [UInt8](unsafeUninitializedCapacity: count) { room, filled in
      try require(sqlite3_blob_read(blob, room.baseAddress, Int32(count), 0))
      filled = count
    }
  }

  private func open(_ value: LargeValue, _ row: Int64, isWritten: Bool) throws -> OpaquePointer? {
    var blob: OpaquePointer?
    try require(sqlite3_blob_open(sqliteConnection, "main", value.table, "bytes", row, isWritten ? 1 : 0, &blob))
    return blob
  }

  private func require(_ code: Int32) throws {
    guard code != SQLITE_OK else { return }
    throw DatabaseError(
      resultCode: ResultCode(rawValue: code), message: sqlite3_errmsg(sqliteConnection).map { String(cString: $0) })
  }
}
