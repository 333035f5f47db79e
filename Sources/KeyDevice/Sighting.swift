package import ExposureKeys

/// Sixteen bytes that a phone broadcasts for about ten minutes.
///
/// Whoever knows the key behind it knows whose they were, so `description` never shows them; ask for ``bytes``.
@frozen
package struct ProximityIdentifier: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// Bytes 0 to 7, the first byte the most significant.
  package let high: UInt64
  /// Bytes 8 to 15.
  package let low: UInt64

  package static let byteCount = 16

  @inlinable
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// `nil` unless there are exactly sixteen bytes.
  package init?(_ bytes: some Collection<UInt8>) {
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

  package var bytes: [UInt8] {
    [high, low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) } }
  }

  @inlinable
  package static func < (left: Self, right: Self) -> Bool {
    left.high != right.high ? left.high < right.high : left.low < right.low
  }
}

extension ProximityIdentifier: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "ProximityIdentifier(redacted)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// What a receiver noted about one broadcast, or about several of one identifier that its log keeps as one row.
///
/// Forty bytes, because a log can have millions.
package struct Sighting: Hashable, Sendable, BitwiseCopyable {
  package var identifier: ProximityIdentifier
  /// When the broadcast, or the first of the row, was received: milliseconds since 1970, though most logs know seconds only.
  package var milliseconds: Int64
  /// How long after that the last broadcast of the row was received; 0 for a single one.
  package var durationMilliseconds: UInt32
  /// How long before that the receiver's scan before began, in seconds; `UInt32.max` if the log does not state it.
  private var secondsSinceScan: UInt32
  private var metadata: UInt32
  private var hasMetadata: Bool
  private var hasRSSI: Bool
  private var strength: Int8

  /// - Parameters:
  ///   - encryptedMetadata: the four bytes behind the identifier, the first the most significant.
  ///   - rssi: in dBm; of a row that keeps several broadcasts, what its log made of them.
  package init(
    identifier: ProximityIdentifier, milliseconds: Int64, durationMilliseconds: UInt32 = 0,
    encryptedMetadata: UInt32? = nil, rssi: Int8? = nil, secondsSincePreviousScan: UInt32? = nil
  ) {
    self.identifier = identifier
    self.milliseconds = milliseconds
    self.durationMilliseconds = durationMilliseconds
    secondsSinceScan = secondsSincePreviousScan ?? .max
    metadata = encryptedMetadata ?? 0
    hasMetadata = encryptedMetadata != nil
    hasRSSI = rssi != nil
    strength = rssi ?? 0
  }

  /// The second in which the broadcast was received.
  package var time: Instant { Instant(secondsSince1970: milliseconds / 1000) }

  package var encryptedMetadata: UInt32? { hasMetadata ? metadata : nil }

  /// In dBm; without it the sighting answers whether two people met, and not how near.
  package var rssi: Int8? { hasRSSI ? strength : nil }

  package var secondsSincePreviousScan: UInt32? { secondsSinceScan == .max ? nil : secondsSinceScan }
}
