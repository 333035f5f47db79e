/// The table of formats. A new format is one line here, and its folder.
public enum FormatCatalog {
  /// In the order in which people are shown them.
  ///
  /// The last one is asked first whether a document is its own: a format whose documents another one would take, too,
  /// stands behind that one.
  static let formats: [KeyFormat] = [
    .gaenExport,
    .gaenBeta,
    .codableJSON,
    .publishJSON,
    .efgsProtobuf,
    .efgsJSON,
    .csv,
    .json,
    .cwaSubmission,
    .protobufText,
    .parserText,
    .parserJSON,
    .sampleDays,
    .interoperabilityJSON,
    .immuniJSON,
    .analyzerText,
    .encodedExport,
    .sqlDump,
    .propertyList,
    .bson,
  ]

  /// What is to know about each of them.
  public static let all: [KeyFormatDefinition] = formats.map(\.definition)

  /// What reads keys of this format.
  public static func decoder(
    for format: KeyFormat, _ window: InputWindow, limits: ReadLimits = ReadLimits()
  ) -> any KeyDecoder {
    format.definition.decoder(window, limits)
  }

  /// What writes keys in this format, in its usual spelling. For `gaen-export` that is `export.bin` alone: signing and
  /// packing come after it.
  ///
  /// - Throws: ``FormatError`` with `cannotExpress` when the format is only read.
  public static func encoder(for format: KeyFormat, _ output: OutputBuffer) throws -> any KeyEncoder {
    guard let encoder = format.definition.encoder else {
      throw FormatError(.cannotExpress, "\(format.rawValue) is only read")
    }
    return encoder(output)
  }
}
