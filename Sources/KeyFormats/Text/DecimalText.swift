/// Decimal numbers in text formats.
package enum DecimalText {
  /// The most characters of a 64-bit number with its sign.
  package static let maximumLength = 20

  /// Writes the number and returns the number of characters. The caller has made room for ``maximumLength``.
  @inline(__always)
  package static func write(_ value: Int32, to place: UnsafeMutableRawPointer) -> Int {
    guard value < 0 else { return write(UInt32(bitPattern: value), to: place) }
    place.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self)
    return writeLong(value.magnitude, to: place + 1) + 1
  }

  @inline(__always)
  package static func write(_ value: UInt32, to place: UnsafeMutableRawPointer) -> Int {
    if value < 10 {
      place.storeBytes(of: UInt8(ascii: "0") | UInt8(truncatingIfNeeded: value), as: UInt8.self)
      return 1
    }
    guard value < 100_000_000 else { return writeLong(value, to: place) }
    return writeShort(value, to: place)
  }

  @inline(never)
  private static func writeLong(_ value: UInt32, to place: UnsafeMutableRawPointer) -> Int {
    guard value >= 100_000_000 else { return writeShort(value, to: place) }
    let (high, low) = value.quotientAndRemainder(dividingBy: 100_000_000)
    let length = writeShort(high, to: place)
    place.storeBytes(
      of: (digits(low) | 0x3030_3030_3030_3030).littleEndian, toByteOffset: length, as: UInt64.self)
    return length + 8
  }

  /// A number of at most eight digits. Eight bytes are written, whatever its length.
  @inline(__always)
  private static func writeShort(_ value: UInt32, to place: UnsafeMutableRawPointer) -> Int {
    let digits = digits(value)
    // At least the last digit stays.
    let zeros = (digits | 1 << 56).trailingZeroBitCount / 8
    place.storeBytes(
      of: ((digits | 0x3030_3030_3030_3030) &>> UInt64(8 &* zeros)).littleEndian, as: UInt64.self)
    return 8 &- zeros
  }

  /// The values of eight digits, the first in the lowest byte. Halves the number into fours, twos and single digits,
  /// all lanes at once.
  @inline(__always)
  private static func digits(_ value: UInt32) -> UInt64 {
    let high = value / 10_000
    let fours = UInt64(high) | UInt64(value &- high &* 10_000) << 32
    let hundreds = ((fours &* 10_486) >> 20) & 0x0000_007F_0000_007F
    let twos = hundreds | (fours &- hundreds &* 100) << 16
    let tens = ((twos &* 103) >> 10) & 0x000F_000F_000F_000F
    return tens | (twos &- tens &* 10) << 8
  }
}
