package import ExposureKeys

/// How key data is spelled in text formats: base64 (24 characters, or 22 without padding; standard or URL alphabet),
/// 32 hexadecimal digits, or a UUID.
package enum KeyText {
  package enum Reading: Equatable {
    case key(TemporaryExposureKey)
    /// Valid base64 or hexadecimal, but of another length in bytes.
    case wrongLength(Int)
    case notKeyData
  }

  /// Base64 is tried first where the length allows only it; 32 digits are hexadecimal when every one of them is.
  package static func read(_ text: UnsafeRawBufferPointer) -> Reading {
    switch text.count {
    case 24 where text[22] == UInt8(ascii: "=") && text[23] == UInt8(ascii: "="), 22:
      if let key = keyFromBase64(text) { return .key(key) }
    case 32:
      if let key = keyFromHexadecimal(text) { return .key(key) }
    case 36:
      if let key = keyFromUUID(text) { return .key(key) }
    default: break
    }
    if let bytes = Base64.decode(text) ?? Hexadecimal.decode(text) { return .wrongLength(bytes.count) }
    return .notKeyData
  }

  /// Twenty-two digits, whatever follows them.
  private static func keyFromBase64(_ text: UnsafeRawBufferPointer) -> TemporaryExposureKey? {
    Base64.values.withUnsafeBufferPointer { values in
      var high: UInt64 = 0
      var low: UInt64 = 0
      var seen: UInt8 = 0
      // 64 bits are ten digits and four bits of the eleventh.
      for index in 0..<10 {
        let value = values[Int(text[index])]
        seen |= value
        high = high << 6 | UInt64(value & 63)
      }
      let middle = values[Int(text[10])]
      seen |= middle
      high = high << 4 | UInt64(middle & 63) >> 2
      low = UInt64(middle & 3)
      for index in 11..<21 {
        let value = values[Int(text[index])]
        seen |= value
        low = low << 6 | UInt64(value & 63)
      }
      let last = values[Int(text[21])]
      seen |= last
      low = low << 2 | UInt64(last & 63) >> 4
      return seen & 128 == 0 ? TemporaryExposureKey(high: high, low: low) : nil
    }
  }

  private static func keyFromHexadecimal(_ text: UnsafeRawBufferPointer) -> TemporaryExposureKey? {
    Hexadecimal.values.withUnsafeBufferPointer { values in
      var words: (UInt64, UInt64) = (0, 0)
      var seen: UInt8 = 0
      for index in 0..<16 {
        let high = values[Int(text[index])]
        let low = values[Int(text[index + 16])]
        seen |= high | low
        words.0 = words.0 << 4 | UInt64(high & 15)
        words.1 = words.1 << 4 | UInt64(low & 15)
      }
      return seen & 128 == 0 ? TemporaryExposureKey(high: words.0, low: words.1) : nil
    }
  }

  private static func keyFromUUID(_ text: UnsafeRawBufferPointer) -> TemporaryExposureKey? {
    let dashes = [8, 13, 18, 23]
    guard dashes.allSatisfy({ text[$0] == UInt8(ascii: "-") }) else { return nil }
    let digits = text.indices.filter { !dashes.contains($0) }.map { text[$0] }
    return digits.withUnsafeBytes(keyFromHexadecimal)
  }

  /// The 24 characters of padded standard base64. The caller has made room.
  package static func writeBase64(_ key: TemporaryExposureKey, to place: UnsafeMutableRawPointer) {
    Base64.digits.withUnsafeBufferPointer { digits in
      for index in 0..<10 {
        place.storeBytes(of: digits[Int(key.high >> UInt64(58 - 6 * index) & 63)], toByteOffset: index, as: UInt8.self)
      }
      place.storeBytes(of: digits[Int((key.high & 15) << 2 | key.low >> 62)], toByteOffset: 10, as: UInt8.self)
      for index in 0..<10 {
        place.storeBytes(
          of: digits[Int(key.low >> UInt64(56 - 6 * index) & 63)], toByteOffset: 11 + index, as: UInt8.self)
      }
      place.storeBytes(of: digits[Int((key.low & 3) << 4)], toByteOffset: 21, as: UInt8.self)
      place.storeBytes(of: UInt8(ascii: "="), toByteOffset: 22, as: UInt8.self)
      place.storeBytes(of: UInt8(ascii: "="), toByteOffset: 23, as: UInt8.self)
    }
  }

  /// Thirty-two lower-case hexadecimal digits. The caller has made room.
  package static func writeHexadecimal(_ key: TemporaryExposureKey, to place: UnsafeMutableRawPointer) {
    place.storeBytes(of: spread(UInt32(truncatingIfNeeded: key.high >> 32)).bigEndian, as: UInt64.self)
    place.storeBytes(of: spread(UInt32(truncatingIfNeeded: key.high)).bigEndian, toByteOffset: 8, as: UInt64.self)
    place.storeBytes(of: spread(UInt32(truncatingIfNeeded: key.low >> 32)).bigEndian, toByteOffset: 16, as: UInt64.self)
    place.storeBytes(of: spread(UInt32(truncatingIfNeeded: key.low)).bigEndian, toByteOffset: 24, as: UInt64.self)
  }

  /// Eight nibbles, each in a byte of its own, turned into their ASCII digits all at once.
  private static func spread(_ word: UInt32) -> UInt64 {
    var wide = UInt64(word)
    wide = (wide | wide << 16) & 0x0000_FFFF_0000_FFFF
    wide = (wide | wide << 8) & 0x00FF_00FF_00FF_00FF
    wide = (wide | wide << 4) & 0x0F0F_0F0F_0F0F_0F0F
    let letters = ((wide &+ 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
    return wide &+ 0x3030_3030_3030_3030 &+ letters &* 39
  }
}
