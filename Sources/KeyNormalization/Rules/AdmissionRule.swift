import ExposureKeys

/// One condition that a claim meets to be admitted. Pure: it may read the claim leniently and say so, and it returns a
/// verdict; the caller counts.
package struct AdmissionRule: Sendable {
  package let documentation: RuleDocumentation
  /// What a policy sets it to, for the rule table.
  let value: @Sendable (ReadingPolicy) -> String
  let apply: @Sendable (inout Reading, AdmissionContext) -> AdmissionVerdict
}

/// What a rule is about, where it comes from, and what becomes of a key that breaks it. The rule table is made of this.
package struct RuleDocumentation: Hashable, Sendable {
  /// The stable code.
  package let name: String
  /// What it does.
  package let rule: String
  /// Why it exists.
  package let why: String
  /// Where that is defined or was observed.
  package let source: String
  /// What happens to a key that breaks it.
  package let outcome: String
}

/// What an admission rule says.
enum AdmissionVerdict: Hashable {
  case admit
  /// `value` is what broke the rule, where it is a number.
  case reject(AdmissionReason, value: Int32? = nil)
  /// Neither admitted nor rejected: an operator decides.
  case holdForOperator(AdmissionReason)
}

/// A claim while it is being read.
struct Reading {
  var key: ClaimedKey
  var allowances = AllowanceSet()
  var origin: OriginFacts
}

/// What the rules ask about a claim's origin.
struct OriginFacts {
  var isAllowed = true
  var isOwn = false
  /// How many claims of this origin were admitted before this one.
  var admitted = 0
  /// From how many on it is a flood.
  var floodLimit = Int.max
}

/// What the rules know besides the claim. A class, so that it is handed from rule to rule without copying.
final class AdmissionContext: Sendable {
  let policy: ReadingPolicy
  /// Rolling starts lie in this range.
  let rollingStarts: ClosedRange<Int64>
  let acceptedReportTypes: UInt32

  init(policy: ReadingPolicy, now: Instant) {
    self.policy = policy
    let earliest = max(0, policy.earliestRollingStart.firstInterval.rawValue)
    let latest = IntervalNumber(containing: now).rawValue + Int64(policy.futureTolerance)
    rollingStarts = earliest...max(earliest, latest)
    acceptedReportTypes = policy.reportTypes.reduce(0) { $0 | 1 << UInt32($1.rawValue) }
  }

  /// Asks these rules until one does not admit the claim.
  func judge(_ reading: inout Reading, by judges: [AdmissionRules.Judge]) -> AdmissionVerdict {
    for judge in judges {
      let verdict = judge.apply(&reading, self)
      if verdict != .admit { return verdict }
    }
    return .admit
  }
}

/// Which claims are admitted, in the order in which it is asked.
package enum AdmissionRules {
  package static let all: [AdmissionRule] = aboutKeyData + aboutStatements + aboutVolumes

  /// They look at key data and at nothing else.
  private static let aboutKeyData: [AdmissionRule] = [.wellFormedKey]

  /// They look at neither key data nor counts, so that they judge all claims of a document that say the same alike.
  private static let aboutStatements: [AdmissionRule] = [
    .reencodedRisk,
    .rollingStart,
    .rollingPeriod,
    .riskLevel,
    .reportType,
    .daysSinceOnset,
    .originAllowed,
    .ownKey,
  ]

  /// They look at how much an origin has sent.
  private static let aboutVolumes: [AdmissionRule] = [.flood]

  /// A rule without its documentation, which need not be carried from key to key. A function in a struct, because one
  /// that is an array's element is called through another and counted as a reference.
  struct Judge: Sendable {
    let apply: @Sendable (inout Reading, AdmissionContext) -> AdmissionVerdict
  }

  static let judgesOfKeyData = aboutKeyData.map { Judge(apply: $0.apply) }
  static let judgesOfStatements = aboutStatements.map { Judge(apply: $0.apply) }
  static let judgesOfVolumes = aboutVolumes.map { Judge(apply: $0.apply) }
}
