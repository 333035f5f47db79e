package import ExposureKeys

/// Why a phone makes nothing of a key that it has read. The raw value is the stable code for programs; the order is that of the
/// steps in which phones judge.
package enum KeyLoss: String, Codable, Hashable, Sendable, CaseIterable {
  // Is the key usable?
  case noStart = "no-start"
  case negativeStart = "negative-start"
  case rollingPeriod = "rolling-period"
  case transmissionRisk = "transmission-risk"
  case daysSinceOnset = "days-since-onset"
  case recursive
  case revoked
  // Is it met?
  case notSeen = "not-seen"
  case sightingsLost = "sightings-lost"
  // What does the phone tell the app?
  case noWindow = "no-window"
  case noReportType = "no-report-type"
  case notInfectious = "not-infectious"
  case noSummaries = "no-summaries"
  // What does the app make of it?
  case leftOutByApp = "left-out-by-app"
  case belowThreshold = "below-threshold"

  /// The step at which it is lost.
  package var step: DeviceStep {
    switch self {
    case .noStart, .negativeStart, .rollingPeriod, .transmissionRisk, .daysSinceOnset, .recursive, .revoked: .usable
    case .notSeen: .found
    case .sightingsLost: .valid
    case .noWindow: .windows
    case .noReportType, .notInfectious: .judged
    case .noSummaries, .leftOutByApp: .scored
    case .belowThreshold: .alarm
    }
  }

  package var text: String {
    switch self {
    case .noStart: "no rolling start: read as 1970"
    case .negativeStart: "the rolling start is negative: the call fails once the key matches"
    case .rollingPeriod: "a rolling period that the phone does not take"
    case .transmissionRisk: "a transmission risk level outside 0...8: the call fails once the key matches"
    case .daysSinceOnset: "days since onset outside -14...14: the phone ignores the whole file"
    case .recursive: "report type recursive: phones skip such keys"
    case .revoked: "report type revoked: the key takes earlier windows away"
    case .notSeen: "none of its identifiers was seen: the key is valid for other intervals"
    case .sightingsLost: "no sighting counts"
    case .noWindow: "its sightings make no window"
    case .noReportType: "no report type, and the app maps none"
    case .notInfectious: "the app maps its days since onset to not infectious"
    case .noSummaries: "the phone answers no daily summary"
    case .leftOutByApp: "the app leaves its windows out: they are too old, or a filter of the app holds"
    case .belowThreshold: "the score is below the alarm"
    }
  }
}

/// The steps from a file to an alarm, in order.
package enum DeviceStep: String, Codable, Hashable, Sendable, CaseIterable {
  case file
  case readable
  case usable
  case found
  case valid
  case windows
  case judged
  case scored
  case alarm

  package var text: String {
    switch self {
    case .file: "keys in the file"
    case .readable: "readable"
    case .usable: "period and start usable"
    case .found: "identifiers found"
    case .valid: "sightings valid"
    case .windows: "windows"
    case .judged: "infectiousness and report type"
    case .scored: "score"
    case .alarm: "alarm"
    }
  }
}

/// A phone with an app: keys and sightings go in, what the phone counts and whether the app alarms comes out. It keeps nothing.
package struct Phone: Sendable {
  package let model: PhoneModel
  package let now: Instant
  package var receiver = MicroGReceiver()
  /// Whether it has forgotten sightings of more than fourteen days ago, as a phone does and a log does not. Apple's of 2020 asks at
  /// each call.
  package var forgets = false

  package static let keptDays: Int64 = 14

  package init(_ model: PhoneModel, now: Instant) {
    self.model = model
    self.now = now
  }

  /// The key's rolling period as this phone takes it; a loss if the phone does not take the key.
  ///
  /// A period above 144 counts as 144 where the phone would try more identifiers than a day has.
  package func period(of key: ClaimedKey) -> Result<Int, LostKey> {
    guard let start = key.rollingStart else { return .failure(LostKey(.noStart)) }
    let limit = IdentifierCipher.identifierLimit
    let period = key.rollingPeriod.map(Int.init)
    switch model {
    case .google:
      guard start >= 0 else { return .failure(LostKey(.negativeStart)) }
      guard (1...limit).contains(period ?? limit) else { return .failure(LostKey(.rollingPeriod)) }
      guard (0...8).contains(key.transmissionRisk ?? 0) else { return .failure(LostKey(.transmissionRisk)) }
      guard (-14...14).contains(key.daysSinceOnset ?? 0) else { return .failure(LostKey(.daysSinceOnset)) }
      return .success(period ?? limit)
    case .apple2020, .apple:
      guard (0...limit).contains(period ?? 0) else { return .failure(LostKey(.rollingPeriod)) }
      return .success(period == nil || period == 0 ? limit : period ?? limit)
    case .microg:
      guard let period, period > 0 else { return .failure(LostKey(.rollingPeriod)) }
      return .success(min(period, limit))
    }
  }

  /// Why this phone makes nothing of a key whatever was seen of it; `nil` if it may.
  package func unusable(_ key: ClaimedKey) -> KeyLoss? {
    if case .failure(let lost) = period(of: key) { return lost.loss }
    guard model == .google || model == .apple else { return nil }
    return switch key.reportType {
    case 4: .recursive
    case 5: .revoked
    default: nil
    }
  }

  /// A loss, where a result is expected.
  package struct LostKey: Error, Hashable {
    package let loss: KeyLoss

    package init(_ loss: KeyLoss) { self.loss = loss }
  }

  /// The report type that this phone works with, and how infectious the app takes the key's owner for.
  func mapped(_ key: ClaimedKey, _ mapping: KeyMapping) -> (reportType: Int, infectiousness: Infectiousness) {
    // microG reads neither field from the file.
    let reads = model != .microg
    let type = reads ? key.reportType.map(Int.init) ?? 0 : 0
    let onset = reads ? key.daysSinceOnset.map(Int.init) : nil
    return (
      (1...5).contains(type) ? type : mapping.reportTypeWhenMissing, mapping.infectiousness(daysSinceOnset: onset)
    )
  }

  /// What the phone keeps of a key's broadcasts.
  package func receive(_ broadcasts: [Broadcast], of key: ClaimedKey, period: Int) -> Reception {
    let start = Int64(key.rollingStartWord)
    let remembered = remembered(broadcasts)
    var reception =
      switch model {
      case .google, .apple: GoogleReception.receive(remembered, start: start, period: period, aggregates: false)
      case .apple2020: AppleReception.receive(remembered, period: period, now: now).reception
      case .microg: MicroGReception.receive(remembered, start: start, period: period, receiver: receiver)
      }
    reception.lose(.age, broadcasts.count - remembered.count)
    return reception
  }

  private func remembered(_ broadcasts: [Broadcast]) -> [Broadcast] {
    guard forgets else { return broadcasts }
    let first = now.day.daysSince1970 - Self.keptDays
    return broadcasts.filter { $0.seconds.floored(by: 86_400) >= first }
  }

  /// The exposure windows of a key, as an app with this mapping gets them.
  package func windows(
    _ broadcasts: [Broadcast], of key: ClaimedKey, _ mapping: KeyMapping
  ) -> Result<[ExposureWindow], LostKey> {
    if let loss = unusable(key) { return .failure(LostKey(loss)) }
    guard case .success(let period) = self.period(of: key) else { return .failure(LostKey(.rollingPeriod)) }
    let reception = receive(broadcasts, of: key, period: period)
    guard !broadcasts.isEmpty else { return .failure(LostKey(.notSeen)) }
    guard !reception.sightings.isEmpty else { return .failure(LostKey(.sightingsLost)) }
    let (reportType, infectiousness) = mapped(key, mapping)
    guard (1...4).contains(reportType) else { return .failure(LostKey(.noReportType)) }
    guard infectiousness != .none else { return .failure(LostKey(.notInfectious)) }
    switch model {
    case .google, .apple:
      return .success(
        ExposureWindows.google(reception.sightings, reportType: reportType, infectiousness: infectiousness))
    case .microg:
      return .success(
        ExposureWindows.microg(
          MergedExposure.merge(reception.sightings), start: Int64(key.rollingStartWord), reportType: reportType,
          infectiousness: infectiousness))
    case .apple2020: return .failure(LostKey(.noWindow))
    }
  }

  /// The exposures of a key for apps of the first version of the API.
  package func exposures(
    _ broadcasts: [Broadcast], of key: ClaimedKey, _ configuration: FirstConfiguration
  ) -> Result<[FirstExposure], LostKey> {
    let period: Int
    switch self.period(of: key) {
    case .failure(let loss): return .failure(loss)
    case .success(let found): period = found
    }
    guard !broadcasts.isEmpty else { return .failure(LostKey(.notSeen)) }
    let broadcasts = remembered(broadcasts)
    let start = Int64(key.rollingStartWord)
    let risk = Int(key.transmissionRisk ?? 0)
    let exposures: [FirstExposure]
    switch model {
    case .google, .apple:
      let reception = GoogleReception.receive(broadcasts, start: start, period: period, aggregates: true)
      exposures = FirstVersion.google(
        reception.sightings, start: start, transmissionRisk: risk, configuration, now: now)
    case .apple2020:
      let observations = AppleReception.receive(broadcasts, period: period, now: now).observations
      let found = FirstVersion.apple(observations, transmissionRisk: risk, configuration, now: now)
      exposures = found.map { [$0.exposure] } ?? []
    case .microg:
      let reception = MicroGReception.receive(broadcasts, start: start, period: period, receiver: receiver)
      exposures = FirstVersion.microg(
        MergedExposure.merge(reception.sightings), transmissionRisk: risk, configuration, now: now)
    }
    return exposures.isEmpty ? .failure(LostKey(.sightingsLost)) : .success(exposures)
  }

  /// What an app makes of one key alone.
  package func judge(_ broadcasts: [Broadcast], of key: ClaimedKey, _ judgement: AppRules.Judgement) -> KeyLoss? {
    switch judgement {
    case .windows(let mapping, let rule, let asksForSummaries):
      guard model.hasWindows else { return .noWindow }
      let windows: [ExposureWindow]
      switch self.windows(broadcasts, of: key, mapping) {
      case .failure(let lost): return lost.loss
      case .success(let found): windows = found
      }
      if asksForSummaries, model == .microg { return .noSummaries }
      let verdict = rule.judge(windows, today: now.day)
      if verdict.isAlarm { return nil }
      return verdict.windows.allSatisfy { $0.score == nil } ? .leftOutByApp : .belowThreshold
    case .summary(let configuration, let rule):
      let found: [FirstExposure]
      switch exposures(broadcasts, of: key, configuration) {
      case .failure(let lost): return lost.loss
      case .success(let exposures): found = exposures
      }
      let summary = FirstSummary(found)
      let score = rule.score(
        maximum: summary.maximumScore, minutes: summary.bucketSeconds.map { ($0 + 59) / 60 },
        transmissionRisk: Int(key.transmissionRisk ?? 0))
      return rule.isAlarm(score) ? nil : .belowThreshold
    }
  }
}
