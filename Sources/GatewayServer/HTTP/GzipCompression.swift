internal import CZlib

/// The content coding `gzip` (RFC 1952) for answers that are text.
enum GzipCompression {
  /// Below this many bytes the head of a response weighs more than what is saved.
  static let worthwhileLength = 1024

  /// - Returns: `nil` where zlib could not, or the result is no smaller.
  static func compress(_ bytes: [UInt8]) -> [UInt8]? {
    var stream = z_stream()
    // 16 more than the window's bits asks for the frame of gzip.
    let version = deflateInit2_(
      &stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard version == Z_OK else { return nil }
    defer { deflateEnd(&stream) }
    let bound = Int(deflateBound(&stream, UInt(bytes.count)))
    guard bytes.count <= 1 << 30, bound <= Int(UInt32.max) else { return nil }
    var input = bytes
    let output = [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
      input.withUnsafeMutableBufferPointer { source in
        stream.next_in = source.baseAddress
        stream.avail_in = UInt32(source.count)
        stream.next_out = buffer.baseAddress
        stream.avail_out = UInt32(buffer.count)
        count = deflate(&stream, Z_FINISH) == Z_STREAM_END ? Int(stream.total_out) : 0
      }
    }
    return output.isEmpty || output.count >= bytes.count ? nil : output
  }

  /// Whether an `Accept-Encoding` field takes gzip (RFC 9110, 12.5.3).
  static func isAccepted(by value: String?) -> Bool {
    guard let value else { return false }
    // What nearly every client says.
    if value == "gzip" || value.hasPrefix("gzip,") { return true }
    var wildcard = false
    for item in value.split(separator: ",") {
      let parts = item.split(separator: ";").map { $0.trimmingSpaces.lowercased() }
      guard let coding = parts.first else { continue }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
      if coding == "gzip" || coding == "x-gzip" { return weight > 0 }
      if coding == "*" { wildcard = weight > 0 }
    }
    return wildcard
  }
}
