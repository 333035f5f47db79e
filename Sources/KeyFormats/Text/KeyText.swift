package import ExposureKeys

/// How key data is spelled in text formats: base64 (24 characters, or 22 without padding; standard or URL alphabet),
/// 32 hexadecimal digits, or a UUID; of databases also `\x…` (PostgreSQL, in `COPY` with the backslash doubled), `0x…`
/// and `X'…'` (MySQL, SQLite).
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
    case 34...35:
      if let digits = databaseDigits(text), digits.count == 32, let key = keyFromHexadecimal(digits) {
        return .key(key)
      }
    case 36:
      if let key = keyFromUUID(text) { return .key(key) }
    default: break
    }
    if let bytes = databaseDigits(text).flatMap({ Hexadecimal.decode($0) }) ?? Base64.decode(text)
      ?? Hexadecimal.decode(text)
    {
      return .wrongLength(bytes.count)
    }
    return .notKeyData
  }

  /// The digits within the spelling of a database; `nil` for anything else.
  private static func databaseDigits(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    func starts(with prefix: StaticString) -> Bool {
      let length = prefix.utf8CodeUnitCount
      return text.count >= length && prefix.matches(UnsafeRawBufferPointer(rebasing: text[..<length]))
    }
    var digits: Range<Int>
    if starts(with: "\\\\x") {
      digits = 3..<text.count
    } else if starts(with: "\\x") || starts(with: "0x") || starts(with: "0X") {
      digits = 2..<text.count
    } else if starts(with: "X'") || starts(with: "x'"), text.count > 2, text[text.count - 1] == UInt8(ascii: "'") {
      digits = 2..<text.count - 1
    } else {
      return nil
    }
    return UnsafeRawBufferPointer(rebasing: text[digits])
  }

  /// Twenty-two digits, whatever follows them. They are there.
  static func keyFromBase64(_ text: UnsafeRawBufferPointer) -> TemporaryExposureKey? {
    guard let place = text.baseAddress else { return nil }
    let digits = Base64Digits.shared
    let (a, b, c) = (digits.four(place), digits.four(place + 4), digits.four(place + 8))
    let (d, e, two) = (digits.four(place + 12), digits.four(place + 16), digits.two(place + 20))
    return a | b | c | d | e | two < Base64Digits.limit ? Base64Digits.key(a, b, c, d, e, two) : nil
  }

  /// Thirty-two digits. They are there.
  @inline(__always)
  static func keyFromHexadecimal(_ text: UnsafeRawBufferPointer) -> TemporaryExposureKey? {
    var wrong = SIMD16<UInt8>(repeating: 0)
    let high = HexadecimalDigits.value(text.loadUnaligned(as: SIMD16<UInt8>.self), &wrong)
    let low = HexadecimalDigits.value(text.loadUnaligned(fromByteOffset: 16, as: SIMD16<UInt8>.self), &wrong)
    let any = unsafeBitCast(wrong, to: SIMD2<UInt64>.self)
    return any[0] | any[1] == 0 ? TemporaryExposureKey(high: high, low: low) : nil
  }

  private static func keyFromUUID(_ text: UnsafeRawBufferPointer) -> TemporaryExposureKey? {
    let dashes = [8, 13, 18, 23]
    guard dashes.allSatisfy({ text[$0] == UInt8(ascii: "-") }) else { return nil }
    let digits = text.indices.filter { !dashes.contains($0) }.map { text[$0] }
    return digits.withUnsafeBytes(keyFromHexadecimal)
  }

  /// The 24 characters of padded standard base64. The caller has made room.
  @inline(__always)
  package static func writeBase64(_ key: TemporaryExposureKey, to place: UnsafeMutableRawPointer) {
    Base64KeyText(key).store(to: place)
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
