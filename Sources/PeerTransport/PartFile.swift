internal import Glibc
internal import KeyIntake
internal import NIOCore

/// A document on its way into a file: written beside it under the name with `.part` behind, and renamed when it is
/// whole. Dropped before, it leaves nothing; what a crash leaves is written over by the next attempt.
struct PartFile: ~Copyable {
  private static let bufferSize = 64 << 10

  private let path: String
  private let partPath: String
  private let descriptor: Int32
  private var isCommitted = false
  /// Collects the small pieces that some servers send.
  private var buffer: [UInt8] = []

  init(_ path: String) throws {
    self.path = path
    partPath = "\(path).part"
    descriptor = open(partPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileFault("write", partPath, number: errno) }
  }

  deinit {
    close(descriptor)
    if !isCommitted { unlink(partPath) }
  }

  mutating func write(_ bytes: ByteBuffer) throws {
    if buffer.count + bytes.readableBytes > Self.bufferSize { try flush() }
    if bytes.readableBytes >= Self.bufferSize {
      try bytes.withUnsafeReadableBytes { try write($0) }
    } else {
      bytes.withUnsafeReadableBytes { buffer.append(contentsOf: $0) }
    }
  }

  consuming func commit() throws {
    try flush()
    guard rename(partPath, path) == 0 else { throw FileFault("write", path, number: errno) }
    isCommitted = true
  }

  private mutating func flush() throws {
    try buffer.withUnsafeBytes { try write($0) }
    buffer.removeAll(keepingCapacity: true)
  }

  private func write(_ bytes: UnsafeRawBufferPointer) throws {
    try writeFully(bytes, to: descriptor, at: nil, path: partPath)
  }
}
