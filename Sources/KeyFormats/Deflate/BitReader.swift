/// Bits on their way out of a stream of DEFLATE, which comes from a source in chunks.
///
/// RFC 1951 packs prefix codes with their first bit lowest. Here each byte is turned round as it arrives, so that the next
/// bit is the highest of a word. As numbers, codes are then in the order of their lengths: one comparison says whether a
/// code is longer than others, where otherwise a table had to be asked.
struct BitReader {
  /// So many bytes behind the last one can be loaded; they are zero.
  private static let padding = 32

  private let source: any ByteSource
  private let room: UnsafeMutableRawPointer
  private let capacity: Int
  /// The bytes that are not loaded yet, turned round. `next` passes `end` when more is loaded than the stream has.
  var next: UnsafeMutableRawPointer
  private(set) var end: UnsafeMutableRawPointer
  private var isSourceAtEnd = false

  /// The next bits, the first one highest. Behind those that count are those that follow, or zeros.
  var bits: UInt64 = 0
  /// How many of `bits` count, 0...63.
  var count = 0

  init(_ source: any ByteSource, capacity: Int) {
    self.source = source
    self.capacity = capacity
    room = .allocate(byteCount: capacity + Self.padding, alignment: 64)
    next = room
    end = room
  }

  func deallocate() { room.deallocate() }

  /// The bits that the stream still has as far as it has come; less than none when more were taken.
  var available: Int { (end - next) * 8 + count }

  /// Sees to `wanted` bytes from `next` on, unless the stream ends before.
  mutating func require(_ wanted: Int) throws {
    guard end - next < wanted, !isSourceAtEnd else { return }
    // Loaded bytes are kept too: align() may give them back.
    next -= count / 8
    count %= 8
    let kept = end - next
    room.copyMemory(from: next, byteCount: kept)
    next = room
    end = room + kept
    while end - next < wanted, !isSourceAtEnd {
      let rest = UnsafeMutableRawBufferPointer(start: end, count: capacity - (end - room))
      let count = try source.read(into: rest)
      isSourceAtEnd = count == 0
      Self.turnRound(end, count)
      end += count
    }
    end.initializeMemory(as: UInt8.self, repeating: 0, count: Self.padding)
  }

  /// Loads bytes so that at least 56 bits count.
  @inline(__always)
  mutating func refill() {
    bits |= UInt64(bigEndian: next.loadUnaligned(as: UInt64.self)) &>> UInt64(truncatingIfNeeded: count)
    next += (63 &- count) &>> 3
    count |= 56
  }

  @inline(__always)
  mutating func drop(_ dropped: Int) {
    bits &<<= UInt64(truncatingIfNeeded: dropped)
    count &-= dropped
  }

  /// The next bits as a number, of which the first is the lowest: at most 16, which must be loaded.
  mutating func take(_ taken: Int) -> Int {
    let number = UInt16(truncatingIfNeeded: bits >> 48).bitsTurnedRound
    drop(taken)
    return Int(number) & (1 << taken - 1)
  }

  /// Drops what is left of a byte, and gives back the bytes that are loaded already.
  mutating func align() {
    count = available & ~7
    next = end - count / 8
    bits = 0
    count = 0
  }

  /// Copies whole bytes, behind ``align()``: as many as there are, at most `most`. Up to 31 bytes behind them are
  /// overwritten.
  mutating func copy(to place: UnsafeMutableRawPointer, most: Int) throws -> Int {
    try require(1)
    let copied = min(end - next, most)
    place.copyMemory(from: next, byteCount: copied)
    Self.turnRound(place, copied)
    next += copied
    return copied
  }

  /// Turns `count` bytes round, and up to 31 behind them.
  private static func turnRound(_ place: UnsafeMutableRawPointer, _ count: Int) {
    for offset in stride(from: 0, to: count, by: 32) {
      var words = place.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)
      words = words &>> 4 & 0x0f0f_0f0f_0f0f_0f0f | (words & 0x0f0f_0f0f_0f0f_0f0f) &<< 4
      words = words &>> 2 & 0x3333_3333_3333_3333 | (words & 0x3333_3333_3333_3333) &<< 2
      words = words &>> 1 & 0x5555_5555_5555_5555 | (words & 0x5555_5555_5555_5555) &<< 1
      place.storeBytes(of: words, toByteOffset: offset, as: SIMD4<UInt64>.self)
    }
  }
}

extension UInt16 {
  /// The first bit last.
  @inline(__always)
  var bitsTurnedRound: UInt16 {
    var bits = byteSwapped
    bits = bits >> 4 & 0x0f0f | (bits & 0x0f0f) << 4
    bits = bits >> 2 & 0x3333 | (bits & 0x3333) << 2
    return bits >> 1 & 0x5555 | (bits & 0x5555) << 1
  }
}
