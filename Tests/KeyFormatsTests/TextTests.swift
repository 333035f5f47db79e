import ExposureKeys
import Testing

@testable import KeyFormats

@Suite struct TextTests {
  @Test func keySpellings() {
    let key = TemporaryExposureKey(high: 0x0123_4567_89ab_cdef, low: 0xf0e1_d2c3_b4a5_9687)
    let spellings = [
      "ASNFZ4mrze/w4dLDtKWWhw==", "ASNFZ4mrze_w4dLDtKWWhw", "0123456789abcdefF0E1D2C3B4A59687",
      "01234567-89ab-cdef-f0e1-d2c3b4a59687",
    ]
    for text in spellings {
      #expect(Array(text.utf8).withUnsafeBytes(KeyText.read) == .key(key), "\(text)")
    }
    var written = [UInt8](repeating: 0, count: 32)
    written.withUnsafeMutableBytes { KeyText.writeHexadecimal(key, to: $0.baseAddress!) }
    #expect(String(decoding: written, as: UTF8.self) == key.hex)
    written.withUnsafeMutableBytes { KeyText.writeBase64(key, to: $0.baseAddress!) }
    #expect(String(decoding: written[..<24], as: UTF8.self) == spellings[0])
    #expect(Base64.encode(key.bytes) == spellings[0])
  }

  @Test func notKeys() {
    #expect(Array("AAAA".utf8).withUnsafeBytes(KeyText.read) == .wrongLength(3))
    #expect(Array("!!".utf8).withUnsafeBytes(KeyText.read) == .notKeyData)
    #expect(Array("ASNFZ4mrze*w4dLDtKWWhw==".utf8).withUnsafeBytes(KeyText.read) == .notKeyData)
  }

  /// One digit too few or too many is no key, and nothing behind the text is read.
  @Test(arguments: ["\\\\x", "\\x", "0x", "0X", "X'", "x'"]) func databaseSpellings(sign: String) {
    let digits = "0123456789abcdefF0E1D2C3B4A59687"
    let key = TemporaryExposureKey(high: 0x0123_4567_89ab_cdef, low: 0xf0e1_d2c3_b4a5_9687)
    for text in [String(digits.dropLast()), digits, digits + "0", digits + "00"] {
      let spelled = sign + text + (sign.hasSuffix("'") ? "'" : "")
      let reading = Array(spelled.utf8).withUnsafeBytes(KeyText.read)
      #expect((reading == .key(key)) == (text == digits), "\(spelled)")
    }
  }

  @Test(arguments: [0, 1, 9, 10, 99, 100, 144, 2_649_024, 999_999_999, 1_000_000_000, .max, -1, -10, .min] as [Int32])
  func decimals(value: Int32) {
    var room = [UInt8](repeating: 0, count: 20)
    let length = room.withUnsafeMutableBytes { DecimalText.write(value, to: $0.baseAddress!) }
    #expect(String(decoding: room[..<length], as: UTF8.self) == String(value))
  }

  @Test func decimalsOfEveryLength() {
    var generator = SeededGenerator(50)
    var numbers: [UInt32] = [0, .max, UInt32(Int32.max), UInt32(Int32.max) + 1]
    for power in sequence(first: 1 as UInt32, next: { $0 < 1_000_000_000 ? $0 * 10 : nil }) {
      numbers += [power - 1, power, power + 1]
      numbers += (0..<200).map { _ in UInt32.random(in: power...power * 4, using: &generator) }
    }
    var room = [UInt8](repeating: 0, count: DecimalText.maximumLength)
    for number in numbers {
      let length = room.withUnsafeMutableBytes { DecimalText.write(number, to: $0.baseAddress!) }
      #expect(String(decoding: room[..<length], as: UTF8.self) == String(number))
      let signed = Int32(truncatingIfNeeded: number)
      let signedLength = room.withUnsafeMutableBytes { DecimalText.write(signed, to: $0.baseAddress!) }
      #expect(String(decoding: room[..<signedLength], as: UTF8.self) == String(signed))
    }
  }

  /// Each digit at each place, written and read by words, against the general base64.
  @Test func base64OfEveryDigit() throws {
    var room = [UInt8](repeating: 0, count: 56)
    for place in 0..<22 {
      for digit in 0..<64 as Range<UInt8> {
        var digits = [UInt8](repeating: 7 &* digit & 63, count: 22)
        digits[place] = digit
        digits[21] &= 48
        let spelled = digits.map { Base64.digits[Int($0)] } + Array("==".utf8)
        let key = try #require(Base64.decode(spelled).flatMap { TemporaryExposureKey($0) })
        room.withUnsafeMutableBytes { KeyText.writeBase64(key, to: $0.baseAddress!) }
        #expect(room[..<24].elementsEqual(spelled))
        #expect(spelled.withUnsafeBytes(KeyText.read) == .key(key))
        let length = room.withUnsafeMutableBytes { Base64KeyText(key).storeEscapingSlashes(to: $0.baseAddress!) }
        #expect(String(decoding: room[..<length], as: UTF8.self) == text(spelled).replacing("/", with: "\\/"))
      }
    }
  }

  @Test func everyOtherByteIsNoBase64Digit() {
    for place in 0..<22 {
      for byte in 0..<256 where !Base64.digits.contains(UInt8(byte)) && ![0x2D, 0x5F].contains(byte) {
        var spelled = Array("ASNFZ4mrze/w4dLDtKWWhw==".utf8)
        spelled[place] = UInt8(byte)
        #expect(spelled.withUnsafeBytes(KeyText.read) == .notKeyData)
      }
    }
  }
}
