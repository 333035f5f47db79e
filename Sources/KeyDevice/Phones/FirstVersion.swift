package import ExposureKeys

/// What an app gives a phone for the first version of the API: tables of eight scores, and where attenuations are divided.
package struct FirstConfiguration: Hashable, Sendable {
  package var minimumScore = 0
  /// The score of each level, the first for more than 73 dB, the last for 10 dB and less.
  package var attenuation = [Int](repeating: 1, count: 8)
  /// The first for 14 days and more, the last for today and yesterday.
  package var days = [Int](repeating: 1, count: 8)
  /// The first for 0 minutes, the last for more than 30.
  package var duration = [Int](repeating: 1, count: 8)
  package var transmission = [Int](repeating: 1, count: 8)
  /// Where near becomes medium, and medium far.
  package var thresholds = [50, 74]

  package init() {}

  static let attenuationBounds = [73, 63, 51, 33, 27, 15, 10]
  static let dayBounds = [14, 12, 10, 8, 6, 4, 2]
  static let minuteBounds = [0, 5, 10, 15, 20, 25, 30]

  func attenuationScore(_ decibels: Int) -> Int { attenuation[bucket(Self.attenuationBounds) { decibels > $0 }] }
  func dayScore(_ days: Int64) -> Int { self.days[bucket(Self.dayBounds) { days >= Int64($0) }] }
  func durationScore(_ minutes: Double) -> Int { duration[bucket(Self.minuteBounds) { minutes <= Double($0) }] }
}

/// One exposure of the first version, with the factors of its score.
package struct FirstExposure: Hashable, Sendable, Encodable {
  package var seconds: Int
  /// In dB; on Apple's platform the mean of the levels' scores.
  package var attenuation: Int
  /// Seconds near, medium and far.
  package var bucketSeconds: [Int]
  package var attenuationScore: Int
  package var dayScore: Int
  package var durationScore: Int
  package var transmissionScore: Int
  package var score: Int
}

/// What the exposures of one key, or of several, come to.
package struct FirstSummary: Hashable, Sendable, Encodable {
  package var exposures: [FirstExposure] = []
  package var maximumScore: Int { exposures.map(\.score).max() ?? 0 }
  package var totalScore: Int { exposures.reduce(0) { $0 + $1.score } }
  /// Seconds near, medium and far.
  package var bucketSeconds: [Int] {
    exposures.reduce(into: [0, 0, 0]) { sums, one in
      for (index, part) in one.bucketSeconds.enumerated() { sums[index] += part }
    }
  }

  package init(_ exposures: [FirstExposure] = []) { self.exposures = exposures }
}

package enum FirstVersion {
  /// Google's exposure records: sightings with gaps of ten minutes at most.
  static func google(
    _ sightings: [ValidSighting], start: Int64, transmissionRisk: Int, _ configuration: FirstConfiguration, now: Instant
  ) -> [FirstExposure] {
    var exposures: [FirstExposure] = []
    var index = 0
    while index < sightings.count {
      var end = index + 1
      while end < sightings.count, sightings[end].seconds - sightings[end - 1].seconds <= 600 { end += 1 }
      let group = sightings[index..<end]
      index = end
      guard let first = group.first, let last = group.last else { continue }
      // A margin of half a scan's distance at both ends; the whole to five minutes, remainders to the half down.
      let estimate = Int(last.seconds - first.seconds) + 300
      let remainder = estimate % 300
      let seconds = remainder <= 150 ? estimate - remainder : estimate + 300 - remainder
      let points =
        [(first.seconds - 150, first.attenuation)] + group.map { ($0.seconds, $0.attenuation) }
        + [(last.seconds + 150, last.attenuation)]
      var parts: [(attenuation: Int, seconds: Int)] = []
      var previous = points[0]
      for point in points where point.0 != previous.0 {
        parts.append((previous.1, Int(point.0 - previous.0)))
        previous = point
      }
      let total = parts.reduce(0) { $0 + $1.seconds }
      let mean = Double(parts.reduce(0) { $0 + $1.attenuation * $1.seconds }) / Double(max(total, 1))
      let near = parts.filter { $0.attenuation < configuration.thresholds[0] }.reduce(0) { $0 + $1.seconds }
      let far = parts.filter { $0.attenuation >= configuration.thresholds[1] }.reduce(0) { $0 + $1.seconds }
      exposures.append(
        exposure(
          seconds: seconds, attenuation: roundedHalfUp(mean), bucketSeconds: [near, total - near - far, far],
          days: (now.secondsSince1970 - start * 600).floored(by: 86_400), minutes: Double(seconds / 60),
          transmission: transmissionRisk == 0
            ? 1 : configuration.transmission[min(max(transmissionRisk, 1), 8) - 1], configuration))
    }
    return exposures
  }

  /// microG's merged exposures.
  static func microg(
    _ merged: [MergedExposure], transmissionRisk: Int, _ configuration: FirstConfiguration, now: Instant
  ) -> [FirstExposure] {
    merged.map { one in
      let total = one.parts.reduce(0) { $0 + $1.durationMilliseconds }
      let weighted = one.parts.reduce(0) { $0 + Int64($1.attenuation) * $1.durationMilliseconds }
      let attenuation = total == 0 ? one.parts.first?.attenuation ?? 0 : Int(weighted / total)
      func minutes(_ isInside: (Int) -> Bool) -> Int {
        Int(one.parts.filter { isInside($0.attenuation) }.reduce(0) { $0 + $1.durationMilliseconds } / 60_000)
      }
      let (near, far) = (configuration.thresholds[0], configuration.thresholds[1])
      let now = now.secondsSince1970 * 1000
      return exposure(
        seconds: 60 * Int(total / 60_000), attenuation: attenuation,
        bucketSeconds: [
          60 * minutes { $0 < near }, 60 * minutes { near <= $0 && $0 < far }, 60 * minutes { $0 >= far },
        ],
        days: (now - one.milliseconds).floored(by: 86_400_000), minutes: Double(total / 60_000),
        transmission: (1...8).contains(transmissionRisk) ? configuration.transmission[transmissionRisk - 1] : 1,
        configuration)
    }
  }

  private static func exposure(
    seconds: Int, attenuation: Int, bucketSeconds: [Int], days: Int64, minutes: Double, transmission: Int,
    _ configuration: FirstConfiguration
  ) -> FirstExposure {
    var exposure = FirstExposure(
      seconds: seconds, attenuation: attenuation, bucketSeconds: bucketSeconds,
      attenuationScore: configuration.attenuationScore(attenuation), dayScore: configuration.dayScore(days),
      durationScore: configuration.durationScore(minutes), transmissionScore: transmission, score: 0)
    let score =
      exposure.attenuationScore * exposure.dayScore * exposure.durationScore * exposure.transmissionScore
    exposure.score = score < configuration.minimumScore ? 0 : score
    return exposure
  }

  /// Apple's exposure information of July 2020: one for a key and a call, without gaps.
  ///
  /// The attenuation's score is a mean of the levels' scores by their time, from which levels of score 0 are left out; this mean
  /// is what the framework calls attenuation value.
  static func apple(
    _ observations: [AppleReception.Observation], transmissionRisk: Int, _ configuration: FirstConfiguration,
    now: Instant
  ) -> AppleExposure? {
    guard let first = observations.map(\.seconds).min() else { return nil }
    let day = first.floored(by: 86_400)
    let bounds = configuration.thresholds + [Int](repeating: 255, count: max(0, 4 - configuration.thresholds.count))
    var durations = [0, 0, 0, 0]
    var levels = [Int](repeating: 0, count: 8)
    for one in observations {
      durations[min(bucket(bounds) { one.attenuation <= $0 }, 3)] += Int(one.scanInterval)
      levels[7 - min(bucket([10, 15, 27, 33, 51, 63, 73, 255]) { one.attenuation <= $0 }, 7)] += Int(one.scanInterval)
    }
    let used = zip(levels, configuration.attenuation).filter { $0 * $1 > 0 }
    let time = used.reduce(0) { $0 + $1.0 }
    let value =
      time == 0 ? 0 : roundedHalfUp(Double(used.reduce(0) { $0 + $1.0 * $1.1 }) / Double(time))
    let seconds = min(observations.reduce(0) { $0 + Int($1.scanInterval) }, 65_535)
    let days = max(0, now.secondsSince1970 - day * 86_400).floored(by: 86_400)
    var exposure = FirstExposure(
      seconds: seconds, attenuation: value, bucketSeconds: durations.prefix(3).map { min($0, 65_535) },
      attenuationScore: value, dayScore: configuration.dayScore(days),
      durationScore: configuration.durationScore(Double(seconds) / 60),
      transmissionScore: configuration.transmission[min(max(transmissionRisk, 0), 7)], score: 0)
    let full =
      exposure.attenuationScore * exposure.dayScore * exposure.durationScore * exposure.transmissionScore
    exposure.score = min(full, 255)
    return AppleExposure(day: Day(daysSince1970: day), durations: durations, exposure: exposure, fullScore: full)
  }
}

/// What Apple's framework of July 2020 reports of a key.
package struct AppleExposure: Hashable, Sendable {
  package var day: Day
  /// Seconds up to the first threshold, the second, 255 dB, and beyond.
  package var durations: [Int]
  package var exposure: FirstExposure
  /// The score without its bound of 255.
  package var fullScore: Int

  /// What an app is told: whole minutes rounded up, at most 30, in seconds.
  package var reportedSeconds: [Int] {
    ([exposure.seconds] + durations.prefix(3)).map { min((($0 + 59) / 60) * 60, 1800) }
  }
}
