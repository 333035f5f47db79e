internal import CZlib

/// zlib, for what is no key record: one block of bytes at a time, with the window in front of it.
final class LibraryDeflate {
  private var stream = z_stream()

  init(level: Int32) throws {
    // Negative window bits: a raw stream, without zlib's own header.
    let status = deflateInit2_(
      &stream, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else {
      throw FormatError(.unsupported, "zlib cannot begin to deflate (status \(status))")
    }
  }

  deinit { deflateEnd(&stream) }

  /// Writes a piece of a stream that begins and ends with whole bytes.
  ///
  /// - Parameters:
  ///   - window: what the document has in front of `bytes`, at most 32 KiB.
  ///   - isLast: ends the stream.
  ///   - room: takes the result.
  /// - Returns: how many bytes were written.
  func deflate(
    _ bytes: UnsafeRawBufferPointer, window: UnsafeRawBufferPointer, isLast: Bool,
    to room: UnsafeMutableRawBufferPointer
  ) throws -> Int {
    var status = deflateReset(&stream)
    if status == Z_OK, !window.isEmpty {
      status = deflateSetDictionary(
        &stream, window.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt32(window.count))
    }
    // zlib does not write through next_in; its type only lacks the const.
    stream.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
    stream.avail_in = UInt32(bytes.count)
    stream.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.avail_out = UInt32(room.count)
    if status == Z_OK { status = CZlib.deflate(&stream, isLast ? Z_FINISH : Z_SYNC_FLUSH) }
    guard status == (isLast ? Z_STREAM_END : Z_OK), stream.avail_in == 0, stream.avail_out > 0 else {
      throw FormatError(.unsupported, "zlib cannot deflate (status \(status))")
    }
    return room.count - Int(stream.avail_out)
  }
}
