/// What the inflater's fast loop looks up by the next bits of the stream: for literals and lengths, and for distances.
///
/// An entry of 0 leaves the bits to the careful way: the end of the block, codes that are longer than the tables know, and
/// codes that there are not.
struct InflateTables: ~Copyable {
  static let literalBits = 11
  static let distanceBits = 9

  /// In the entry of a literal: the literal (0...7), and the bits of its code (8...11). In that of a match: the bits to drop,
  /// with the extra bits (0...5), and its length (8...16).
  let literals: UnsafeMutablePointer<UInt32>
  static let isLiteral: UInt32 = 1 << 30
  /// A literal whose code has eight bits or nine.
  static let isRandom: UInt32 = 1 << 31

  /// In each entry: the bits to drop, with the extra bits (0...5), the bits of the code (6...11), the number of extra bits
  /// (12...15), and from bit 16 on the first distance of the symbol.
  let distances: UnsafeMutablePointer<UInt32>

  /// Each byte with its first bit last.
  let turned: UnsafeMutablePointer<UInt8>

  /// Greater bits do not begin with a code of eight bits or less.
  private(set) var lastShort: UInt64 = 0

  init() {
    turned = .allocate(capacity: 256)
    for byte in 0..<256 { turned[byte] = UInt8(UInt16(byte).bitsTurnedRound >> 8) }
    literals = .allocate(capacity: 1 << Self.literalBits)
    distances = .allocate(capacity: 1 << Self.distanceBits)
    literals.initialize(repeating: 0, count: 1 << Self.literalBits)
    distances.initialize(repeating: 0, count: 1 << Self.distanceBits)
  }

  deinit {
    literals.deallocate()
    distances.deallocate()
    turned.deallocate()
  }

  mutating func make(_ first: borrowing PrefixDecoder, _ second: borrowing PrefixDecoder) {
    // A limit beyond all bits becomes the greatest.
    lastShort = UInt64(first.limits[8]) << 48 &- 1
    makeLiterals(first)
    makeDistances(second)
  }

  private func makeLiterals(_ code: borrowing PrefixDecoder) {
    var filler = TableFiller(literals, bits: Self.literalBits)
    code.forEachCode { symbol, length in
      guard length <= Self.literalBits else { return }
      switch symbol {
      case ..<DeflateSymbols.endOfBlock:
        let isRandom = length == 8 || length == 9 ? Self.isRandom : 0
        filler.fill(length, UInt32(symbol) | UInt32(length) << 8 | Self.isLiteral | isRandom)
      case 257...285:
        let (base, extraBits) = DeflateSymbols.lengths(of: symbol)
        guard length + extraBits <= Self.literalBits else { return filler.fill(length, 0) }
        for extra in 0..<1 << extraBits {
          let added = Int(UInt16(extra).bitsTurnedRound) >> (16 - extraBits)
          filler.fill(length + extraBits, UInt32(base + added) << 8 | UInt32(length + extraBits))
        }
      default: filler.fill(length, 0)
      }
    }
    filler.fillRest()
  }

  private func makeDistances(_ code: borrowing PrefixDecoder) {
    var filler = TableFiller(distances, bits: Self.distanceBits)
    code.forEachCode { symbol, length in
      guard length <= Self.distanceBits else { return }
      guard symbol < 30 else { return filler.fill(length, 0) }
      let (base, extraBits) = DeflateSymbols.distances(of: symbol)
      filler.fill(
        length,
        UInt32(base) << 16 | UInt32(extraBits) << 12 | UInt32(length) << 6 | UInt32(length + extraBits))
    }
    filler.fillRest()
  }
}

/// Fills a table in the order of the codes.
private struct TableFiller {
  private let table: UnsafeMutablePointer<UInt32>
  private let bits: Int
  private var position = 0

  init(_ table: UnsafeMutablePointer<UInt32>, bits: Int) {
    self.table = table
    self.bits = bits
  }

  /// All entries whose index begins with the next code of `length` bits. A prefix code does not give more than there are.
  mutating func fill(_ length: Int, _ entry: UInt32) {
    let count = 1 << (bits - length)
    precondition(position + count <= 1 << bits)
    (table + position).update(repeating: entry, count: count)
    position += count
  }

  mutating func fillRest() {
    (table + position).update(repeating: 0, count: 1 << bits - position)
    position = 1 << bits
  }
}
