internal import Glibc
internal import KeyIntake
internal import Synchronization

/// The folder of what is being fetched. Nothing in it outlives a process that counts on it, so it is emptied at the
/// beginning, and each file has a number of its own.
final class SpoolFolder: Sendable {
  let path: String
  private let next = Atomic<Int>(0)

  init(_ path: String) throws {
    self.path = path
    try makeFolders(path)
    guard let folder = opendir(path) else { throw FileFault("open", path, number: errno) }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.contains(Self.suffix) { unlink("\(path)/\(name)") }
    }
  }

  /// A path where nothing is yet.
  func newPath() -> String {
    let number = next.wrappingAdd(1, ordering: .relaxed).newValue
    return "\(path)/\(getpid())-\(number)\(Self.suffix)"
  }

  /// Removes a file and the signature file beside it.
  func remove(_ file: String) {
    unlink(file)
    unlink(Self.signaturePath(of: file))
  }

  /// Where the signature file of an export lies that has one.
  static func signaturePath(of file: String) -> String { file + ".sig" }

  private static let suffix = ".fetched"
}

/// Makes a folder and those that it lies in, where they are not there: for the process's user alone, since keys and
/// what senders said lie in them.
///
/// - Throws: ``FileFault``.
package func makeFolders(_ path: String) throws {
  var made = path.hasPrefix("/") ? "/" : ""
  for part in path.split(separator: "/") {
    made += made.isEmpty || made == "/" ? String(part) : "/\(part)"
    guard mkdir(made, 0o700) == 0 || errno == EEXIST || errno == EISDIR else {
      throw FileFault("make the folder", made, number: errno)
    }
  }
}

/// Removes a folder that is empty.
func removeFolder(_ path: String) { rmdir(path) }
