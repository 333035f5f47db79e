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

  /// Up to when a key may start.
  package enum FutureLimit: String, Hashable, Sendable, CaseIterable {
    /// Now, with a tolerance for clocks.
    case byClock = "by-clock"
    /// The midnight (UTC) with which today began.
    case midnightOfToday = "midnight-of-today"
    /// The last interval of tomorrow (UTC).
    case endOfTomorrow = "end-of-tomorrow"
  }

  /// When a day of a key begins.
  package enum StartOfDay: String, Hashable, Sendable, CaseIterable {
    case any
    /// At a midnight (UTC) alone.
    case midnight
  }

  /// What happens to a risk level outside 0...8.
  package enum RiskLeniency: String, Hashable, Sendable, CaseIterable {
    case reject
    case notGiven = "not-given"
    case zero
  }

  /// Levels by how long ago a key began.
  package struct RiskByAge: Hashable, Sendable {
    /// Days (UTC) from the day on which a key begins to the day on which its document came, 0...60.
    package var days: Int
    /// 0...8, of keys that began so many days ago at most.
    package var level: Int32
    /// 0...8, of those that began earlier.
    package var olderLevel: Int32

    package init(days: Int, level: Int32, olderLevel: Int32) {
      self.days = days
      self.level = level
      self.olderLevel = olderLevel
    }

    package static let daysAllowed = 0...60
  }

  package enum OnsetCodes: String, Hashable, Sendable, CaseIterable {
    /// -14...14 and nothing else.
    case exact
    /// All classes of ``SymptomStatus``.
    case federation
  }

  /// The origins that a source may speak for.
  package enum SpokenOrigins: Hashable, Sendable, ExpressibleByArrayLiteral {
    case any
    case only(Set<String>)

    package init(arrayLiteral origins: String...) { self = .only(Set(origins)) }

    /// Those that both allow.
    package func intersection(_ other: Self) -> Self {
      switch (self, other) {
      case (.any, _): other
      case (_, .any): self
      case (.only(let some), .only(let others)): .only(some.intersection(others))
      }
    }
  }

  /// A claim names at most so many regions.
  package static let maximumRegions = 64

  /// Key data of sixteen equal bytes.
  package var uniformKeyData: KeyDataReading = .reject
  /// No key is older than this day; the protocol began in 2020.
  package var earliestRollingStart: Day = Day(daysSince1970: 18_262)
  /// How far ahead of the clock a rolling start may lie, in ten-minute intervals, 0...288.
  package var futureTolerance: Int32 = 12
  /// Keys that expired more than so many days ago are rejected, 0...3650; `nil` is never.
  package var maximumAge: Int? = nil
  /// Keys that ended before this are too old in any case; `nil` is none. No policy states it, but who knows what becomes of
  /// the keys.
  package var earliestEnd: IntervalNumber? = nil
  /// Keys that expired less than so many minutes ago, or not yet, are rejected, 0...20160; `nil` is never.
  package var minimumAgeMinutes: Int? = nil
  /// Up to when a rolling start may lie; the tolerance is for ``FutureLimit/byClock`` alone.
  package var futureLimit: FutureLimit = .byClock
  /// Which intervals may be rolling starts.
  package var startOfDay: StartOfDay = .any
  package var absentRollingPeriod: PeriodReading = .fullDay
  package var zeroRollingPeriod: PeriodReading = .reject
  package var shortRollingPeriod: ShortPeriodReading = .asStated
  package var riskEncoding: RiskEncoding = .plain
  package var riskOutOfRange: RiskLeniency = .reject
  /// The levels of keys without an exact onset, whatever was sent; `nil` is as sent.
  package var riskByAge: RiskByAge? = nil
  package var onsetCodes: OnsetCodes = .federation
  package var undefinedOnset: Leniency = .notGiven
  /// Numbers for days since onset above this are rejected, whatever they mean, 14...4014; `nil` is none.
  package var highestOnsetCode: Int32? = nil
  /// The report types that are admitted; `unknown` stands for an absent one too.
  package var reportTypes: Set<ReportType> = Set(ReportType.allCases)
  package var unrecognizedReportType: Leniency = .notGiven
  /// The origins that the source may speak for; `nil` is its own alone, or any where it has none.
  package var speaksFor: SpokenOrigins? = nil
  /// Origins whose keys are not taken, whoever speaks for them.
  package var excludedOrigins: Set<String> = []
  /// The regions that the source may name; `nil` is any.
  package var regions: Set<String>? = nil
  /// Regions and origins that there are besides those of ``RegionName``.
  package var declaredRegions: Set<String> = []
  /// An origin is held for an operator beyond this multiple of what its source usually brings of it a day, 2...1000; `nil` is never.
  package var floodFactor: Int? = 10
  /// Volumes of a day up to this are never a flood. More are one, of an origin of which nothing is known yet, too. `nil` is the
  /// busiest day of the gateway's population: ``BusyDay``.
  package var floodFloor: Int? = nil
  /// No more keys of an origin are taken from a source a day, however many are usual, 1...1000000000; `nil` is no such limit.
  package var mostKeysADay: Int? = nil

  /// The default policy.
  package init() {}

  static let highestOnsetCodeAllowed =
    Int64(DaysSinceOnset.range.upperBound)...Int64(DaysSinceOnset.federationCodes.upperBound)

  /// Whether a source may speak for an origin; both names are in capitals. A source has no name where its keys that name
  /// none lose their origin.
  func takes(origin name: String?, from own: String?) -> Bool {
    return switch speaksFor {
    case .any: true
    case .only(let origins): name.map(origins.contains) ?? false
    case nil: own == nil || name == own
    }
  }

  /// Whether there is a region of this name, in capitals.
  func knows(region name: String) -> Bool { RegionName.isPossible(name) || declaredRegions.contains(name) }

  /// From how many new keys a day on those of an origin are held for the operator; `nil` is never.
  ///
  /// - Parameter usual: how many of it the source sends on an average day, those before today.
  package func volumeLimit(usual: Int) -> VolumeLimit? {
    var limit = mostKeysADay.map { VolumeLimit(keys: $0, reason: .tooManyKeysADay) }
    if let floodFactor {
      let (product, isOverflown) = usual.multipliedReportingOverflow(by: floodFactor)
      let flood = isOverflown ? Int.max : max(floodFloor ?? BusyDay.keys(of: nil), product)
      if limit.map({ flood < $0.keys }) ?? true { limit = VolumeLimit(keys: flood, reason: .flood) }
    }
    return limit
  }

  /// Rolling starts lie in these intervals.
  func rollingStarts(at now: Instant) -> ClosedRange<Int64> {
    let latest =
      switch futureLimit {
      case .byClock: IntervalNumber(containing: now).rawValue + Int64(futureTolerance)
      case .midnightOfToday: now.day.firstInterval.rawValue
      case .endOfTomorrow: now.day.firstInterval.rawValue + 2 * IntervalNumber.intervalsPerDay - 1
      }
    let earliest = max(0, earliestRollingStart.firstInterval.rawValue)
    return earliest...max(earliest, latest)
  }
}
