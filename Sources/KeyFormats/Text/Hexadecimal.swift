/// Hexadecimal digits and their values.
enum Hexadecimal {
  /// The value of an ASCII digit, 255 for anything else.
  static let values: [UInt8] = {
    var table = [UInt8](repeating: 255, count: 256)
    for (value, digit) in "0123456789abcdef".utf8.enumerated() { table[Int(digit)] = UInt8(value) }
    for (value, digit) in "ABCDEF".utf8.enumerated() { table[Int(digit)] = UInt8(10 + value) }
    return table
  }()

  /// `nil` unless the text has an even number of hexadecimal digits and nothing else.
  static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count.isMultiple(of: 2) else { return nil }
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

/// Eight hexadecimal digits at once.
enum HexadecimalWord {
  /// The number that eight ASCII digits spell, the first the most significant; sets bits in `wrong` when they are none.
  @inline(__always)
  static func value(_ text: UInt64, _ wrong: inout UInt64) -> UInt32 {
    let isLetter = text >> 6 & 0x0101_0101_0101_0101
    let nibbles = (text & 0x0F0F_0F0F_0F0F_0F0F) &+ isLetter &* 9
    // Spelling the nibbles again tells every other character: each has one spelling, but for the letter's case.
    let spelled = nibbles &+ 0x3030_3030_3030_3030 &+ isLetter &* 39
    let isTenOrMore = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    wrong |= ((text | isLetter << 5) ^ spelled) | (nibbles & 0xF0F0_F0F0_F0F0_F0F0) | (isLetter ^ isTenOrMore)
    var value = (nibbles << 4 | nibbles >> 8) & 0x00FF_00FF_00FF_00FF
    value = (value | value >> 8) & 0x0000_FFFF_0000_FFFF
    value = value | value >> 16
    return UInt32(truncatingIfNeeded: value).byteSwapped
  }
}
