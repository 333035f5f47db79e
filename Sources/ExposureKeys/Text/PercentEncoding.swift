/// Percent-encoding (RFC 3986, 2.1).
package enum PercentEncoding {
  /// Everything is encoded but unreserved characters and `kept`.
  package static func encode(_ text: String, keeping kept: String = "") -> String {
    var encoded = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      case _ where kept.utf8.contains(byte): encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default: encoded += "%" + Hexadecimal.encode([byte], digits: Hexadecimal.uppercase)
      }
    }
    return encoded
  }

  /// `nil` for an escape without two hexadecimal digits, and for bytes that are not UTF-8 then.
  package static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard rest.count >= 2, let value = Hexadecimal.decode(rest.prefix(2)) else { return nil }
        bytes += value
        rest.removeFirst(2)
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
