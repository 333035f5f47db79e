/// Why a claim was not admitted. The raw value is the stable code for programs.
package enum AdmissionReason: String, Hashable, Sendable, CaseIterable {
  case keyDataUniform = "key-data-uniform"
  case riskEncodingUnreadable = "risk-encoding-unreadable"
  case rollingStartAbsent = "rolling-start-absent"
  case rollingStartTooEarly = "rolling-start-too-early"
  case rollingStartInFuture = "rolling-start-in-future"
  case keyTooOld = "key-too-old"
  case keyTooYoung = "key-too-young"
  case rollingStartNotMidnight = "rolling-start-not-midnight"
  case rollingPeriodAbsent = "rolling-period-absent"
  case rollingPeriodZero = "rolling-period-zero"
  case rollingPeriodOutOfRange = "rolling-period-out-of-range"
  case riskOutOfRange = "risk-out-of-range"
  case reportTypeUnrecognized = "report-type-unrecognized"
  case reportTypeNotAccepted = "report-type-not-accepted"
  case daysSinceOnsetUndefined = "days-since-onset-undefined"
  case originUnknown = "origin-unknown"
  case originNotAllowed = "origin-not-allowed"
  /// The policy names it among those that are taken from nobody.
  case originExcluded = "origin-excluded"
  /// More regions than one claim may name.
  case tooManyRegions = "too-many-regions"
  case regionsUnknown = "regions-unknown"
  case regionsNotAllowed = "regions-not-allowed"
  case ownKeyReturned = "own-key-returned"
  /// A number that the rules admit, but for which a ``Statement`` has no room. No rule's: admission itself says so.
  case notRepresentable = "not-representable"
  /// Held for an operator, not rejected.
  case flood
  /// More than the policy takes of an origin a day: held for an operator.
  case tooManyKeysADay = "too-many-keys-a-day"
  /// Another origin was the first to name the key data, under another rolling start: held for an operator. No rule's: who
  /// records the claims says so.
  case otherRollingStart = "other-rolling-start"
  /// The document is refused as a whole, and this was read before its fault: it counts for how long the key is held, and
  /// for nothing else. No rule's: who records the claims says so.
  case documentRefused = "document-refused"
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
