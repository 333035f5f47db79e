extension KeyFormat {
  /// Batches of the interoperability service that Ireland, the United Kingdom and others shared keys by.
  public static let interoperabilityJSON = KeyFormat(
    KeyFormatDefinition(
      name: "interoperability-json", summary: "batch of the COVID Green and NHS interoperability service: exposures",
      fileExtension: "json", readers: .gateways,
      detection: .dialect(.interoperability),
      decoder: { JSONKeyDecoder($0, limits: $1, dialect: .interoperability) }))
}

extension JSONDialect {
  /// What the service answers, and the list of keys that a nation sends it.
  public static let interoperability = JSONDialect(
    keyMembers: [
      .keyData: ["keyData"],
      .rollingStart: ["rollingStartNumber"],
      .rollingPeriod: ["rollingPeriod"],
      .transmissionRisk: ["transmissionRiskLevel"],
      .visited: ["regions"],
      .origin: ["origin"],
      .reportType: ["reportType"],
      .daysSinceOnset: ["daysSinceOnset"],
    ],
    documentMembers: [.listOrPrivateData(of: .keys): ["exposures"], .redundant: ["batchTag"]],
    isSpelled: { $0.contain("keyData") && $0.contain("daysSinceOnset") && $0.contain("regions") })
}
