import GatewayTesting
import KeyFormats

/// How the records of a file are written.
enum ExportLayout: String, CaseIterable {
  /// As every modern server writes them: six fields in ascending order, 34 bytes.
  case canonical
  /// Fields absent, other orders, fields of later versions, revised keys among the others.
  case mixed

  func export(_ count: Int) -> [UInt8] {
    var random = SeededRandom(seed: 2)
    var bytes = ExportDecoder.fileHeader
    bytes.reserveCapacity(16 + count * 34)
    for index in 0..<count { appendRecord(index, to: &bytes, using: &random) }
    return bytes
  }

  private func appendRecord(_ index: Int, to bytes: inout [UInt8], using random: inout SeededRandom) {
    let low = random.next()
    let data: [UInt8] = [0x0a, 16] + random.bytes(8) + (0..<8).map { UInt8(truncatingIfNeeded: low >> (8 * $0)) }
    let risk: [UInt8] = [0x10, UInt8(low & 7) + 1]
    let start: [UInt8] = [0x18] + varint(2_678_000 + 144 * (low >> 3 & 15))
    let period: [UInt8] = [0x20, 0x90, 0x01]
    let type: [UInt8] = [0x28, UInt8(low >> 7 & 3) + 1]
    let onset: [UInt8] = [0x30, UInt8(low >> 9 & 15)]
    var fields = [data, risk, start, period, type, onset]
    var tag: UInt8 = 0x3a
    if self == .mixed {
      switch index % 8 {
      case 0, 1: break
      case 2, 3: fields = [data, risk, start]
      case 4: fields.reverse()
      case 5: fields += [[0x38, 1], [0x40, 1]]
      case 6: fields = [data, start, period, onset]
      default: tag = 0x42
      }
    }
    let record = fields.joined()
    bytes.append(tag)
    bytes.append(UInt8(record.count))
    bytes.append(contentsOf: record)
  }

  private func varint(_ value: UInt64) -> [UInt8] {
    value < 128 ? [UInt8(value)] : [UInt8(truncatingIfNeeded: value) | 128] + varint(value >> 7)
  }
}
