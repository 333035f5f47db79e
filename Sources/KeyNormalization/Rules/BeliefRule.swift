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
  let outcomes: ByReportType<PublishingPolicy.ReportTypeOutcome>
  private let judges = BeliefRules.judges

  init(policy: PublishingPolicy, now: Instant) {
    self.policy = policy
    self.now = now
    outcomes = ByReportType { policy.reportTypes[$0] ?? .leaveOut }
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
    .tooManyRegions,
    .shortPeriods,
    .tooOld,
    .publishedRisk,
    .onsetForApps,
    .riskForApps,
    .stillValid,
  ]

  /// A rule without its documentation, which need not be carried from key to key. A function in a struct, because one
  /// that is an array's element is called through another and counted as a reference.
  struct Judge: Sendable {
    let apply: @Sendable (inout Belief, BeliefContext) -> BeliefVerdict
  }

  static let judges = all.map { Judge(apply: $0.apply) }
}
