package import ExposureKeys

/// What an app gives a phone for daily summaries: weights for each bucket of attenuation, report type and infectiousness.
package struct DailyConfiguration: Hashable, Sendable {
  /// Upper bounds of the buckets immediate, near and medium, in dB.
  package var thresholds = [50, 70, 90]
  package var attenuationWeights = [1.0, 1.0, 1.0, 1.0]
  /// For confirmed test, clinical diagnosis, self-report and recursive.
  package var reportTypeWeights = [1.0, 1.0, 1.0, 1.0]
  /// For standard and high.
  package var infectiousnessWeights = [1.0, 1.0]
  package var minimumWindowScore = 0.0
  /// Days of which there is no summary: those longer ago. 0 keeps all.
  package var daysSinceExposureThreshold = 0

  package init() {}
}

/// A window's score with its factors.
package struct WindowScore: Hashable, Sendable {
  /// Seconds immediate, near, medium and other.
  package var bucketSeconds: [Int]
  package var weightedSeconds: Double
  package var reportTypeWeight: Double
  package var infectiousnessWeight: Double
  package var score: Double

  /// - Parameter includesBounds: whether a bucket has its upper bound, as on Google's and Apple's phones; microG's have not.
  package init(_ window: ExposureWindow, _ configuration: DailyConfiguration, includesBounds: Bool = true) {
    bucketSeconds = [0, 0, 0, 0]
    for scan in window.scans {
      let index = bucket(configuration.thresholds) {
        includesBounds ? scan.typicalAttenuation <= $0 : scan.typicalAttenuation < $0
      }
      bucketSeconds[min(index, 3)] += scan.secondsSinceLastScan
    }
    weightedSeconds = zip(bucketSeconds, configuration.attenuationWeights).reduce(0) { $0 + Double($1.0) * $1.1 }
    reportTypeWeight =
      (1...4).contains(window.reportType) ? configuration.reportTypeWeights[window.reportType - 1] : 0
    infectiousnessWeight =
      switch window.infectiousness {
      case .none: 0
      case .standard: configuration.infectiousnessWeights[0]
      case .high: configuration.infectiousnessWeights[1]
      }
    score = weightedSeconds * reportTypeWeight * infectiousnessWeight
  }
}

/// What the windows of a day come to.
package struct DailySummary: Hashable, Sendable {
  package struct Sums: Hashable, Sendable {
    package var maximum = 0.0
    package var sum = 0.0
    package var weightedSeconds = 0.0

    package init() {}
  }

  package var day: Day
  /// By the number of the report type.
  package var byReportType: [Int: Sums] = [:]

  package init(day: Day) { self.day = day }

  package var total: Sums {
    var total = Sums()
    // In a fixed order, so that sums of fractions are the same in each run.
    for (_, one) in byReportType.sorted(by: { $0.key < $1.key }) {
      total.maximum = max(total.maximum, one.maximum)
      total.sum += one.sum
      total.weightedSeconds += one.weightedSeconds
    }
    return total
  }

  /// - Returns: in order of days.
  package static func summaries(
    of windows: [ExposureWindow], _ configuration: DailyConfiguration, today: Day? = nil, includesBounds: Bool = true
  ) -> [DailySummary] {
    var days: [Day: DailySummary] = [:]
    for window in windows where (1...4).contains(window.reportType) {
      if let today, configuration.daysSinceExposureThreshold > 0,
        today.daysSince1970 - window.day.daysSince1970 > Int64(configuration.daysSinceExposureThreshold)
      {
        continue
      }
      let score = WindowScore(window, configuration, includesBounds: includesBounds)
      var day = days[window.day] ?? DailySummary(day: window.day)
      if score.score >= configuration.minimumWindowScore {
        var sums = day.byReportType[window.reportType] ?? Sums()
        sums.maximum = max(sums.maximum, score.score)
        sums.sum += score.score
        sums.weightedSeconds += score.weightedSeconds
        day.byReportType[window.reportType] = sums
      }
      days[window.day] = day
    }
    return days.values.sorted { $0.day < $1.day }
  }
}
