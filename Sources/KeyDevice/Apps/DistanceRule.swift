internal import ExposureKeys

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The distance behind the attenuations of a window, estimated for each second: NHS COVID-19 since October 2020.
///
/// An unscented Kalman smoother with one state follows the distance; each second counts by the median of the gamma distribution
/// that its mean and variance describe. Source: the app's library, run against it.
package struct DistanceRule: Hashable, Sendable {
  package var infectiousnessWeights = [0, 0.4, 1.0]
  package var threshold = 100.0
  package var keptDays: Int64 = 14

  package init() {}

  // Parameters of the app.
  private static let slope = 0.1270547531082051
  private static let intercept = 4.2309333657856945
  private static let observationNoise = 0.4947614361027773
  private static let processNoise = 0.1 * 0.1
  private static let startMean = 2.0
  private static let startCovariance = 10.0
  /// With alpha 1, beta 0 and kappa 0 the spread is the number of dimensions: state, and both noises.
  private static let spread = 3.0
  private static let weight = 1.0 / 6.0
  /// A window of a day has that many seconds.
  private static let secondLimit = 86_400

  func judge(_ windows: [ExposureWindow], today: Day) -> RiskVerdict {
    var verdict = RiskVerdict()
    var days: [Day: RiskVerdict.DayVerdict] = [:]
    for window in windows {
      let risk = score(of: window.scans)
      let weight = infectiousnessWeights[window.infectiousness.rawValue]
      let isKept = today.daysSince1970 - window.day.daysSince1970 <= keptDays
      verdict.windows.append(
        RiskVerdict.Window(
          day: window.day,
          factors: [ScoreFactor("distance score", risk), ScoreFactor("infectiousness weight", weight)],
          score: isKept ? risk * weight : nil, note: isKept ? nil : "older than \(keptDays) days"))
      guard isKept else { continue }
      // A window is judged by itself; the day shows its worst.
      var day =
        days[window.day]
        ?? RiskVerdict.DayVerdict(
          day: window.day, factors: [ScoreFactor("alarm if a window >=", threshold)], score: 0, isAlarm: false)
      day.score = max(day.score, risk * weight)
      day.isAlarm = day.isAlarm || risk * weight >= threshold
      days[window.day] = day
    }
    verdict.days = days.values.sorted { $0.day < $1.day }
    return verdict
  }

  /// The score of a window's scans, before it is weighted by infectiousness.
  package func score(of scans: [ScanInstance]) -> Double {
    var observations: [Double?] = []
    var time = 0
    for (index, scan) in scans.filter({ $0.secondsSinceLastScan > 0 }).enumerated() {
      // The first stands at 0, however long it is.
      time += index == 0 ? 0 : scan.secondsSinceLastScan
      guard time <= Self.secondLimit else { break }
      while observations.count < time { observations.append(nil) }
      observations.append(scan.minimumAttenuation > 0 ? log(Double(scan.minimumAttenuation)) : nil)
    }
    guard !observations.isEmpty else { return 0 }
    return Self.smooth(Self.filter(observations)).reduce(0) { sum, state in
      let distance = Gamma.median(shape: state.mean * state.mean / state.variance) * state.variance / state.mean
      return sum + min(max(1 / (distance * distance), 0), 1)
    }
  }

  private struct State {
    var mean: Double
    var variance: Double
  }

  private static func filter(_ observations: [Double?]) -> [State] {
    var state = State(mean: startMean, variance: startCovariance)
    return observations.enumerated().map { index, observation in
      let sigma = Sigma(state)
      let points = index == 0 ? sigma.states : sigma.transitions
      let mean = Sigma.mean(points)
      state = State(mean: mean, variance: Sigma.covariance(points, mean, points, mean))
      if let observation {
        let predicted = zip(points, sigma.observationNoises).map { slope * log(abs($0)) + intercept + $1 }
        let expected = Sigma.mean(predicted)
        let cross = Sigma.covariance(points, mean, predicted, expected)
        let gain = cross / Sigma.covariance(predicted, expected, predicted, expected)
        state = State(mean: mean + gain * (observation - expected), variance: state.variance - gain * cross)
      }
      return state
    }
  }

  /// Backwards, by Rauch, Tung and Striebel, with the same points.
  private static func smooth(_ filtered: [State]) -> [State] {
    var smoothed = filtered
    for index in filtered.indices.dropLast().reversed() {
      let state = filtered[index]
      let sigma = Sigma(state)
      let next = sigma.transitions
      let mean = Sigma.mean(next)
      let gain = Sigma.covariance(sigma.states, state.mean, next, mean) / Sigma.covariance(next, mean, next, mean)
      let later = smoothed[index + 1]
      let variance = Sigma.covariance(next, mean, next, mean)
      smoothed[index] = State(
        mean: state.mean + gain * (later.mean - mean),
        variance: state.variance + gain * gain * (later.variance - variance))
    }
    return smoothed
  }

  /// Six points around a state and its noises; a seventh, at the mean, has no weight.
  private struct Sigma {
    let states: [Double]
    let processNoises: [Double]
    let observationNoises: [Double]

    init(_ state: State) {
      let reach = (spread * state.variance).squareRoot()
      let process = (spread * processNoise).squareRoot()
      let observation = (spread * observationNoise).squareRoot()
      states = [state.mean + reach, state.mean, state.mean, state.mean - reach, state.mean, state.mean]
      processNoises = [0, process, 0, 0, -process, 0]
      observationNoises = [0, 0, observation, 0, 0, -observation]
    }

    var transitions: [Double] { zip(states, processNoises).map { abs($0 + $1) } }

    static func mean(_ points: [Double]) -> Double { points.reduce(0) { $0 + weight * $1 } }

    static func covariance(_ left: [Double], _ leftMean: Double, _ right: [Double], _ rightMean: Double) -> Double {
      zip(left, right).reduce(0) { $0 + weight * ($1.0 - leftMean) * ($1.1 - rightMean) }
    }
  }
}

/// The gamma distribution of scale 1.
enum Gamma {
  /// Where the regularised lower incomplete gamma function is one half.
  static func median(shape: Double) -> Double {
    guard shape > 0, shape.isFinite else { return 0 }
    // Wilson and Hilferty's estimate; below it would be too coarse, and the median is near 2^(-1/shape) there.
    let root = 1 - 1 / (9 * shape)
    var low = 0.0
    var high = shape + 1
    var value = shape > 0.4 ? shape * root * root * root : exp(log(0.5 * tgamma(shape + 1)) / shape)
    for _ in 0..<80 {
      let difference = lower(shape, value) - 0.5
      if difference < 0 { low = value } else { high = value }
      let slope = exp((shape - 1) * log(value) - value - lgamma(shape))
      var next = value - difference / slope
      if !(next > low && next < high) { next = (low + high) / 2 }
      if abs(next - value) <= 1e-14 * value { return next }
      value = next
    }
    return value
  }

  /// The regularised lower incomplete gamma function: a series, or a continued fraction right of the mean.
  static func lower(_ shape: Double, _ value: Double) -> Double {
    guard value > 0 else { return 0 }
    let front = exp(shape * log(value) - value - lgamma(shape))
    if value < shape + 1 {
      var term = 1 / shape
      var sum = term
      for step in 1..<10_000 {
        term *= value / (shape + Double(step))
        sum += term
        if term < sum * 1e-16 { break }
      }
      return front * sum
    }
    // Lentz's method.
    let tiny = 1e-300
    var b = value + 1 - shape
    var c = 1 / tiny
    var d = 1 / b
    var fraction = d
    for step in 1..<10_000 {
      let a = -Double(step) * (Double(step) - shape)
      b += 2
      d = a * d + b
      if abs(d) < tiny { d = tiny }
      c = b + a / c
      if abs(c) < tiny { c = tiny }
      d = 1 / d
      fraction *= d * c
      if abs(d * c - 1) < 1e-16 { break }
    }
    return 1 - front * fraction
  }
}

extension SummaryRule {
  /// How much a key of this level counts, whose level is 7 less the days from onset.
  static func distanceFromLevel(_ level: Int) -> Double {
    let distance = (7 - Double(level)) / 2.75
    return exp(-0.5 * distance * distance)
  }
}
