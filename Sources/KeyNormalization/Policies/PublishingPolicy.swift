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
  /// A key is too old this many days after its expiry, 1...36500.
  package var maximumAgeDays: Int = 14
  /// Publish every rolling period as 144, for devices that refuse shorter ones. The key is held accordingly longer.
  package var expandsShortPeriods = false

  /// What becomes of each report type. `unknown` stands for a claim that states none.
  package var reportTypes: [ReportType: ReportTypeOutcome] = Self.asSent
  package var risk = RiskPolicy()
  /// For apps: the days since onset of keys that state no exact onset, -14...14.
  package var defaultDaysSinceOnset: DayOffset? = nil

  /// Where a key goes that names no visited region.
  package var emptyVisited: EmptyVisited = .all
  /// Whether a key goes to its origin as well.
  package var includesOrigin = true
  /// How apps are told the risk level.
  package var riskEncoding: RiskEncoding = .plain

  /// The default policy.
  package init() {}

  /// Two hours are what clocks may differ by, so that nobody can use a key that is published.
  package static let holdMinutesAllowed = 120...2880
  package static let maximumAgeDaysAllowed = 1...36_500

  /// Never less than two hours, whatever the policy says.
  var effectiveHoldMinutes: Int { max(holdMinutes, Self.holdMinutesAllowed.lowerBound) }

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

/// Risk levels by class of symptom status and day.
package struct SymptomTable: Hashable, Sendable {
  package enum Entry: Hashable, Sendable {
    case level(Int32)
    case leaveOut
  }

  /// One class: what holds for -14...14, in this order; `nil` where the table says nothing.
  package struct Days: Hashable, Sendable {
    var entries: [Entry?]

    package init(all entry: Entry? = nil) { entries = Array(repeating: entry, count: DayOffset.allowed.count) }

    package subscript(offset: DayOffset) -> Entry? {
      get { entries[Int(offset.days) - DayOffset.allowed.lowerBound] }
      set { entries[Int(offset.days) - DayOffset.allowed.lowerBound] = newValue }
    }
  }

  package var onset = Days()
  package var onsetInRange = Days()
  package var onsetUnknown = Days()
  package var asymptomatic = Days()
  package var statusUnknown = Days()
  /// What holds for a key of which nothing is known; `nil` keeps what was sent.
  package var notGiven: Entry? = nil
  /// What holds for given days that the table does not name.
  package var otherwise: Entry = .level(1)

  package init() {}

  /// What the table says; `nil` is to keep what was sent.
  package subscript(status: SymptomStatus?) -> Entry? {
    switch status {
    case .onset(let offset): onset[offset] ?? otherwise
    case .onsetInRange(_, let offset): onsetInRange[offset] ?? otherwise
    case .onsetUnknown(let offset): onsetUnknown[offset] ?? otherwise
    case .asymptomatic(let offset): asymptomatic[offset] ?? otherwise
    case .statusUnknown(let offset): statusUnknown[offset] ?? otherwise
    case .notProvided, .undefined, nil: notGiven
    }
  }
}
