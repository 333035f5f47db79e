/// Decimal numbers in text formats.
package enum DecimalText {
  /// The most characters of a 64-bit number with its sign.
  package static let maximumLength = 20

  /// Writes the number and returns the number of characters. The caller has made room.
  @inline(__always)
  package static func write(_ value: Int32, to place: UnsafeMutableRawPointer) -> Int {
    var rest = value.magnitude
    var length = value < 0 ? 1 : 0
    var bound: UInt32 = 10
    var digits = 1
    while digits < 10, rest >= bound {
      digits += 1
      bound = digits == 10 ? .max : bound &* 10
    }
    length += digits
    if value < 0 { place.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self) }
    var index = length
    for _ in 0..<digits {
      index -= 1
      place.storeBytes(of: UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10), toByteOffset: index, as: UInt8.self)
      rest /= 10
    }
    return length
  }
}
