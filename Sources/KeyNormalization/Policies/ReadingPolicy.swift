public import ExposureKeys

/// How the claims of one source are read and which of them are admitted. A value: regions and peers differ by what
/// stands here, never by a branch on a country code.
public struct ReadingPolicy: Hashable, Sendable {
  /// What happens to a value that a rule does not accept as it stands.
  public enum Leniency: String, Hashable, Sendable, CaseIterable {
    case reject
    /// Read as if the sender had not given the field.
    case notGiven = "not-given"
  }

  /// What an absent or zero rolling period means.
  public enum PeriodReading: String, Hashable, Sendable, CaseIterable {
    case fullDay = "full-day"
    case reject
  }

  /// What a rolling period of 1...143 means.
  public enum ShortPeriodReading: String, Hashable, Sendable, CaseIterable {
    case asStated = "as-stated"
    /// Early iOS builds wrote short periods for keys that were in use all day.
    case fullDay = "full-day"
  }

  public enum KeyDataReading: String, Hashable, Sendable, CaseIterable {
    case reject
    case admit
  }

  /// How a source spells risk levels.
  public enum RiskEncoding: String, Hashable, Sendable, CaseIterable {
    case plain
    /// Hidden in report type and days since onset; see ``ReencodedRiskRule``.
    case coronaWarnApp = "corona-warn-app"
  }

  public enum OnsetCodes: String, Hashable, Sendable, CaseIterable {
    /// -14...14 and nothing else.
    case exact
    /// All classes of ``SymptomStatus``.
    case federation
  }

  /// Key data of sixteen equal bytes.
  public var uniformKeyData: KeyDataReading = .reject
  /// No key is older than this day; the protocol began in 2020.
  public var earliestRollingStart: Day = Day(daysSince1970: 18_262)
  /// How far ahead of the clock a rolling start may lie, in ten-minute intervals, 0...288.
  public var futureTolerance: Int32 = 12
  public var absentRollingPeriod: PeriodReading = .fullDay
  public var zeroRollingPeriod: PeriodReading = .reject
  public var shortRollingPeriod: ShortPeriodReading = .asStated
  public var riskEncoding: RiskEncoding = .plain
  public var riskOutOfRange: Leniency = .reject
  public var onsetCodes: OnsetCodes = .federation
  public var undefinedOnset: Leniency = .notGiven
  /// The report types that are admitted; `unknown` stands for an absent one too.
  public var reportTypes: Set<ReportType> = Set(ReportType.allCases)
  public var unrecognizedReportType: Leniency = .notGiven
  /// The origins that the source may speak for; `nil` is any.
  public var origins: Set<String>? = nil
  /// An origin is held for an operator beyond this multiple of its usual volume, 2...1000; `nil` is never.
  public var floodFactor: Int? = 10
  /// Volumes up to this are never a flood.
  public var floodFloor: Int = 10_000

  /// The default policy.
  public init() {}

  public static let futureToleranceAllowed: ClosedRange<Int32> = 0...288
  public static let floodFactorAllowed = 2...1000
}
