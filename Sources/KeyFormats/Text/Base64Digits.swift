internal import ExposureKeys

/// Digits of the standard and of the URL alphabet four at a time, for key data.
///
/// A plain value that points to tables which stay, so that a hot loop reaches them without a check.
struct Base64Digits {
  /// Values from here on say that something was no digit.
  static let limit: UInt32 = 1 << 24

  /// For each of four places the value of every byte, shifted to its place among 24 bits.
  private let values: UnsafePointer<UInt32>

  nonisolated(unsafe) static let shared = Base64Digits()

  private init() {
    let tables = UnsafeMutablePointer<UInt32>.allocate(capacity: 4 * 256)
    for place in 0..<4 {
      for (byte, value) in Base64.values.enumerated() {
        let shifted = value == 255 ? Self.limit : UInt32(value) << UInt32(18 - 6 * place)
        (tables + 256 * place + byte).initialize(to: shifted)
      }
    }
    values = UnsafePointer(tables)
  }

  @inline(__always)
  func value(_ digit: UInt8, at place: Int) -> UInt32 { values[256 * place + Int(digit)] }

  /// The 24 bits of four digits.
  @inline(__always)
  func four(_ text: UnsafeRawPointer) -> UInt32 {
    let first = two(text)
    let third = value(text.load(fromByteOffset: 2, as: UInt8.self), at: 2)
    return first | third | value(text.load(fromByteOffset: 3, as: UInt8.self), at: 3)
  }

  /// Two digits as the upper half of 24 bits.
  @inline(__always)
  func two(_ text: UnsafeRawPointer) -> UInt32 {
    value(text.load(as: UInt8.self), at: 0) | value(text.load(fromByteOffset: 1, as: UInt8.self), at: 1)
  }

  /// The key that five times four digits and two more spell. The last four bits count for nothing.
  @inline(__always)
  static func key(
    _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32, _ e: UInt32, _ two: UInt32
  ) -> TemporaryExposureKey {
    TemporaryExposureKey(
      high: UInt64(a) << 40 | UInt64(b) << 16 | UInt64(c) >> 8,
      low: UInt64(c) << 56 | UInt64(d) << 32 | UInt64(e) << 8 | UInt64(two) >> 16)
  }
}

/// The 24 characters of padded standard base64 that spell a key, made without a table: no address depends on the key.
struct Base64KeyText {
  /// Eight characters, the first in the lowest byte.
  struct Word {
    var text: UInt64
    /// The lowest bit of each byte that is a slash.
    var slashes: UInt64

    /// The characters of 48 bits.
    @inline(__always)
    init(_ bits: UInt64) {
      let values = Self.spread(bits)
      @inline(__always)
      func isAtLeast(_ bound: UInt64) -> UInt64 {
        (values &+ (128 &- bound) &* 0x0101_0101_0101_0101) >> 7 & 0x0101_0101_0101_0101
      }
      // Letters, small letters, digits, plus and slash follow one another with gaps in ASCII.
      let letters = values &+ 0x4141_4141_4141_4141 &+ isAtLeast(26) &* 6
      slashes = isAtLeast(63)
      text = letters &- isAtLeast(52) &* 75 &- isAtLeast(62) &* 15 &+ slashes &* 3
    }

    /// Eight groups of six bits, the highest in the lowest byte.
    @inline(__always)
    private static func spread(_ bits: UInt64) -> UInt64 {
      var groups = bits >> 24 | (bits & 0xFF_FFFF) << 32
      groups = groups >> 12 & 0x0000_0FFF_0000_0FFF | (groups & 0x0000_0FFF_0000_0FFF) << 16
      return groups >> 6 & 0x003F_003F_003F_003F | (groups & 0x003F_003F_003F_003F) << 8
    }

    /// Writes the characters with a backslash before each slash, and returns the place behind them.
    @inline(__always)
    func storeEscapingSlashes(to place: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
      var place = place
      var (text, slashes, left) = (text, slashes, 8)
      while slashes != 0 {
        let before = slashes.trailingZeroBitCount / 8
        place.storeBytes(of: text.littleEndian, as: UInt64.self)
        place.storeBytes(of: UInt16(0x2F5C).littleEndian, toByteOffset: before, as: UInt16.self)
        place += before + 2
        left -= before + 1
        // Behind a slash in the last byte nothing is left, and a shift by 64 bits makes 0.
        text >>= UInt64(8 * (before + 1))
        slashes >>= UInt64(8 * (before + 1))
      }
      place.storeBytes(of: text.littleEndian, as: UInt64.self)
      return place + left
    }
  }

  private let first: Word
  private let second: Word
  private let third: Word

  @inline(__always)
  init(_ key: TemporaryExposureKey) {
    first = Word(key.high >> 16)
    second = Word((key.high & 0xFFFF) << 32 | key.low >> 32)
    var third = Word((key.low & 0xFFFF_FFFF) << 16)
    third.text = third.text & 0xFFFF_FFFF_FFFF | 0x3D3D << 48
    self.third = third
  }

  @inline(__always)
  var hasSlashes: Bool { first.slashes | second.slashes | third.slashes != 0 }

  /// Writes 24 bytes.
  @inline(__always)
  func store(to place: UnsafeMutableRawPointer) {
    place.storeBytes(of: first.text.littleEndian, as: UInt64.self)
    place.storeBytes(of: second.text.littleEndian, toByteOffset: 8, as: UInt64.self)
    place.storeBytes(of: third.text.littleEndian, toByteOffset: 16, as: UInt64.self)
  }

  /// Writes a backslash before each slash, and returns the number of bytes. At most 56 are touched.
  @inline(never)
  func storeEscapingSlashes(to place: UnsafeMutableRawPointer) -> Int {
    third.storeEscapingSlashes(to: second.storeEscapingSlashes(to: first.storeEscapingSlashes(to: place))) - place
  }
}
