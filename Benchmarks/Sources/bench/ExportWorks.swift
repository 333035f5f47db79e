import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import SwiftProtobuf

/// `export.bin` to columns and back. Yardsticks make what ours makes: an array of claimed keys.
let exportWorks = ExportLayout.allCases.flatMap { layout in
  [
    Preparation("export.bin to columns, \(layout.rawValue)") { count in
      let bytes = layout.export(count)
      let body = Array(bytes.dropFirst(ReferenceExport.magic.count))
      return [
        .ours { try decode(ExportDecoder(InputWindow(MemorySource(bytes)))) },
        .yardstick("SwiftProtobuf", reach: layout == .canonical ? 100 : 25) {
          var columns: [ClaimedKey] = []
          let export = try ProtoTemporaryExposureKeyExport(serializedBytes: body)
          columns.reserveCapacity(export.keys.count + export.revisedKeys.count)
          for message in export.keys { columns.append(claim(message)) }
          for message in export.revisedKeys { columns.append(claim(message)) }
          blackHole(columns)
          return columns.count
        },
        try .peer(
          "C++ protobuf, arena", .protobuf, ["decode"], reach: layout == .canonical ? 20 : 5, input: bytes),
      ]
    },
    Preparation("columns to export.bin, \(layout.rawValue)") { count in
      let bytes = layout.export(count)
      let document = try ReferenceExport.decode(bytes)
      return [
        .ours { try encode(document, with: ExportEncoder(OutputBuffer(DiscardingSink()))) },
        .yardstick("SwiftProtobuf", reach: 60) {
          var export = ProtoTemporaryExposureKeyExport()
          export.keys = document.keys.filter { !$0.isRevised }.map(message)
          export.revisedKeys = document.keys.filter(\.isRevised).map(message)
          let bytes: [UInt8] = try export.serializedBytes()
          blackHole(bytes)
          return document.keys.count
        },
        try .peer("C++ protobuf, arena", .protobuf, ["encode"], reach: 20, input: bytes),
      ]
    },
  ]
}

/// How the records of a file are written.
enum ExportLayout: String, CaseIterable {
  /// As every modern server writes them: six fields in ascending order, 34 bytes.
  case canonical
  /// Fields absent, other orders, fields of later versions, revised keys among the others.
  case mixed

  func export(_ count: Int) -> [UInt8] {
    var random = SeededRandom(seed: 2)
    var bytes = ReferenceExport.magic
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

private func claim(_ message: ProtoTemporaryExposureKey) -> ClaimedKey {
  var claim = ClaimedKey(key: TemporaryExposureKey(high: 0, low: 0))
  message.keyData.withUnsafeBytes { data in
    if data.count == 16, let base = data.baseAddress { claim.key = TemporaryExposureKey(loadingFrom: base) }
  }
  if message.hasRollingStartIntervalNumber { claim.rollingStart = message.rollingStartIntervalNumber }
  if message.hasRollingPeriod { claim.rollingPeriod = message.rollingPeriod }
  if message.hasTransmissionRiskLevel { claim.transmissionRisk = message.transmissionRiskLevel }
  if message.hasReportType { claim.reportType = Int32(message.reportType.rawValue) }
  if message.hasDaysSinceOnsetOfSymptoms { claim.daysSinceOnset = message.daysSinceOnsetOfSymptoms }
  return claim
}

func message(_ claim: ClaimedKey) -> ProtoTemporaryExposureKey {
  var message = ProtoTemporaryExposureKey()
  withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { room in
    guard let place = room.baseAddress else { return }
    claim.key.store(to: place)
    message.keyData = Data(bytes: place, count: 16)
  }
  if let value = claim.rollingStart { message.rollingStartIntervalNumber = value }
  if let value = claim.rollingPeriod { message.rollingPeriod = value }
  if let value = claim.transmissionRisk { message.transmissionRiskLevel = value }
  if let type = claim.reportType.flatMap({ ProtoTemporaryExposureKey.ReportType(rawValue: Int($0)) }) {
    message.reportType = type
  }
  if let value = claim.daysSinceOnset { message.daysSinceOnsetOfSymptoms = value }
  return message
}
