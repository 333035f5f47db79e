/// Sixteen hexadecimal digits at once.
enum HexadecimalDigits {
  /// The number that sixteen ASCII digits spell, the first the most significant; sets bits in `wrong` when they are none.
  @inline(__always)
  static func value(_ text: SIMD16<UInt8>, _ wrong: inout SIMD16<UInt8>) -> UInt64 {
    let isLetter = text &>> 6 & 1
    let nibbles = (text & 0x0F) &+ (isLetter | isLetter &<< 3)
    // Spelling the nibbles again tells every other character: each has one spelling, but for the letter's case.
    let spelled = nibbles &+ 0x30 &+ ((0 &- isLetter) & 39)
    wrong |= ((text | isLetter &<< 5) ^ spelled) | (nibbles & 0xF0) | (isLetter ^ ((nibbles &+ 6) &>> 4))
    let digits = unsafeBitCast(nibbles, to: SIMD2<UInt64>.self)
    let pairs = (digits &<< 4 | digits &>> 8) & 0x00FF_00FF_00FF_00FF
    let fours = (pairs | pairs &>> 8) & 0x0000_FFFF_0000_FFFF
    let eights = fours | fours &>> 16
    func value(_ digits: UInt64) -> UInt64 { UInt64(UInt32(truncatingIfNeeded: digits).bigEndian) }
    return value(eights[0]) << 32 | value(eights[1])
  }
}
