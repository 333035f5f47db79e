import ExposureKeys
package import KeyFormats

/// A kind of client that reads published bundles.
package enum DeviceProfile: String, Codable, Hashable, Sendable, CaseIterable {
  /// What every client accepts: the intersection of the others, and what Keyferry writes.
  case strict
  /// Google Play services, as its published sample reads files.
  case google
  /// The framework of iOS 13.5 and 13.6, as published in July 2020.
  case iosV1 = "ios-v1"
  /// iOS 12.5, which has what iOS 13.7 has, by Apple's documentation.
  case ios125 = "ios-12.5"
  /// iOS 13.7 and later, by Apple's documentation.
  case ios137 = "ios-13.7"
  /// microG's implementation for phones without Google's services.
  case microg

  var isApple: Bool { self == .iosV1 || self == .ios125 || self == .ios137 }

  /// Judges the file that `examination` read, rule by rule.
  ///
  /// - Parameters:
  ///   - examination: what inspecting the file gave.
  ///   - signature: what the caller's trust ring says about the file's signatures.
  package func judge(_ examination: Examination, signature: SignatureStanding) -> ProfileReport {
    let facts = examination.facts
    guard facts.isExport else {
      let row = ProfileReport.Row(
        rule: .format, outcome: .refuseFile, count: 1, text: "clients read exports only, not \(facts.format.rawValue)")
      return ProfileReport(self, [row], keyCount: examination.keys.keyCount)
    }
    let evidence = ProfileEvidence(facts: facts, keys: examination.keys, signature: signature)
    return ProfileReport(self, fileRows(evidence) + keyRows(evidence), keyCount: examination.keys.keyCount)
  }

  /// Judges a file that could not be read to its end.
  package func judge(unreadable error: FormatError) -> ProfileReport {
    let outcome: ProfileReport.Outcome
    let reaction: String
    switch self {
    case .strict: (outcome, reaction) = (.refuseFile, "the file must be read to its end")
    case .google: (outcome, reaction) = (.refuseCall, "the call ends with an exception")
    case .iosV1, .ios125, .ios137: (outcome, reaction) = (.refuseFile, "bad format")
    case .microg: (outcome, reaction) = (.refuseFile, "the file is skipped with a line in the log")
    }
    let row = ProfileReport.Row(rule: .encoding, outcome: outcome, count: 1, text: "\(error): \(reaction)")
    return ProfileReport(self, [row], keyCount: 0)
  }
}

/// What a trust ring says about the signatures of a file.
package enum SignatureStanding: String, Codable, Hashable, Sendable, CaseIterable {
  /// A signature verifies with a key that is trusted, named and valid.
  case verified
  case notVerified = "not-verified"
  /// Nobody looked.
  case unknown
}

struct ProfileEvidence {
  let facts: InspectedDocument
  let keys: KeyFacts
  let signature: SignatureStanding
}

/// What one client does with files that break one rule.
struct Reaction {
  let outcome: ProfileReport.Outcome
  let text: String

  init(_ outcome: ProfileReport.Outcome, _ text: String) {
    self.outcome = outcome
    self.text = text
  }
}

extension ProfileReport.Row {
  /// The row of a rule that holds, or of one that is broken `count` times.
  init(_ rule: ProfileRule, broken count: Int, first: Int? = nil, what: String, _ reaction: @autoclosure () -> Reaction)
  {
    guard count > 0 else {
      self.init(rule: rule, outcome: .ok, count: 0, text: "ok")
      return
    }
    let reaction = reaction()
    self.init(
      rule: rule, outcome: reaction.outcome, count: count, firstPosition: first, text: "\(what): \(reaction.text)")
  }

  init(_ rule: ProfileRule, notJudged reason: String) {
    self.init(rule: rule, outcome: .notJudged, count: 0, text: reason)
  }
}
