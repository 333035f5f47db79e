package import ExposureKeys

/// What is published of all that was admitted, and in which form.
package struct PublishingPolicy: Hashable, Sendable {
  package enum PeriodPreference: String, Hashable, Sendable, CaseIterable { case widest, narrowest }
  package enum RiskPreference: String, Hashable, Sendable, CaseIterable { case highest, lowest }

  package enum SymptomPreference: String, Hashable, Sendable, CaseIterable {
    /// A known onset before a span of days (the shorter first), an unknown onset, no symptoms, and an unknown status.
    case mostPrecise = "most-precise"
    /// The day nearest to its reference day, whatever the class.
    case nearestDay = "nearest-day"
  }

  /// What becomes of a report type.
  package enum ReportTypeOutcome: Hashable, Sendable {
    case publish(as: ReportType)
    case leaveOut
  }

  /// What apps are told of the onset of one class of symptom status.
  package enum OnsetForApps: Hashable, Sendable {
    /// The exact onset as it is known; no other class has one.
    case asSent
    case days(DayOffset)
    case none
  }

  /// A field of a key in an app's bundle that can be left out.
  package enum AppField: String, Hashable, Sendable, CaseIterable {
    case reportType = "report-type"
    case risk
    case onset
  }

  package enum EmptyVisited: String, Hashable, Sendable, CaseIterable { case all, none, origin }

  /// How risk levels are spelled for apps.
  package typealias RiskEncoding = ReadingPolicy.RiskEncoding

  // Which of one origin's claims of equal report type gives a field. Between origins no policy has a choice: the widest
  // period, the weightiest report type, the highest risk level, the most infectious onset.
  package var rollingPeriodPreference: PeriodPreference = .widest
  package var riskPreference: RiskPreference = .highest
  package var symptomPreference: SymptomPreference = .mostPrecise

  /// The origins whose word, proved by their own signature, decides alone about the keys that they claim.
  package var precedence: Set<String> = []

  /// Minutes after the latest expiry that anybody states until a key may go out, 120...2880.
  package var holdMinutes: Int = 120
  /// A key goes out at the first multiple of so many minutes, counted from midnight (UTC), after that time; `nil` is at once.
  package var holdToNextMinutes: Int? = nil
  /// A key is too old this many days after its expiry, 1...36500.
  package var maximumAgeDays: Int = 14
  /// Publish every rolling period as 144, for devices that refuse shorter ones. The key is held accordingly longer.
  package var expandsShortPeriods = false

  /// What becomes of each report type. `unknown` stands for a claim that states none.
  package var reportTypes: [ReportType: ReportTypeOutcome] = Self.asSent
  package var risk = RiskPolicy()
  /// What becomes of the report types of these origins, over ``reportTypes``: each by its name, in capitals.
  package var reportTypesByOrigin: [String: [ReportType: ReportTypeOutcome]] = [:]
  /// For apps: the days since onset of keys that state no exact onset, -14...14.
  package var defaultDaysSinceOnset: DayOffset? = nil
  /// For apps: the days since onset of the keys of a class, over ``defaultDaysSinceOnset``.
  package var daysSinceOnsetByClass: [SymptomClass: OnsetForApps] = [:]
  /// What apps are not told, whatever is known. A revocation keeps its report type.
  package var withheldFromApps: Set<AppField> = []

  /// Where a key goes that names no visited region.
  package var emptyVisited: EmptyVisited = .all
  /// Whether it makes no difference which regions a key names: each goes everywhere.
  package var ignoresVisited = false
  /// Whether a key goes to its origin as well.
  package var includesOrigin = true
  /// How apps are told the risk level.
  package var riskEncoding: RiskEncoding = .plain

  /// The default policy.
  package init() {}

  /// Two hours are what clocks may differ by, so that nobody can use a key that is published.
  package static let holdMinutesAllowed = 120...2880
  package static let maximumAgeDaysAllowed = 1...36_500

  /// No policy holds a key longer than until then, whatever is said of it.
  static func latestRelease(of subject: KeySubject) -> Instant {
    let expiry = IntervalNumber(Int64(subject.rollingStart) + IntervalNumber.intervalsPerDay).start
    return Instant(secondsSince1970: expiry.secondsSince1970 + Int64(holdMinutesAllowed.upperBound + 1440) * 60)
  }

  /// Never less than two hours, whatever the policy says.
  var effectiveHoldMinutes: Int { max(holdMinutes, Self.holdMinutesAllowed.lowerBound) }

  /// When a key may go out whose latest expiry is at this instant.
  func release(after expiry: Instant) -> Instant { release.instant(after: expiry) }

  /// When keys go out, in seconds.
  struct Release {
    let hold: Int64
    /// The next multiple of this is waited for, where it is not 0.
    let step: Int64

    @inline(__always)
    func instant(after expiry: Instant) -> Instant {
      let earliest = expiry.secondsSince1970 + hold
      return Instant(secondsSince1970: step == 0 ? earliest : earliest - earliest % step + step)
    }
  }

  /// The hours since 1970, each by its end, in which the latest expiry of a key lies that goes out after one instant, and not
  /// after another; perhaps one or some more.
  package func expiryHours(ofReleasesAfter start: Instant, until end: Instant) -> ClosedRange<Int64> {
    func hour(_ instant: Instant, less seconds: Int64) -> Int64 {
      let (time, isOver) = instant.secondsSince1970.subtractingReportingOverflow(seconds)
      if isOver { return .min / 3600 }
      return time / 3600 - (time % 3600 < 0 ? 1 : 0)
    }
    let first = hour(start, less: release.hold + release.step) + 1
    return first...max(first, hour(end, less: release.hold) + 1)
  }

  var release: Release {
    Release(hold: Int64(effectiveHoldMinutes) * 60, step: Int64(max(0, holdToNextMinutes ?? 0)) * 60)
  }

  /// What becomes of a report type that this origin states; the lost origin has no name.
  func outcome(of type: ReportType, from origin: String?) -> ReportTypeOutcome {
    origin.flatMap { reportTypesByOrigin[$0]?[type] } ?? reportTypes[type] ?? .leaveOut
  }

  /// The days since onset that apps are told of this symptom status.
  func daysSinceOnsetForApps(_ status: SymptomStatus?) -> Int32? {
    switch daysSinceOnsetByClass[SymptomClass(status)] {
    case .days(let offset): Int32(offset.days)
    case .none?: nil
    case .asSent: status?.daysSinceOnsetForApps
    case nil: status?.daysSinceOnsetForApps ?? defaultDaysSinceOnset.map { Int32($0.days) }
    }
  }

  static let asSent: [ReportType: ReportTypeOutcome] = Dictionary(
    uniqueKeysWithValues: ReportType.allCases.map { ($0, $0.usualOutcome) })
}

extension ReportType {
  /// What becomes of it where a policy says nothing else.
  fileprivate var usualOutcome: PublishingPolicy.ReportTypeOutcome {
    switch self {
    case .unknown, .confirmedTest, .confirmedClinicalDiagnosis, .selfReport, .revoked: .publish(as: self)
    case .recursive: .leaveOut
    }
  }
}

/// How the published transmission risk level comes about.
package struct RiskPolicy: Hashable, Sendable {
  package enum Derivation: Hashable, Sendable {
    case asSent
    /// From the published report type.
    case fromReportType([ReportType: Int32], replacing: Replacement)
    /// From the symptom status, which takes precedence over what was sent.
    case fromSymptoms(SymptomTable)
  }

  /// Which sent levels a level from the report type replaces.
  package enum Replacement: String, Hashable, Sendable, CaseIterable {
    case always
    case absent
    case absentOrZero = "absent-or-zero"
  }

  package var derivation: Derivation = .asSent
  /// The level of a key that has none by the above, 0...8.
  package var fallback: Int32? = nil
  /// Higher levels are lowered to this one: iOS accepts 0...7.
  package var cap: Int32? = nil
  /// Keys below this level are left out.
  package var minimum: Int32? = nil

  package init() {}

  package static let allowed = TransmissionRisk.range
}
