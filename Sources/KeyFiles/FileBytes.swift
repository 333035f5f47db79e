internal import ExposureKeys

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif
#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Whole files. What is no regular file is refused: a pipe would be waited for, a device might never end.
enum FileBytes {
  struct Fault: Error {
    let name: String
    /// In the words of the command line.
    let words: String
    var isMissing = false
  }

  /// As it was stated where it was relative.
  static func name(of url: URL) -> String { url.isFileURL ? url.relativePath : url.absoluteString }

  static func isFolder(_ url: URL) -> Bool {
    guard url.isFileURL else { return false }
    return url.withUnsafeFileSystemRepresentation { path in
      var status = stat()
      return path.map { stat($0, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR } ?? false
    }
  }

  /// `nil` where nothing stands.
  static func readIfThere(_ url: URL, limit: Int) throws -> [UInt8]? {
    do {
      return try read(url, limit: limit)
    } catch let fault as Fault where fault.isMissing {
      return nil
    }
  }

  static func read(_ url: URL, limit: Int) throws -> [UInt8] {
    let name = name(of: url)
    guard url.isFileURL else { throw Fault(name: name, words: "cannot open: it is no address of a file") }
    let descriptor = url.withUnsafeFileSystemRepresentation { path in
      guard let path else {
        errno = EINVAL
        return Int32(-1)
      }
      return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    }
    guard descriptor >= 0 else { throw systemFault("open", name) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw systemFault("open", name) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      let what = status.st_mode & S_IFMT == S_IFDIR ? "it is a folder" : "it is not a regular file"
      throw Fault(name: name, words: "cannot read: \(what)")
    }
    var bytes: [UInt8] = []
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { buffer.deallocate() }
    while true {
      #if canImport(Glibc)
        let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      #elseif canImport(Musl)
        let count = Musl.read(descriptor, buffer.baseAddress, buffer.count)
      #else
        let count = Darwin.read(descriptor, buffer.baseAddress, buffer.count)
      #endif
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw systemFault("read", name) }
      if count == 0 { return bytes }
      // A file may grow while it is read.
      guard bytes.count + count <= limit else {
        throw Fault(name: name, words: "cannot read: it has more than \(limit) bytes, which are the most that are read")
      }
      bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }

  private static func systemFault(_ operation: String, _ name: String) -> Fault {
    let number = errno
    return Fault(
      name: name, words: "cannot \(operation): \(String(cString: strerror(number)).lowercased())",
      isMissing: number == ENOENT)
  }
}
