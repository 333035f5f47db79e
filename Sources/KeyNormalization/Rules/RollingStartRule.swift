import ExposureKeys

extension AdmissionReason {
  package static let rollingStartAbsent = AdmissionReason("rolling-start-absent") { _ in "rolling start absent" }
  package static let rollingStartTooEarly = AdmissionReason("rolling-start-too-early") {
    "rolling start\($0) is before the policy's earliest day"
  }
  package static let rollingStartInFuture = AdmissionReason("rolling-start-in-future") {
    "rolling start\($0) is in the future"
  }
  package static let rollingStartNotMidnight = AdmissionReason("rolling-start-not-midnight") {
    "rolling start\($0) is no midnight (UTC)"
  }
}

extension AdmissionRule {
  static let rollingStart = AdmissionRule(
    documentation: RuleDocumentation(
      name: "rolling-start",
      rule: "The rolling start is stated, is not before the protocol existed, and is not in the future but for the "
        + "tolerance of clocks; some back ends count whole UTC days there. It need not be a midnight, unless the policy "
        + "says so.",
      why:
        "A key cannot be used without it, and one from years ahead would be held for years. Phones of early 2020 and "
        + "keys renewed within a day start at any interval, so a rule of midnights would drop real keys.",
      source: "Google key server, publish validation; DP-3T filters; microG"),
    rejects: [.rollingStartAbsent, .rollingStartTooEarly, .rollingStartInFuture, .rollingStartNotMidnight],
    settings: [
      ReadingSetting(path: "rolling-start.earliest", meaning: "No key starts before this day.", form: .day) {
        .day($0.earliestRollingStart)
      } put: { value, policy in
        if case .day(let day) = value { policy.earliestRollingStart = day }
      },
      .words(
        "rolling-start.latest", \.futureLimit,
        "Up to when a key may start; the tolerance is for by-clock alone. Days are of UTC."),
      .number(
        "rolling-start.future-tolerance", \.futureTolerance, in: 0...288,
        "How far ahead of the clock a rolling start may lie, in ten-minute intervals."),
      .words(
        "rolling-start.of-day", \.startOfDay, "Which intervals may be rolling starts: any, or midnights of UTC."),
    ],
    value: { policy in
      let latest =
        switch policy.futureLimit {
        case .byClock: "now + \(policy.futureTolerance) intervals"
        case .midnightOfToday: "midnight of today"
        case .endOfTomorrow: "the end of tomorrow"
        }
      return "from \(policy.earliestRollingStart) to \(latest)"
        + (policy.startOfDay == .midnight ? "; midnights alone" : "")
    },
    apply: .toStatements { reading, context in
      guard let start = reading.said.rollingStart else { return .reject(.rollingStartAbsent) }
      if Int64(start) < context.rollingStarts.lowerBound { return .reject(.rollingStartTooEarly, value: start) }
      if Int64(start) > context.rollingStarts.upperBound { return .reject(.rollingStartInFuture, value: start) }
      if context.policy.startOfDay == .midnight, Int64(start) % IntervalNumber.intervalsPerDay != 0 {
        return .reject(.rollingStartNotMidnight, value: start)
      }
      return .admit
    })
}
