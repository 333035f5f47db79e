import ExposureKeys

extension AdmissionReason {
  package static let rollingPeriodAbsent = AdmissionReason("rolling-period-absent") { _ in
    "rolling period absent, and the policy reads nothing into that"
  }
  package static let rollingPeriodZero = AdmissionReason("rolling-period-zero") { _ in
    "rolling period 0, allowed \(RollingPeriod.range)"
  }
  package static let rollingPeriodOutOfRange = AdmissionReason("rolling-period-out-of-range") {
    "rolling period\($0), allowed \(RollingPeriod.range)"
  }
}

extension AdmissionRule {
  static let rollingPeriod = AdmissionRule(
    documentation: RuleDocumentation(
      name: "rolling-period",
      rule:
        "The rolling period is 1...144. Absent and 0 are a full day where the policy says so; so is a shorter period "
        + "from builds known to write it for full days.",
      why:
        "The schema's default is 144, and the reference server leaves 144 out. Early Android builds wrote 0, which iOS "
        + "reads as 144 while Google's framework fails on a match; above 144 iOS skips the key and Google's fails.",
      source: "Export schema, default of rolling_period; DP-3T key server, legacy builds"),
    allows: [.rollingPeriodAbsent, .rollingPeriodZero, .rollingPeriodShort],
    rejects: [.rollingPeriodAbsent, .rollingPeriodZero, .rollingPeriodOutOfRange],
    settings: [
      .words("rolling-period.absent", \.absentRollingPeriod, "What an absent rolling period means."),
      .words("rolling-period.zero", \.zeroRollingPeriod, "What a rolling period of 0 means."),
      .words("rolling-period.short", \.shortRollingPeriod, "What a rolling period of 1...143 means."),
    ],
    value: {
      "absent: \($0.absentRollingPeriod.rawValue); 0: \($0.zeroRollingPeriod.rawValue); "
        + "short: \($0.shortRollingPeriod.rawValue)"
    },
    apply: .toStatements { reading, context in
      let policy = context.policy
      switch reading.said.rollingPeriod {
      case nil:
        guard policy.absentRollingPeriod == .fullDay else { return .reject(.rollingPeriodAbsent) }
        reading.allow(.rollingPeriodAbsent)
      case 0?:
        guard policy.zeroRollingPeriod == .fullDay else { return .reject(.rollingPeriodZero, value: 0) }
        reading.allow(.rollingPeriodZero)
      case RollingPeriod.fullDay?: break
      case let period? where RollingPeriod.range.contains(period):
        if policy.shortRollingPeriod == .fullDay { reading.allow(.rollingPeriodShort) }
      case let period?:
        return .reject(.rollingPeriodOutOfRange, value: period)
      }
      return .admit
    })
}

extension Reading {
  /// Reads the rolling period as a full day.
  fileprivate mutating func allow(_ allowance: Allowance) {
    said.rollingPeriod = RollingPeriod.fullDay
    allowances.insert(allowance)
  }
}
