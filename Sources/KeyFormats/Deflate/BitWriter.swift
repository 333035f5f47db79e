/// Bits on their way into memory, the least significant first, as RFC 1951 packs them.
///
/// Eight bytes are stored with every ``put(_:_:)``, of which the whole ones count: no branch, and no loop over bytes.
/// The owner sees to it that eight bytes of room remain behind ``place``.
struct BitWriter {
  /// Where the next whole byte goes.
  var place: UnsafeMutableRawPointer
  /// Bits that do not fill a byte yet.
  private var pending: UInt64 = 0
  /// How many they are, 0...7.
  private var pendingCount: UInt64 = 0

  init(_ place: UnsafeMutableRawPointer) { self.place = place }

  /// Appends the lowest `count` bits of `bits`, at most 56; the bits above them are zero.
  ///
  /// Only the lowest six bits of `count` are looked at, so that callers may carry something above them.
  @inline(__always)
  mutating func put(_ bits: UInt64, _ count: UInt64) {
    pending |= bits &<< pendingCount
    let total = pendingCount &+ (count & 63)
    place.storeBytes(of: pending.littleEndian, as: UInt64.self)
    place += Int(truncatingIfNeeded: total &>> 3)
    pending &>>= total & 0x38
    pendingCount = total & 7
  }

  /// An empty stored block, up to the next whole byte: whoever writes behind it can begin with a byte.
  mutating func alignByEmptyBlock() {
    put(0, 3)
    align()
    put(0xffff_0000, 32)
  }

  /// Fills the last byte with zero bits.
  mutating func align() {
    if pendingCount > 0 { put(0, 8 - pendingCount) }
  }

  /// The bits so far, counted from `start`.
  func bitCount(from start: UnsafeMutableRawPointer) -> Int { (place - start) * 8 + Int(pendingCount) }

  /// Whether some bits do not fill a byte yet.
  var isInsideByte: Bool { pendingCount > 0 }

  /// Moves to another buffer, with the bits that do not fill a byte yet.
  mutating func move(to place: UnsafeMutableRawPointer) { self.place = place }
}
