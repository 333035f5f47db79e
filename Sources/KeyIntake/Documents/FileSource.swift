internal import Glibc
package import KeyFormats

/// A file that is read at any place, without holding it in memory.
package final class FileSource: SeekableSource {
  package let path: String
  package let byteCount: Int
  private let descriptor: Int32

  /// Device and number of the file: two paths with the same identity are one file.
  package let identity: FileIdentity

  package init(path: String) throws {
    // A pipe that nobody writes to would be waited for, and is refused below.
    let descriptor = open(PathText.system(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw FileFault("open", path, number: errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      let number = errno
      close(descriptor)
      throw FileFault("open", path, number: number)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw FileFault(
        "read", path, reason: status.st_mode & S_IFMT == S_IFDIR ? "it is a folder" : "it is not a regular file")
    }
    self.path = path
    self.descriptor = descriptor
    byteCount = Int(status.st_size)
    identity = FileIdentity(status)
  }

  deinit { close(descriptor) }

  package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    var filled = 0
    while filled < buffer.count {
      let count = pread(
        descriptor, buffer.baseAddress.map { $0 + filled }, buffer.count - filled, off_t(offset + filled))
      if count < 0 {
        if errno == EINTR { continue }
        throw FileFault("read", path, number: errno)
      }
      if count == 0 { break }
      filled += count
    }
    return filled
  }

  /// The whole file, which must not be larger than `limit` bytes.
  package static func contents(of path: String, limit: Int) throws -> [UInt8] {
    let source = try FileSource(path: path)
    guard source.byteCount <= limit else {
      throw FileFault("read", path, reason: "it has \(source.byteCount) bytes, at most \(limit) are read")
    }
    return try SequentialSource(source).readAll(limit: limit)
  }
}

/// What a file is, whatever it is called.
package struct FileIdentity: Hashable, Sendable {
  private let device: UInt64
  private let number: UInt64

  init(_ status: stat) {
    device = UInt64(status.st_dev)
    number = UInt64(status.st_ino)
  }

  /// `nil` when nothing is there.
  package init?(path: String) {
    var status = stat()
    guard stat(PathText.system(path), &status) == 0 else { return nil }
    self.init(status)
  }
}

/// What comes once and cannot be read at any place, as a document: standard input, a pipe, a device. It is read to its end
/// first, into memory, or into a file without a name when it is large.
package enum StreamedFile {
  private static let memoryLimit = 64 << 20

  /// Whether a path leads to a pipe or a device.
  package static func isStream(_ path: String) -> Bool {
    var status = stat()
    guard stat(PathText.system(path), &status) == 0 else { return false }
    let kind = status.st_mode & S_IFMT
    return kind == S_IFIFO || kind == S_IFCHR || (kind == S_IFSOCK && path == "/dev/stdin")
  }

  /// - Parameters:
  ///   - path: `-` is standard input.
  ///   - limit: how many bytes may come.
  package static func document(_ path: String, limit: Int) throws -> any SeekableSource {
    // Opening it anew would fail for a socket.
    if path == "-" || path == "/dev/stdin" {
      return try document(STDIN_FILENO, named: path == "-" ? "standard input" : path, limit: limit)
    }
    let descriptor = open(PathText.system(path), O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileFault("open", path, number: errno) }
    defer { close(descriptor) }
    return try document(descriptor, named: path, limit: limit)
  }

  private static func document(_ descriptor: Int32, named name: String, limit: Int) throws -> any SeekableSource {
    var front: [UInt8] = []
    var spool: SpoolFile?
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { buffer.deallocate() }
    var total = 0
    while true {
      let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw FileFault("read", name, number: errno)
      }
      if count == 0 { break }
      total += count
      guard total <= limit else {
        throw FileFault("read", name, reason: "it goes on; at most \(limit) bytes are read")
      }
      let piece = UnsafeRawBufferPointer(rebasing: buffer[..<count])
      if let spool {
        try spool.write(piece)
      } else {
        front.append(contentsOf: piece)
        if front.count > memoryLimit {
          let file = try SpoolFile()
          try file.write(front)
          front = []
          spool = file
        }
      }
    }
    return spool ?? MemorySource(front)
  }
}
