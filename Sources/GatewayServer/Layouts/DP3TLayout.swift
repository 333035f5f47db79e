import ExposureKeys
import KeyPublishing

/// The layout of the DP-3T backends, for apps with their SDK. Every answer is a signed response.
///
/// First generation, one archive a day:
/// - `/v1/gaen/exposed/{date}?publishedafter=`: the roll-up of the day that begins at this midnight, in milliseconds
///   since 1970. It grows during the day. 204 when nothing was published after `publishedafter`; 404 when the date is
///   no midnight, in the future, or long past. `x-published-until` is its end. The parts of a roll-up that was split
///   come one after the other.
/// - `/v1/gaen/buckets/{day}`: the addresses of a day (`2020-12-01`).
///
/// Second generation, one archive a visit:
/// - `/v2/gaen/exposed?lastKeyBundleTag=&withFederationGateway=`: what was published after the tag. Tags are ends of
///   windows in milliseconds: 400 for other numbers, 404 for one in the future, and 14 days ago where none is given.
///   204 when there is nothing new. An answer is one archive, so it is the smallest one that begins with the first
///   increment after the tag and reaches furthest: that increment alone, a bundle since an earlier midnight, or the
///   roll-up of a day. `x-key-bundle-tag` is its end; an app that asks again with it gets what is behind.
/// - `withFederationGateway` chooses between the national and the federated series.
///
/// `/v1/config` is what the app's server for configurations says. Below `/dp3t/{series}` the same addresses answer for
/// any series, with or without federation.
package struct DP3TLayout: Layout {
  package static let name = "dp3t"

  enum Address: String, AddressTemplates {
    case day = "/v1/gaen/exposed/{date}"
    case buckets = "/v1/gaen/buckets/{day}"
    case bundle = "/v2/gaen/exposed"
    case configuration = "/v1/config"
    case seriesDay = "/dp3t/{series}/v1/gaen/exposed/{date}"
    case seriesBuckets = "/dp3t/{series}/v1/gaen/buckets/{day}"
    case seriesBundle = "/dp3t/{series}/v2/gaen/exposed"
    case seriesConfiguration = "/dp3t/{series}/v1/config"
  }

  private static let addresses = AddressTable<Address>()
  /// Days that an app asks for.
  private static let retentionDays: Int64 = 14

  private let national: String?
  private let federated: String?
  private let application: DP3TApplicationSettings

  /// - Parameters:
  ///   - national: the series without federation, and of the first generation; `nil` is the default series.
  ///   - federated: the series with federation; `nil` is the national one.
  ///   - application: what the configuration tells apps.
  package init(
    national: String? = nil, federated: String? = nil,
    application: DP3TApplicationSettings = DP3TApplicationSettings()
  ) {
    self.national = national
    self.federated = federated ?? national
    self.application = application
  }

  package func answer(_ request: LayoutRequest, from publications: Publications) -> LayoutAnswer? {
    guard let (address, values) = Self.addresses.match(request.path) else { return nil }
    var answer = unsigned(address, values, request, publications)
    answer.isSignedResponse = true
    return answer
  }

  private func unsigned(
    _ address: Address, _ values: [String], _ request: LayoutRequest, _ publications: Publications
  ) -> LayoutAnswer {
    func series(_ name: String?, _ answer: (PublishedSeries) -> LayoutAnswer) -> LayoutAnswer {
      publications[name].map(answer) ?? .noSeries(publications)
    }
    switch address {
    case .day: return series(national) { day(values[0], of: $0, request) }
    case .seriesDay: return series(values[0]) { day(values[1], of: $0, request) }
    case .buckets: return series(national) { buckets(values[0], of: $0, prefix: "", request) }
    case .seriesBuckets:
      return series(values[0]) { found in
        buckets(values[1], of: found, prefix: "/dp3t/\(addressSegment(found.manifest.series))", request)
      }
    case .bundle:
      switch request.query[.withFederationGateway]?.lowercased() {
      case nil, "", "false": return series(national) { bundle(of: $0, request) }
      case "true": return series(federated) { bundle(of: $0, request) }
      default: return .invalid("withFederationGateway is allowed true, false")
      }
    case .seriesBundle: return series(values[0]) { bundle(of: $0, request) }
    case .configuration, .seriesConfiguration: return .json(application)
    }
  }

  // MARK: First generation

  private func day(_ text: String, of series: PublishedSeries, _ request: LayoutRequest) -> LayoutAnswer {
    guard let milliseconds = decimal(text), milliseconds % (secondsPerDay * 1000) == 0 else {
      return .missing("a date is a midnight in milliseconds since 1970")
    }
    guard let after = request.count(.publishedafter, absent: 0) else {
      return .invalid("publishedafter is milliseconds since 1970, allowed 0...\(Int64.max)")
    }
    let day = Day(daysSince1970: milliseconds / (secondsPerDay * 1000))
    guard day <= request.now.day else { return .missing("the date is in the future") }
    let rollUps = series.rollUps(of: day)
    if rollUps.isEmpty, day.daysSince1970 < request.now.day.daysSince1970 - Self.retentionDays {
      return .missing("the date is more than \(Self.retentionDays) days ago")
    }
    let cache: LayoutAnswer.Cache = series.isOver(day) ? .seconds(Int(secondsPerDay)) : .list
    guard let new = rollUps.first(where: { $0.facts.end * 1000 > after }) else {
      return LayoutAnswer(.nothing, cache: cache, headers: [("x-published-until", String(after))])
    }
    return LayoutAnswer(.archive(new), cache: cache, headers: [("x-published-until", String(new.facts.end * 1000))])
  }

  private struct Buckets: Encodable {
    let day: String
    let dayTimestamp: Int64
    let relativeUrls: [String]
  }

  private func buckets(
    _ text: String, of series: PublishedSeries, prefix: String, _ request: LayoutRequest
  ) -> LayoutAnswer {
    guard let day = Day(text) else { return .missing("a day is yyyy-MM-dd") }
    guard day <= request.now.day else { return .missing("the day is in the future") }
    let milliseconds = day.start.secondsSince1970 * 1000
    let urls = series.rollUps(of: day).isEmpty ? [] : ["\(prefix)/v1/gaen/exposed/\(milliseconds)"]
    return .json(Buckets(day: day.description, dayTimestamp: milliseconds, relativeUrls: urls))
  }

  // MARK: Second generation

  private func bundle(of series: PublishedSeries, _ request: LayoutRequest) -> LayoutAnswer {
    let now = request.now.secondsSince1970
    let period = max(series.manifest.period, 1)
    let oldest = (now - Self.retentionDays * secondsPerDay) / period * period
    guard let tag = request.count(.lastKeyBundleTag, absent: oldest * 1000) else {
      return .invalid("lastKeyBundleTag is milliseconds since 1970, allowed 0...\(Int64.max)")
    }
    guard tag <= now * 1000 else { return .missing("lastKeyBundleTag is in the future") }
    guard tag % (period * 1000) == 0 || series.hasEnd(atMilliseconds: tag) else {
      return .invalid("lastKeyBundleTag is the end of a window: a multiple of \(period * 1000)")
    }
    guard let first = series.listedIncrements.first(where: { $0.facts.end * 1000 > tag }) else {
      return LayoutAnswer(.nothing, headers: [("x-key-bundle-tag", String(tag))])
    }
    let best = series.furthest(from: first)
    return LayoutAnswer(.archive(best), headers: [("x-key-bundle-tag", String(best.facts.end * 1000))])
  }
}

extension PublishedSeries {
  /// The ends of the parts of a window that was split stand a second apart, so not every end is a multiple of the
  /// period.
  fileprivate func hasEnd(atMilliseconds milliseconds: Int64) -> Bool {
    [increments, days, since].joined().contains { $0.facts.end * 1000 == milliseconds }
  }

  /// The listed bundle that has this increment and reaches furthest, and of those the smallest. A roll-up that was split
  /// has it in one of its parts, nobody knows in which.
  fileprivate func furthest(from increment: PublishedBundle) -> PublishedBundle {
    let whole = [days, since].flatMap { rollUps in
      Dictionary(grouping: rollUps.filter(\.facts.isListed), by: \.facts.start).values
        .compactMap { $0.count == 1 ? $0[0] : nil }
    }
    let reaching = whole.filter { bundle in
      bundle.facts.start <= increment.facts.start && bundle.facts.end > increment.facts.end
    }
    return reaching.max { left, right in
      (left.facts.end, -left.facts.bytes) < (right.facts.end, -right.facts.bytes)
    } ?? increment
  }
}

/// What the configuration of the DP-3T layout tells apps. Its members are those of the Swiss server.
package struct DP3TApplicationSettings: Hashable, Sendable, Encodable {
  /// Whether the app must be updated before it works on.
  package var forceUpdate = false
  package var iOSGaenSdkConfig = Thresholds()
  package var androidGaenSdkConfig = Thresholds()
  /// ISO 3166-1 alpha-2 codes of the countries whose keys are federated.
  package var interOpsCountries: [String] = []

  /// A day counts as an exposure when `minutesBelowLower * factorLow + minutesBetween * factorHigh` reaches the
  /// trigger.
  package struct Thresholds: Hashable, Sendable, Encodable {
    /// Attenuations in dB, 0...255.
    package var lowerThreshold = 55
    package var higherThreshold = 63
    package var factorLow = 1.0
    package var factorHigh = 0.5
    /// Minutes.
    package var triggerThreshold = 15

    package init() {}
  }

  package init() {}
}
