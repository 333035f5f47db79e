/// The base64 of the header `batchSignature`: the standard alphabet in one line, as Java's basic decoder takes it.
///
/// That decoder, which the EU federation gateway used, takes text without its padding too, but no line break, no space
/// and no digit of the alphabet for URLs; padding that is there must be whole and at the end. So do we.
///
/// Source: RFC 4648, 4; the documentation of `java.util.Base64`, "Basic".
package enum HeaderBase64 {
  /// Why a text is none. Places are counted from 1.
  package struct Fault: Error, Hashable, Sendable {
    package let reason: String
  }

  /// - Parameter limit: how many bytes may come out of it; more is refused before it is read.
  package static func decode(_ text: String, limit: Int) throws(Fault) -> [UInt8] {
    let digits = Array(text.utf8.prefix((limit + 2) / 3 * 4 + 1))
    guard digits.count <= (limit + 2) / 3 * 4 else {
      throw Fault(reason: "longer than \((limit + 2) / 3 * 4) characters, which spell \(limit) bytes")
    }
    guard !digits.isEmpty else { throw Fault(reason: "empty") }
    let padding = digits.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard padding <= 2 else { throw Fault(reason: "ends in \(padding) times =, allowed at most twice") }
    let content = digits.dropLast(padding)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(content.count / 4 * 3 + 2)
    var bits: UInt32 = 0
    for (place, digit) in content.enumerated() {
      guard let value = value(of: digit) else { throw Fault(reason: refusal(of: digit, at: place + 1)) }
      bits = bits << 6 | value
      switch place % 4 {
      case 1: bytes.append(UInt8(truncatingIfNeeded: bits >> 4))
      case 2: bytes.append(UInt8(truncatingIfNeeded: bits >> 2))
      case 3: bytes.append(UInt8(truncatingIfNeeded: bits))
      default: break
      }
    }
    let missing = (4 - content.count % 4) % 4
    guard missing < 3, padding == 0 || padding == missing else {
      throw Fault(reason: "\(content.count) digits and \(padding) times =, which is no whole number of bytes")
    }
    return bytes
  }

  /// Padded, in one line.
  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = (group + [0, 0]).prefix(3).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      for place in 0..<4 {
        text.append(place <= group.count ? digits[Int(bits >> UInt32(18 - 6 * place) & 63)] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  private static func value(of digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }

  private static func refusal(of digit: UInt8, at place: Int) -> String {
    switch digit {
    case 0x0A, 0x0D: "a line break at character \(place): spell it in one line, as base64 -w0 does"
    case UInt8(ascii: "-"), UInt8(ascii: "_"):
      "\(quoted(String(Unicode.Scalar(digit)))) at character \(place) is base64 for URLs, allowed is the standard alphabet"
    case 0x21...0x7E: "\(quoted(String(Unicode.Scalar(digit)))) at character \(place) is no digit of base64"
    default: "the byte 0x\(hexadecimal([digit])) at character \(place) is no digit of base64"
    }
  }
}
