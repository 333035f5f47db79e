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
