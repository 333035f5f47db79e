import FoundationEssentials
import GRDB
import GRDBSQLite
import Glibc
import KeyStorage

extension StorageFault {
  /// What an error of SQLite means for the gateway, with the file's path.
  init(_ error: any Error, path: String) {
    guard let error = error as? DatabaseError else {
      let fault = error as? StorageFault ?? StorageFault(.inputOutput, "\(path): \(Self.words(error))")
      self = fault.advising(Self.fileAdvice)
      return
    }
    // A connection that was not asked says that it has no error.
    let message = error.message.flatMap { $0 == "not an error" ? nil : $0 }
    let reason = message ?? String(cString: sqlite3_errstr(error.resultCode.rawValue))
    switch error.resultCode {
    case .SQLITE_FULL:
      // What SQLite says of that is the same in its own words.
      let more = message.flatMap { $0 == Self.noRoom ? nil : ": \($0)" } ?? ""
      self.init(.full, "\(path): no room to write\(more); make room on the disk")
    case .SQLITE_CORRUPT: self = .damaged(path, reason)
    case .SQLITE_NOTADB: self.init(.incompatible, "\(path): not an SQLite file")
    // What a header says that was written over.
    case .SQLITE_ERROR where reason == "unsupported file format": self = .damaged(path, reason)
    case .SQLITE_CONSTRAINT: self.init(.conflict, "\(path): \(reason)")
    case .SQLITE_BUSY, .SQLITE_LOCKED: self.init(.held, "\(path): another process keeps the store busy: \(reason)")
    // Opening a file says so alone where there is no room for what processes share.
    case .SQLITE_IOERR where Self.isFull(path), .SQLITE_CANTOPEN where Self.isFull(path):
      self.init(.full, "\(path): no room to write; make room on the disk")
    case .SQLITE_IOERR: self.init(.inputOutput, "\(path): \(reason); look at the disk and at the system's log first")
    default: self.init(.inputOutput, "\(path): \(reason)")
    }
  }

  private static func isFull(_ path: String) -> Bool {
    var room = statvfs()
    return statvfs(StoredFile.folder(of: path), &room) == 0 && room.f_blocks > 0 && room.f_bavail == 0
  }

  private static let noRoom = String(cString: sqlite3_errstr(SQLITE_FULL))

  /// The same of a copy that was to be restored, which is not the store: nothing is said of that.
  ///
  /// - Parameters:
  ///   - path: of the file that was read.
  ///   - name: what the operator calls it.
  init(_ error: any Error, ofCopy path: String, named name: String) {
    let fault = StorageFault(error, path: path)
    let what = fault.bare(of: path)
    guard fault.code == .corrupt else {
      self.init(fault.code, "\(name): \(what)")
      return
    }
    self.init(.corrupt, "\(name): the copy is damaged itself: \(what); the store stays as it was")
  }

  /// What is wrong with a file, without its path and what to do.
  func bare(of path: String) -> String {
    String(bareReason.trimmingPrefix("\(path): ")).replacing(Self.isDamaged, with: "")
  }

  /// What the system said, without what Foundation wraps around it.
  private static func words(_ error: any Error) -> String {
    guard let code = (error as? CocoaError)?.underlying as? POSIXError ?? error as? POSIXError else {
      return "\(error)"
    }
    return String(cString: strerror(code.code.rawValue))
  }

  private static let isDamaged = "the store is damaged: "

  /// A store with bytes that nobody wrote.
  static func damaged(_ path: String, _ what: String) -> StorageFault {
    StorageFault(.corrupt, "\(path): \(isDamaged)\(what)").advising(fileAdvice)
  }
}
