/// A prefix code as a reader sees it: the lengths of the codes in, symbols out.
///
/// Source: RFC 1951, 3.2.2. Codes are given in the order of their lengths, so codes of one length are a range of numbers.
/// Memory is allocated once, for all codes that are assigned one after the other.
struct PrefixDecoder: ~Copyable {
  /// What is not less, of sixteen bits, begins with a longer code than this length, or with none.
  private(set) var limits = [UInt32](repeating: 0, count: 16)
  /// What has to be added to a code of a length for its place among the symbols.
  private var places = [Int](repeating: 0, count: 16)
  /// The symbols in the order of their codes, and where those of a length end.
  private var symbols = [UInt16](repeating: 0, count: PrefixCode.maximumSymbols)
  private var ends = [Int](repeating: 0, count: 16)

  /// Takes the lengths of the codes, 0 where a symbol has none.
  ///
  /// - Parameter mayLackCodes: whether one code of one bit is enough. No code at all always is: nothing can be read by it.
  /// - Returns: `false` for lengths that leave room for more codes, or have none for all.
  mutating func assign(_ lengths: Span<UInt8>, mayLackCodes: Bool) -> Bool {
    var next = InlineArray<17, Int>(repeating: 0)
    for index in lengths.indices { next[Int(lengths[index]) + 1] += 1 }
    // From how many there are of each length to where they begin.
    let absent = next[1]
    next[1] = 0
    var code = 0
    for length in 1..<16 {
      let count = next[length + 1]
      code <<= 1
      places[length] = next[length] - code
      next[length + 1] += next[length]
      code += count
      guard code <= 1 << length else { return false }
      ends[length] = next[length + 1]
      limits[length] = UInt32(code) << UInt32(16 - length)
    }
    let present = lengths.count - absent
    guard code == 1 << 15 || present == 0 || (mayLackCodes && present == 1 && ends[1] == 1) else { return false }
    for symbol in lengths.indices where lengths[symbol] > 0 {
      let length = Int(lengths[symbol])
      symbols[next[length]] = UInt16(truncatingIfNeeded: symbol)
      next[length] += 1
    }
    return true
  }

  /// The symbol that `bits` begin with, and how many bits its code has; `nil` when they begin with no code.
  func symbol(_ bits: UInt64) -> (symbol: Int, length: Int)? {
    let front = UInt32(truncatingIfNeeded: bits >> 48)
    for length in 1..<16 where front < limits[length] {
      return (Int(symbols[Int(front >> UInt32(16 - length)) + places[length]]), length)
    }
    return nil
  }

  /// All symbols with the lengths of their codes, in the order of the codes.
  @inline(__always)
  func forEachCode(_ body: (_ symbol: Int, _ length: Int) -> Void) {
    var index = 0
    for length in 1..<16 {
      while index < ends[length] {
        body(Int(symbols[index]), length)
        index += 1
      }
    }
  }
}
