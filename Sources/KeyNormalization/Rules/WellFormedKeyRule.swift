import ExposureKeys

extension AdmissionReason {
  package static let keyDataUniform = AdmissionReason("key-data-uniform") { _ in
    "key data of sixteen equal bytes, which no device generates"
  }
}

extension AdmissionRule {
  static let wellFormedKey = AdmissionRule(
    documentation: RuleDocumentation(
      name: "well-formed-key",
      rule: "Key data is sixteen bytes, and they are not all the same.",
      why: "Key data of another length never becomes a claim: one such key makes an iPhone refuse the whole file. "
        + "Sixteen equal bytes are a mistake or a test, never the output of a random generator.",
      source: "Apple, Setting Up a Key Server; Exposure Notification Cryptography Specification 1.2"),
    rejects: [.keyDataUniform],
    settings: [
      .words("key-data.uniform", \.uniformKeyData, "Key data of sixteen equal bytes.")
    ],
    value: { "uniform key data: \($0.uniformKeyData.rawValue)" },
    apply: .toKeys { key, _, context in
      guard key.high == key.low, key.high == (key.high & 0xff) &* 0x0101_0101_0101_0101 else { return .admit }
      return context.policy.uniformKeyData == .admit ? .admit : .reject(.keyDataUniform)
    })
}
