internal import Glibc
internal import KeyFormats
internal import Synchronization

/// Where temporary files lie: in `TMPDIR` where the operator has set it; else in the gateway's state folder, which is on a
/// disk, and whose room `status` and the metrics tell of; else in `/tmp`.
package enum SpoolPlace {
  private static let stateFolder = Mutex<String?>(nil)

  /// The program works with this state folder from now on.
  package static func use(stateFolder folder: String) { stateFolder.withLock { $0 = folder } }

  fileprivate static var folders: [String] {
    folders(chosen: getenv("TMPDIR").map { String(cString: $0) }, state: stateFolder.withLock(\.self))
  }

  /// Folders to try, the best first.
  package static func folders(chosen: String?, state: String?) -> [String] {
    if let chosen, !chosen.isEmpty { return [chosen] }
    return [state, "/tmp"].compactMap(\.self)
  }
}

/// A temporary file without a name: it is gone when this process ends, however it ends.
package final class SpoolFile: SeekableSource, PatchableSink {
  package private(set) var byteCount = 0
  private let descriptor: Int32

  /// - Throws: ``FileFault`` where no folder takes one.
  package convenience init() throws { try self.init(in: SpoolPlace.folders) }

  /// In the first of these folders that takes one.
  package init(in folders: [String]) throws {
    var fault: FileFault?
    for folder in folders {
      let descriptor = Self.create(in: folder)
      if descriptor >= 0 {
        self.descriptor = descriptor
        return
      }
      fault = fault ?? FileFault("create a temporary file in", folder, number: errno)
    }
    throw fault ?? FileFault("create a temporary file in", "/tmp", number: ENOENT)
  }

  /// `O_TMPFILE`, a macro that Swift does not see.
  private static let unnamed: Int32 = 0o20_000_000 | O_DIRECTORY

  private static func create(in folder: String) -> Int32 {
    let descriptor = open(folder, unnamed | O_RDWR | O_EXCL | O_CLOEXEC, 0o600)
    // Some file systems have no files without names.
    guard descriptor < 0, [EOPNOTSUPP, EISDIR, EINVAL].contains(errno) else { return descriptor }
    var template = Array("\(folder)/keyferry-XXXXXX".utf8CString)
    let named = mkstemp(&template)
    if named >= 0 {
      unlink(template)
      _ = fcntl(named, F_SETFD, FD_CLOEXEC)
    }
    return named
  }

  deinit { close(descriptor) }

  package func write(_ bytes: UnsafeRawBufferPointer) throws {
    try writeFully(bytes, to: descriptor, at: byteCount, path: "temporary file")
    byteCount += bytes.count
  }

  /// Writes anywhere, also behind the end.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
    try writeFully(bytes, to: descriptor, at: offset, path: "temporary file")
    byteCount = max(byteCount, offset + bytes.count)
  }

  package func overwrite(at offset: Int, with bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try writeFully($0, to: descriptor, at: offset, path: "temporary file") }
  }

  package func discard() throws {
    guard ftruncate(descriptor, 0) == 0 else { throw FileFault("write", "temporary file", number: errno) }
    byteCount = 0
  }

  package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let count = pread(descriptor, buffer.baseAddress, min(buffer.count, max(0, byteCount - offset)), off_t(offset))
    guard count >= 0 else { throw FileFault("read", "temporary file", number: errno) }
    return count
  }
}

/// A part of a temporary file.
package final class SpoolPart: SeekableSource {
  private let file: SpoolFile
  private let range: Range<Int>

  package init(_ file: SpoolFile, _ range: Range<Int>) { (self.file, self.range) = (file, range) }

  package var byteCount: Int { range.count }

  package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let count = min(buffer.count, range.count - offset)
    guard offset >= 0, count > 0 else { return 0 }
    return try file.read(
      at: range.lowerBound + offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
  }
}

package func writeFully(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int?, path: String) throws {
  var written = 0
  while written < bytes.count {
    let start = bytes.baseAddress.map { $0 + written }
    let count =
      if let offset {
        pwrite(descriptor, start, bytes.count - written, off_t(offset + written))
      } else {
        Glibc.write(descriptor, start, bytes.count - written)
      }
    if count < 0 {
      if errno == EINTR { continue }
      throw FileFault("write", path, number: errno)
    }
    written += count
  }
}
