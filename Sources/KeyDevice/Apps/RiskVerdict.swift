package import ExposureKeys

/// One factor of a score, as it is shown.
package struct ScoreFactor: Hashable, Sendable, Encodable {
  package var name: String
  package var value: Double

  package init(_ name: String, _ value: Double) {
    self.name = name
    self.value = value
  }
}

/// What an app makes of windows.
package struct RiskVerdict: Hashable, Sendable {
  /// What it makes of one window.
  package struct Window: Hashable, Sendable {
    package var day: Day
    package var factors: [ScoreFactor] = []
    /// `nil` if a rule leaves the window out.
    package var score: Double?
    /// The rule that leaves it out, or the level that it has.
    package var note: String?
  }

  package struct DayVerdict: Hashable, Sendable {
    package var day: Day
    package var factors: [ScoreFactor] = []
    package var score: Double
    package var isAlarm: Bool
    package var note: String?
  }

  /// In the order of the windows that were given.
  package var windows: [Window] = []
  /// In order of days.
  package var days: [DayVerdict] = []
  package var isAlarm: Bool { days.contains(where: \.isAlarm) }
}

/// How an app judges the windows of a phone.
package enum WindowRule: Hashable, Sendable {
  case coronaWarn(CoronaWarnConfiguration, rounding: CoronaWarnConfiguration.Rounding)
  case minutesADay(MinuteRule)
  /// An alarm if a day's sum of scores is above this, or from it on.
  case dailySum(DailyConfiguration, alarm: ThresholdTest)
  case conditions(DailyConfiguration, ConditionRule)
  case classes(DailyConfiguration, [ExposureClass])
  case smoothedDistance(DistanceRule)

  /// - Parameters:
  ///   - today: windows from before the days that the app keeps are left out.
  package func judge(_ windows: [ExposureWindow], today: Day) -> RiskVerdict {
    switch self {
    case .coronaWarn(let configuration, let rounding): configuration.judge(windows, rounding, today: today)
    case .minutesADay(let rule): rule.judge(windows, today: today)
    case .dailySum(let configuration, let alarm): Self.dailySum(windows, configuration, alarm, today: today)
    case .conditions(let configuration, let rule): rule.judge(windows, configuration, today: today)
    case .classes(let configuration, let classes): ExposureClass.judge(windows, configuration, classes, today: today)
    case .smoothedDistance(let rule): rule.judge(windows, today: today)
    }
  }

  private static func dailySum(
    _ windows: [ExposureWindow], _ configuration: DailyConfiguration, _ alarm: ThresholdTest, today: Day
  ) -> RiskVerdict {
    var verdict = RiskVerdict(windows: windows.map { window(of: $0, configuration) })
    verdict.days = DailySummary.summaries(of: windows, configuration, today: today).map { day in
      RiskVerdict.DayVerdict(
        day: day.day,
        factors: [
          ScoreFactor("maximum", day.total.maximum), ScoreFactor("weighted seconds", day.total.weightedSeconds),
          ScoreFactor(alarm.name, alarm.value),
        ],
        score: day.total.sum, isAlarm: alarm.holds(for: day.total.sum))
    }
    return verdict
  }

  /// A window's score by the platform's formula, factor by factor.
  static func window(of window: ExposureWindow, _ configuration: DailyConfiguration) -> RiskVerdict.Window {
    let score = WindowScore(window, configuration)
    let names = ["immediate", "near", "medium", "other"]
    var factors = zip(names, zip(score.bucketSeconds, configuration.attenuationWeights)).flatMap { name, part in
      part.0 == 0 ? [] : [ScoreFactor("\(name) seconds", Double(part.0)), ScoreFactor("weight", part.1)]
    }
    factors += [
      ScoreFactor("weighted seconds", score.weightedSeconds), ScoreFactor("report type weight", score.reportTypeWeight),
      ScoreFactor("infectiousness weight", score.infectiousnessWeight),
    ]
    let isCounted = (1...4).contains(window.reportType) && score.score >= configuration.minimumWindowScore
    return RiskVerdict.Window(
      day: window.day, factors: factors, score: isCounted ? score.score : nil,
      note: !(1...4).contains(window.reportType)
        ? "report type \(window.reportType) counts in no summary"
        : isCounted ? nil : "below the minimum window score of \(configuration.minimumWindowScore)")
  }
}

/// A comparison with a number.
package struct ThresholdTest: Hashable, Sendable {
  package enum Operation: String, Hashable, Sendable {
    case equal = "="
    case atLeast = ">="
    case above = ">"
    case atMost = "<="
    case below = "<"
    case always = "NOP"
    /// What no app knows never holds.
    case unknown
  }

  package var operation: Operation
  package var value: Double

  package init(_ operation: Operation, _ value: Double) {
    self.operation = operation
    self.value = value
  }

  package func holds(for number: Double) -> Bool {
    switch operation {
    case .equal: number == value
    case .atLeast: number >= value
    case .above: number > value
    case .atMost: number <= value
    case .below: number < value
    case .always: true
    case .unknown: false
    }
  }

  var name: String { "alarm if \(operation.rawValue)" }
}

/// Minutes of two buckets of a day, each rounded up: SwissCovid and other apps of DP-3T.
package struct MinuteRule: Hashable, Sendable {
  /// Upper bounds in dB, themselves outside.
  package var thresholds = [55, 63]
  package var weights = [1.0, 0.5]
  package var minutes = 15.0
  /// How many days before today count.
  package var keptDays: Int64 = 10

  package init() {}

  package func minutes(ofSeconds seconds: [Int]) -> Double {
    zip(seconds, weights).reduce(0) { $0 + Double(($1.0 + 59) / 60) * $1.1 }
  }

  func seconds(of window: ExposureWindow) -> [Int] {
    var seconds = [0, 0, 0]
    for scan in window.scans {
      seconds[min(bucket(thresholds) { scan.typicalAttenuation < $0 }, 2)] += scan.secondsSinceLastScan
    }
    return seconds
  }

  func judge(_ windows: [ExposureWindow], today: Day) -> RiskVerdict {
    var verdict = RiskVerdict()
    var days: [Day: [Int]] = [:]
    for window in windows {
      let seconds = seconds(of: window)
      let isKept = today.daysSince1970 - window.day.daysSince1970 <= keptDays
      verdict.windows.append(
        RiskVerdict.Window(
          day: window.day,
          factors: zip(["near seconds", "medium seconds", "far seconds"], seconds).map { ScoreFactor($0, Double($1)) },
          score: isKept ? minutes(ofSeconds: seconds) : nil, note: isKept ? nil : "older than \(keptDays) days"))
      if isKept { days[window.day, default: [0, 0, 0]] = zip(days[window.day, default: [0, 0, 0]], seconds).map(+) }
    }
    verdict.days = days.sorted { $0.key < $1.key }.map { day, seconds in
      let score = minutes(ofSeconds: seconds)
      return RiskVerdict.DayVerdict(
        day: day,
        factors: [
          ScoreFactor("near minutes, rounded up", Double((seconds[0] + 59) / 60)), ScoreFactor("weight", weights[0]),
          ScoreFactor("medium minutes, rounded up", Double((seconds[1] + 59) / 60)), ScoreFactor("weight", weights[1]),
          ScoreFactor("alarm if >=", minutes),
        ], score: score, isAlarm: score >= minutes)
    }
    return verdict
  }
}

/// Conditions that a day must fulfil all: COCOA.
package struct ConditionRule: Hashable, Sendable {
  package var scoreSum = ThresholdTest(.always, 0)
  package var weightedDurationAverage = ThresholdTest(.always, 0)
  package var seconds = ThresholdTest(.always, 0)
  package var typicalMaximum = ThresholdTest(.always, 0)
  package var typicalMinimum = ThresholdTest(.always, 0)
  package var keptDays: Int64 = 15

  package init() {}

  /// - Parameter scans: those of the day's windows.
  package func isHigh(scoreSum: Double, weightedSum: Double, scans: [ScanInstance]) -> Bool {
    let total = scans.reduce(0) { $0 + $1.secondsSinceLastScan }
    let tests: [(ThresholdTest, Double)] = [
      (self.scoreSum, scoreSum), (weightedDurationAverage, total > 0 ? weightedSum / Double(total) : 0),
      (seconds, Double(total)), (typicalMaximum, Double(scans.map(\.typicalAttenuation).max() ?? 0)),
      (typicalMinimum, Double(scans.map(\.typicalAttenuation).min() ?? 0)),
    ]
    // Without a condition nothing is high.
    return !tests.allSatisfy { $0.0.operation == .always } && tests.allSatisfy { $0.0.holds(for: $0.1) }
  }

  func judge(_ windows: [ExposureWindow], _ configuration: DailyConfiguration, today: Day) -> RiskVerdict {
    var verdict = RiskVerdict(windows: windows.map { WindowRule.window(of: $0, configuration) })
    for day in DailySummary.summaries(of: windows, configuration, today: today)
    where today.daysSince1970 - day.day.daysSince1970 <= keptDays {
      let scans = windows.filter { $0.day == day.day }.flatMap(\.scans)
      let total = day.total
      verdict.days.append(
        RiskVerdict.DayVerdict(
          day: day.day,
          factors: [
            ScoreFactor("score sum \(scoreSum.operation.rawValue)", scoreSum.value),
            ScoreFactor("seconds", Double(scans.reduce(0) { $0 + $1.secondsSinceLastScan })),
            ScoreFactor("seconds \(seconds.operation.rawValue)", seconds.value),
          ], score: total.sum,
          isAlarm: isHigh(scoreSum: total.sum, weightedSum: total.weightedSeconds, scans: scans)))
    }
    return verdict
  }
}

/// A class of EN Express: it applies if any of its thresholds but 0 is reached, in seconds.
package struct ExposureClass: Hashable, Sendable {
  package var number: Int
  /// By report type, 1 to 4.
  package var sumByReportType: [Int: Double] = [:]
  package var perDaySum = 0.0
  package var perDayMaximum = 0.0
  package var weightedDuration = 0.0

  package init(number: Int) { self.number = number }

  package func applies(to day: DailySummary) -> Bool {
    func isReached(_ threshold: Double, _ value: Double) -> Bool { threshold != 0 && value >= threshold }
    let total = day.total
    return sumByReportType.contains { isReached($0.value, day.byReportType[$0.key]?.sum ?? 0) }
      || isReached(perDaySum, total.sum) || isReached(perDayMaximum, total.maximum)
      || isReached(weightedDuration, total.weightedSeconds)
  }

  static func judge(
    _ windows: [ExposureWindow], _ configuration: DailyConfiguration, _ classes: [ExposureClass], today: Day
  ) -> RiskVerdict {
    var verdict = RiskVerdict(windows: windows.map { WindowRule.window(of: $0, configuration) })
    let ordered = classes.sorted { $0.number < $1.number }
    verdict.days = DailySummary.summaries(of: windows, configuration, today: today).map { day in
      let found = ordered.first { $0.applies(to: day) }
      return RiskVerdict.DayVerdict(
        day: day.day,
        factors: [
          ScoreFactor("maximum", day.total.maximum), ScoreFactor("weighted seconds", day.total.weightedSeconds),
        ], score: day.total.sum, isAlarm: found != nil, note: found.map { "class \($0.number)" })
    }
    return verdict
  }
}
