internal import CZlib
internal import KeyFormats

/// Inflates gzip (RFC 1952): all members, one behind the other, each with its check sum and length. Zeros behind the last
/// one, with which tapes are filled up, are passed over.
final class GzipSource: ByteSource {
  private let source: any ByteSource
  private var stream = z_stream()
  private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  private var isReady = false
  private var isAtEnd = false
  private var inMember = false

  init(_ source: any ByteSource) { self.source = source }

  deinit {
    if isReady { inflateEnd(&stream) }
    input.deallocate()
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard !buffer.isEmpty, !isAtEnd else { return 0 }
    try prepare()
    stream.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.avail_out = UInt32(clamping: buffer.count)
    let room = stream.avail_out
    while stream.avail_out == room {
      if stream.avail_in == 0 { try refill() }
      if stream.avail_in == 0 {
        guard !inMember else { throw FormatError(.truncated, "the gzip stream ends in the middle") }
        isAtEnd = true
        break
      }
      if !inMember {
        guard try beginMember() else {
          isAtEnd = true
          break
        }
      }
      switch inflate(&stream, Z_NO_FLUSH) {
      case Z_OK, Z_BUF_ERROR: break
      case Z_STREAM_END:
        inflateReset(&stream)
        inMember = false
      default:
        throw FormatError(
          .malformed, "the gzip stream is damaged" + (stream.msg.map { ": \(String(cString: $0))" } ?? ""))
      }
    }
    return Int(room - stream.avail_out)
  }

  /// Whether another member begins; otherwise nothing but zeros is left.
  private func beginMember() throws -> Bool {
    if stream.next_in.pointee != 0 {
      guard stream.next_in.pointee == 0x1f else {
        throw FormatError(.malformed, "something that is no gzip stands behind the gzip stream")
      }
      inMember = true
      return true
    }
    while stream.avail_in > 0 {
      for offset in 0..<Int(stream.avail_in) where stream.next_in[offset] != 0 {
        throw FormatError(.malformed, "something that is no gzip stands behind the gzip stream")
      }
      stream.avail_in = 0
      try refill()
    }
    return false
  }

  private func prepare() throws {
    guard !isReady else { return }
    // 15 bits of window, and 16 for the wrapping of gzip.
    let status = inflateInit2_(&stream, 31, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { throw FormatError(.unsupported, "zlib cannot inflate gzip (status \(status))") }
    isReady = true
  }

  private func refill() throws {
    let count = try source.read(into: input)
    stream.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.avail_in = UInt32(count)
  }
}
