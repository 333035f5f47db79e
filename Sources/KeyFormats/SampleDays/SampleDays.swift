extension KeyFormat {
  /// Daily dumps, one line a sample date with the key data alone.
  public static let sampleDays = KeyFormat(
    KeyFormatDefinition(
      name: "sample-days", summary: "daily dumps as JSON lines: sample_date and tek_list", fileExtension: "json",
      readers: .apps,
      detection: .dialect(.sampleDays),
      decoder: { JSONKeyDecoder($0, limits: $1, dialect: .sampleDays) }))
}

extension JSONDialect {
  /// Key data in lists, and a day beside each list, from whose midnight on its keys are valid.
  public static let sampleDays = JSONDialect(
    documentMembers: [
      .sampleDate: ["sample_date"],
      .redundant: ["extraction_date", "extraction_date_with_hour"],
    ],
    ownMembers: [.list(of: .keyData): ["tek_list"]],
    isSpelled: { _ in false })
}
