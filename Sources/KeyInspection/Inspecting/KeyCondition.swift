import ExposureKeys

/// What can be true of a key that a device, an auditor or a format cares about. Findings and device profiles are two
/// tables over the same counts.
enum KeyCondition: Int, CaseIterable, Sendable {
  case rollingPeriodAbsent, rollingPeriodZero, rollingPeriodNegative, rollingPeriodTooLong
  case rollingStartAbsent, rollingStartNegative, rollingStartUnaligned
  /// Times against the end of the file's window.
  case startsAfterEnd, stillValidAtEnd, tooOldAtEnd
  /// Times against the instant that the caller passed in.
  case startsAfterNow, stillValidNow, tooOldNow
  /// Transmission risk level 8, and beyond 0...8.
  case riskEight, riskOutside, riskNegative
  /// The report type of a key among `keys`, not among the revised ones.
  case reportTypeAbsent, reportTypeUnknown, reportTypeUnrecognized, reportTypeRecursive, reportTypeRevoked
  case onsetAbsent, onsetOutside
  case unknownFields
  /// Key data: sixteen zero bytes, or visibly not random.
  case keyDataZero, keyDataLowEntropy
  /// The key comes before its predecessor in the order of raw bytes.
  case outOfOrder
  /// Repeated key data: all fields alike; others than the rolling start differ; the rolling start differs; fields were
  /// not compared; among the revised keys what stands among the keys too.
  case repeatedAlike, repeatedDifferently, repeatedWithOtherStart, repeatedNotCompared, revisedToo
  /// Key data that is missing, or not sixteen bytes.
  case keyDataAbsent, keyDataLength
}

/// How often each condition holds, where first, and with which value.
struct ConditionCounts: Sendable {
  struct Entry: Sendable {
    var count = 0
    /// Index in the document of the first key.
    var first = Int.max
    /// What that key states.
    var value: Int64 = 0
  }

  private var entries = [Entry](repeating: Entry(), count: KeyCondition.allCases.count)

  subscript(condition: KeyCondition) -> Entry { entries[condition.rawValue] }

  func count(_ conditions: KeyCondition...) -> Int { conditions.reduce(0) { $0 + self[$1].count } }

  mutating func add(_ condition: KeyCondition, _ count: Int = 1, first: Int, value: Int64 = 0) {
    entries[condition.rawValue].count += count
    if first < entries[condition.rawValue].first {
      entries[condition.rawValue].first = first
      entries[condition.rawValue].value = value
    }
  }
}
