/// Base64 (RFC 4648) over plain bytes.
public enum Base64 {
  /// The value of a digit of the standard or of the URL alphabet, 255 for anything else.
  static let values: [UInt8] = {
    var table = [UInt8](repeating: 255, count: 256)
    for (value, digit) in digits.enumerated() { table[Int(digit)] = UInt8(value) }
    table[Int(UInt8(ascii: "-"))] = 62
    table[Int(UInt8(ascii: "_"))] = 63
    return table
  }()

  static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// Standard alphabet, padded, no line breaks.
  public static func encode(_ bytes: some Collection<UInt8>) -> String {
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
      for index in 0..<4 {
        text.append(index <= filled ? digits[Int(group >> UInt32(18 - 6 * index) & 63)] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Accepts the standard and the URL alphabet, with or without padding; `nil` for anything else.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
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
    return bytes
  }
}
