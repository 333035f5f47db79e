package import ExposureKeys
internal import KeyFormats

/// A bundle that no finding but the tested one concerns: two days after its keys began.
package struct SampleBundle: Sendable {
  /// 2020-08-01T00:00:00Z.
  package static let midnight: Int32 = 2_660_400
  package static let windowEnd = UInt64(midnight + 2 * 144) * 600

  package var header = ExportHeader(
    startTimestamp: windowEnd - 3600, endTimestamp: windowEnd, region: "DE", batchNum: 1, batchSize: 1,
    signatureInfos: [SampleBundle.info])
  package var keys: [ClaimedKey] = [SampleBundle.key(1), SampleBundle.key(2), SampleBundle.key(3)]
  /// Encoded key messages that stand behind the keys, for what no encoder writes.
  package var rawKeys: [[UInt8]] = []
  package var signatures: [ExportSignature]? = [SampleBundle.signature]
  package var fileHeader = ExportDecoder.fileHeader

  package static let info = SignatureInfo(
    verificationKeyVersion: "v1", verificationKeyID: "262", signatureAlgorithm: SignatureInfo.ecdsaWithSHA256)
  package static let signature = ExportSignature(info: info, batchNum: 1, batchSize: 1, signature: derSignature)
  package static let derSignature: [UInt8] = [0x30, 0x08, 0x02, 0x02, 0x12, 0x34, 0x02, 0x02, 0x56, 0x78]

  package init() {}

  /// Key data in ascending order of `number`, and nothing like a pattern.
  package static func key(_ number: UInt64) -> ClaimedKey {
    ClaimedKey(
      key: TemporaryExposureKey(
        high: number << 48 | 0x93c5_17fe_2ba1 ^ number &* 0x9e37, low: 0xa7f3_19d2_4be8_6c01 &* (2 &* number &+ 1)),
      rollingStartWord: midnight, rollingPeriodWord: 144, transmissionRiskWord: 5, reportTypeWord: 1,
      daysSinceOnsetWord: 2,
      fields: [.rollingStart, .rollingPeriod, .transmissionRisk, .reportType, .daysSinceOnset])
  }

  package func exportFile() throws -> [UInt8] {
    let sink = MemorySink()
    let encoder = ExportEncoder(OutputBuffer(sink))
    try encoder.begin(header)
    try keys.withUnsafeBufferPointer {
      try encoder.encode($0, regions: RegionTable(), unknownFields: UnknownFieldTable())
    }
    try encoder.finish(header)
    var file = fileHeader + sink.bytes.dropFirst(16)
    for message in rawKeys { file += [0x3a, UInt8(message.count)] + message }
    return file
  }

  package func signatureFile() -> [UInt8]? { signatures.map(SignatureFile.encode) }

  package func zip() throws -> [UInt8] {
    let sink = MemorySink()
    let writer = ZipWriter(sink, date: Instant(secondsSince1970: Int64(Self.windowEnd)))
    let export = try exportFile()
    try writer.addEntry("export.bin") { try $0.write(export) }
    if let signatureFile = signatureFile() { try writer.addEntry("export.sig") { try $0.write(signatureFile) } }
    try writer.finish()
    return sink.bytes
  }
}
