import ExposureKeys

/// Which of one origin's claims gives a field: one of its weightiest report type that states it, then one of the next
/// type down; among those of one type the policy prefers.
///
/// All claims are put in order by one number a field, the greatest of which is chosen. Equal numbers are equal values, so
/// the order of the claims has no part in it.
struct FieldOrder {
  let isWidest: Bool
  private let isHighest: Bool
  private let isMostPrecise: Bool

  init(_ policy: PublishingPolicy) {
    isWidest = policy.rollingPeriodPreference == .widest
    isHighest = policy.riskPreference == .highest
    isMostPrecise = policy.symptomPreference == .mostPrecise
  }

  /// `nil` where no risk level is stated.
  func risk(of said: StatedFields) -> UInt32? {
    guard let risk = said.transmissionRisk else { return nil }
    let range = TransmissionRisk.range
    let level = min(max(risk, range.lowerBound), range.upperBound)
    return said.typeWeight << 8 | UInt32(isHighest ? level - range.lowerBound : range.upperBound - level)
  }

  /// `nil` where nothing is said about symptoms.
  func symptoms(of said: StatedFields) -> UInt32? {
    guard let status = said.symptomStatus, status.isGiven else { return nil }
    let place = SymptomPlace(status)
    let sign: UInt32 = place.day > 0 ? 1 : 0
    let rank =
      isMostPrecise
      ? place.kind << 10 | place.shortness << 5 | place.nearness << 1 | sign
      : place.nearness << 9 | place.kind << 6 | place.shortness << 1 | sign
    return said.typeWeight << 16 | rank
  }
}

/// How the fields of several origins compare: the greater one is published. What nobody states is the least.
enum FieldWeight {
  /// By weight of the report type; one that is stated before one that is not.
  static func reportType(_ said: StatedFields) -> UInt32 {
    said.typeWeight << 1 | (said.fields.contains(.reportType) ? 1 : 0)
  }

  static func risk(_ said: StatedFields) -> Int32 { said.transmissionRisk ?? -1 }

  /// The most infectious onset: a known one before a span of days, an unknown one, no symptoms and an unknown status;
  /// the shorter span first; then the day nearest to the onset, of two as near the one before it.
  static func onset(_ said: StatedFields) -> UInt32 {
    guard let status = said.symptomStatus, status.isGiven else { return 0 }
    let place = SymptomPlace(status)
    return place.kind << 10 | place.shortness << 5 | place.nearness << 1 | (place.day < 0 ? 1 : 0)
  }
}

/// Where a symptom status stands among others.
private struct SymptomPlace {
  /// 5 is a known onset, 1 an unknown status.
  let kind: UInt32
  /// How short the span is; 0 without one.
  var shortness: UInt32 = 0
  let day: Int8

  /// - Parameter status: one that is given.
  init(_ status: SymptomStatus) {
    switch status {
    case .onset(let offset): (kind, day) = (5, offset.days)
    case .onsetInRange(let range, let offset):
      (kind, day) = (4, offset.days)
      shortness = UInt32(20 - range.lengthInDays)
    case .onsetUnknown(let offset): (kind, day) = (3, offset.days)
    case .asymptomatic(let offset): (kind, day) = (2, offset.days)
    case .statusUnknown(let offset): (kind, day) = (1, offset.days)
    case .notProvided, .undefined: (kind, day) = (0, 0)
    }
  }

  var nearness: UInt32 { UInt32(14 - day.magnitude) }
}

extension StatedFields {
  /// A claim that states no report type weighs as unknown.
  var typeWeight: UInt32 { (reportType.flatMap(ReportType.init(rawValue:)) ?? .unknown).weight }
}

extension ReportType {
  /// How a report type weighs against another. A revocation takes back what weighs less.
  var weight: UInt32 {
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
