package import ExposureKeys
import Foundation
package import KeyFormats
import SwiftProtobuf

/// `export.bin` and `export.sig` by SwiftProtobuf's generated code: the reference that the hand-written codec is held
/// against, and what recipes write with.
package enum ReferenceExport {
  /// The sixteen bytes in front of the message.
  package static let magic = Array("EK Export v1    ".utf8)

  /// The decoder takes zeros and tabs for the spaces in the header, with a note.
  private static func isFileHeader(_ front: ArraySlice<UInt8>) -> Bool {
    front.count == magic.count && front.starts(with: magic.prefix(12))
      && front.dropFirst(12).allSatisfy { [0, 0x20, 9].contains($0) }
  }

  /// Reads `export.bin` with or without its sixteen bytes in front.
  ///
  /// Keys stand before revised keys, whatever their order was. Where a key states its report type more than once, a
  /// number without a meaning counts only when no other is stated: generated code does not keep their order. Byte
  /// offsets of rejections are not known and 0.
  ///
  /// - Throws: `BinaryDecodingError` when SwiftProtobuf refuses the bytes.
  package static func decode(_ bytes: [UInt8]) throws -> DecodedDocument {
    let body = isFileHeader(bytes.prefix(magic.count)) ? bytes.dropFirst(magic.count) : bytes[...]
    let export = try ProtoTemporaryExposureKeyExport(serializedBytes: Array(body))
    var document = DecodedDocument(header: header(export))
    for (index, message) in (export.keys + export.revisedKeys).enumerated() {
      take(message, at: index, isRevised: index >= export.keys.count, into: &document)
    }
    return document
  }

  package static func encode(_ document: DecodedDocument) throws -> [UInt8] {
    let header = document.header
    var export = ProtoTemporaryExposureKeyExport()
    if let value = header.startTimestamp { export.startTimestamp = value }
    if let value = header.endTimestamp { export.endTimestamp = value }
    if let value = header.region { export.region = value }
    if let value = header.batchNum { export.batchNum = value }
    if let value = header.batchSize { export.batchSize = value }
    export.signatureInfos = try header.signatureInfos.map(message)
    export.keys = try document.keys.filter { !$0.isRevised }.map { try message($0, document.unknownFields) }
    export.revisedKeys = try document.keys.filter(\.isRevised).map { try message($0, document.unknownFields) }
    if !header.unknownFields.isEmpty { try export.merge(serializedBytes: header.unknownFields) }
    return try magic + export.serializedBytes()
  }

  package static func decodeSignatures(_ bytes: [UInt8]) throws -> [ExportSignature] {
    try ProtoTEKSignatureList(serializedBytes: bytes).signatures.map { entry in
      ExportSignature(
        info: signatureInfo(entry.signatureInfo), batchNum: entry.hasBatchNum ? entry.batchNum : nil,
        batchSize: entry.hasBatchSize ? entry.batchSize : nil, signature: Array(entry.signature),
        unknownFields: Array(entry.unknownFields.data))
    }
  }

  package static func encodeSignatures(_ signatures: [ExportSignature]) throws -> [UInt8] {
    var list = ProtoTEKSignatureList()
    list.signatures = try signatures.map { signature in
      var entry = ProtoTEKSignature()
      entry.signatureInfo = try message(signature.info)
      if let value = signature.batchNum { entry.batchNum = value }
      if let value = signature.batchSize { entry.batchSize = value }
      entry.signature = Data(signature.signature)
      if !signature.unknownFields.isEmpty { try entry.merge(serializedBytes: signature.unknownFields) }
      return entry
    }
    return try list.serializedBytes()
  }

  private static func header(_ export: ProtoTemporaryExposureKeyExport) -> ExportHeader {
    ExportHeader(
      startTimestamp: export.hasStartTimestamp ? export.startTimestamp : nil,
      endTimestamp: export.hasEndTimestamp ? export.endTimestamp : nil,
      region: export.hasRegion ? export.region : nil,
      batchNum: export.hasBatchNum ? export.batchNum : nil,
      batchSize: export.hasBatchSize ? export.batchSize : nil,
      signatureInfos: export.signatureInfos.map(signatureInfo), unknownFields: Array(export.unknownFields.data))
  }

  private static func signatureInfo(_ message: ProtoSignatureInfo) -> SignatureInfo {
    SignatureInfo(
      appBundleID: message.hasAppBundleID ? message.appBundleID : nil,
      androidPackage: message.hasAndroidPackage ? message.androidPackage : nil,
      verificationKeyVersion: message.hasVerificationKeyVersion ? message.verificationKeyVersion : nil,
      verificationKeyID: message.hasVerificationKeyID ? message.verificationKeyID : nil,
      signatureAlgorithm: message.hasSignatureAlgorithm ? message.signatureAlgorithm : nil,
      unknownFields: Array(message.unknownFields.data))
  }

  private static func message(_ info: SignatureInfo) throws -> ProtoSignatureInfo {
    var message = ProtoSignatureInfo()
    if let value = info.appBundleID { message.appBundleID = value }
    if let value = info.androidPackage { message.androidPackage = value }
    if let value = info.verificationKeyVersion { message.verificationKeyVersion = value }
    if let value = info.verificationKeyID { message.verificationKeyID = value }
    if let value = info.signatureAlgorithm { message.signatureAlgorithm = value }
    if !info.unknownFields.isEmpty { try message.merge(serializedBytes: info.unknownFields) }
    return message
  }

  private static func take(
    _ message: ProtoTemporaryExposureKey, at index: Int, isRevised: Bool, into document: inout DecodedDocument
  ) {
    guard let key = TemporaryExposureKey(message.keyData) else {
      document.rejections.append(
        Rejection(
          position: KeyPosition(index: index, byteOffset: 0),
          reason: message.hasKeyData ? .keyDataLength : .keyDataAbsent, detail: "\(message.keyData.count) bytes"))
      return
    }
    var claim = ClaimedKey(key: key)
    claim.isRevised = isRevised
    if message.hasRollingStartIntervalNumber { claim.rollingStart = message.rollingStartIntervalNumber }
    if message.hasRollingPeriod { claim.rollingPeriod = message.rollingPeriod }
    if message.hasTransmissionRiskLevel { claim.transmissionRisk = message.transmissionRiskLevel }
    if message.hasDaysSinceOnsetOfSymptoms { claim.daysSinceOnset = message.daysSinceOnsetOfSymptoms }
    var unknown = Array(message.unknownFields.data)
    let unnamed = removeReportType(from: &unknown)
    claim.reportType = message.hasReportType ? Int32(message.reportType.rawValue) : unnamed
    if !unknown.isEmpty { claim.unknownFields = document.unknownFields.append(unknown) }
    document.keys.append(claim)
  }

  private static func message(_ claim: ClaimedKey, _ unknown: UnknownFieldTable) throws -> ProtoTemporaryExposureKey {
    var message = ProtoTemporaryExposureKey()
    message.keyData = Data(claim.key.bytes)
    var encoded: [UInt8] = []
    if let type = claim.reportType { appendReportType(type, to: &encoded) }
    if let value = claim.transmissionRisk { message.transmissionRiskLevel = value }
    if let value = claim.rollingStart { message.rollingStartIntervalNumber = value }
    if let value = claim.rollingPeriod { message.rollingPeriod = value }
    if let value = claim.daysSinceOnset { message.daysSinceOnsetOfSymptoms = value }
    encoded += unknown[claim.unknownFields]
    if !encoded.isEmpty { try message.merge(serializedBytes: encoded) }
    return message
  }
}

/// What generated code cannot say: the report type is a closed enum, so a number that it does not name stands among the
/// unknown fields.
extension ReferenceExport {
  fileprivate static func appendReportType(_ value: Int32, to bytes: inout [UInt8]) {
    bytes.append(5 << 3)
    var rest = UInt64(bitPattern: Int64(value))
    while rest > 127 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// Takes out every varint of field 5 and returns the last. The bytes come from SwiftProtobuf and are well formed.
  fileprivate static func removeReportType(from unknown: inout [UInt8]) -> Int32? {
    guard unknown.contains(5 << 3) else { return nil }
    var kept: [UInt8] = []
    var type: Int32?
    var rest = unknown[...]
    while !rest.isEmpty {
      let start = rest
      let tag = takeVarint(&rest)
      if tag == 5 << 3 {
        type = Int32(truncatingIfNeeded: takeVarint(&rest))
      } else {
        skipField(tag, in: &rest)
        kept += start[..<rest.startIndex]
      }
    }
    unknown = kept
    return type
  }

  private static func takeVarint(_ rest: inout ArraySlice<UInt8>) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while let byte = rest.popFirst() {
      value |= UInt64(byte & 127) << shift
      shift += 7
      if byte < 128 { break }
    }
    return value
  }

  private static func skipField(_ tag: UInt64, in rest: inout ArraySlice<UInt8>) {
    switch tag & 7 {
    case 0: _ = takeVarint(&rest)
    case 1: rest = rest.dropFirst(8)
    case 2:
      let length = takeVarint(&rest)
      rest = rest.dropFirst(Int(length))
    case 3:
      while !rest.isEmpty {
        let inner = takeVarint(&rest)
        if inner & 7 == 4 { break }
        skipField(inner, in: &rest)
      }
    case 5: rest = rest.dropFirst(4)
    default: break
    }
  }
}
