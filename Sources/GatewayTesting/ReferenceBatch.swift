import ExposureKeys
import Foundation
package import KeyFormats
import SwiftProtobuf

/// The federation batch by SwiftProtobuf's generated code, as ``ReferenceExport`` is for the export.
package enum ReferenceBatch {
  /// Scalars have no presence in this format, so every key states its five numbers, but for a risk level of 2^31 - 1,
  /// which says that none is given; an empty origin is none. Byte offsets of rejections are not known and 0.
  ///
  /// - Throws: `BinaryDecodingError` when SwiftProtobuf refuses the bytes.
  package static func decode(_ bytes: [UInt8]) throws -> DecodedDocument {
    let batch = try Eu_Interop_DiagnosisKeyBatch(serializedBytes: bytes)
    var document = DecodedDocument(header: ExportHeader(unknownFields: Array(batch.unknownFields.data)))
    for (index, message) in batch.keys.enumerated() { take(message, at: index, into: &document) }
    return document
  }

  /// An absent risk level is written as 2^31 - 1, other absent numbers as zero, which is to say not at all.
  package static func encode(_ document: DecodedDocument) throws -> [UInt8] {
    var batch = Eu_Interop_DiagnosisKeyBatch()
    batch.keys = try document.keys.map { claim in
      let region = document.regions[claim.regions]
      var message = Eu_Interop_DiagnosisKey()
      message.keyData = Data(claim.key.bytes)
      message.rollingStartIntervalNumber = UInt32(bitPattern: claim.rollingStart ?? 0)
      message.rollingPeriod = UInt32(bitPattern: claim.rollingPeriod ?? 0)
      message.transmissionRiskLevel = claim.transmissionRisk ?? .max
      message.visitedCountries = region.visited ?? []
      message.origin = region.origin ?? ""
      message.reportType = Eu_Interop_ReportType(rawValue: Int(claim.reportType ?? 0)) ?? .unknown
      message.daysSinceOnsetOfSymptoms = claim.daysSinceOnset ?? 0
      let unknown = document.unknownFields[claim.unknownFields]
      if !unknown.isEmpty { try message.merge(serializedBytes: Array(unknown)) }
      return message
    }
    if !document.header.unknownFields.isEmpty { try batch.merge(serializedBytes: document.header.unknownFields) }
    return try batch.serializedBytes()
  }

  private static func take(_ message: Eu_Interop_DiagnosisKey, at index: Int, into document: inout DecodedDocument) {
    guard let key = TemporaryExposureKey(message.keyData) else {
      document.rejections.append(
        Rejection(
          position: KeyPosition(index: index, byteOffset: 0),
          reason: message.keyData.isEmpty ? .keyDataAbsent : .keyDataLength, detail: "\(message.keyData.count) bytes"))
      return
    }
    var claim = ClaimedKey(key: key)
    claim.rollingStart = Int32(bitPattern: message.rollingStartIntervalNumber)
    claim.rollingPeriod = Int32(bitPattern: message.rollingPeriod)
    claim.transmissionRisk = message.transmissionRiskLevel == .max ? nil : message.transmissionRiskLevel
    claim.reportType = Int32(truncatingIfNeeded: message.reportType.rawValue)
    claim.daysSinceOnset = message.daysSinceOnsetOfSymptoms
    let region = RegionClaim(
      origin: message.origin.isEmpty ? nil : message.origin, visited: message.visitedCountries)
    guard let number = document.regions.intern(region) else {
      preconditionFailure("a reference document with more than \(RegionTable.limit) distinct regions")
    }
    claim.regions = number
    if !message.unknownFields.data.isEmpty {
      claim.unknownFields = document.unknownFields.append(message.unknownFields.data)
    }
    document.keys.append(claim)
  }
}
