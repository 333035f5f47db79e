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

  @Test(arguments: [0, 1, 9, 10, 99, 100, 144, 2_649_024, 999_999_999, 1_000_000_000, .max, -1, -10, .min] as [Int32])
  func decimals(value: Int32) {
    var room = [UInt8](repeating: 0, count: 20)
    let length = room.withUnsafeMutableBytes { DecimalText.write(value, to: $0.baseAddress!) }
    #expect(String(decoding: room[..<length], as: UTF8.self) == String(value))
  }
}
