/// The symbols of RFC 1951, 3.2.5: a match is a length and a distance, each of which is a symbol and extra bits.
enum DeflateSymbols {
  static let endOfBlock = 256
  /// How far back a match may reach.
  static let windowBytes = 32768
  static let shortestMatch = 3
  static let longestMatch = 258

  /// Symbol, first length of the symbol, and number of extra bits of a length of 3...258.
  static func length(_ length: Int) -> (symbol: Int, base: Int, extraBits: Int) {
    if length == longestMatch { return (285, longestMatch, 0) }
    let above = length - shortestMatch
    if above < 8 { return (257 + above, length, 0) }
    let extraBits = bitWidth(above) - 3
    let step = above >> extraBits
    return (257 + 4 * extraBits + step, shortestMatch + step << extraBits, extraBits)
  }

  /// Symbol and number of extra bits of a distance, which is given less one: 0...32767.
  ///
  /// The first distance of each symbol, less one, is a multiple of two to the extra bits: these are the lowest bits.
  @inline(__always)
  static func distance(lessOne distance: UInt32) -> (symbol: UInt32, extraBits: UInt32) {
    // Without a branch: 0...3 are symbols of their own.
    let extraBits = 30 &- UInt32(truncatingIfNeeded: (distance | 3).leadingZeroBitCount)
    let step = distance &>> extraBits
    return (extraBits &* 2 &+ step, extraBits)
  }

  /// First length and number of extra bits of a symbol, 257...285.
  static func lengths(of symbol: Int) -> (base: Int, extraBits: Int) {
    if symbol == 285 { return (longestMatch, 0) }
    let number = symbol - 257
    let extraBits = max(number / 4 - 1, 0)
    return (shortestMatch + (number - 4 * extraBits) << extraBits, extraBits)
  }

  /// First distance and number of extra bits of a symbol, 0...29.
  static func distances(of symbol: Int) -> (base: Int, extraBits: Int) {
    let extraBits = max(symbol / 2 - 1, 0)
    return (1 + (symbol - 2 * extraBits) << extraBits, extraBits)
  }

  private static func bitWidth(_ number: Int) -> Int { Int.bitWidth - number.leadingZeroBitCount }
}
