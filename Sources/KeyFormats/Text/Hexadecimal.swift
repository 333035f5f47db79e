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
