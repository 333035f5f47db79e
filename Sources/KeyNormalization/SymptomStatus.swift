internal import ExposureKeys

/// Whole days between a key's day and a reference day, -14...14: the span that every platform accepts.
@frozen
package struct DayOffset: Hashable, Comparable, Sendable {
  package let days: Int8

  @inlinable
  package static var allowed: ClosedRange<Int> {
    Int(DaysSinceOnset.range.lowerBound)...Int(DaysSinceOnset.range.upperBound)
  }

  /// `nil` outside -14...14.
  @inlinable
  package init?(_ days: Int) {
    guard Self.allowed.contains(days) else { return nil }
    self.days = Int8(days)
  }

  @inlinable
  package static func < (left: Self, right: Self) -> Bool { left.days < right.days }
}

/// A span of days in which the symptoms began, 1...19 days long.
@frozen
package struct OnsetRange: Hashable, Sendable {
  package let lengthInDays: Int8

  package static let allowed = 1...19

  /// `nil` outside 1...19.
  @inlinable
  package init?(lengthInDays: Int) {
    guard Self.allowed.contains(lengthInDays) else { return nil }
    self.lengthInDays = Int8(lengthInDays)
  }
}

/// What a sender said about symptoms, as the federation packs it into "days since onset of symptoms".
///
/// The federation's integers: -14...14 an exact onset; n·100 + d with n = 1...19 an onset known as a span of n days;
/// 2000 + d an unknown onset; 3000 + d no symptoms; 4000 + d unknown whether there were symptoms; 2147483647 nothing
/// provided; d is -14...14 throughout. Every other integer is undefined. Reading and writing are total and inverse:
/// no class is ever read as another.
///
/// Source: European Federation Gateway Service, interoperability specification of days since onset of symptoms.
@frozen
package enum SymptomStatus: Hashable, Sendable {
  /// The date of onset is known: key day minus onset day.
  case onset(DayOffset)
  /// The onset lies in a span of days: key day minus the **last** day of the span.
  case onsetInRange(OnsetRange, sinceLastDay: DayOffset)
  /// There were symptoms, nobody knows since when: key day minus day of submission.
  case onsetUnknown(sinceSubmission: DayOffset)
  /// There were no symptoms: key day minus day of submission.
  case asymptomatic(sinceSubmission: DayOffset)
  /// Unknown whether there were symptoms: key day minus day of submission.
  case statusUnknown(sinceSubmission: DayOffset)
  case notProvided
  /// An integer without a meaning, as it was sent.
  case undefined(Int32)

  /// The integer for "not provided".
  package static let notProvidedCode = Int32.max

  /// Reads any integer.
  @inlinable
  package init(federationCode code: Int32) {
    if code == Self.notProvidedCode {
      self = .notProvided
      return
    }
    guard DaysSinceOnset.federationCodes.contains(code) else {
      self = .undefined(code)
      return
    }
    // The nearest hundred; d is what is left, and only -14...14 is defined.
    let value = Int(code)
    let hundreds = (value + 50) / 100
    guard let offset = DayOffset(value - hundreds * 100) else {
      self = .undefined(code)
      return
    }
    switch hundreds {
    case 0: self = .onset(offset)
    case 20: self = .onsetUnknown(sinceSubmission: offset)
    case 30: self = .asymptomatic(sinceSubmission: offset)
    case 40: self = .statusUnknown(sinceSubmission: offset)
    default:
      if let range = OnsetRange(lengthInDays: hundreds) {
        self = .onsetInRange(range, sinceLastDay: offset)
      } else {
        self = .undefined(code)
      }
    }
  }

  /// The integer that reads back as this status.
  @inlinable
  package var federationCode: Int32 {
    switch self {
    case .onset(let offset): Int32(offset.days)
    case .onsetInRange(let range, let offset): Int32(range.lengthInDays) * 100 + Int32(offset.days)
    case .onsetUnknown(let offset): 2000 + Int32(offset.days)
    case .asymptomatic(let offset): 3000 + Int32(offset.days)
    case .statusUnknown(let offset): 4000 + Int32(offset.days)
    case .notProvided: Self.notProvidedCode
    case .undefined(let code): code
    }
  }

  /// The value that an app's bundle may carry: a known onset alone, -14...14. Every other class has none: an
  /// asymptomatic case is not an onset, and a device refuses a key with 3000.
  @inlinable
  package var daysSinceOnsetForApps: Int32? {
    if case .onset(let offset) = self { Int32(offset.days) } else { nil }
  }

  /// Whether the sender told anything.
  @inlinable
  package var isGiven: Bool {
    switch self {
    case .notProvided, .undefined: false
    default: true
    }
  }
}

extension SymptomStatus: CustomStringConvertible {
  package var description: String {
    switch self {
    case .onset(let offset): "onset, day \(offset.days)"
    case .onsetInRange(let range, let offset):
      "onset within \(range.lengthInDays) days, day \(offset.days) from the last of them"
    case .onsetUnknown(let offset): "symptoms, onset unknown, day \(offset.days) from submission"
    case .asymptomatic(let offset): "no symptoms, day \(offset.days) from submission"
    case .statusUnknown(let offset): "symptoms unknown, day \(offset.days) from submission"
    case .notProvided: "not provided"
    case .undefined(let code): "undefined (\(code))"
    }
  }
}
