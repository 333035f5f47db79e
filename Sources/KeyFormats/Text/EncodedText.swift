internal import ExposureKeys

/// How bytes are written as text.
enum TextEncoding {
  case base64, hexadecimal

  /// The bytes that text begins with, by the encoding that it looks like.
  struct Found {
    let encoding: TextEncoding
    let first: [UInt8]

    var isArchive: Bool { ZipArchive.begins(first) }
  }

  /// - Parameter front: the beginning of a document, which is cut anywhere.
  static func found(in front: some Collection<UInt8>) -> Found? {
    let digits = EncodedText.withoutSign(front.prefix(256)).filter { !EncodedText.isSpace($0) }.prefix(48)
    guard digits.count >= 16 else { return nil }
    let whole = digits.prefix(digits.count & ~3)
    if let bytes = Hexadecimal.decode(whole) { return Found(encoding: .hexadecimal, first: bytes) }
    if let bytes = Base64.decode(Array(whole)) { return Found(encoding: .base64, first: bytes) }
    return nil
  }
}

/// Bytes that are written as text, with white space anywhere.
final class EncodedText: ByteSource {
  private let window: InputWindow
  private let encoding: TextEncoding
  private var digits: [UInt8] = []
  private var bytes: [UInt8] = []
  private var taken = 0
  private var isPadded = false

  /// What it is called in errors.
  private let name: String
  /// What ends the text; it stays unread. `nil` where the document does.
  private let end: UInt8?
  private var hasEnded = false

  init(_ window: InputWindow, _ encoding: TextEncoding, of name: String, until end: UInt8? = nil) {
    self.window = window
    self.encoding = encoding
    self.name = name
    self.end = end
  }

  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

  /// Without a byte order mark, and what databases and tools write in front of the digits: `\x`, `0x`, `data:…;base64,`.
  static func withoutSign(_ text: some Collection<UInt8>) -> ArraySlice<UInt8> {
    var text = Array(text)[...]
    if text.starts(with: [0xef, 0xbb, 0xbf]) { text = text.dropFirst(3) }
    text = text.drop { isSpace($0) }
    for sign in ["\\x", "0x"] where text.starts(with: sign.utf8) { return text.dropFirst(2) }
    if text.starts(with: "data:".utf8), let comma = text.firstIndex(of: UInt8(ascii: ",")) {
      return text[(comma + 1)...]
    }
    return text
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    while taken == bytes.count {
      guard try decode() else { return 0 }
    }
    let count = min(buffer.count, bytes.count - taken)
    buffer.copyBytes(from: bytes[taken..<taken + count])
    taken += count
    return count
  }

  /// Decodes what the window holds; `false` at the end.
  private func decode() throws -> Bool {
    bytes.removeAll(keepingCapacity: true)
    taken = 0
    if hasEnded { return false }
    guard try window.require(1) else {
      guard end == nil else {
        throw FormatError(.truncated, byteOffset: window.documentOffset, "\(name) ends in the middle")
      }
      return try finish()
    }
    if let end, window.unread[0] == end { return try finish() }
    let unread = window.unread
    var used = 0
    while used < unread.count, bytes.count < Self.mostBytes {
      if digits.isEmpty, !isPadded { used += decodeWhole(UnsafeRawBufferPointer(rebasing: unread[used...])) }
      guard used < unread.count else { break }
      let byte = unread[used]
      if !Self.isSpace(byte) {
        guard isDigit(byte) else {
          // What stands before it is handed on first, wherever the text was cut.
          if used > 0 { break }
          throw FormatError(
            .malformed, byteOffset: window.documentOffset + used,
            "\(name) holds something that is no digit of "
              + (encoding == .base64 ? "base64" : "hexadecimal numbers"))
        }
        digits.append(byte)
        if digits.count == 4 {
          try decode(digits)
          digits.removeAll(keepingCapacity: true)
        }
      }
      used += 1
    }
    window.skip(used)
    return true
  }

  private static let mostBytes = 1 << 15

  /// Decodes whole groups of digits at the front of `text` up to the first that something stands between, and returns how
  /// many bytes they are.
  private func decodeWhole(_ text: UnsafeRawBufferPointer) -> Int {
    guard let start = text.baseAddress else { return 0 }
    let isBase64 = encoding == .base64
    let most = min(text.count / 4, (Self.mostBytes - bytes.count) / 3)
    var used = 0
    let decoded = [UInt8](unsafeUninitializedCapacity: most * 3) { room, count in
      guard let out = room.baseAddress else { return }
      if isBase64 {
        let table = Base64Digits.shared
        for group in 0..<most {
          let bits = table.four(start + 4 * group)
          guard bits < Base64Digits.limit else { break }
          out[count] = UInt8(truncatingIfNeeded: bits >> 16)
          out[count + 1] = UInt8(truncatingIfNeeded: bits >> 8)
          out[count + 2] = UInt8(truncatingIfNeeded: bits)
          count += 3
          used += 4
        }
      } else {
        Hexadecimal.values.withUnsafeBufferPointer { values in
          for _ in 0..<most {
            let first = (values[Int(text[used])], values[Int(text[used + 1])])
            let second = (values[Int(text[used + 2])], values[Int(text[used + 3])])
            guard (first.0 | first.1 | second.0 | second.1) < 16 else { break }
            out[count] = first.0 << 4 | first.1
            out[count + 1] = second.0 << 4 | second.1
            count += 2
            used += 4
          }
        }
      }
    }
    bytes += decoded
    return used
  }

  private func isDigit(_ byte: UInt8) -> Bool {
    switch encoding {
    case .hexadecimal: return Hexadecimal.values[Int(byte)] != 255
    case .base64:
      if byte == UInt8(ascii: "=") {
        isPadded = true
        return true
      }
      return !isPadded && Base64.values[Int(byte)] != 255
    }
  }

  private func decode(_ part: [UInt8]) throws {
    guard let decoded = encoding == .base64 ? Base64.decode(part) : Hexadecimal.decode(part) else {
      throw FormatError(.malformed, byteOffset: window.documentOffset, "\(name) is not valid base64")
    }
    bytes += decoded
  }

  private func finish() throws -> Bool {
    hasEnded = true
    guard !digits.isEmpty else { return false }
    if encoding == .hexadecimal, !digits.count.isMultiple(of: 2) {
      throw FormatError(
        .truncated, byteOffset: window.documentOffset, "\(name) ends in the middle of a byte")
    }
    if encoding == .base64, digits.count == 1 {
      throw FormatError(
        .truncated, byteOffset: window.documentOffset, "\(name) ends in the middle of a byte")
    }
    try decode(digits)
    digits = []
    return true
  }
}
