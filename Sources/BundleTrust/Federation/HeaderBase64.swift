internal import ExposureKeys

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
    if let place = content.firstIndex(where: { Base64.values[Int($0)] == 255 || "-_".utf8.contains($0) }) {
      throw Fault(reason: refusal(of: content[place], at: place + 1))
    }
    guard let bytes = Base64.decode(digits) else {
      throw Fault(reason: "\(content.count) digits and \(padding) times =, which is no whole number of bytes")
    }
    return bytes
  }

  private static func refusal(of digit: UInt8, at place: Int) -> String {
    switch digit {
    case 0x0A, 0x0D: "a line break at character \(place): spell it in one line, as base64 -w0 does"
    case UInt8(ascii: "-"), UInt8(ascii: "_"):
      "\(quoted(String(Unicode.Scalar(digit)))) at character \(place) is base64 for URLs, allowed is the standard alphabet"
    case 0x21...0x7E: "\(quoted(String(Unicode.Scalar(digit)))) at character \(place) is no digit of base64"
    default: "the byte 0x\(Hexadecimal.encode([digit])) at character \(place) is no digit of base64"
    }
  }
}
