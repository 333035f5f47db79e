import GRDB
import KeyStorage

extension StorageFault {
  /// What an error of SQLite means for the gateway, with the file's path.
  init(_ error: any Error, path: String) {
    guard let error = error as? DatabaseError else {
      self = error as? StorageFault ?? StorageFault(.inputOutput, "\(path): \(error)")
      return
    }
    let reason = error.message ?? error.resultCode.description
    if error.extendedResultCode == .SQLITE_IOERR_DATA {
      self = .damaged(path, PageChecksums.lastDamage(of: path) ?? "a page is not what was written")
      return
    }
    switch error.resultCode {
    case .SQLITE_FULL: self.init(.full, "\(path): no room to write: \(reason)")
    case .SQLITE_CORRUPT: self = .damaged(path, reason)
    case .SQLITE_NOTADB: self.init(.incompatible, "\(path): not an SQLite file")
    // What a header says that was written over.
    case .SQLITE_ERROR where reason == "unsupported file format": self = .damaged(path, reason)
    case .SQLITE_CONSTRAINT: self.init(.conflict, "\(path): \(reason)")
    case .SQLITE_BUSY, .SQLITE_LOCKED: self.init(.held, "\(path): another process keeps the store busy: \(reason)")
    default: self.init(.inputOutput, "\(path): \(reason)")
    }
  }

  /// A store with bytes that nobody wrote.
  static func damaged(_ path: String, _ what: String) -> StorageFault {
    StorageFault(
      .corrupt,
      "\(path): the store is damaged: \(what); keyferry store check says what else is, keyferry store restore puts a copy"
        + " in its place")
  }
}
