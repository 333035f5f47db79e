/// Hexadecimal digits and the bytes that they spell.
package enum Hexadecimal {
  /// The value of an ASCII digit, 255 for anything else.
  package static let values: [UInt8] = {
    var table = [UInt8](repeating: 255, count: 256)
    for (value, digit) in lowercase.enumerated() { table[Int(digit)] = UInt8(value) }
    for (value, digit) in uppercase.enumerated() { table[Int(digit)] = UInt8(value) }
    return table
  }()

  package static let lowercase = Array("0123456789abcdef".utf8)
  package static let uppercase = Array("0123456789ABCDEF".utf8)

  package static func isDigit(_ byte: UInt8) -> Bool { values[Int(byte)] != 255 }

  /// Two digits for each byte.
  @inlinable
  package static func encode(_ bytes: some Sequence<UInt8>, digits: [UInt8] = lowercase) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.underestimatedCount * 2)
    append(bytes, to: &text, digits: digits)
    return String(decoding: text, as: UTF8.self)
  }

  @inlinable
  package static func append(_ bytes: some Sequence<UInt8>, to text: inout [UInt8], digits: [UInt8] = lowercase) {
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
  }

  /// A number in lower case, with zeros in front up to `width` digits.
  package static func encode(number: UInt64, width: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  /// `nil` unless the text has an even number of hexadecimal digits and nothing else.
  @inlinable
  package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count.isMultiple(of: 2) else { return nil }
    let values = values
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 2)
    var high: UInt8?
    for digit in text {
      let value = values[Int(digit)]
      guard value != 255 else { return nil }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return bytes
  }
}
