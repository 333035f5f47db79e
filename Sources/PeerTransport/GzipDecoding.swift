internal import CZlib
internal import NIOCore

/// Decodes the content coding `gzip` (RFC 1952) as its bytes are received. It gives pieces of at most 64 KiB, so that its user
/// can count them and stop at a limit before there are more.
final class GzipDecoding {
  private static let pieceBytes = 64 << 10

  private var stream = z_stream()
  private var input: [UInt8] = []
  private var start = 0
  private var isReady = false
  private var mayHaveMore = false
  /// Whether a member has begun and not ended.
  private var isInMember = false

  deinit { if isReady { inflateEnd(&stream) } }

  /// Whether the bytes so far may be all: none, or whole members.
  var isWhole: Bool { !isInMember }

  /// Takes the next bytes; those of before must have been decoded.
  func take(_ piece: ByteBuffer) {
    input = Array(piece.readableBytesView)
    start = 0
  }

  /// The next piece of what was taken; `nil` when there is no more.
  ///
  /// - Throws: ``Damage``.
  func next() throws(Damage) -> ByteBuffer? {
    if !isReady {
      // 15 bits of window, and 16 for the wrapping of gzip.
      let status = inflateInit2_(&stream, 31, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
      guard status == Z_OK else { throw Damage(reason: "zlib cannot decode gzip (status \(status))") }
      isReady = true
    }
    while start < input.count || mayHaveMore {
      var status = Z_OK
      var output = ByteBuffer()
      let count = output.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.pieceBytes) { room in
        inflate(into: UnsafeMutableRawBufferPointer(rebasing: room.prefix(Self.pieceBytes)), &status)
      }
      switch status {
      case Z_OK: isInMember = true
      case Z_BUF_ERROR: break
      case Z_STREAM_END:
        inflateReset(&stream)
        (isInMember, mayHaveMore) = (false, false)
      default: throw Damage(reason: stream.msg.map { String(cString: $0) } ?? "zlib status \(status)")
      }
      if count > 0 { return output }
      if status == Z_BUF_ERROR { break }
    }
    return nil
  }

  /// The whole of a small body.
  ///
  /// - Throws: `NIOTooManyBytesError` when there is more than the limit, ``Damage``.
  static func decoded(_ body: ByteBuffer, limit: Int) throws -> [UInt8] {
    let decoding = GzipDecoding()
    decoding.take(body)
    var decoded: [UInt8] = []
    while let piece = try decoding.next() {
      guard decoded.count + piece.readableBytes <= limit else { throw NIOTooManyBytesError(maxBytes: limit) }
      decoded += piece.readableBytesView
    }
    guard decoding.isWhole else { throw Damage(reason: "it ends in the middle") }
    return decoded
  }

  private func inflate(into room: UnsafeMutableRawBufferPointer, _ status: inout Int32) -> Int {
    input.withUnsafeMutableBufferPointer { source in
      stream.next_in = source.baseAddress.map { $0 + start }
      stream.avail_in = UInt32(clamping: source.count - start)
      stream.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
      stream.avail_out = UInt32(clamping: room.count)
      status = CZlib.inflate(&stream, Z_NO_FLUSH)
      start = source.count - Int(stream.avail_in)
    }
    mayHaveMore = stream.avail_out == 0
    return room.count - Int(stream.avail_out)
  }

  /// The bytes are no gzip.
  struct Damage: Error {
    let reason: String
  }
}
