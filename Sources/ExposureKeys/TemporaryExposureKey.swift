/// The key data of one temporary exposure key: sixteen bytes, or it does not exist.
///
/// Held as two big-endian words, so that `<` orders keys by their raw bytes, which is the order of a published bundle.
/// A patient's key stays sensitive even after publication: `description` never shows it; ask for ``hex`` or ``bytes``.
@frozen
public struct TemporaryExposureKey: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// Bytes 0 to 7, the first byte the most significant.
  public let high: UInt64
  /// Bytes 8 to 15.
  public let low: UInt64

  /// The length that every platform requires.
  public static let byteCount = 16

  @inlinable
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// `nil` unless there are exactly sixteen bytes.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    var words: (UInt64, UInt64) = (0, 0)
    for (index, byte) in bytes.enumerated() {
      if index < 8 {
        words.0 = words.0 << 8 | UInt64(byte)
      } else {
        words.1 = words.1 << 8 | UInt64(byte)
      }
    }
    self.init(high: words.0, low: words.1)
  }

  /// Reads sixteen bytes. The caller has checked that they are there.
  @inlinable
  public init(loadingFrom pointer: UnsafeRawPointer) {
    self.init(
      high: UInt64(bigEndian: pointer.loadUnaligned(as: UInt64.self)),
      low: UInt64(bigEndian: pointer.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
  }

  /// Writes the sixteen bytes. The caller has made room for them.
  @inlinable
  public func store(to pointer: UnsafeMutableRawPointer) {
    pointer.storeBytes(of: high.bigEndian, as: UInt64.self)
    pointer.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
  }

  public var bytes: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Self.byteCount) { room, filled in
      guard let start = room.baseAddress else { return }
      store(to: start)
      filled = Self.byteCount
    }
  }

  /// Thirty-two lower-case hexadecimal digits.
  public var hex: String { Hexadecimal.encode(bytes) }

  @inlinable
  public static func < (left: Self, right: Self) -> Bool {
    left.high != right.high ? left.high < right.high : left.low < right.low
  }
}

extension TemporaryExposureKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "TemporaryExposureKey(redacted)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
