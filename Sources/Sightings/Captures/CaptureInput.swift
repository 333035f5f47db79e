internal import KeyDevice
internal import KeyFormats

/// The records of a capture, one after the other in a window: none is held that is longer than a packet may be.
struct CaptureInput {
  let window: InputWindow
  /// The longest packet that is read: far more than any of Bluetooth, and within the window.
  let longestPacket: Int
  private(set) var packetNumber = 0

  init(_ window: InputWindow, _ limits: ReadLimits) {
    self.window = window
    longestPacket = min(limits.recordBytes, 256 << 10)
  }

  var byteOffset: Int { window.documentOffset }

  /// The next bytes, which stay unread; `nil` if the file ends before.
  func peek(_ count: Int) throws -> PacketBytes? {
    guard try window.require(count) else { return nil }
    return PacketBytes(UnsafeRawBufferPointer(rebasing: window.unread[..<count]))
  }

  var isAtEnd: Bool { get throws { try !window.require(1) } }

  /// Passes over bytes that may be more than are held at once.
  ///
  /// - Returns: whether they were all there.
  func skip(_ count: Int) throws -> Bool {
    var left = count
    while left > 0 {
      guard try window.require(1) else { return false }
      let step = min(left, window.unread.count)
      window.skip(step)
      left -= step
    }
    return true
  }

  /// Counts a packet, and checks that its stated length is one that is read.
  mutating func beginPacket(_ length: Int, _ tally: inout SightingTally) throws {
    packetNumber += 1
    tally.records += 1
    guard (0...longestPacket).contains(length) else {
      throw FormatError(
        .malformed, place: "packet \(packetNumber)", byteOffset: byteOffset,
        "a length of \(length) bytes; expected at most \(longestPacket)")
    }
  }

  /// The file ends within a record, as that of a receiver does that was switched off: what is before it counts.
  func endWithin(_ what: String, _ tally: inout SightingTally) throws {
    tally.reject(
      .cutOff, "packet \(packetNumber): byte \(byteOffset)", "the file ends within \(what); the rest is missing")
    window.skip(window.unread.count)
  }

  func packet(at milliseconds: Int64) -> BluetoothPacket {
    BluetoothPacket(milliseconds: milliseconds, number: packetNumber, byteOffset: byteOffset)
  }
}
