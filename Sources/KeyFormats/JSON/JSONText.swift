import ExposureKeys

/// Writing JSON into an output buffer.
extension OutputBuffer {
  /// A string with its quotes. Control characters, quotes and backslashes are escaped, and nothing else is.
  func appendJSON(_ text: String) throws {
    var bytes: [UInt8] = [UInt8(ascii: "\"")]
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case 0x0A: bytes += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
      case 0x0D: bytes += [UInt8(ascii: "\\"), UInt8(ascii: "r")]
      case 0x09: bytes += [UInt8(ascii: "\\"), UInt8(ascii: "t")]
      case 0..<0x20: bytes += "\\u00\(Hexadecimal.encode([byte]))".utf8
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
    try append(bytes)
  }

  func appendJSON(_ number: some FixedWidthInteger) throws { try append(String(number)) }
}

/// A stretch of reserved room that is filled from its front: how a key becomes text without an allocation.
struct JSONRoom {
  private(set) var place: UnsafeMutableRawPointer
  private(set) var count = 0

  init(_ place: UnsafeMutableRawPointer) { self.place = place }

  @inline(__always)
  mutating func put(_ text: StaticString) {
    let length = text.utf8CodeUnitCount
    (place + count).copyMemory(from: text.utf8Start, byteCount: length)
    count += length
  }

  mutating func put(byte: UInt8) {
    place.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count += 1
  }

  @inline(__always)
  mutating func put(_ number: Int32) { count += DecimalText.write(number, to: place + count) }

  /// The same 32 bits, as an unsigned number.
  @inline(__always)
  mutating func put(unsigned number: Int32) {
    count += DecimalText.write(UInt32(bitPattern: number), to: place + count)
  }

  /// Standard base64 with its padding.
  @inline(__always)
  mutating func put(_ key: TemporaryExposureKey) {
    KeyText.writeBase64(key, to: place + count)
    count += 24
  }

  /// The same with escaped slashes, as Swift's `JSONEncoder` writes data.
  @inline(__always)
  mutating func putEscapingSlashes(_ key: TemporaryExposureKey) {
    let text = Base64KeyText(key)
    if text.hasSlashes {
      count += text.storeEscapingSlashes(to: place + count)
    } else {
      text.store(to: place + count)
      count += 24
    }
  }
}
