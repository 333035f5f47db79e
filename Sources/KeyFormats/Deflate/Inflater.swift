/// Inflates (RFC 1951) a stream while it is read.
///
/// Refuses what zlib refuses, with the same bytes in front of the fault. Memory is the same for any stream: 120 KB, of
/// which small documents touch only what they need.
package final class Inflater: ByteSource {
  /// What is inflated before it is handed on: with the window in front, the input and the tables it stays in the cache.
  private static let pieceBytes = 64 << 10
  private static let inputBytes = 8 << 10
  /// The head of a block has at most 17 bits, 19 lengths of 3 bits, and 316 of 14.
  private static let longestHead = 600
  /// A symbol writes at most so many bytes behind the end of a piece, copies in steps of 16 bytes included.
  private static let overrun = 320

  private enum Block {
    case head
    case stored(left: Int)
    case compressed
  }

  private var input: BitReader
  private var block = Block.head
  private var isLastBlock = false
  private var isFinished = false
  /// Thrown when the bytes in front of it are read.
  private var fault: (any Error)?

  /// The window, and behind it a piece.
  private let buffer: UnsafeMutableRawPointer
  /// Bytes of the document in front of `buffer`.
  private var position = 0
  /// Where the bytes begin that are not read yet, and where they end.
  private var unread: UnsafeMutableRawPointer
  private var out: UnsafeMutableRawPointer

  private var lengthCode = PrefixDecoder()
  private var firstCode = PrefixDecoder()
  private var secondCode = PrefixDecoder()
  private var tables = InflateTables()
  private var hasFixedCodes = false

  package init(_ source: any ByteSource) {
    input = BitReader(source, capacity: Self.inputBytes)
    buffer = .allocate(byteCount: DeflateSymbols.windowBytes + Self.pieceBytes + Self.overrun, alignment: 64)
    unread = buffer
    out = buffer
  }

  deinit {
    input.deallocate()
    buffer.deallocate()
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard let place = buffer.baseAddress else { return 0 }
    var filled = 0
    while filled < buffer.count {
      if unread == out {
        if let fault { throw fault }
        if isFinished { break }
        keepWindow()
        do { try inflatePiece() } catch { fault = error }
      }
      let count = min(buffer.count - filled, out - unread)
      (place + filled).copyMemory(from: unread, byteCount: count)
      unread += count
      filled += count
    }
    return filled
  }

  /// Moves the last 32 KiB to the front.
  private func keepWindow() {
    let moved = out - buffer - DeflateSymbols.windowBytes
    guard moved > 0 else { return }
    buffer.copyMemory(from: buffer + moved, byteCount: DeflateSymbols.windowBytes)
    position += moved
    out -= moved
    unread = out
  }

  private func inflatePiece() throws {
    let end = out + Self.pieceBytes
    while out < end, !isFinished {
      switch block {
      case .head: try isLastBlock ? finish() : readHead()
      case .stored(let left): try copyStored(left, end)
      case .compressed:
        try input.require(8)
        inflateFast(to: end)
        if out < end { try inflateSymbol() }
      }
    }
  }

  // MARK: Heads

  private func readHead() throws {
    try input.require(Self.longestHead)
    input.refill()
    isLastBlock = input.take(1) == 1
    switch input.take(2) {
    case 0: try readStoredHead()
    case 1: useFixedCodes()
    case 2: try readCodes()
    default: throw faultHere()
    }
    guard input.available >= 0 else { throw faultHere() }
  }

  private func readStoredHead() throws {
    guard input.available >= 0 else { throw faultHere() }
    input.align()
    input.refill()
    let length = input.take(16)
    guard input.take(16) == ~length & 0xffff else { throw faultHere() }
    guard input.available >= 0 else { throw faultHere() }
    input.align()
    block = .stored(left: length)
  }

  private func copyStored(_ left: Int, _ end: UnsafeMutableRawPointer) throws {
    guard left > 0 else { return block = .head }
    let count = try input.copy(to: out, most: min(left, end - out))
    guard count > 0 else { throw truncated() }
    out += count
    block = .stored(left: left - count)
  }

  /// RFC 1951, 3.2.6.
  private func useFixedCodes() {
    block = .compressed
    if hasFixedCodes { return }
    var lengths = InlineArray<320, UInt8>(repeating: 8)
    for symbol in 144..<256 { lengths[symbol] = 9 }
    for symbol in 256..<280 { lengths[symbol] = 7 }
    for symbol in 288..<320 { lengths[symbol] = 5 }
    hasFixedCodes = use(lengths.span, 288, 32)
  }

  /// RFC 1951, 3.2.7.
  private func readCodes() throws {
    let firstCount = input.take(5) + 257
    let secondCount = input.take(5) + 1
    let codeCount = input.take(4) + 4
    guard firstCount <= 286, secondCount <= 30 else { throw faultHere() }
    try readLengthCode(codeCount)
    var lengths = InlineArray<320, UInt8>(repeating: 0)
    var index = 0
    while index < firstCount + secondCount {
      input.refill()
      // zlib reads an empty code as zeros, and then misses the end of the block.
      let (symbol, bits) = lengthCode.symbol(input.bits) ?? (0, 1)
      input.drop(bits)
      var repeated = 1
      var length = UInt8(truncatingIfNeeded: symbol)
      switch symbol {
      case 16:
        repeated = 3 + input.take(2)
        guard index > 0 else { throw faultHere() }
        length = lengths[index - 1]
      case 17:
        repeated = 3 + input.take(3)
        length = 0
      case 18:
        repeated = 11 + input.take(7)
        length = 0
      default: break
      }
      guard input.available >= 0, repeated <= firstCount + secondCount - index else { throw faultHere() }
      for place in index..<index + repeated { lengths[place] = length }
      index += repeated
    }
    guard lengths[DeflateSymbols.endOfBlock] > 0, use(lengths.span, firstCount, secondCount) else { throw faultHere() }
    block = .compressed
    hasFixedCodes = false
  }

  private func readLengthCode(_ count: Int) throws {
    let order: InlineArray<19, Int> = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    var lengths = InlineArray<19, UInt8>(repeating: 0)
    for index in 0..<count {
      input.refill()
      lengths[order[index]] = UInt8(input.take(3))
    }
    guard input.available >= 0, lengthCode.assign(lengths.span, mayLackCodes: false) else { throw faultHere() }
  }

  /// Takes the lengths of both codes, one behind the other.
  private func use(_ lengths: Span<UInt8>, _ firstCount: Int, _ secondCount: Int) -> Bool {
    guard firstCode.assign(lengths.extracting(..<firstCount), mayLackCodes: true),
      secondCode.assign(lengths.extracting(firstCount..<firstCount + secondCount), mayLackCodes: true)
    else { return false }
    tables.make(firstCode, secondCode)
    return true
  }

  private func finish() throws {
    input.align()
    try input.require(1)
    guard input.available == 0 else {
      throw FormatError(.malformed, byteOffset: total, "compressed bytes go on behind the end of the stream")
    }
    isFinished = true
  }

  // MARK: Symbols

  /// A literal, a match, or the end of the block: any code, at any place.
  private func inflateSymbol() throws {
    try input.require(8)
    input.refill()
    guard let (symbol, bits) = firstCode.symbol(input.bits) else { throw faultHere(after: 1) }
    input.drop(bits)
    guard input.available >= 0, symbol < 286 else { throw faultHere() }
    if symbol < DeflateSymbols.endOfBlock {
      out.storeBytes(of: UInt8(truncatingIfNeeded: symbol), as: UInt8.self)
      out += 1
    } else if symbol == DeflateSymbols.endOfBlock {
      block = .head
    } else {
      let (base, extraBits) = DeflateSymbols.lengths(of: symbol)
      let length = base + input.take(extraBits)
      let distance = try takeDistance()
      Self.copy(length, distance, to: out)
      out += length
    }
  }

  private func takeDistance() throws -> Int {
    guard let (symbol, bits) = secondCode.symbol(input.bits) else { throw faultHere(after: 1) }
    input.drop(bits)
    guard symbol < 30 else { throw faultHere() }
    let (base, extraBits) = DeflateSymbols.distances(of: symbol)
    let distance = base + input.take(extraBits)
    guard input.available >= 0, distance <= out - buffer else { throw faultHere() }
    return distance
  }

  /// Literals and matches for as long as the tables know them.
  ///
  /// Nothing is checked on the way but distances: where a turn begins, eight bytes of input are left, of which it loads
  /// seven, and room for the longest match behind `end`.
  private func inflateFast(to end: UnsafeMutableRawPointer) {
    let inputEnd = input.end - 8
    guard input.next <= inputEnd else { return }
    let (literals, distances, turned) = (tables.literals, tables.distances, tables.turned)
    let lastShort = tables.lastShort
    let shift = UInt64(64 - InflateTables.literalBits)
    let buffer = buffer
    var input = input
    var out = out
    input.refill()
    var entry = literals[Int(truncatingIfNeeded: input.bits &>> shift)]
    while input.next <= inputEnd, out < end {
      if entry & InflateTables.isRandom != 0 {
        let first = out
        for _ in 0..<5 {
          out.storeBytes(of: UInt8(truncatingIfNeeded: entry), as: UInt8.self)
          out += 1
          let longer: UInt64 = input.bits > lastShort ? 1 : 0
          input.bits = (input.bits &<< 8) &<< longer
          input.count &-= Int(truncatingIfNeeded: longer)
          entry = literals[Int(truncatingIfNeeded: input.bits &>> shift)]
          guard entry & InflateTables.isRandom != 0 else { break }
        }
        input.count &-= 8 &* (out - first)
        // Eleven bits at least still counted for the entry.
        input.refill()
        continue
      }
      if entry & InflateTables.isLiteral != 0 {
        out.storeBytes(of: UInt8(truncatingIfNeeded: entry), as: UInt8.self)
        out += 1
        input.drop(Int(truncatingIfNeeded: entry &>> 8 & 15))
      } else {
        guard entry != 0 else { break }
        let behind = input.bits &<< UInt64(entry)
        let second = distances[Int(truncatingIfNeeded: behind &>> UInt64(64 - InflateTables.distanceBits))]
        guard second != 0 else { break }
        let field = behind &<< UInt64(second &>> 6)
        let extra =
          UInt32(turned[Int(truncatingIfNeeded: field &>> 56)])
          | UInt32(turned[Int(truncatingIfNeeded: field &>> 48 & 0xff)]) &<< 8
        let extraMask = (1 as UInt32) &<< (second &>> 12 & 15) &- 1
        let distance = Int(truncatingIfNeeded: second &>> 16 &+ (extra & extraMask))
        guard distance <= out - buffer else { break }
        let length = Int(truncatingIfNeeded: entry &>> 8)
        input.bits = behind &<< UInt64(second)
        input.count &-= Int(truncatingIfNeeded: (entry & 63) &+ (second & 63))
        Self.copy(length, distance, to: out)
        out += length
      }
      input.refill()
      entry = literals[Int(truncatingIfNeeded: input.bits &>> shift)]
    }
    self.input = input
    self.out = out
  }

  /// Repeats what stands `distance` bytes in front of `place`. Writes up to 31 bytes more than `length`.
  @inline(__always)
  private static func copy(_ length: Int, _ distance: Int, to place: UnsafeMutableRawPointer) {
    let source = place - distance
    if distance >= 16 {
      place.copyMemory(from: source, byteCount: 16)
      if length <= 16 { return }
      (place + 16).copyMemory(from: source + 16, byteCount: 16)
      var copied = 32
      while copied < length {
        (place + copied).copyMemory(from: source + copied, byteCount: 16)
        copied += 16
      }
    } else {
      copyClose(length, distance, to: place)
    }
  }

  /// A repetition of less than 16 bytes.
  private static func copyClose(_ length: Int, _ distance: Int, to place: UnsafeMutableRawPointer) {
    for offset in 0..<length {
      (place + offset).copyMemory(from: place + offset - distance, byteCount: 1)
    }
  }

  // MARK: Faults

  /// Bytes of the document so far.
  private var total: Int { position + (out - buffer) }

  /// Damage, unless the stream ended before.
  private func faultHere(after bits: Int = 0) -> FormatError {
    input.available < bits
      ? truncated() : FormatError(.malformed, byteOffset: total, "the compressed stream is damaged")
  }

  private func truncated() -> FormatError {
    FormatError(.truncated, byteOffset: total, "the compressed stream ends too early")
  }
}
