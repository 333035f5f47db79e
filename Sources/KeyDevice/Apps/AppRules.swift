/// An app's way to an alarm: what it tells the phone, and what it makes of the answer.
///
/// Each is an entry of ``all``, with the source that its numbers are from. None of them is decided by a name elsewhere.
package struct AppRules: Sendable {
  package enum Judgement: Hashable, Sendable {
    /// - Parameter asksForSummaries: whether the phone adds up the days, rather than the app.
    case windows(KeyMapping, WindowRule, asksForSummaries: Bool = false)
    case summary(FirstConfiguration, SummaryRule)
  }

  /// How it is asked for: `--app NAME`.
  package let name: String
  package let summary: String
  package let judgement: Judgement
  /// Where the numbers are from, and how far they were compared with the app.
  package let source: String

  package static func named(_ name: String) -> AppRules? { all.first { $0.name == name } }

  package static let all: [AppRules] = [
    AppRules(
      name: "cwa-android", summary: "Corona-Warn-App since 1.15, Android",
      judgement: .windows(.coronaWarn, .coronaWarn(.second, rounding: .android)),
      source: "the app's code and its own test cases; days are rounded to one decimal since 2.19.1"),
    AppRules(
      name: "cwa-ios", summary: "Corona-Warn-App since 1.15, iOS",
      judgement: .windows(.coronaWarn, .coronaWarn(.second, rounding: .iOS)),
      source: "the app's code and its own test cases; days are not rounded"),
    AppRules(
      name: "cwa-1.9", summary: "Corona-Warn-App 1.9 to 1.14",
      judgement: .windows(.coronaWarn, .coronaWarn(.first, rounding: .iOS)),
      source: "the server's settings and the app's code"),
    AppRules(
      name: "cwa-1.0", summary: "Corona-Warn-App 1.0 to 1.6",
      judgement: .summary(.coronaWarn, .coronaWarn), source: "the server's settings and the app's code"),
    AppRules(
      name: "swisscovid", summary: "SwissCovid 2 and other apps of DP-3T",
      judgement: .windows(.always(.high), .minutesADay(MinuteRule())),
      source: "the kit's defaults and the apps' own tests"),
    AppRules(
      name: "immuni", summary: "Immuni", judgement: .summary(.immuni, .maximumScore(20)),
      source: "the app's code; remote settings replaced these defaults"),
    AppRules(
      name: "coronamelder", summary: "CoronaMelder 2",
      judgement: .windows(.always(.standard), .dailySum(.coronaMelder, alarm: ThresholdTest(.above, 900))),
      source: "the app's code and tests; the threshold was a remote setting, and 900 s near are assumed"),
    AppRules(
      name: "nhs", summary: "NHS COVID-19 since October 2020",
      judgement: .windows(.nhs, .smoothedDistance(DistanceRule())), source: "run against the app's library"),
    AppRules(
      name: "nhs-1", summary: "NHS COVID-19, September to December 2020",
      judgement: .summary(.buckets([55, 63]), .weightedSeconds(threshold: 120)), source: "the app's code"),
    AppRules(
      name: "cocoa", summary: "COCOA 2",
      judgement: .windows(.cocoa, .conditions(.cocoa, .cocoa), asksForSummaries: true),
      source: "the app's code and its server's live files"),
  ]
}

/// How an app judges the summary of a call of the first version.
package enum SummaryRule: Hashable, Sendable {
  case maximumScore(Int)
  /// The maximum score times weighted minutes: Corona-Warn-App 1.0 to 1.6.
  case coronaWarn
  /// Weighted seconds, less for each level below 7: NHS COVID-19 of 2020.
  case weightedSeconds(threshold: Double)

  /// - Parameters:
  ///   - minutes: near, medium and far.
  ///   - transmissionRisk: the key's level.
  package func score(maximum: Int, minutes: [Int], transmissionRisk: Int) -> Double {
    switch self {
    case .maximumScore: return Double(maximum)
    case .coronaWarn:
      let weighted = zip(minutes, [1.0, 0.5, 0]).reduce(0) { $0 + Double(min($1.0, 30)) * $1.1 }
      return (Double(maximum) / 50 * weighted * 100 + 0.5).rounded(.down) / 100
    case .weightedSeconds:
      return Self.distanceFromLevel(transmissionRisk)
        * zip(minutes, [1.0, 0.5, 0]).reduce(0) { $0 + Double($1.0) * 60 * $1.1 }
    }
  }

  package func isAlarm(_ score: Double) -> Bool {
    switch self {
    case .maximumScore(let threshold): score >= Double(threshold)
    case .coronaWarn: score >= 15
    case .weightedSeconds(let threshold): score >= threshold
    }
  }
}

extension KeyMapping {
  package static func always(_ infectiousness: Infectiousness) -> KeyMapping {
    KeyMapping(
      days: Array(repeating: infectiousness, count: 29), whenOnsetMissing: infectiousness, reportTypeWhenMissing: 1)
  }

  /// - Parameter days: ranges of days since onset; others are not infectious.
  static func by(
    standard: [ClosedRange<Int>], high: ClosedRange<Int>, whenOnsetMissing: Infectiousness
  ) -> KeyMapping {
    KeyMapping(
      days: (-14...14).map { day in
        high.contains(day) ? .high : standard.contains { $0.contains(day) } ? .standard : .none
      }, whenOnsetMissing: whenOnsetMissing, reportTypeWhenMissing: 1)
  }

  /// The server puts risk levels into the days: odd ones are standard, even ones high.
  static let coronaWarn = KeyMapping(
    days: (-14...14).map { $0 % 2 == 0 ? .high : .standard }, whenOnsetMissing: .standard, reportTypeWhenMissing: 1)
  static let nhs = by(standard: [-5...(-3), 4...9], high: -2...3, whenOnsetMissing: .high)
  static let cocoa = by(standard: [], high: -3...10, whenOnsetMissing: .high)
}

extension DailyConfiguration {
  static let coronaMelder = {
    var configuration = DailyConfiguration()
    configuration.thresholds = [56, 62, 70]
    configuration.attenuationWeights = [2, 1, 0.5, 0]
    configuration.infectiousnessWeights = [1, 2]
    return configuration
  }()

  static let cocoa = {
    var configuration = DailyConfiguration()
    configuration.thresholds = [46, 60, 65]
    configuration.attenuationWeights = [1, 2.5, 1.3, 0.01]
    return configuration
  }()
}

extension ConditionRule {
  static let cocoa = {
    var rule = ConditionRule()
    rule.scoreSum = ThresholdTest(.atLeast, 1350)
    rule.seconds = ThresholdTest(.atLeast, 900)
    return rule
  }()
}

extension FirstConfiguration {
  static let immuni = {
    var configuration = FirstConfiguration()
    configuration.attenuation = [0, 0, 5, 5, 5, 5, 5, 5]
    configuration.duration = [0, 0, 0, 0, 5, 5, 5, 5]
    configuration.minimumScore = 1
    configuration.thresholds = [50, 70]
    return configuration
  }()

  static let coronaWarn = {
    var configuration = FirstConfiguration()
    configuration.attenuation = [0, 2, 2, 2, 2, 2, 2, 2]
    configuration.days = [Int](repeating: 5, count: 8)
    configuration.duration = [0, 0, 0, 1, 1, 1, 1, 1]
    configuration.transmission = [0, 0, 3, 4, 5, 6, 7, 8]
    configuration.thresholds = [55, 63]
    return configuration
  }()

  static func buckets(_ thresholds: [Int]) -> FirstConfiguration {
    var configuration = FirstConfiguration()
    configuration.thresholds = thresholds
    return configuration
  }
}
