package import ExposureKeys

/// How many keys fare differently under two policies, by what becomes of them. Where both publish a key but not the
/// same, it counts as `published-differently`.
package struct PolicyDifference: Hashable, Sendable {
  package struct Change: Hashable, Sendable {
    /// `published`, `held: still-valid`, `left out: too-old`, `unknown`.
    package let before: String
    package let after: String
  }

  /// How many keys are known to either side.
  package private(set) var keys = 0
  package private(set) var changes: [Change: Int] = [:]

  package var changed: Int { changes.values.reduce(0, +) }

  /// Compares two folds, each over the claims as its reading policy admitted them.
  package init(
    from before: ClaimSet, by old: PublishingPolicy, to after: ClaimSet, by new: PublishingPolicy,
    region: String? = nil, now: Instant
  ) {
    var left = Beliefs(of: before, policy: old, region: region, now: now)
    var right = Beliefs(of: after, policy: new, region: region, now: now)
    var (first, second) = (left.next(), right.next())
    while first != nil || second != nil {
      keys += 1
      let isFirst = first.map { known in second.map { known.subject <= $0.subject } ?? true } ?? false
      let isSecond = second.map { known in first.map { known.subject <= $0.subject } ?? true } ?? false
      count(isFirst ? first?.outcome : nil, left.regions, isSecond ? second?.outcome : nil, right.regions)
      if isFirst { first = left.next() }
      if isSecond { second = right.next() }
    }
  }

  private mutating func count(
    _ before: BeliefOutcome?, _ oldRegions: RegionTable, _ after: BeliefOutcome?, _ newRegions: RegionTable
  ) {
    if case .publish(let old) = before, case .publish(let new) = after {
      guard !old.publishesTheSame(in: oldRegions, as: new, in: newRegions) else { return }
      changes[Change(before: "published", after: "published-differently"), default: 0] += 1
      return
    }
    let change = Change(before: before.summary, after: after.summary)
    if change.before != change.after { changes[change, default: 0] += 1 }
  }
}

extension BelievedKey {
  fileprivate func publishesTheSame(in regions: RegionTable, as other: BelievedKey, in others: RegionTable) -> Bool {
    guard regions[forFederation.regions] == others[other.forFederation.regions] else { return false }
    var (mine, theirs) = (self, other)
    mine.forFederation.regions = .none
    theirs.forFederation.regions = .none
    return mine.forFederation == theirs.forFederation && mine.forApps == theirs.forApps
  }
}

extension Optional where Wrapped == BeliefOutcome {
  fileprivate var summary: String {
    switch self {
    case nil: "unknown"
    case .publish: "published"
    case .hold(_, let reason): "held: \(reason.rawValue)"
    case .leaveOut(let reason): "left out: \(reason.rawValue)"
    }
  }
}
