package import ExposureKeys

/// A key of an upload, as far as it has to be known again to say something new about it.
package struct RevisableKey: Hashable, Sendable {
  package var key: TemporaryExposureKey
  package var rollingStart: Int32
  package var rollingPeriod: Int32

  package init(key: TemporaryExposureKey, rollingStart: Int32, rollingPeriod: Int32) {
    self.key = key
    self.rollingStart = rollingStart
    self.rollingPeriod = rollingPeriod
  }
}

/// What a phone shows so that it may say something new about keys that are known: that it has uploaded them itself.
package enum RevisionProof: Hashable, Sendable {
  /// There is nothing that it could show: nobody gives out what would do. It may repeat itself, and change nothing.
  case notIssued
  /// It shows nothing.
  case missing
  /// What it shows cannot be read.
  case unreadable
  case keys([RevisableKey])

  /// Whether its sender gets what will show later that it has uploaded the keys.
  package var isIssued: Bool { self != .notIssued }
}

/// Why nothing new is believed about a key that is known. The names are those of Google's key server.
package enum RevisionFault: String, Error, Hashable, Sendable {
  case missingToken = "missing_revision_token"
  case invalidToken = "invalid_revision_token"
  case alreadyRevised = "key_already_revised"
  case invalidTransition = "invalid_report_type_transition"
  /// The key is known with another start or period.
  case otherKey = "internal_error"

  /// For people.
  package var reason: String {
    switch self {
    case .missingToken: "no revision token, but sent existing keys"
    case .invalidToken: "revision token is invalid"
    case .alreadyRevised: "key was already revised"
    case .invalidTransition: "the report type cannot become this one"
    case .otherKey: "a key is known with another rolling start or period"
    }
  }
}
