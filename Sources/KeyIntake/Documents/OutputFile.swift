internal import CPartialFiles
internal import Glibc
package import KeyFormats

/// A file that appears whole or not at all: it is written beside its place, synced, and renamed on ``commit()``.
/// Dropping it without a commit leaves nothing behind, and neither does a signal that ends the program. A kill or a crash
/// leaves a file whose name ends in `.partial`.
package final class OutputFile: PatchableSink {
  /// How the names of files end that this process has not finished.
  package static let partialEnding = ".\(getpid()).partial"

  package let path: String
  private let partialPath: String
  private let partial: PartialFile
  private let descriptor: Int32
  package private(set) var byteCount = 0
  private let isReplacing: Bool
  private var isCommitted = false

  /// - Parameters:
  ///   - path: where the file is to appear.
  ///   - permissions: of the new file, before the process's mask: 0o600 for a secret.
  ///   - replacing: whether a file that stands there already is replaced; otherwise it is a fault, here or at ``commit()``.
  package init(path: String, permissions: UInt32 = 0o666, replacing: Bool = true) throws {
    // A reader of the documentation means standard output by it, and would look for the file in vain.
    guard path != "-" else {
      throw FileFault("write", "-", reason: "standard output is no place for this; ./- is a file of that name")
    }
    // A link that leads nowhere stands there, too.
    var place = stat()
    guard replacing || lstat(PathText.system(path), &place) != 0 else { throw Self.wouldOverwrite(path) }
    isReplacing = replacing
    // Renaming would put a file in the place of a folder, a device or a pipe.
    var status = stat()
    if stat(PathText.system(path), &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      throw FileFault(
        "write", path, reason: status.st_mode & S_IFMT == S_IFDIR ? "it is a folder" : "it is not a regular file")
    }
    self.path = path
    partialPath = path + Self.partialEnding
    partial = PartialFile(PathText.system(partialPath))
    descriptor = open(PathText.system(partialPath), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, permissions)
    guard descriptor >= 0 else { throw FileFault("write", path, number: errno) }
  }

  deinit {
    close(descriptor)
    if !isCommitted { unlink(PathText.system(partialPath)) }
  }

  package func write(_ bytes: UnsafeRawBufferPointer) throws {
    try writeFully(bytes, to: descriptor, at: byteCount, path: path)
    byteCount += bytes.count
  }

  package func overwrite(at offset: Int, with bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try writeFully($0, to: descriptor, at: offset, path: path) }
  }

  package func discard() throws {
    guard ftruncate(descriptor, 0) == 0 else { throw FileFault("write", path, number: errno) }
    byteCount = 0
  }

  package func commit() throws {
    guard fsync(descriptor) == 0 else { throw FileFault("write", path, number: errno) }
    // Of two processes that found the place free one gets it.
    if !isReplacing { try take() }
    if !isCommitted {
      guard rename(PathText.system(partialPath), PathText.system(path)) == 0 else {
        throw FileFault("write", path, number: errno)
      }
    }
    isCommitted = true
  }

  /// Puts the file where none is, in one step where the file system has links; otherwise the place is taken first.
  private func take() throws {
    if link(PathText.system(partialPath), PathText.system(path)) == 0 {
      unlink(PathText.system(partialPath))
      isCommitted = true
      return
    }
    guard errno != EEXIST else { throw Self.wouldOverwrite(path) }
    let taken = open(PathText.system(path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard taken >= 0 else {
      throw errno == EEXIST ? Self.wouldOverwrite(path) : FileFault("write", path, number: errno)
    }
    close(taken)
  }

  private static func wouldOverwrite(_ path: String) -> FileFault {
    FileFault("write", path, reason: "the file exists and would be overwritten")
  }
}

/// A file that is begun: while this lives, a signal that ends the program removes it.
package final class PartialFile: Sendable {
  private let number: Int32

  /// - Parameter path: as the system is given it; noted before the file is made.
  package init(_ path: [CChar]) { number = keyferry_partial_note(path) }

  /// - Parameter path: in UTF-8; noted before the file is made.
  package init(_ path: String) { number = keyferry_partial_note(path) }

  deinit { keyferry_partial_forget(number) }

  /// From now on signals that end the process remove what is begun. For programs: a library leaves signals alone.
  package static func removeAllOnSignals() {
    keyferry_partial_watch()
    keyferry_partial_watch_memory()
  }
}

/// Standard output. Text goes out as it comes; an archive, whose headers are completed later, is spooled first.
package final class StandardOutput: ByteSink {
  package init() {}

  package func write(_ bytes: UnsafeRawBufferPointer) throws {
    try writeFully(bytes, to: STDOUT_FILENO, at: nil, path: "standard output")
  }

  /// Sends a finished document.
  package func write(_ document: any SeekableSource) throws {
    let source = SequentialSource(document)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { buffer.deallocate() }
    while case let count = try source.read(into: buffer), count > 0 {
      try write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }
}
