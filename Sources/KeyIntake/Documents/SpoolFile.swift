internal import Glibc
internal import KeyFormats

/// A temporary file without a name: it is gone when this process ends, however it ends.
package final class SpoolFile: SeekableSource, PatchableSink {
  package private(set) var byteCount = 0
  private let descriptor: Int32

  package init() throws {
    let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(folder)/keyferry-XXXXXX".utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw FileFault("create a temporary file in", folder, number: errno) }
    unlink(template)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  deinit { close(descriptor) }

  package func write(_ bytes: UnsafeRawBufferPointer) throws {
    try writeFully(bytes, to: descriptor, at: byteCount, path: "temporary file")
    byteCount += bytes.count
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
