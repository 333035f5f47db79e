package import ExposureKeys

/// The settings by which the Corona-Warn-App judges windows, spelled as its servers and its test cases spell them.
package struct CoronaWarnConfiguration: Hashable, Sendable, Codable {
  /// Where the two platforms' apps differ.
  package enum Rounding: String, Hashable, Sendable {
    /// A day's time is rounded to one decimal, half up (since 2.19.1), and encounters of days without a level do not count.
    case android
    case iOS = "ios"
  }

  package struct Range: Hashable, Sendable, Codable {
    package var min: Double
    package var max: Double
    package var minExclusive: Bool?
    package var maxExclusive: Bool?

    package func contains(_ value: Double) -> Bool {
      (minExclusive == true ? value > min : value >= min) && (maxExclusive == true ? value < max : value <= max)
    }
  }

  package struct MinutesFilter: Hashable, Sendable, Codable {
    package var attenuationRange: Range
    package var dropIfMinutesInRange: Range
  }

  package struct LevelFilter: Hashable, Sendable, Codable {
    package var dropIfTrlInRange: Range
  }

  package struct AttenuationWeight: Hashable, Sendable, Codable {
    package var attenuationRange: Range
    package var weight: Double
  }

  package struct TimeLevel: Hashable, Sendable, Codable {
    package var normalizedTimeRange: Range
    /// 1 low, 2 high.
    package var riskLevel: Int
  }

  package struct LevelEncoding: Hashable, Sendable, Codable {
    package var infectiousnessOffsetStandard: Int
    package var infectiousnessOffsetHigh: Int
    package var reportTypeOffsetRecursive: Int
    package var reportTypeOffsetSelfReport: Int
    package var reportTypeOffsetConfirmedClinicalDiagnosis: Int
    package var reportTypeOffsetConfirmedTest: Int

    func offset(ofReportType type: Int) -> Int {
      switch type {
      case 1: reportTypeOffsetConfirmedTest
      case 2: reportTypeOffsetConfirmedClinicalDiagnosis
      case 3: reportTypeOffsetSelfReport
      case 4: reportTypeOffsetRecursive
      // iOS; Android's app throws.
      default: 0
      }
    }
  }

  package struct LevelValue: Hashable, Sendable, Codable {
    package var transmissionRiskLevel: Int
    package var transmissionRiskValue: Double
  }

  package var minutesAtAttenuationFilters: [MinutesFilter]
  package var trlFilters: [LevelFilter]
  package var minutesAtAttenuationWeights: [AttenuationWeight]
  package var normalizedTimePerEWToRiskLevelMapping: [TimeLevel]
  package var normalizedTimePerDayToRiskLevelMapping: [TimeLevel]
  package var trlEncoding: LevelEncoding
  /// Since 1.15; before, a level's value is a multiple of it.
  package var transmissionRiskValueMapping: [LevelValue]?
  package var transmissionRiskLevelMultiplier: Double?
  package var keptDays: Int64? = 10

  /// A window's level and times; `nil` if a filter leaves it out.
  package struct Result: Hashable, Sendable {
    package var transmissionRisk: Int
    package var value: Double
    package var weightedMinutes: Double
    package var normalized: Double
    package var level: Int
  }

  package enum Outcome: Hashable, Sendable {
    case result(Result)
    case dropped(String)
  }

  package func outcome(of window: ExposureWindow) -> Outcome {
    for filter in minutesAtAttenuationFilters {
      let seconds = window.scans.reduce(0) { sum, scan in
        let isInside = filter.attenuationRange.contains(Double(scan.minimumAttenuation))
        return sum + (isInside ? max(scan.secondsSinceLastScan, 0) : 0)
      }
      if filter.dropIfMinutesInRange.contains(Double(seconds / 60)) {
        return .dropped("\(seconds / 60) whole minutes near are too few")
      }
    }
    let infectiousness =
      window.infectiousness == .high ? trlEncoding.infectiousnessOffsetHigh : trlEncoding.infectiousnessOffsetStandard
    let level = infectiousness + trlEncoding.offset(ofReportType: window.reportType)
    if trlFilters.contains(where: { $0.dropIfTrlInRange.contains(Double(level)) }) {
      return .dropped("transmission risk level \(level) is left out")
    }
    let value =
      if let values = transmissionRiskValueMapping {
        values.first { $0.transmissionRiskLevel == level }?.transmissionRiskValue ?? 0
      } else {
        Double(level) * (transmissionRiskLevelMultiplier ?? 0)
      }
    let seconds = window.scans.reduce(0.0) { sum, scan in
      let weight = minutesAtAttenuationWeights.first { $0.attenuationRange.contains(Double(scan.minimumAttenuation)) }
      return sum + Double(max(scan.secondsSinceLastScan, 0)) * (weight?.weight ?? 0)
    }
    let normalized = value * (seconds / 60)
    guard let found = Self.level(of: normalized, normalizedTimePerEWToRiskLevelMapping) else {
      return .dropped("no level is defined for this time")
    }
    return .result(
      Result(
        transmissionRisk: level, value: value, weightedMinutes: seconds / 60, normalized: normalized, level: found))
  }

  private static func level(of time: Double, _ levels: [TimeLevel]) -> Int? {
    levels.first { $0.normalizedTimeRange.contains(time) }?.riskLevel
  }

  /// A day's level, and how many encounters it counts of each.
  package struct DayResult: Hashable, Sendable {
    package var normalized: Double
    package var level: Int?
    package var lowEncounters: Int
    package var highEncounters: Int
  }

  package func days(_ windows: [ExposureWindow], _ rounding: Rounding) -> [Day: DayResult] {
    var results: [Day: [(ExposureWindow, Result)]] = [:]
    for window in windows {
      if case .result(let result) = outcome(of: window) { results[window.day, default: []].append((window, result)) }
    }
    return results.mapValues { results in
      var time = results.reduce(0) { $0 + $1.1.normalized }
      if rounding == .android { time = (time * 10 + 0.5).rounded(.down) / 10 }
      func encounters(_ level: Int) -> Int {
        Set(results.filter { $0.1.level == level }.map { [$0.1.transmissionRisk, $0.0.confidence] }).count
      }
      return DayResult(
        normalized: time, level: Self.level(of: time, normalizedTimePerDayToRiskLevelMapping),
        lowEncounters: encounters(1), highEncounters: encounters(2))
    }
  }

  func judge(_ windows: [ExposureWindow], _ rounding: Rounding, today: Day) -> RiskVerdict {
    let kept = keptDays ?? 10
    func isKept(_ window: ExposureWindow) -> Bool { today.daysSince1970 - window.day.daysSince1970 <= kept }
    var verdict = RiskVerdict()
    for window in windows {
      guard isKept(window) else {
        verdict.windows.append(.init(day: window.day, score: nil, note: "older than \(kept) days"))
        continue
      }
      switch outcome(of: window) {
      case .dropped(let reason): verdict.windows.append(.init(day: window.day, score: nil, note: reason))
      case .result(let result):
        verdict.windows.append(
          .init(
            day: window.day,
            factors: [
              ScoreFactor("transmission risk level", Double(result.transmissionRisk)),
              ScoreFactor("value", result.value), ScoreFactor("weighted minutes", result.weightedMinutes),
            ], score: result.normalized, note: result.level == 2 ? "high" : "low"))
      }
    }
    verdict.days = days(windows.filter(isKept), rounding).sorted { $0.key < $1.key }.map { day, result in
      RiskVerdict.DayVerdict(
        day: day,
        factors: [
          ScoreFactor("low encounters", Double(result.lowEncounters)),
          ScoreFactor("high encounters", Double(result.highEncounters)),
        ], score: result.normalized, isAlarm: result.level == 2,
        note: result.level.map { $0 == 2 ? "high" : "low" } ?? "no level")
    }
    return verdict
  }

  /// The values since 1.15.
  package static let second = CoronaWarnConfiguration(
    minutesAtAttenuationFilters: [], trlFilters: [], minutesAtAttenuationWeights: usualWeights,
    normalizedTimePerEWToRiskLevelMapping: [
      TimeLevel(normalizedTimeRange: Range(min: 0, max: 9, maxExclusive: true), riskLevel: 1),
      TimeLevel(normalizedTimeRange: Range(min: 9, max: 9999), riskLevel: 2),
    ],
    normalizedTimePerDayToRiskLevelMapping: [
      TimeLevel(normalizedTimeRange: Range(min: 5, max: 9, maxExclusive: true), riskLevel: 1),
      TimeLevel(normalizedTimeRange: Range(min: 9, max: 9999), riskLevel: 2),
    ],
    trlEncoding: usualEncoding,
    transmissionRiskValueMapping: [0, 0, 0.6, 0.8, 1, 1.2, 1.4, 1.6].enumerated().map {
      LevelValue(transmissionRiskLevel: $0 + 1, transmissionRiskValue: $1)
    })

  /// The values of 1.9 to 1.14.
  package static let first = CoronaWarnConfiguration(
    minutesAtAttenuationFilters: [
      MinutesFilter(
        attenuationRange: Range(min: 0, max: 79, maxExclusive: true),
        dropIfMinutesInRange: Range(min: 0, max: 5, maxExclusive: true))
    ], trlFilters: [LevelFilter(dropIfTrlInRange: Range(min: 1, max: 2))], minutesAtAttenuationWeights: usualWeights,
    normalizedTimePerEWToRiskLevelMapping: [
      TimeLevel(normalizedTimeRange: Range(min: 0, max: 13, maxExclusive: true), riskLevel: 1),
      TimeLevel(normalizedTimeRange: Range(min: 13, max: 9999), riskLevel: 2),
    ],
    normalizedTimePerDayToRiskLevelMapping: [
      TimeLevel(normalizedTimeRange: Range(min: 0, max: 13, maxExclusive: true), riskLevel: 1),
      TimeLevel(normalizedTimeRange: Range(min: 13, max: 99_999), riskLevel: 2),
    ], trlEncoding: usualEncoding, transmissionRiskLevelMultiplier: 0.2)

  private static let usualWeights = [
    AttenuationWeight(attenuationRange: Range(min: 0, max: 63, maxExclusive: true), weight: 0.8),
    AttenuationWeight(attenuationRange: Range(min: 63, max: 73, maxExclusive: true), weight: 1),
    AttenuationWeight(attenuationRange: Range(min: 73, max: 79, maxExclusive: true), weight: 0.1),
  ]

  private static let usualEncoding = LevelEncoding(
    infectiousnessOffsetStandard: 1, infectiousnessOffsetHigh: 2, reportTypeOffsetRecursive: 0,
    reportTypeOffsetSelfReport: 2, reportTypeOffsetConfirmedClinicalDiagnosis: 4, reportTypeOffsetConfirmedTest: 6)
}
