package import ExposureKeys
internal import KeyNormalization

/// A key that did not get through: where it stands and why. Never key material.
package struct RejectedKey: Hashable, Sendable, Encodable {
  /// The step that refused it.
  package enum Step: String, Hashable, Sendable, Encodable {
    case decode, admit
    /// The target format cannot express the published key.
    case write
  }

  /// The document that holds the key, or that was to hold it.
  package let document: String
  package let step: Step
  /// Counted from 0 over all keys of the document.
  package private(set) var position: Int
  /// Of the key's first byte in the (uncompressed) document; `nil` where it is not known.
  package let byteOffset: Int?
  /// The stable code.
  package let reason: String
  /// The value that broke the rule and what is allowed.
  package let detail: String

  /// How many of them a receipt shows.
  package static let shownCount = 20

  package init(_ rejection: Rejection, of document: String, at step: Step) {
    self.document = document
    self.step = step
    position = rejection.position.index
    byteOffset = rejection.position.byteOffset >= 0 ? rejection.position.byteOffset : nil
    reason = rejection.reason.rawValue
    detail = rejection.detail
  }

  /// The same key of a document that has more keys.
  package func placed(at position: Int) -> RejectedKey {
    var key = self
    key.position = position
    return key
  }

  init(_ rejection: AdmissionRejection, of document: String) {
    self.document = document
    step = .admit
    position = rejection.index
    byteOffset = nil
    reason = rejection.reason.rawValue
    detail = rejection.reason.detail(rejection.value)
  }
}

extension AdmissionReason {
  /// For people: what was found and what is allowed.
  package func detail(_ value: Int32?) -> String {
    let number = value.map { " \($0)" } ?? ""
    return switch self {
    case .keyDataUniform: "key data of sixteen equal bytes, which no device generates"
    case .riskEncodingUnreadable:
      "report type and days since onset\(number) encode no risk level as the policy's encoding does"
    case .rollingStartAbsent: "rolling start absent"
    case .rollingStartTooEarly: "rolling start\(number) is before the policy's earliest day"
    case .rollingStartInFuture: "rolling start\(number) is in the future"
    case .keyTooOld: "rolling start\(number) is too long ago"
    case .rollingStartNotMidnight: "rolling start\(number) is no midnight (UTC)"
    case .rollingPeriodAbsent: "rolling period absent, and the policy reads nothing into that"
    case .rollingPeriodZero: "rolling period 0, allowed \(RollingPeriod.range)"
    case .rollingPeriodOutOfRange: "rolling period\(number), allowed \(RollingPeriod.range)"
    case .riskOutOfRange: "transmission risk level\(number), allowed \(TransmissionRisk.range)"
    case .reportTypeUnrecognized: "report type\(number), allowed \(ReportType.numbers)"
    case .reportTypeNotAccepted: "report type\(number) is not accepted by the policy"
    case .daysSinceOnsetUndefined: "days since onset\(number) have no meaning by the policy"
    case .keyTooYoung: "the key is in use, or was not long ago"
    case .tooManyKeysADay: "more keys of the origin than are taken a day"
    case .documentRefused: "its document is refused; it counts for how long the key is held"
    case .otherRollingStart: "another origin named the key data first, under another rolling start"
    case .originUnknown: "there is no origin of the name that the key states"
    case .tooManyRegions:
      "\(value.map(String.init) ?? "too many") regions, allowed are at most \(ReadingPolicy.maximumRegions)"
    case .regionsUnknown: "none of the regions that the key names can be one"
    case .regionsNotAllowed: "the source may name none of the key's regions"
    case .originNotAllowed: "the source may not speak for the key's origin"
    case .originExcluded: "keys of this origin are taken from nobody, as excluded-origins of the policy says"
    case .ownKeyReturned: "a key of our own that came back"
    case .notRepresentable: "a number that no claim can state:\(number)"
    case .flood: "its source brought far more keys of the origin than on a usual day"
    }
  }
}
