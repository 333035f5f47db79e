extension KeyFormat {
  /// The keys of Immuni's database, in which MongoDB's tools spell numbers and dates.
  public static let immuniJSON = KeyFormat(
    KeyFormatDefinition(
      name: "immuni-json", summary: "documents of Immuni's database as MongoDB exports them", fileExtension: "json",
      readers: .gateways,
      detection: .dialect(.immuni),
      decoder: { JSONKeyDecoder($0, limits: $1, dialect: .immuni) }))
}

extension JSONDialect {
  /// Batches and uploads of Immuni's back end.
  public static let immuni = JSONDialect(
    keyMembers: [
      .keyData: ["key_data"],
      .rollingStart: ["rolling_start_number"],
      .rollingPeriod: ["rolling_period"],
      .transmissionRisk: ["transmission_risk_level"],
    ],
    documentMembers: [.list(of: .keys): ["keys"]],
    isSpelled: { $0.contain("rolling_start_number") })
}
