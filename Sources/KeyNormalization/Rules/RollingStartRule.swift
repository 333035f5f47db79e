import ExposureKeys

extension AdmissionRule {
  static let rollingStart = AdmissionRule(
    documentation: RuleDocumentation(
      name: "rolling-start",
      rule: "The rolling start is stated, is not before the protocol existed, and is not in the future but for the "
        + "tolerance of clocks. It need not be a midnight.",
      why:
        "A key cannot be used without it, and one from years ahead would be held for years. Phones of early 2020 and "
        + "keys renewed within a day start at any interval, so a rule of midnights would drop real keys.",
      source: "Google key server, publish validation; DP-3T filters; microG",
      outcome: "reject: rolling-start-absent, rolling-start-too-early, rolling-start-in-future"),
    value: { "from \($0.earliestRollingStart) to now + \($0.futureTolerance) intervals" },
    apply: .toStatements { reading, context in
      guard let start = reading.said.rollingStart else { return .reject(.rollingStartAbsent) }
      if Int64(start) < context.rollingStarts.lowerBound { return .reject(.rollingStartTooEarly, value: start) }
      if Int64(start) > context.rollingStarts.upperBound { return .reject(.rollingStartInFuture, value: start) }
      return .admit
    })
}
