package import ExposureKeys

/// What a ``KeyTally`` found out about all keys of a document.
package struct KeyFacts: Sendable {
  /// Keys that were taken in, revised ones included.
  package internal(set) var keyCount = 0
  package private(set) var revisedCount = 0
  package private(set) var rejectedCount = 0
  /// Distinct pairs of key data and rolling start; `nil` when there were more keys than may be compared.
  package internal(set) var distinctKeys: Int?
  /// How many keys were compared with each other.
  package internal(set) var comparedKeys = 0

  var conditions = ConditionCounts()
  private(set) var days = ValueCounts()
  private(set) var risks = ValueCounts()
  private(set) var reportTypes = ValueCounts()
  private(set) var onsets = ValueCounts()
  private(set) var periods = ValueCounts()
  private(set) var origins: [String?: Int] = [:]
  private(set) var rejectionReasons: [RejectionReason: Int] = [:]
  /// The first rejections, at most ``rejectionsKept``.
  private(set) var firstRejections: [Rejection] = []
  private var regionCounts = ValueCounts()
  private var paddingGroups: [Int64: Int] = [:]

  static let rejectionsKept = 20
  /// Groups of keys with one rolling start and one risk level that are told apart.
  private static let paddingGroupLimit = 1 << 16

  mutating func add(_ rejection: Rejection) {
    rejectedCount += 1
    rejectionReasons[rejection.reason, default: 0] += 1
    if firstRejections.count < Self.rejectionsKept { firstRejections.append(rejection) }
    switch rejection.reason {
    case .keyDataAbsent: conditions.add(.keyDataAbsent, first: rejection.position.index)
    case .keyDataLength: conditions.add(.keyDataLength, first: rejection.position.index)
    default: break
    }
  }

  /// Counts keys of one shape, the first of them at index `first`.
  mutating func add(_ shape: KeyShape, _ count: Int, first: Int, end: UInt64?, now: Instant?) {
    if shape.isRevised { revisedCount += count }
    days.add(shape.rollingStart.map { IntervalNumber(Int64($0)).day.daysSince1970 }, count)
    risks.add(shape.transmissionRisk.map(Int64.init), count)
    reportTypes.add(shape.reportType.map(Int64.init), count)
    onsets.add(shape.daysSinceOnset.map(Int64.init), count)
    periods.add(shape.rollingPeriod.map(Int64.init), count)
    regionCounts.add(Int64(shape.regions.rawValue), count)
    addToPaddingGroup(shape, count)
    addConditions(shape, count, first)
    if let start = shape.rollingStart, start >= 0 {
      let validity = Validity(start: start, period: shape.rollingPeriod)
      if let end = end.flatMap(Instant.init(timestamp:)) {
        addTimes(validity, end, count, first, (.startsAfterEnd, .stillValidAtEnd, .tooOldAtEnd))
      }
      if let now { addTimes(validity, now, count, first, (.startsAfterNow, .stillValidNow, .tooOldNow)) }
    }
  }

  private mutating func addConditions(_ shape: KeyShape, _ count: Int, _ first: Int) {
    func note(_ condition: KeyCondition, _ value: Int32 = 0) {
      conditions.add(condition, count, first: first, value: Int64(value))
    }
    switch shape.rollingPeriod {
    case nil: note(.rollingPeriodAbsent)
    case 0: note(.rollingPeriodZero)
    case .some(let period) where period < 0: note(.rollingPeriodNegative, period)
    case .some(let period) where period > 144: note(.rollingPeriodTooLong, period)
    default: break
    }
    switch shape.rollingStart {
    case nil: note(.rollingStartAbsent)
    case .some(let start) where start < 0: note(.rollingStartNegative, start)
    case .some(let start): if !start.isMultiple(of: 144) { note(.rollingStartUnaligned, start) }
    }
    if let risk = shape.transmissionRisk {
      if risk == 8 { note(.riskEight, risk) }
      if risk > 8 { note(.riskOutside, risk) }
      if risk < 0 { note(.riskNegative, risk) }
    }
    if let onset = shape.daysSinceOnset {
      if !(-14...14).contains(onset) { note(.onsetOutside, onset) }
    } else {
      note(.onsetAbsent)
    }
    if !shape.isRevised {
      switch shape.reportType.map(ReportType.init(rawValue:)) {
      case nil: note(.reportTypeAbsent)
      case .some(nil): note(.reportTypeUnrecognized, shape.reportTypeWord)
      case .unknown: note(.reportTypeUnknown)
      case .recursive: note(.reportTypeRecursive)
      case .revoked: note(.reportTypeRevoked)
      case .confirmedTest, .confirmedClinicalDiagnosis, .selfReport: break
      }
    }
    if shape.hasUnknownFields { note(.unknownFields) }
  }

  private mutating func addTimes(
    _ validity: Validity, _ time: Instant, _ count: Int, _ first: Int,
    _ conditions: (future: KeyCondition, valid: KeyCondition, old: KeyCondition)
  ) {
    let start = Int64(validity.start)
    if validity.from > time {
      self.conditions.add(conditions.future, count, first: first, value: start)
    } else if validity.until.secondsSince1970 + Validity.holdSeconds > time.secondsSince1970 {
      self.conditions.add(conditions.valid, count, first: first, value: start)
    } else if validity.until.secondsSince1970 + Validity.usefulSeconds < time.secondsSince1970 {
      self.conditions.add(conditions.old, count, first: first, value: start)
    }
  }

  // MARK: Padding

  private mutating func addToPaddingGroup(_ shape: KeyShape, _ count: Int) {
    guard paddingGroups.count < Self.paddingGroupLimit else { return }
    let group = Int64(shape.rollingStartWord) << 32 | Int64(UInt32(bitPattern: shape.transmissionRiskWord))
    paddingGroups[group, default: 0] += count
  }

  /// The greatest number that divides the size of every group of keys with one rolling start and one risk level: how
  /// often a server cloned each real key. `nil` with fewer than ten groups, where chance could do it.
  package var paddingMultiplier: PaddingGuess? {
    guard paddingGroups.count >= 10, paddingGroups.count < Self.paddingGroupLimit else { return nil }
    var divisor = 0
    for size in paddingGroups.values {
      var rest = size
      while rest != 0 { (divisor, rest) = (rest, divisor % rest) }
    }
    return PaddingGuess(multiplier: divisor, groups: paddingGroups.count)
  }

  // MARK: Origins

  mutating func nameOrigins(_ regions: RegionTable) {
    guard regions.claims.count > 1 else { return }
    for (id, count) in regionCounts.counts {
      let origin = regions.claims.indices.contains(Int(id)) ? regions.claims[Int(id)].origin : nil
      if origins.count < ValueCounts.limit || origins[origin] != nil { origins[origin, default: 0] += count }
    }
  }
}

/// The span in which a key's identifiers were sent.
struct Validity {
  let start: Int32
  /// In intervals; one that no device accepts counts as a full day here.
  let period: Int32

  /// Keys are published two hours after their end at the earliest, because a receiver's clock may be that far off.
  static let holdSeconds: Int64 = 2 * 3600
  /// Phones forget what they heard after fourteen days.
  static let usefulSeconds: Int64 = 14 * 86_400

  init(start: Int32, period: Int32?) {
    self.start = start
    self.period = period.flatMap { (1...144).contains($0) ? $0 : nil } ?? 144
  }

  var from: Instant { IntervalNumber(Int64(start)).start }
  var until: Instant { IntervalNumber(Int64(start) + Int64(period)).start }
}

/// How often each value of a field occurs. Beyond ``limit`` values, which only a hostile file has, further ones are
/// counted together.
struct ValueCounts: Sendable {
  private(set) var counts: [Int64: Int] = [:]
  private(set) var absent = 0
  private(set) var others = 0

  static let limit = 4096

  mutating func add(_ value: Int64?, _ count: Int) {
    guard let value else {
      absent += count
      return
    }
    if counts.count >= Self.limit, counts[value] == nil {
      others += count
    } else {
      counts[value, default: 0] += count
    }
  }
}

extension Instant {
  /// `nil` for a timestamp that no calendar shows with four digits of a year.
  package init?(timestamp: UInt64) {
    guard timestamp <= 253_402_300_799 else { return nil }
    self.init(secondsSince1970: Int64(timestamp))
  }
}
