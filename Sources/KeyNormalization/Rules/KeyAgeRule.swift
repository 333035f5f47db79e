import ExposureKeys

extension AdmissionReason {
  package static let keyTooOld = AdmissionReason("key-too-old") { "rolling start\($0) is too long ago" }
  package static let keyTooYoung = AdmissionReason("key-too-young") { _ in "the key is in use, or was not long ago" }
}

extension AdmissionRule {
  static let keyAge = AdmissionRule(
    documentation: RuleDocumentation(
      name: "key-age",
      rule: "The key expired not longer ago than so many days, and at least so many minutes ago.",
      why:
        "What nobody can have met any more helps no app. A door for uploads always has such a limit; a peer's documents "
        + "are read however old they are, unless the policy says otherwise. Some back ends want no key that is still in use; "
        + "here it is held otherwise.",
      source: "Google key server, publish validation: 15 days"),
    rejects: [.keyTooOld, .keyTooYoung],
    settings: [
      .number(
        "maximum-age-days", \.maximumAge, in: 0...3650, or: "none", "Days after its expiry that a key is taken."),
      .number(
        "minimum-age-minutes", \.minimumAgeMinutes, in: 0...20_160, or: "none",
        "Minutes after its expiry before which a key is rejected."),
    ],
    value: { policy in
      let least = policy.minimumAgeMinutes.map { "at least \($0) minutes" }
      let most = policy.maximumAge.map { "at most \($0) days" }
      return [least, most].compactMap(\.self).isEmpty
        ? "any age" : [least, most].compactMap(\.self).joined(separator: ", ")
    },
    apply: .toStatements { reading, context in
      guard let start = reading.said.rollingStart else { return .admit }
      let end = Int64(start) + Int64(reading.said.rollingPeriod ?? RollingPeriod.fullDay)
      if let oldest = context.oldestEnd, end < oldest { return .reject(.keyTooOld, value: start) }
      if let youngest = context.youngestEnd, end > youngest { return .reject(.keyTooYoung, value: start) }
      return .admit
    })
}
