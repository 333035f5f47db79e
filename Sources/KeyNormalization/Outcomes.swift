/// Why a claim was not admitted: a stable code for programs, and words for people. The rule that gives a reason declares it
/// beside itself.
package struct AdmissionReason: Hashable, Sendable, RawRepresentable, CaseIterable {
  /// The code.
  package let rawValue: String
  /// What was found and what is allowed; the number that broke the rule comes with a space before it, or is empty.
  private let words: @Sendable (_ number: String) -> String

  init(_ code: String, _ words: @escaping @Sendable (_ number: String) -> String) {
    (rawValue, self.words) = (code, words)
  }

  package init?(rawValue: String) {
    guard let known = Self.byCode[rawValue] else { return nil }
    self = known
  }

  /// For people: what was found and what is allowed.
  ///
  /// - Parameter value: what broke the rule, where it is a number.
  package func detail(_ value: Int32?) -> String { words(value.map { " \($0)" } ?? "") }

  /// Those of the rules in their order, then ``ofNoRule``.
  package static let allCases =
    AdmissionRules.standard.all.flatMap { $0.rejects + $0.holds } + ofNoRule
  private static let byCode = [String: Self](uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

  /// Admission itself and the recording of claims give these.
  package static let ofNoRule: [Self] = [.notRepresentable, .otherRollingStart, .documentRefused]

  /// A number that the rules admit, but for which a ``Statement`` has no room.
  package static let notRepresentable = Self("not-representable") { "a number that no claim can state:\($0)" }
  /// Another origin was the first to name the key data, under another rolling start: held for an operator.
  package static let otherRollingStart = Self("other-rolling-start") { _ in
    "another origin named the key data first, under another rolling start"
  }
  /// The document is refused as a whole, and this was read before its fault: it counts for how long the key is held, and
  /// for nothing else.
  package static let documentRefused = Self("document-refused") { _ in
    "its document is refused; it counts for how long the key is held"
  }

  package static func == (left: Self, right: Self) -> Bool { left.rawValue == right.rawValue }
  package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

/// A named leniency: a value that was read as another one. Every use is counted.
package enum Allowance: UInt8, Hashable, Sendable, CaseIterable {
  case rollingPeriodAbsent
  case rollingPeriodZero
  case rollingPeriodShort
  case reencodedRisk
  case riskNotGiven
  case riskOutOfRange
  case reportTypeUnrecognized
  case onsetNotProvided
  case onsetUndefined
  case originAssumed
  case originLost
  case regionsTidied
  case unknownFieldsDropped
  case riskReadAsZero
  case regionsUnknown
  case regionsNotAllowed
  case riskByAge

  /// The stable code for programs.
  package var code: String {
    switch self {
    case .rollingPeriodAbsent: "rolling-period-absent"
    case .rollingPeriodZero: "rolling-period-zero"
    case .rollingPeriodShort: "rolling-period-short"
    case .reencodedRisk: "reencoded-risk"
    case .riskNotGiven: "risk-not-given"
    case .riskOutOfRange: "risk-out-of-range"
    case .reportTypeUnrecognized: "report-type-unrecognized"
    case .onsetNotProvided: "onset-not-provided"
    case .onsetUndefined: "onset-undefined"
    case .originAssumed: "origin-assumed"
    case .originLost: "origin-lost"
    case .regionsTidied: "regions-tidied"
    case .unknownFieldsDropped: "unknown-fields-dropped"
    case .riskReadAsZero: "risk-read-as-zero"
    case .riskByAge: "risk-by-age"
    case .regionsUnknown: "regions-unknown"
    case .regionsNotAllowed: "regions-not-allowed"
    }
  }

  /// One line for people.
  package var text: String {
    switch self {
    case .rollingPeriodAbsent: "rolling period absent, read as 144"
    case .rollingPeriodZero: "rolling period 0, read as 144"
    case .rollingPeriodShort: "rolling period below 144, read as 144"
    case .reencodedRisk: "risk level read out of report type and days since onset"
    case .riskNotGiven: "risk level 2147483647, read as not given"
    case .riskOutOfRange: "risk level outside 0...8, read as not given"
    case .reportTypeUnrecognized: "report type without a meaning, read as not given"
    case .onsetNotProvided: "days since onset 2147483647, read as not given"
    case .onsetUndefined: "days since onset without a meaning, read as not given"
    case .originAssumed: "origin absent, read as the source's"
    case .originLost: "origin not known, counted with the relays"
    case .regionsTidied: "visited regions repeated, unordered or in lower case, read as a set"
    case .unknownFieldsDropped: "fields that this version does not know, dropped"
    case .riskReadAsZero: "risk level outside 0...8, read as 0"
    case .riskByAge: "no exact onset, risk level by the age of the key"
    case .regionsUnknown: "names of regions that there are not, dropped"
    case .regionsNotAllowed: "names of regions that the source may not name, dropped"
    }
  }
}

/// The allowances that one claim needed.
@frozen
package struct AllowanceSet: Hashable, Sendable, BitwiseCopyable {
  package private(set) var rawValue: UInt32 = 0

  package init() {}

  package var isEmpty: Bool { rawValue == 0 }

  package mutating func insert(_ allowance: Allowance) { rawValue |= 1 << UInt32(allowance.rawValue) }
}

/// Why a key is not published yet.
package enum HoldReason: String, Hashable, Sendable, CaseIterable {
  case stillValid = "still-valid"
}

/// Why a key is not published.
package enum LeaveOutReason: String, Hashable, Sendable, CaseIterable {
  case reportTypeNotPublished = "report-type-not-published"
  case revoked
  case tooOld = "too-old"
  case otherRegion = "other-region"
  case riskNotPublished = "risk-not-published"
  /// A revocation would go out, but another origin's opinion that the key stands is published elsewhere.
  case revocationOutvoted = "revocation-outvoted"
}

/// What the publishing policy changed about a believed key. Every use is counted.
package enum PublishingNote: UInt8, Hashable, Sendable, CaseIterable {
  case conflictDecided
  case reportTypeMapped
  case rollingPeriodExpanded
  case riskDerived
  case riskDefaulted
  case riskCapped
  case onsetDefaulted
  case onsetWithheld
  case riskReencoded
  case riskNotNamed
  case onsetReplaced
  case fieldWithheld
  case revocationOutvoted

  /// The stable code for programs.
  package var code: String {
    switch self {
    case .conflictDecided: "conflict-decided"
    case .reportTypeMapped: "report-type-mapped"
    case .rollingPeriodExpanded: "rolling-period-expanded"
    case .riskDerived: "risk-derived"
    case .riskDefaulted: "risk-defaulted"
    case .riskCapped: "risk-capped"
    case .onsetDefaulted: "onset-defaulted"
    case .onsetWithheld: "onset-withheld"
    case .riskReencoded: "risk-reencoded"
    case .riskNotNamed: "risk-not-named"
    case .onsetReplaced: "onset-replaced"
    case .fieldWithheld: "field-withheld"
    case .revocationOutvoted: "revocation-outvoted"
    }
  }

  /// One line for people.
  package var text: String {
    switch self {
    case .conflictDecided: "claims contradicted each other, merged field by field"
    case .reportTypeMapped: "report type published as another"
    case .rollingPeriodExpanded: "rolling period below 144, published as 144"
    case .riskDerived: "risk level derived"
    case .riskDefaulted: "risk level absent, published with the default"
    case .riskCapped: "risk level lowered to the cap"
    case .onsetDefaulted: "no exact onset, apps are given the default"
    case .onsetWithheld: "no exact onset, apps are given none"
    case .riskReencoded: "risk level written into report type and days since onset"
    case .riskNotNamed: "days since onset that the policy's table does not name, judged by its otherwise"
    case .onsetReplaced: "exact onset, apps are given the policy's"
    case .fieldWithheld: "a field that the policy keeps from apps"
    case .revocationOutvoted: "revoked by one origin, another one stands behind the key"
    }
  }
}

/// The notes about one key.
@frozen
package struct PublishingNotes: Hashable, Sendable, BitwiseCopyable {
  package private(set) var rawValue: UInt16 = 0

  package init() {}

  package func contains(_ note: PublishingNote) -> Bool { rawValue & 1 << UInt16(note.rawValue) != 0 }

  mutating func insert(_ note: PublishingNote) { rawValue |= 1 << UInt16(note.rawValue) }

  mutating func formUnion(_ other: PublishingNotes) { rawValue |= other.rawValue }
}
