import Glibc
internal import KeyStorage

/// Who has a store open without owning it, as a shared advisory lock on a file beside it: while another file comes into its place, nobody
/// has. Else an operator's word would go into a file that is gone, and the log of one file by the name of another's.
final class StoreUse: Sendable {
  /// The name of the file that it is a lock of, in the folder of the store. It has no content, and stays.
  static let fileName = "keyferry.use"

  private let descriptor: Int32

  /// - Throws: ``StorageFault`` `held` where the file is being replaced, and that lasts.
  static func shared(_ path: String) throws -> StoreUse {
    try StoreUse(
      path, LOCK_SH,
      held: "\(path): a copy is being put in its place; nothing was recorded, try again when that has ended"
    )
  }

  /// For a reader, who may not be able to make the file, and changes nothing.
  static func sharedIfThere(_ path: String) throws -> StoreUse? {
    guard access(place(of: path), R_OK) == 0 else { return nil }
    return try shared(path)
  }

  /// - Throws: ``StorageFault`` `held` where somebody has the store open, and does not let go of it.
  static func exclusive(_ path: String) throws -> StoreUse {
    try StoreUse(
      path, LOCK_EX,
      held:
        "\(path): others have it open, such as keyferry serve or a command that waits; end them, and try again; nothing was changed"
    )
  }

  private init(_ path: String, _ kind: Int32, held: String) throws {
    let place = Self.place(of: path)
    let isNew = access(place, F_OK) != 0
    let descriptor = open(place, O_RDONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw StorageFault(.inputOutput, "\(place): \(String(cString: strerror(errno)))")
    }
    do {
      if isNew { try SQLiteStore.giveOwner(of: path, to: place) }
      let deadline = ContinuousClock.now + Self.patience
      while flock(descriptor, kind | LOCK_NB) != 0 {
        let code = errno
        guard code == EWOULDBLOCK || code == EINTR else {
          throw StorageFault(.inputOutput, "\(place): \(String(cString: strerror(code)))")
        }
        guard ContinuousClock.now < deadline else { throw StorageFault(.held, held) }
        usleep(10_000)
      }
    } catch {
      close(descriptor)
      throw error
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// As long as a writer waits for another one.
  private static let patience = Duration.seconds(10)

  private static func place(of path: String) -> String {
    StoredFile.folder(of: path) + "/" + fileName
  }
}
