import ExposureKeys

/// One step from what one origin says about a key to what apps are told. Pure: it may change how the key is published and
/// note that, and it returns a verdict; the caller counts. It is given no key data, because keys about which the same is
/// said share one answer.
///
/// Every rule is asked of each origin's opinion alone, as if nobody else had claimed the key: so nobody's key is left out
/// for what another says.
package struct BeliefRule: Sendable {
  package let documentation: RuleDocumentation
  /// What a policy sets it to, for the rule table.
  let value: @Sendable (PublishingPolicy) -> String
  /// Whether it does anything under a policy. Where it does not, it is not asked of each key.
  var isNeeded: @Sendable (PublishingPolicy) -> Bool = { _ in true }
  let apply: @Sendable (inout Belief, BeliefContext) -> BeliefVerdict
}

enum BeliefVerdict: Hashable {
  case goOn
  case leaveOut(LeaveOutReason)
  case hold(until: Instant, HoldReason)
}

/// What becomes of one origin's opinion.
enum OpinionVerdict {
  /// At once, or not yet.
  case publish(hold: (until: Instant, reason: HoldReason)?)
  /// It would be published, but not in the regions that are wanted.
  case elsewhere(hold: (until: Instant, reason: HoldReason)?)
  case leaveOut(LeaveOutReason)
}

/// What the rules know besides the key. A class, so that it is handed from rule to rule without copying.
final class BeliefContext: Sendable {
  let policy: PublishingPolicy
  let now: Instant
  /// What becomes of each report type.
  private let outcomes: ByReportType<PublishingPolicy.ReportTypeOutcome>
  /// The same for the origins of which the policy says something else.
  private let outcomesByOrigin: [OriginID: ByReportType<PublishingPolicy.ReportTypeOutcome>]
  private let notGivenByOrigin: [OriginID: SymptomTable.Entry]
  private let judges: [BeliefRules.Judge]
  /// When keys go out, asked once of the policy and not once of it for each key.
  private let release: PublishingPolicy.Release

  /// - Parameter origins: the names of the origins by their numbers; the lost one has none.
  init(policy: PublishingPolicy, now: Instant, origins: [String]) {
    self.policy = policy
    self.now = now
    judges = BeliefRules.judges(for: policy)
    release = policy.release
    outcomes = ByReportType { policy.outcome(of: $0, from: nil) }
    var byOrigin: [OriginID: ByReportType<PublishingPolicy.ReportTypeOutcome>] = [:]
    for (number, name) in origins.enumerated() where policy.reportTypesByOrigin[name] != nil {
      byOrigin[OriginID(rawValue: UInt32(number))] = ByReportType { policy.outcome(of: $0, from: name) }
    }
    outcomesByOrigin = byOrigin
    guard case .fromSymptoms(let table) = policy.risk.derivation, !table.notGivenByOrigin.isEmpty else {
      notGivenByOrigin = [:]
      return
    }
    notGivenByOrigin = Dictionary(
      uniqueKeysWithValues: origins.enumerated().compactMap { number, name in
        table.notGivenByOrigin[name].map { (OriginID(rawValue: UInt32(number)), $0) }
      })
  }

  /// When a key may go out whose latest expiry is at this instant.
  @inline(__always)
  func release(after expiry: Instant) -> Instant { release.instant(after: expiry) }

  /// What a table of levels says of a key of which nothing is given, where it says something else for its origin.
  func notGiven(from origin: OriginID) -> SymptomTable.Entry? {
    notGivenByOrigin.isEmpty ? nil : notGivenByOrigin[origin]
  }

  /// What becomes of a report type that an origin states.
  func outcome(of type: ReportType, from origin: OriginID) -> PublishingPolicy.ReportTypeOutcome {
    outcomesByOrigin.isEmpty ? outcomes[type] : (outcomesByOrigin[origin] ?? outcomes)[type]
  }

  /// Asks every rule until one decides against publishing the opinion. Those behind the one about regions are asked all
  /// the same, since an opinion stands against a revocation wherever it is published.
  func judge(_ belief: inout Belief) -> OpinionVerdict {
    var isElsewhere = false
    for judge in judges {
      switch judge.apply(&belief, self) {
      case .goOn: continue
      case .leaveOut(.otherRegion): isElsewhere = true
      case .leaveOut(let reason): return .leaveOut(isElsewhere ? .otherRegion : reason)
      case .hold(let until, let reason):
        return isElsewhere ? .elsewhere(hold: (until, reason)) : .publish(hold: (until, reason))
      }
    }
    return isElsewhere ? .elsewhere(hold: nil) : .publish(hold: nil)
  }
}

/// What is published and how, in the order in which it is asked of each opinion. A key is held last, so that only keys
/// are held that will go out.
package enum BeliefRules {
  package static let all: [BeliefRule] = [
    .reportTypePublished,
    .visitedRegions,
    .shortPeriods,
    .tooOld,
    .publishedRisk,
    .onsetForApps,
    .riskForApps,
    .fieldsForApps,
    .stillValid,
  ]

  /// A rule without its documentation, which need not be carried from key to key. A function in a struct, because one
  /// that is an array's element is called through another and counted as a reference.
  struct Judge: Sendable {
    let apply: @Sendable (inout Belief, BeliefContext) -> BeliefVerdict
  }

  static func judges(for policy: PublishingPolicy) -> [Judge] {
    all.filter { $0.isNeeded(policy) }.map { Judge(apply: $0.apply) }
  }
}
