internal import CZlib

/// zlib's own raw streams of DEFLATE (RFC 1951): what ours are read by and compared with.
package enum Zlib {
  package struct Fault: Error {
    package let status: Int32
  }

  package static func deflate(_ bytes: [UInt8], level: Int32) throws -> [UInt8] {
    var stream = z_stream()
    var status = deflateInit2_(
      &stream, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { throw Fault(status: status) }
    defer { deflateEnd(&stream) }
    var result: [UInt8] = []
    status = run(&stream, bytes, &result) { CZlib.deflate($0, Z_FINISH) }
    guard status == Z_STREAM_END else { throw Fault(status: status) }
    return result
  }

  /// Throws unless the stream is whole and nothing follows it.
  package static func inflate(_ bytes: [UInt8]) throws -> [UInt8] {
    var stream = z_stream()
    var status = inflateInit2_(&stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { throw Fault(status: status) }
    defer { inflateEnd(&stream) }
    var result: [UInt8] = []
    status = run(&stream, bytes, &result) { CZlib.inflate($0, Z_NO_FLUSH) }
    guard status == Z_STREAM_END, stream.avail_in == 0 else { throw Fault(status: status) }
    return result
  }

  /// The CRC-32 that a ZIP archive states.
  package static func checkSum(_ bytes: [UInt8]) -> UInt32 {
    bytes.withUnsafeBufferPointer { UInt32(truncatingIfNeeded: crc32_z(0, $0.baseAddress, $0.count)) }
  }

  private static func run(
    _ stream: inout z_stream, _ bytes: [UInt8], _ result: inout [UInt8],
    _ step: (UnsafeMutablePointer<z_stream>) -> Int32
  ) -> Int32 {
    var room = [UInt8](repeating: 0, count: 128 << 10)
    var status = Z_OK
    bytes.withUnsafeBufferPointer { input in
      // zlib does not write through next_in; its type only lacks the const.
      stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
      stream.avail_in = UInt32(input.count)
      repeat {
        let written = room.withUnsafeMutableBufferPointer { output in
          stream.next_out = output.baseAddress
          stream.avail_out = UInt32(output.count)
          status = step(&stream)
          return output.count - Int(stream.avail_out)
        }
        result.append(contentsOf: room[..<written])
      } while status == Z_OK && (stream.avail_out == 0 || stream.avail_in > 0)
    }
    return status
  }
}
