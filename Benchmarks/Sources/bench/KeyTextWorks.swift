import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats

/// Key data in text: the innermost loop of JSON and CSV.
let keyTextWorks = [
  Preparation("key data from base64") { count in
    let texts = KeyTexts(count, length: 24) { KeyText.writeBase64($0, to: $1) }
    return [
      .ours { texts.countKeys { if case .key = KeyText.read($0) { true } else { false } } },
      .yardstick("Foundation Data(base64Encoded:)") { texts.countKeys { Data(base64Encoded: Data($0))?.count == 16 } },
    ]
  },
  Preparation("key data from hexadecimal") { count in
    let texts = KeyTexts(count, length: 32) { KeyText.writeHexadecimal($0, to: $1) }
    return [
      .ours { texts.countKeys { if case .key = KeyText.read($0) { true } else { false } } },
      .yardstick("UInt64(_:radix:), twice") {
        texts.countKeys { text in
          let digits = String(decoding: text, as: UTF8.self)
          return UInt64(digits.prefix(16), radix: 16) != nil && UInt64(digits.suffix(16), radix: 16) != nil
        }
      },
    ]
  },
  Preparation("key data to base64") { count in
    let keys = randomKeys(count)
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 24, alignment: 8)
    return [
      .ours {
        guard let place = room.baseAddress else { return 0 }
        for key in keys { KeyText.writeBase64(key, to: place) }
        blackHole(room[0])
        return keys.count
      },
      .yardstick("Foundation base64EncodedString()") {
        var length = 0
        for key in keys { length += Data(key.bytes).base64EncodedString().utf8.count }
        return length / 24
      },
    ]
  },
]

private func randomKeys(_ count: Int) -> [TemporaryExposureKey] {
  var random = SeededRandom(seed: 1)
  return (0..<count).map { _ in TemporaryExposureKey(high: random.next(), low: random.next()) }
}

/// The spellings of many keys, one behind the other.
private struct KeyTexts {
  var bytes: [UInt8]
  var length: Int

  init(_ count: Int, length: Int, write: (TemporaryExposureKey, UnsafeMutableRawPointer) -> Void) {
    self.length = length
    bytes = [UInt8](repeating: 0, count: count * length)
    bytes.withUnsafeMutableBytes { room in
      guard let base = room.baseAddress else { return }
      for (index, key) in randomKeys(count).enumerated() { write(key, base + index * length) }
    }
  }

  func countKeys(_ isKey: (UnsafeRawBufferPointer) -> Bool) -> Int {
    bytes.withUnsafeBytes { all in
      var found = 0
      for start in stride(from: 0, to: all.count, by: length) {
        if isKey(UnsafeRawBufferPointer(rebasing: all[start..<start + length])) { found += 1 }
      }
      return found
    }
  }
}
