import ExposureKeys

/// One step from a decided key to a published one. Pure: it may change how the key is published and note that, and it
/// returns a verdict; the caller counts.
public struct BeliefRule: Sendable {
  public let documentation: RuleDocumentation
  /// What a policy sets it to, for the rule table.
  let value: @Sendable (PublishingPolicy) -> String
  let apply: @Sendable (inout Belief, BeliefContext) -> BeliefVerdict
}

enum BeliefVerdict: Hashable {
  case goOn
  case leaveOut(LeaveOutReason)
  case hold(until: Instant, HoldReason)
}

struct BeliefContext {
  let policy: PublishingPolicy
  let now: Instant
}

/// What is published and how, in the order in which it is asked. A key is held last, so that only keys are held that
/// will go out.
public enum BeliefRules {
  public static let all: [BeliefRule] = [
    .reportTypePublished,
    .visitedRegions,
    .shortPeriods,
    .tooOld,
    .publishedRisk,
    .onsetForApps,
    .riskForApps,
    .stillValid,
  ]

  static func judge(_ belief: inout Belief, in context: BeliefContext) -> BeliefVerdict {
    for rule in all {
      let verdict = rule.apply(&belief, context)
      if verdict != .goOn { return verdict }
    }
    return .goOn
  }
}
