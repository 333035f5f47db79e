/// What one kind of client would do with a file, and why.
package struct ProfileReport: Codable, Hashable, Sendable {
  package var profile: DeviceProfile
  package var verdict: Verdict
  /// Keys that the client leaves out while it reads the others.
  package var skippedKeys: Int
  /// One row a rule, in the order of the rules.
  package var rules: [Row]

  package enum Verdict: String, Codable, Hashable, Sendable, CaseIterable {
    case accepts
    case acceptsWithWarnings = "accepts-with-warnings"
    /// The client reads the file but for some of its keys.
    case skipsKeys = "skips-keys"
    /// The client ignores this file; others in the same call go on.
    case refusesFile = "refuses-file"
    /// The whole call fails, with every other file in it.
    case refusesCall = "refuses-call"
  }

  package struct Row: Codable, Hashable, Sendable {
    package var rule: ProfileRule
    package var outcome: Outcome
    /// How many keys, entries or signatures it concerns.
    package var count: Int
    /// Index in the document of the first key it concerns.
    package var firstPosition: Int?
    /// What this client does, and why here.
    package var text: String
  }

  package enum Outcome: String, Codable, Hashable, Sendable, CaseIterable {
    case ok
    /// Cannot be told from this file, or without a trust ring.
    case notJudged = "not-judged"
    case info
    case warn
    case skipKey = "skip-key"
    case refuseFile = "refuse-file"
    case refuseCall = "refuse-call"

    /// Whether there is something to tell.
    package var isRemarkable: Bool { self != .ok && self != .notJudged }
  }

  init(_ profile: DeviceProfile, _ rules: [Row], keyCount: Int) {
    self.profile = profile
    self.rules = rules
    let outcomes = Set(rules.map(\.outcome))
    let skipped = rules.filter { $0.outcome == .skipKey }.reduce(0) { $0 + $1.count }
    // A key may be skipped for two reasons.
    skippedKeys = min(skipped, keyCount)
    verdict =
      if outcomes.contains(.refuseCall) {
        .refusesCall
      } else if outcomes.contains(.refuseFile) {
        .refusesFile
      } else if outcomes.contains(.skipKey) {
        .skipsKeys
      } else if outcomes.contains(.warn) {
        .acceptsWithWarnings
      } else {
        .accepts
      }
  }
}

/// The rules by which clients judge a file. The raw value is the stable code for programs.
package enum ProfileRule: String, Codable, Hashable, Sendable, CaseIterable {
  case format
  case archiveEntries = "archive-entries"
  case uniqueNames = "unique-names"
  case dataDescriptor = "data-descriptor"
  case fileHeader = "file-header"
  case encoding
  case batch
  case signatureCount = "signature-count"
  case signatureInfos = "signature-infos"
  case keyIdentity = "key-identity"
  case algorithm
  case signatureEncoding = "signature-encoding"
  case signatureVerifies = "signature-verifies"
  case keyData = "key-data"
  case negativeNumbers = "negative-numbers"
  case repeatedKeys = "repeated-keys"
  case keyEntropy = "key-entropy"
  case rollingPeriod = "rolling-period"
  case rollingStart = "rolling-start"
  case stillValid = "still-valid"
  case age
  case alignment
  case riskLevel = "risk-level"
  case reportType = "report-type"
  case daysSinceOnset = "days-since-onset"
  case revisedKeys = "revised-keys"
  case size
  case window
  case callBudget = "call-budget"
}
