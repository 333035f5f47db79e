internal import KeyFormats
internal import KeyIntake
internal import KeyStorage

/// An archive while it is made and until it is staged: in memory while it is small, then in a temporary file without a name.
///
/// One owner writes, before it is shared; then it is only read, at given places, from any thread.
final class ArchiveSpool: PatchableSink, SeekableSource, @unchecked Sendable {
  private var front = MemorySink()
  private var file: SpoolFile?

  /// Bytes in memory at most.
  private static let capacity = 1 << 20

  var byteCount: Int { file?.byteCount ?? front.bytes.count }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    if let file { return try file.write(bytes) }
    guard front.bytes.count + bytes.count > Self.capacity else { return front.write(bytes) }
    let file = try SpoolFile()
    try file.write(front.bytes)
    try file.write(bytes)
    self.file = file
    front = MemorySink()
  }

  func overwrite(at offset: Int, with bytes: [UInt8]) throws {
    if let file { try file.overwrite(at: offset, with: bytes) } else { front.overwrite(at: offset, with: bytes) }
  }

  func discard() {
    file = nil
    front = MemorySink()
  }

  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    if let file { return try file.read(at: offset, into: buffer) }
    let bytes = front.bytes
    guard offset >= 0, offset < bytes.count else { return 0 }
    let count = min(buffer.count, bytes.count - offset)
    bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count])) }
    return count
  }

  /// As the store takes it.
  var stored: StoredBytes { StoredBytes(count: byteCount) { [self] in try read(at: $0, into: $1) } }
}
