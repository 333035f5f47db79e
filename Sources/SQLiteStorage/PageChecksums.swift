import CPageChecksums
import CSQLite
import Glibc
import KeyStorage
import SQLite

/// The checksums that stand at the end of each page of a store's file; ``CPageChecksums`` makes them and looks at them. A
/// store of an earlier version gets them when its owner opens it.
enum PageChecksums {
  /// Puts the layer under SQLite, once in a process. It leaves the files of others alone.
  private static let installation = keyferry_checksums_install()

  /// - Throws: `inputOutput` where SQLite does not let it.
  static func install() throws {
    guard installation == SQLITE_OK else {
      throw StorageFault(.inputOutput, "SQLite takes no layer over its files: code \(installation)")
    }
  }

  /// A file that this connection makes has checksums from its first page on. Before anything is written.
  static func begin(in database: Database) throws {
    var count = KEYFERRY_CHECKSUM_BYTES
    let connection = database.sqliteConnection
    for result in [
      sqlite3_file_control(connection, "main", SQLITE_FCNTL_RESERVE_BYTES, &count),
      sqlite3_file_control(connection, "main", KEYFERRY_FCNTL_CHECKSUMS, nil),
    ] where result != SQLITE_OK {
      throw DatabaseError(resultCode: ResultCode(rawValue: result), message: "pages cannot have checksums")
    }
  }

  /// From now on this connection reads damaged pages as they are.
  static func readDamage(in database: Database) throws {
    let result = sqlite3_file_control(database.sqliteConnection, "main", KEYFERRY_FCNTL_LENIENT, nil)
    guard result == SQLITE_OK else {
      throw DatabaseError(resultCode: ResultCode(rawValue: result), message: "damaged pages cannot be read")
    }
  }

  /// Closing this connection as the last one leaves what stands in the log of changes where it is.
  static func keepLog(in database: Database) throws {
    let result = keyferry_log_keep(database.sqliteConnection)
    guard result == SQLITE_OK else {
      throw DatabaseError(resultCode: ResultCode(rawValue: result), message: "the log of changes cannot be kept")
    }
  }

  /// Where this process found the last damage of a file, in words; `nil` where it was another file.
  static func lastDamage(of path: String) -> String? {
    var (found, page) = ([CChar](repeating: 0, count: 1024), UInt32(0))
    guard keyferry_checksums_last_damage(&found, Int32(found.count), &page) != 0 else { return nil }
    let place = String(decoding: found.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // SQLite makes paths absolute.
    guard place.split(separator: "/").last?.hasPrefix(path.split(separator: "/").last ?? "") == true else { return nil }
    return page == 0 ? "a page of \(place) is not what was written" : "\(name(of: page)) is not what was written"
  }

  private static func name(of page: UInt32) -> String {
    "page \(page), at byte \((Int64(page) - 1) * Int64(StoreTuning.pageSize)),"
  }

  /// What the first bytes of a file say.
  enum Header: Hashable {
    case checked
    /// Of an earlier version, or of another program.
    case unchecked
    /// They say that there are no checksums, and there are: somebody has written over them.
    case damaged
    /// There is no file, or nothing in it.
    case absent
  }

  static func header(of path: String) throws -> Header {
    guard let file = StoredFile(path) else { return .absent }
    let size = StoreTuning.pageSize
    // Other pages near the beginning tell what the first one does not.
    let bytes = try file.bytes(at: 0, count: 16 * size)
    guard bytes.count > headerLength else { return .absent }
    if bytes[reservedPlace] == UInt8(KEYFERRY_CHECKSUM_BYTES) { return .checked }
    let pages = stride(from: size, to: bytes.count - size + 1, by: size)
    return pages.contains { holds(bytes[$0..<$0 + size], page: UInt32($0 / size + 1)) } ? .damaged : .unchecked
  }

  /// Of SQLite's file format.
  private static let headerLength = 100
  private static let reservedPlace = 20

  static func holds(_ bytes: ArraySlice<UInt8>, page: UInt32) -> Bool {
    bytes.withUnsafeBytes { keyferry_checksum_holds($0.baseAddress, Int32($0.count), page) != 0 }
  }

  /// Reads a whole file and names the pages that are not what was written, whatever table they are of. A page that was
  /// never written is all zeros; SQLite never reads it.
  ///
  /// A page that is being written meanwhile is looked at again.
  static func damage(of path: String, limit: Int) throws -> [String] {
    guard try header(of: path) != .unchecked, let file = StoredFile(path) else { return [] }
    let size = StoreTuning.pageSize
    var faults: [String] = []
    var page: UInt32 = 0
    while faults.count < limit {
      let bytes = try file.bytes(at: UInt64(page) * UInt64(size), count: 256 * size)
      if bytes.isEmpty { break }
      for start in stride(from: 0, to: bytes.count - size + 1, by: size) {
        page += 1
        let content = bytes[start..<start + size]
        if holds(content, page: page) || content.allSatisfy({ $0 == 0 }) { continue }
        guard try !holdsLater(path, page) else { continue }
        faults.append("\(name(of: page)) is not what was written")
        if faults.count == limit { break }
      }
    }
    return faults
  }

  /// The pages that have nothing but zeros and are in use: those were written, and are not there any more.
  static func emptied(of path: String, limit: Int) throws -> [String] {
    guard try header(of: path) == .checked, let file = StoredFile(path) else { return [] }
    let size = StoreTuning.pageSize
    let pages = try StoredPages(path)
    var free: Set<UInt32>?
    var faults: [String] = []
    var page: UInt32 = 0
    while faults.count < limit {
      let bytes = try file.bytes(at: UInt64(page) * UInt64(size), count: 256 * size)
      if bytes.isEmpty { break }
      for start in stride(from: 0, to: bytes.count - size + 1, by: size) {
        page += 1
        // SQLite locks bytes of this one, and writes none.
        guard page != lockPage, bytes[start..<start + size].allSatisfy({ $0 == 0 }),
          try pages.page(page)?.allSatisfy({ $0 == 0 }) == true
        else { continue }
        let known = try free ?? pages.freePages()
        free = known
        guard !known.contains(page) else { continue }
        faults.append("\(name(of: page)) has nothing but zeros")
        if faults.count == limit { break }
      }
    }
    return faults
  }

  private static let lockPage = UInt32((1 << 30) / StoreTuning.pageSize + 1)

  private static func holdsLater(_ path: String, _ page: UInt32) throws -> Bool {
    for _ in 0..<3 {
      usleep(50_000)
      guard let file = StoredFile(path) else { return false }
      let size = StoreTuning.pageSize
      if holds(try file.bytes(at: UInt64(page - 1) * UInt64(size), count: size)[...], page: page) { return true }
    }
    return false
  }
}
