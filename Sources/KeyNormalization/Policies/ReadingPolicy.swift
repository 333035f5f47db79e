package import ExposureKeys

/// How the claims of one source are read and which of them are admitted. A value: regions and peers differ by what
/// stands here, never by a branch on a country code.
package struct ReadingPolicy: Hashable, Sendable {
  /// What happens to a value that a rule does not accept as it stands.
  package enum Leniency: String, Hashable, Sendable, CaseIterable {
    case reject
    /// Read as if the sender had not given the field.
    case notGiven = "not-given"
  }

  /// What an absent or zero rolling period means.
  package enum PeriodReading: String, Hashable, Sendable, CaseIterable {
    case fullDay = "full-day"
    case reject
  }

  /// What a rolling period of 1...143 means.
  package enum ShortPeriodReading: String, Hashable, Sendable, CaseIterable {
    case asStated = "as-stated"
    /// Early iOS builds wrote short periods for keys that were in use all day.
    case fullDay = "full-day"
  }

  package enum KeyDataReading: String, Hashable, Sendable, CaseIterable {
    case reject
    case admit
  }

  /// How a source spells risk levels.
  package enum RiskEncoding: String, Hashable, Sendable, CaseIterable {
    case plain
    /// Hidden in report type and days since onset; see ``ReencodedRiskRule``.
    case coronaWarnApp = "corona-warn-app"
  }

  package enum OnsetCodes: String, Hashable, Sendable, CaseIterable {
    /// -14...14 and nothing else.
    case exact
    /// All classes of ``SymptomStatus``.
    case federation
  }

  /// Key data of sixteen equal bytes.
  package var uniformKeyData: KeyDataReading = .reject
  /// No key is older than this day; the protocol began in 2020.
  package var earliestRollingStart: Day = Day(daysSince1970: 18_262)
  /// How far ahead of the clock a rolling start may lie, in ten-minute intervals, 0...288.
  package var futureTolerance: Int32 = 12
  /// Keys that expired more than so many days ago are rejected, 0...3650; `nil` is never.
  package var maximumAge: Int? = nil
  package var absentRollingPeriod: PeriodReading = .fullDay
  package var zeroRollingPeriod: PeriodReading = .reject
  package var shortRollingPeriod: ShortPeriodReading = .asStated
  package var riskEncoding: RiskEncoding = .plain
  package var riskOutOfRange: Leniency = .reject
  package var onsetCodes: OnsetCodes = .federation
  package var undefinedOnset: Leniency = .notGiven
  /// The report types that are admitted; `unknown` stands for an absent one too.
  package var reportTypes: Set<ReportType> = Set(ReportType.allCases)
  package var unrecognizedReportType: Leniency = .notGiven
  /// The origins that the source may speak for; `nil` is any.
  package var speaksFor: Set<String>? = nil
  /// An origin is held for an operator beyond this multiple of its usual volume, 2...1000; `nil` is never.
  package var floodFactor: Int? = 10
  /// Volumes up to this are never a flood.
  package var floodFloor: Int = 10_000

  /// The default policy.
  package init() {}

  package static let futureToleranceAllowed: ClosedRange<Int32> = 0...288
  package static let maximumAgeAllowed = 0...3650
  package static let floodFactorAllowed = 2...1000
}
