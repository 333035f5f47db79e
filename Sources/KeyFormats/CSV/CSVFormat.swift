extension KeyFormat {
  /// One key a row, described in `schemas/csv.md`; key lists of other tools are read, too.
  public static let csv = KeyFormat(
    KeyFormatDefinition(
      name: "csv", summary: "one key a row, lossless; columns by name", fileExtension: "csv", readers: .gateways,
      detection: .otherText,
      decoder: { CSVKeyDecoder($0, limits: $1) },
      capabilities: .everything, schema: .export,
      encoder: { CSVKeyEncoder($0) }))
}
