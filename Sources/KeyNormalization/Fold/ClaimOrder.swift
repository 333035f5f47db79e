import ExposureKeys

/// The order of claims about one key: of two, the greater one wins as a whole. Total up to claims that say the same.
struct ClaimOrder {
  /// What decided a comparison, the weightiest first.
  enum Criterion: String {
    case reportType = "report type"
    case statesMore = "states more"
    case rollingPeriod = "rolling period"
    case riskLevel = "risk level"
    case symptomStatus = "symptom status"
    case bytes = "bytes"
    case origin = "name of the origin"
    /// They say the same.
    case none = "nothing"
  }

  private let widest: Bool
  private let highest: Bool
  private let mostPrecise: Bool
  private let visited: [[String]?]
  private let origins: [String]

  init(policy: PublishingPolicy, claims: ClaimSet) {
    widest = policy.rollingPeriodPreference == .widest
    highest = policy.riskPreference == .highest
    mostPrecise = policy.symptomPreference == .mostPrecise
    visited = claims.names.visited
    origins = claims.names.origins
  }

  /// A claim with its rank, so that most comparisons are one of integers.
  struct Ranked {
    let claim: AdmittedClaim
    let rank: UInt32
  }

  func ranked(_ claim: AdmittedClaim) -> Ranked { Ranked(claim: claim, rank: rank(of: claim.said)) }

  /// Whether `left` is the lesser claim, and what decided.
  func compare(_ left: Ranked, _ right: Ranked) -> (isLess: Bool, by: Criterion) {
    if left.rank != right.rank { return (left.rank < right.rank, criterion(ofBit: left.rank ^ right.rank)) }
    if let isLess = compareBytes(left.claim.said, right.claim.said) { return (isLess, .bytes) }
    if left.claim.origin != right.claim.origin {
      return (origins[Int(left.claim.origin.rawValue)] < origins[Int(right.claim.origin.rawValue)], .origin)
    }
    return (false, .none)
  }

  func isLess(_ left: Ranked, _ right: Ranked) -> Bool {
    left.rank != right.rank ? left.rank < right.rank : compare(left, right).isLess
  }

  // MARK: Rank

  // Bits 31...29 report type, 28...26 how much is stated, 25...18 rolling period, 17...14 risk, 13...1 symptom status.

  private func rank(of said: StatedFields) -> UInt32 {
    let status = said.symptomStatus
    let type = said.reportType.flatMap(ReportType.init(rawValue:)) ?? .unknown
    let stated =
      (type != .unknown ? 1 : 0) + (said.fields.contains(.transmissionRisk) ? 1 : 0)
      + (status?.isGiven == true ? 1 : 0) + (said.regions == .none ? 0 : 1)
    let period = UInt32(clamping: said.rollingPeriodWord) & 0xff
    return type.weight << 29 | UInt32(stated) << 26 | (widest ? period : 255 - period) << 18
      | risk(of: said) << 14 | symptoms(of: status) << 1
  }

  private func criterion(ofBit difference: UInt32) -> Criterion {
    switch 31 - difference.leadingZeroBitCount {
    case 29...: .reportType
    case 26...28: .statesMore
    case 18...25: .rollingPeriod
    case 14...17: .riskLevel
    default: .symptomStatus
    }
  }

  private func risk(of said: StatedFields) -> UInt32 {
    guard let risk = said.transmissionRisk else { return 0 }
    let range = TransmissionRisk.range
    let level = min(max(risk, range.lowerBound), range.upperBound)
    return 1 + UInt32(highest ? level - range.lowerBound : range.upperBound - level)
  }

  /// Thirteen bits: class, length of the span, nearness and sign of the day.
  private func symptoms(of status: SymptomStatus?) -> UInt32 {
    let kind: UInt32
    var length: UInt32 = 0
    let offset: DayOffset
    switch status {
    case .onset(let day): (kind, offset) = (5, day)
    case .onsetInRange(let range, let day):
      (kind, offset) = (4, day)
      length = UInt32(20 - range.lengthInDays)
    case .onsetUnknown(let day): (kind, offset) = (3, day)
    case .asymptomatic(let day): (kind, offset) = (2, day)
    case .statusUnknown(let day): (kind, offset) = (1, day)
    case .notProvided, .undefined, nil: return 0
    }
    let nearness = UInt32(14 - offset.days.magnitude)
    let sign: UInt32 = offset.days > 0 ? 1 : 0
    return mostPrecise
      ? kind << 10 | length << 5 | nearness << 1 | sign
      : nearness << 9 | kind << 6 | length << 1 | sign
  }

  // MARK: Bytes

  /// `nil` when both say the same.
  private func compareBytes(_ left: StatedFields, _ right: StatedFields) -> Bool? {
    if left.rollingPeriodWord != right.rollingPeriodWord { return left.rollingPeriodWord < right.rollingPeriodWord }
    if left.transmissionRiskWord != right.transmissionRiskWord {
      return left.transmissionRiskWord < right.transmissionRiskWord
    }
    if left.reportTypeWord != right.reportTypeWord { return left.reportTypeWord < right.reportTypeWord }
    if left.daysSinceOnsetWord != right.daysSinceOnsetWord { return left.daysSinceOnsetWord < right.daysSinceOnsetWord }
    if left.fields != right.fields { return left.fields.rawValue < right.fields.rawValue }
    guard left.regions != right.regions else { return nil }
    let names = (visited[Int(left.regions.rawValue)] ?? [], visited[Int(right.regions.rawValue)] ?? [])
    // Different numbers are different sets, but for "none named" and "none".
    return names.0 == names.1 ? left.regions == .none : names.0.lexicographicallyPrecedes(names.1)
  }
}

extension ReportType {
  /// How a report type weighs against another from the same origin.
  fileprivate var weight: UInt32 {
    switch self {
    case .unknown: 0
    case .recursive: 1
    case .selfReport: 2
    case .confirmedClinicalDiagnosis: 3
    case .revoked: 4
    case .confirmedTest: 5
    }
  }
}
