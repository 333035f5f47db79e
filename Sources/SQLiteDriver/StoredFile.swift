import Glibc
import KeyStorage

/// Files of a store, beside SQLite.
enum StoredFile {
  /// Makes an empty file that its owner alone may read, or empties the one that is there.
  ///
  /// - Throws: ``StorageFault`` `inputOutput`.
  static func make(_ path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw fault(path, "cannot be made") }
    defer { close(descriptor) }
    guard fchmod(descriptor, 0o600) == 0 else { throw fault(path, "cannot be closed to others") }
  }

  /// In bytes; 0 where there is no file.
  static func size(of path: String) -> Int64 {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : 0
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
