extension KeyFormat {
  /// What a parser of diagnosis keys printed as JSON.
  public static let parserJSON = KeyFormat(
    KeyFormatDefinition(
      name: "parser-json", summary: "JSON of a diagnosis key parser: TemporaryExposureKey with its validity",
      fileExtension: "json", readers: .apps,
      detection: .dialect(.parsedKeys),
      decoder: { JSONKeyDecoder($0, limits: $1, dialect: .parsedKeys) }))
}

extension JSONDialect {
  /// A parser's print of an export file.
  public static let parsedKeys = JSONDialect(
    keyMembers: [
      .keyData: ["TemporaryExposureKey"],
      .transmissionRisk: ["transmissionRiskLevel"],
      .validity: ["validity"],
      .rollingStart: ["rollingStartIntervalNumber"],
      .rollingPeriod: ["rollingPeriod"],
    ],
    documentMembers: [
      .list(of: .keys): ["diagnosisKeys"],
      .startTimestamp: ["timeWindowStart"],
      .endTimestamp: ["timeWindowEnd"],
      .region: ["region"],
      .batchNum: ["batchNum"],
      .batchSize: ["batchCount"],
      .signatureInfos: ["signatureInfos"],
      .redundant: ["keyCount"],
    ],
    isSpelled: { $0.contain("TemporaryExposureKey", "validity") })
}
