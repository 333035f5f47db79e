/// A prefix code by Huffman's method, with a limit on the lengths: how often each symbol occurs, how many bits it
/// gets, and which.
///
/// Source: RFC 1951, 3.2.2. The lengths are a function of the frequencies alone; of symbols that occur equally often
/// the one with the greater number gets the shorter code.
struct PrefixCode {
  /// How often each symbol occurs. What does not occur gets no code.
  var frequencies: InlineArray<288, UInt32> = .init(repeating: 0)
  /// Bits of each code, 0 for none.
  private(set) var lengths: InlineArray<288, UInt8> = .init(repeating: 0)
  /// The codes with their first bit lowest, which is how they are written.
  private(set) var codes: InlineArray<288, UInt16> = .init(repeating: 0)

  let symbolCount: Int
  let maximumLength: Int

  init(symbols: Int, maximumLength: Int) {
    symbolCount = symbols
    self.maximumLength = maximumLength
  }

  /// Gives lengths and codes to the frequencies as they are.
  mutating func build() {
    // Old readers want a complete code, which takes two symbols.
    var used = (0..<symbolCount).count { frequencies[$0] > 0 }
    for symbol in 0..<symbolCount where used < 2 && frequencies[symbol] == 0 {
      frequencies[symbol] = 1
      used += 1
    }
    assignLengths(used)
    assignCodes()
  }

  private mutating func assignLengths(_ used: Int) {
    // Rarest first. The symbol stands below its frequency, so one word is compared.
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: used) { room in
      var leaves = room
      var filled = 0
      for symbol in 0..<symbolCount {
        lengths[symbol] = 0
        guard frequencies[symbol] > 0 else { continue }
        leaves.initializeElement(at: filled, to: UInt64(frequencies[symbol]) << 16 | UInt64(symbol))
        filled += 1
      }
      leaves.sort()
      var counts = depths(leaves)
      limit(&counts)
      var next = 0
      for length in stride(from: maximumLength, through: 1, by: -1) {
        for _ in 0..<counts[length] {
          lengths[Int(leaves[next] & 0xffff)] = UInt8(length)
          next += 1
        }
      }
    }
  }

  /// How many leaves of Huffman's tree stand at each depth; those below 31 are counted there.
  private func depths(_ leaves: UnsafeMutableBufferPointer<UInt64>) -> InlineArray<32, Int> {
    // Inner nodes are made in the order of their weights, so two queues do: no heap.
    var weights = InlineArray<288, UInt64>(repeating: 0)
    var parents = InlineArray<288, UInt16>(repeating: 0)
    var leafParents = InlineArray<288, UInt16>(repeating: 0)
    var leaf = 0
    var node = 0
    for made in 0..<leaves.count - 1 {
      for _ in 0..<2 {
        let takesLeaf = leaf < leaves.count && (node == made || leaves[leaf] >> 16 <= weights[node])
        if takesLeaf {
          weights[made] += leaves[leaf] >> 16
          leafParents[leaf] = UInt16(made)
          leaf += 1
        } else {
          weights[made] += weights[node]
          parents[node] = UInt16(made)
          node += 1
        }
      }
    }
    var depths = InlineArray<288, UInt8>(repeating: 0)
    for node in stride(from: leaves.count - 3, through: 0, by: -1) {
      depths[node] = min(depths[Int(parents[node])] + 1, 30)
    }
    var counts = InlineArray<32, Int>(repeating: 0)
    for leaf in leaves.indices { counts[Int(depths[Int(leafParents[leaf])]) + 1] += 1 }
    return counts
  }

  /// Brings what is too deep up to the limit, and pays by moving others down: each step takes the deepest leaf above the
  /// limit one level down and puts one that was too deep beside it.
  private func limit(_ counts: inout InlineArray<32, Int>) {
    for depth in maximumLength + 1..<32 {
      counts[maximumLength] += counts[depth]
      counts[depth] = 0
    }
    var room = 1 << maximumLength
    for depth in 1...maximumLength { room -= counts[depth] << (maximumLength - depth) }
    while room < 0 {
      var depth = maximumLength - 1
      while counts[depth] == 0 { depth -= 1 }
      counts[depth] -= 1
      counts[depth + 1] += 2
      counts[maximumLength] -= 1
      room += 1
    }
  }

  private mutating func assignCodes() {
    var counts = InlineArray<16, UInt16>(repeating: 0)
    for symbol in 0..<symbolCount where lengths[symbol] > 0 { counts[Int(lengths[symbol])] += 1 }
    // The first code of a length follows the last one of the length before, with a zero behind it.
    var next = InlineArray<16, UInt16>(repeating: 0)
    for length in 2..<16 { next[length] = (next[length - 1] &+ counts[length - 1]) &<< 1 }
    for symbol in 0..<symbolCount where lengths[symbol] > 0 {
      let length = Int(lengths[symbol])
      codes[symbol] = reversed(next[length]) >> UInt16(16 - length)
      next[length] += 1
    }
  }

  private func reversed(_ word: UInt16) -> UInt16 {
    var bits = word
    bits = bits >> 8 | bits << 8
    bits = bits >> 4 & 0x0f0f | (bits & 0x0f0f) << 4
    bits = bits >> 2 & 0x3333 | (bits & 0x3333) << 2
    return bits >> 1 & 0x5555 | (bits & 0x5555) << 1
  }
}
