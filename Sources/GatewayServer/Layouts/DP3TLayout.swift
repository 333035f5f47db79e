import ExposureKeys
import KeyPublishing

/// The layout of the DP-3T backends, for apps with their SDK. Every answer is a signed response.
///
/// First generation, one archive for each day of exposure:
/// - `/v1/gaen/exposed/{date}?publishedafter=`: the newest archive of the keys that began to be used on the day that begins
///   at this midnight, in milliseconds since 1970: everything about them that has been received so far, whenever it was
///   published. The address points to another archive when such a key is published, so it is kept for a short time alone;
///   each archive has a name of its own. 204 when nothing was published after `publishedafter`; 404 when the date is no
///   midnight, in the future, or long past. `x-published-until` is the end of the archive. The series has to make archives
///   by key day (`rollups: [key-day]`): a day of publication would make apps add up minutes of several days.
/// - `/v1/gaen/buckets/{day}`: the addresses of a day (`2020-12-01`).
///
/// Second generation, one archive a visit:
/// - `/v2/gaen/exposed?lastKeyBundleTag=&withFederationGateway=`: what was published after the tag. Tags are ends of
///   windows in milliseconds. An app keeps its tag for ever, also when its server has changed, so any number is a tag and
///   stands for the last end before it; without one, 14 days ago. 204 when there is nothing new. An answer is one archive,
///   so it is the smallest one that begins with the first increment after the tag and reaches furthest: that increment
///   alone, a bundle since an earlier midnight, or the roll-up of a day. `x-key-bundle-tag` is its end; an app that asks
///   again with it gets what is behind. With `rollups: [since]` a new app has everything after a visit or two.
/// - `withFederationGateway` chooses between the national and the federated series.
///
/// `/v1/config` is what the app's server for configurations says. Below `/dp3t/{series}` the same addresses answer for
/// any series, with or without federation.
package struct DP3TLayout: Layout {
  package static let name = "dp3t"
  package static let title = "DP-3T apps"
  package static let summary = "a bundle a day or since a tag, signed answers: DP-3T"
  package static var templates: [String] { Address.allCases.map(\.rawValue) }
  package static let parameters: [QueryParameter] = [.lastKeyBundleTag, .publishedafter, .withFederationGateway]

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
  package init(_ settings: LayoutSettings) {
    self.init(
      national: settings.server.defaultSeries, federated: settings.server.travelSeries,
      application: settings.dp3tApplication)
  }

  package init(
    national: String? = nil, federated: String? = nil,
    application: DP3TApplicationSettings = DP3TApplicationSettings()
  ) {
    self.national = national
    self.federated = federated ?? national
    self.application = application
  }

  package func addresses(of series: String) -> [ConfiguredAddress] {
    [.init("Bucket and config address", "dp3t/\(series)")]
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
        buckets(values[1], of: found, prefix: "/dp3t/\(PercentEncoding.encode(found.manifest.series))", request)
      }
    case .bundle:
      switch request.query[.withFederationGateway]?.lowercased() {
      case nil, "", "false": return series(national) { bundle(of: $0, request) }
      case "true": return series(federated) { bundle(of: $0, request) }
      default: return .invalid("withFederationGateway is allowed true, false")
      }
    case .seriesBundle: return series(values[0]) { bundle(of: $0, request) }
    case .configuration: return .json(application)
    case .seriesConfiguration: return publications.knows(values[0]) ? .json(application) : .noSeries(publications)
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
    // Nobody has seen what will be published. A time of the future is one of a clock that was wrong, ours or the phone's,
    // and who has it may lack what came since.
    let seen = after > request.now.secondsSince1970 * 1000 ? 0 : after
    let day = Day(daysSince1970: milliseconds / (secondsPerDay * 1000))
    // A phone whose clock is a little ahead asks for tomorrow at midnight, and must not fail for it.
    guard day.daysSince1970 <= request.now.day.daysSince1970 + 1 else { return .missing("the date is in the future") }
    guard !series.keyDays.isEmpty || series.increments.isEmpty else {
      return .missing("this series makes no archives by the keys' own day; rollups: [key-day] makes them")
    }
    let archive = series.keyDay(day)
    if archive == nil, day.daysSince1970 < request.now.day.daysSince1970 - Self.retentionDays {
      return .missing("the date is more than \(Self.retentionDays) days ago")
    }
    // A key of any day can still come, so nothing is kept for long.
    guard let archive, archive.facts.end * 1000 > seen else {
      return LayoutAnswer(.nothing, cache: .list, headers: [("x-published-until", String(seen))])
    }
    return LayoutAnswer(
      .archive(archive), cache: .list, headers: [("x-published-until", String(archive.facts.end * 1000))])
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
    let urls = series.keyDay(day) == nil ? [] : ["\(prefix)/v1/gaen/exposed/\(milliseconds)"]
    return .json(Buckets(day: day.description, dayTimestamp: milliseconds, relativeUrls: urls))
  }

  // MARK: Second generation

  private func bundle(of series: PublishedSeries, _ request: LayoutRequest) -> LayoutAnswer {
    let now = request.now.secondsSince1970
    let period = max(series.manifest.period, 1)
    let oldest = (now - Self.retentionDays * secondsPerDay) / period * period
    guard var tag = request.count(.lastKeyBundleTag, absent: oldest * 1000) else {
      return .invalid("lastKeyBundleTag is milliseconds since 1970, allowed 0...\(Int64.max)")
    }
    // A tag of the future was given when our clock was wrong, and its phone may lack what came since: it begins anew.
    if tag > now * 1000 { tag = oldest * 1000 }
    guard
      let first = series.listedIncrements.filter({ $0.facts.end * 1000 > tag })
        .min(by: { $0.facts.end < $1.facts.end })
    else {
      return LayoutAnswer(.nothing, headers: [("x-key-bundle-tag", String(series.end(before: tag)))])
    }
    let best = series.furthest(from: first)
    return LayoutAnswer(.archive(best), headers: [("x-key-bundle-tag", String(best.facts.end * 1000))])
  }
}

extension PublishedSeries {
  /// The newest archive of the keys of a day.
  fileprivate func keyDay(_ day: Day) -> PublishedBundle? { keyDays.last { $0.facts.isListed && $0.day == day } }

  /// The last end of a window that is not behind the tag, in milliseconds. The parts of a window that was split end a
  /// second after one another, so not every end is a multiple of the period.
  fileprivate func end(before tag: Int64) -> Int64 {
    let grid = max(manifest.period, 1) * 1000
    let ends = [increments, days, since].joined().map { $0.facts.end * 1000 }.filter { $0 <= tag }
    return max(tag - tag % grid, ends.max() ?? 0)
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
  /// What else the operator tells: texts, locations of tests.
  package var others: [String: JSONValue] = [:]

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

    fileprivate init(_ members: [String: JSONValue], _ place: String) throws(DP3TConfigurationFault) {
      let known = ["lowerThreshold", "higherThreshold", "factorLow", "factorHigh", "triggerThreshold"]
      if let name = members.keys.sorted().first(where: { !known.contains($0) }) {
        throw DP3TConfigurationFault(reason: "\(place).\(name) is no member, allowed \(known.joined(separator: ", "))")
      }
      func number(_ name: String, _ normally: Double, _ allowed: ClosedRange<Double>) throws(DP3TConfigurationFault)
        -> Double
      {
        guard let value = members[name] else { return normally }
        guard let number = value.number, allowed.contains(number) else {
          throw DP3TConfigurationFault(
            reason: "\(place).\(name): allowed a number \(Int(allowed.lowerBound))...\(Int(allowed.upperBound))")
        }
        return number
      }
      func whole(_ name: String, _ normally: Int, _ allowed: ClosedRange<Double>) throws(DP3TConfigurationFault) -> Int
      {
        guard let whole = Int(exactly: try number(name, Double(normally), allowed)) else {
          throw DP3TConfigurationFault(reason: "\(place).\(name): allowed a whole number")
        }
        return whole
      }
      lowerThreshold = try whole("lowerThreshold", lowerThreshold, 0...255)
      higherThreshold = try whole("higherThreshold", higherThreshold, 0...255)
      factorLow = try number("factorLow", factorLow, 0...100)
      factorHigh = try number("factorHigh", factorHigh, 0...100)
      triggerThreshold = try whole("triggerThreshold", triggerThreshold, 0...1440)
      guard lowerThreshold < higherThreshold else {
        throw DP3TConfigurationFault(reason: "\(place): lowerThreshold is not below higherThreshold")
      }
    }
  }

  package init() {}

  /// What an operator states; the rest is as in the defaults.
  package init(json: [UInt8]) throws(DP3TConfigurationFault) {
    guard var members = JSONValue.parse(json)?.object else {
      throw DP3TConfigurationFault(reason: "the document is not a JSON object")
    }
    if let value = members.removeValue(forKey: "forceUpdate") {
      guard let flag = value.bool else { throw DP3TConfigurationFault(reason: "forceUpdate: allowed true, false") }
      forceUpdate = flag
    }
    if let value = members.removeValue(forKey: "interOpsCountries") {
      guard let values = value.array, case let codes = values.compactMap(\.string), codes.count == values.count else {
        throw DP3TConfigurationFault(reason: "interOpsCountries: allowed an array of codes")
      }
      interOpsCountries = codes
    }
    iOSGaenSdkConfig = try Self.thresholds("iOSGaenSdkConfig", &members)
    androidGaenSdkConfig = try Self.thresholds("androidGaenSdkConfig", &members)
    others = members
  }

  private static func thresholds(
    _ name: String, _ members: inout [String: JSONValue]
  ) throws(DP3TConfigurationFault) -> Thresholds {
    guard let value = members.removeValue(forKey: name) else { return Thresholds() }
    guard let object = value.object else { throw DP3TConfigurationFault(reason: "\(name): allowed an object") }
    return try Thresholds(object, name)
  }

  private struct Name: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Name.self)
    for (name, value) in others { try container.encode(value, forKey: Name(stringValue: name)) }
    try container.encode(forceUpdate, forKey: Name(stringValue: "forceUpdate"))
    try container.encode(iOSGaenSdkConfig, forKey: Name(stringValue: "iOSGaenSdkConfig"))
    try container.encode(androidGaenSdkConfig, forKey: Name(stringValue: "androidGaenSdkConfig"))
    try container.encode(interOpsCountries, forKey: Name(stringValue: "interOpsCountries"))
  }
}

/// What is wrong with a configuration for DP-3T's apps.
package struct DP3TConfigurationFault: Error, Hashable, Sendable, CustomStringConvertible {
  package var reason: String
  package var description: String { reason }
}

extension QueryParameter {
  static let lastKeyBundleTag = QueryParameter("lastKeyBundleTag")
  static let publishedafter = QueryParameter("publishedafter")
  static let withFederationGateway = QueryParameter("withFederationGateway")
}
