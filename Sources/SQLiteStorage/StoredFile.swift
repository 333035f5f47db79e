import Glibc
import KeyStorage

/// A file of a store that is read as bytes.
final class StoredFile {
  private let descriptor: Int32
  private let path: String

  /// `nil` where it cannot be opened; `errno` says why.
  init?(_ path: String) {
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    self.path = path
    guard descriptor >= 0 else { return nil }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// So many bytes from a place on, or fewer where the file ends before.
  ///
  /// - Throws: ``StorageFault`` `inputOutput`.
  func bytes(at place: UInt64, count: Int) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { room, filled in
      while filled < count {
        let read = pread(
          descriptor, room.baseAddress.map { $0 + filled }, count - filled, off_t(clamping: place) + off_t(filled))
        if read > 0 {
          filled += read
        } else if read == 0 {
          return
        } else if errno != EINTR {
          throw StorageFault(.inputOutput, "\(path): \(String(cString: strerror(errno)))")
        }
      }
    }
  }

  /// Makes an empty file that its owner alone may read, or empties the one that is there.
  ///
  /// - Throws: ``StorageFault`` `inputOutput`.
  static func make(_ path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw fault(path, "cannot be made") }
    defer { close(descriptor) }
    guard fchmod(descriptor, 0o600) == 0 else { throw fault(path, "cannot be closed to others") }
  }

  private static func fault(_ path: String, _ what: String) -> StorageFault {
    StorageFault(.inputOutput, "\(path): it \(what): \(String(cString: strerror(errno)))")
  }

  /// The first part of a path, without its last name.
  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
