internal import CZlib

/// zlib's own raw streams of DEFLATE (RFC 1951): what ours are read by and compared with.
package enum Zlib {
  package struct Fault: Error {
    package let status: Int32
  }

  /// How zlib looks for matches, and which codes it uses.
  package enum Strategy: Int32, CaseIterable, Sendable {
    case automatic, filtered, huffmanOnly, runs, fixedCodes
  }

  package static func deflate(
    _ bytes: [UInt8], level: Int32, strategy: Strategy = .automatic
  ) throws -> [UInt8] {
    try deflate(bytes, level: level, strategy: strategy, windowBits: -15)
  }

  /// A member of gzip (RFC 1952).
  package static func gzip(_ bytes: [UInt8]) throws -> [UInt8] {
    try deflate(bytes, level: 6, strategy: .automatic, windowBits: 15 + 16)
  }

  private static func deflate(
    _ bytes: [UInt8], level: Int32, strategy: Strategy, windowBits: Int32
  ) throws -> [UInt8] {
    var stream = z_stream()
    var status = deflateInit2_(
      &stream, level, Z_DEFLATED, windowBits, 8, strategy.rawValue, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { throw Fault(status: status) }
    defer { deflateEnd(&stream) }
    var result: [UInt8] = []
    status = run(&stream, bytes, { result.append(contentsOf: $0) }, step: { CZlib.deflate($0, Z_FINISH) })
    guard status == Z_STREAM_END else { throw Fault(status: status) }
    return result
  }

  /// Throws unless the stream is whole and nothing follows it.
  package static func inflate(_ bytes: [UInt8]) throws -> [UInt8] {
    let (result, ending) = try inflateToFault(bytes)
    guard ending == .complete else { throw ending }
    return result
  }

  /// How the inflating of a stream ended.
  package enum Ending: Error {
    case complete, truncated, damaged, goesOn
  }

  /// The bytes in front of a fault, if there is one.
  package static func inflateToFault(_ bytes: [UInt8]) throws -> (bytes: [UInt8], ending: Ending) {
    var result: [UInt8] = []
    let ending = try inflate(bytes) { result.append(contentsOf: $0) }
    return (result, ending)
  }

  /// Hands the document on in pieces.
  package static func inflate(_ bytes: [UInt8], to take: (ArraySlice<UInt8>) -> Void) throws -> Ending {
    var stream = z_stream()
    var status = inflateInit2_(&stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { throw Fault(status: status) }
    defer { inflateEnd(&stream) }
    status = run(&stream, bytes, take) { CZlib.inflate($0, Z_NO_FLUSH) }
    switch status {
    case Z_STREAM_END: return stream.avail_in == 0 ? .complete : .goesOn
    case Z_DATA_ERROR: return .damaged
    case Z_OK, Z_BUF_ERROR: return .truncated
    default: throw Fault(status: status)
    }
  }

  /// The CRC-32 that a ZIP archive states.
  package static func checkSum(_ bytes: [UInt8]) -> UInt32 {
    bytes.withUnsafeBufferPointer { UInt32(truncatingIfNeeded: crc32_z(0, $0.baseAddress, $0.count)) }
  }

  private static func run(
    _ stream: inout z_stream, _ bytes: [UInt8], _ take: (ArraySlice<UInt8>) -> Void,
    step: (UnsafeMutablePointer<z_stream>) -> Int32
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
        take(room[..<written])
      } while status == Z_OK && (stream.avail_out == 0 || stream.avail_in > 0)
    }
    return status
  }
}
