internal import ExposureKeys

extension KeyFormat {
  /// The export file of Apple and Google.
  public static let gaenExport = KeyFormat(
    KeyFormatDefinition(
      name: "gaen-export",
      summary: "export.bin and export.sig of Apple and Google: zip, bare .bin, or .bin beside .sig",
      fileExtension: "zip", isBinary: true, readers: .apps,
      detection: .front { front in
        if front.bytes.starts(with: "EK Export v".utf8) { return true }
        // Tools leave behind the message alone; in it any field may come first.
        return front.protobuf.map { MessageFields.exportFile.contain($0.tag) } == true
      },
      decoder: { ExportDecoder($0, limits: $1) },
      capabilities: FormatCapabilities(
        // What every device accepts; one key beyond it can make a phone refuse the whole file.
        rollingStart: .required(0...Int64(Int32.max)), rollingPeriod: .required(1...144, default: 144),
        transmissionRisk: .optional(0...8), reportType: .optional(0...5), daysSinceOnset: .optional(-14...14),
        carriesRevision: true, carriesHeader: true, carriesUnknownFields: true, sortsKeys: true),
      ownFields: OwnFields(key: .exportKey, file: .exportFile), schema: .export,
      encoder: { ExportEncoder($0) }))
}

extension KeyMessageLayout {
  /// `TemporaryExposureKey` of the export file, versions 1 to 1.5.
  static let export = KeyMessageLayout(
    meanings: [
      .unknown, .keyData, .transmissionRisk, .rollingStart, .rollingPeriod, .reportType, .daysSinceOnset,
    ], implied: [], absentTransmissionRisk: nil)
}

extension MessageFields {
  static let exportKey = MessageFields(wireTypes: [nil, .length, .varint, .varint, .varint, .varint, .varint])
  static let exportFile = MessageFields(
    wireTypes: [nil, .fixed64, .fixed64, .length, .varint, .varint, .length, .length, .length])
  static let signatureInfo = MessageFields(wireTypes: [nil, .length, .length, .length, .length, .length])
}
