internal import CZlib

/// Inflates (RFC 1951) a stream while it is read, with zlib.
///
/// A fault is thrown at the first read that finds no bytes in front of it. Memory is the same for any stream: 64 KB.
package final class Inflater: ByteSource {
  private static let inputBytes = 16 << 10

  private let source: any ByteSource
  /// zlib keeps its address.
  private let stream: UnsafeMutablePointer<z_stream>
  private let input: UnsafeMutableRawBufferPointer
  /// Bytes of the document that were read.
  private var total = 0
  private var isFinished = false
  /// Thrown when the bytes in front of it are read.
  private var fault: (any Error)?

  package init(_ source: any ByteSource) {
    self.source = source
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    input = .allocate(byteCount: Self.inputBytes, alignment: 1)
    // Negative window bits: a raw stream, without zlib's own header.
    let status = inflateInit2_(stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    if status != Z_OK {
      fault = FormatError(.unsupported, "zlib cannot begin to inflate (status \(status))")
    }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
    input.deallocate()
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard let room = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
    var filled = 0
    while filled < buffer.count, !isFinished, fault == nil {
      do {
        filled += try inflate(to: room + filled, most: buffer.count - filled)
        // With room left, zlib has written everything that the input so far gives.
        if stream.pointee.avail_out > 0, !isFinished, fault == nil { try takeInput() }
      } catch { fault = error }
    }
    if filled == 0, let fault { throw fault }
    return filled
  }

  private func takeInput() throws {
    guard stream.pointee.avail_in == 0 else { return }
    let count = try source.read(into: input)
    guard count > 0 else {
      throw FormatError(.truncated, byteOffset: total, "the compressed stream ends too early")
    }
    stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_in = UInt32(count)
  }

  private func inflate(to room: UnsafeMutablePointer<UInt8>, most: Int) throws -> Int {
    let most = UInt32(clamping: most)
    stream.pointee.next_out = room
    stream.pointee.avail_out = most
    let status = CZlib.inflate(stream, Z_NO_FLUSH)
    let count = Int(most - stream.pointee.avail_out)
    total += count
    switch status {
    case Z_OK, Z_BUF_ERROR: break
    case Z_STREAM_END: fault = try afterEnd()
    case Z_MEM_ERROR: fault = FormatError(.unsupported, byteOffset: total, "zlib has too little memory")
    default: fault = FormatError(.malformed, byteOffset: total, "the compressed stream is damaged")
    }
    return count
  }

  /// The fault of a stream that is followed by bytes.
  private func afterEnd() throws -> FormatError? {
    isFinished = true
    if stream.pointee.avail_in == 0, try source.read(into: input) == 0 { return nil }
    return FormatError(.malformed, byteOffset: total, "compressed bytes go on behind the end of the stream")
  }
}
