/// Base64 (RFC 4648) over plain bytes.
package enum Base64 {
  /// What ``decode(_:spelling:)`` accepts.
  package enum Spelling: Sendable {
    /// The standard and the URL alphabet, with or without padding.
    case any
    /// The URL alphabet without padding, as JWS asks for (RFC 7515, 2).
    case url
    /// The standard alphabet with its padding and no bits behind the last byte, so that bytes have one spelling.
    case canonical
  }

  /// The value of a digit of the standard or of the URL alphabet, 255 for anything else.
  package static let values: [UInt8] = {
    var table = [UInt8](repeating: 255, count: 256)
    for (value, digit) in digits.enumerated() { table[Int(digit)] = UInt8(value) }
    table[Int(UInt8(ascii: "-"))] = 62
    table[Int(UInt8(ascii: "_"))] = 63
    return table
  }()

  package static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  package static let urlDigits = Array(digits.dropLast(2)) + "-_".utf8

  /// Standard alphabet, padded, no line breaks.
  @inlinable
  package static func encode(_ bytes: some Collection<UInt8>) -> String { encode(bytes, digits, isPadded: true) }

  /// URL alphabet, without padding.
  package static func encodeURL(_ bytes: some Collection<UInt8>) -> String { encode(bytes, urlDigits, isPadded: false) }

  @inlinable
  package static func encode(_ bytes: some Collection<UInt8>, _ digits: [UInt8], isPadded: Bool) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var group: UInt32 = 0
    var filled = 0
    for byte in bytes {
      group = group << 8 | UInt32(byte)
      filled += 1
      if filled == 3 {
        for shift: UInt32 in [18, 12, 6, 0] { text.append(digits[Int(group >> shift & 63)]) }
        group = 0
        filled = 0
      }
    }
    if filled > 0 {
      group <<= UInt32(8 * (3 - filled))
      for index in 0...filled { text.append(digits[Int(group >> UInt32(18 - 6 * index) & 63)]) }
      if isPadded { for _ in filled..<3 { text.append(UInt8(ascii: "=")) } }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// `nil` for a text that is not spelled so.
  @inlinable
  package static func decode(_ text: some Collection<UInt8>, spelling: Spelling = .any) -> [UInt8]? {
    let values = values
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3 + 3)
    var group: UInt32 = 0
    var filled = 0
    var padding = 0
    for digit in text {
      if digit == UInt8(ascii: "=") {
        padding += 1
        continue
      }
      let value = values[Int(digit)]
      guard value != 255, padding == 0 else { return nil }
      group = group << 6 | UInt32(value)
      filled += 1
      if filled == 4 {
        for shift: UInt32 in [16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: group >> shift)) }
        group = 0
        filled = 0
      }
    }
    switch filled {
    case 0: guard padding == 0 else { return nil }
    case 2:
      guard padding == 0 || padding == 2 else { return nil }
      bytes.append(UInt8(truncatingIfNeeded: group >> 4))
    case 3:
      guard padding == 0 || padding == 1 else { return nil }
      bytes.append(UInt8(truncatingIfNeeded: group >> 10))
      bytes.append(UInt8(truncatingIfNeeded: group >> 2))
    default: return nil
    }
    switch spelling {
    case .any: return bytes
    case .url: return padding > 0 || text.contains { "+/".utf8.contains($0) } ? nil : bytes
    case .canonical: return encode(bytes).utf8.elementsEqual(text) ? bytes : nil
    }
  }
}
