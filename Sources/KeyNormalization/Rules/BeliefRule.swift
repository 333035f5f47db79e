import ExposureKeys

/// One step from a decided key to a published one. Pure: it may change how the key is published and note that, and it
/// returns a verdict; the caller counts. It is given no key data, because keys about which the same is said share one
/// answer.
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

  /// Asks every rule until one decides against publishing the key now.
  func judge(_ belief: inout Belief) -> BeliefVerdict {
    for judge in judges {
      let verdict = judge.apply(&belief, self)
      if verdict != .goOn { return verdict }
    }
    return .goOn
  }
}

/// What is published and how, in the order in which it is asked. A key is held last, so that only keys are held that
/// will go out.
package enum BeliefRules {
  package static let all: [BeliefRule] = [
    .reportTypePublished,
    .visitedRegions,
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
