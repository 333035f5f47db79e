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
    switch error.resultCode {
    case .SQLITE_FULL: self.init(.full, "\(path): no room to write: \(reason)")
    case .SQLITE_CORRUPT: self.init(.corrupt, "\(path): the store is damaged: \(reason)")
    case .SQLITE_NOTADB: self.init(.incompatible, "\(path): not an SQLite file")
    case .SQLITE_CONSTRAINT: self.init(.conflict, "\(path): \(reason)")
    case .SQLITE_BUSY, .SQLITE_LOCKED: self.init(.held, "\(path): another process keeps the store busy: \(reason)")
    default: self.init(.inputOutput, "\(path): \(reason)")
    }
  }
}
