import ExposureKeys

extension AdmissionRule {
  static let keyAge = AdmissionRule(
    documentation: RuleDocumentation(
      name: "key-age",
      rule: "The key expired not longer ago than so many days.",
      why:
        "What nobody can have met any more helps no app. A door for uploads always has such a limit; a peer's documents "
        + "are read however old they are, unless the policy says otherwise.",
      source: "Google key server, publish validation: 15 days",
      outcome: "reject: key-too-old"),
    value: { $0.maximumAge.map { "\($0) days" } ?? "any age" },
    apply: .toStatements { reading, context in
      guard let oldest = context.oldestEnd, let start = reading.said.rollingStart else { return .admit }
      let end = Int64(start) + Int64(reading.said.rollingPeriod ?? RollingPeriod.fullDay)
      return end >= oldest ? .admit : .reject(.keyTooOld, value: start)
    })
}
