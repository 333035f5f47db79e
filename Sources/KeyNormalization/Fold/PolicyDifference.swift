package import ExposureKeys

/// How many keys fare differently under two policies, by what becomes of them. Where both publish a key but not the
/// same, it counts as `published-differently`.
package struct PolicyDifference: Hashable, Sendable {
  package struct Change: Hashable, Sendable {
    /// `published`, `held: still-valid`, `left out: too-old`, `unknown`.
    package let before: String
    package let after: String
  }

  /// Which keys a change is about.
  package struct Details: Hashable, Sendable {
    /// The first of them, for `explain`.
    package fileprivate(set) var example: TemporaryExposureKey?
    /// How many keys each origin claims, and how many go to each region that a claim names; the lost origin, and no region
    /// named, have no name.
    package fileprivate(set) var origins: [String: Int] = [:]
    package fileprivate(set) var regions: [String: Int] = [:]
    /// Of keys that are published differently: how many differ in each field.
    package fileprivate(set) var fields: [String: Int] = [:]
  }

  /// How many keys are known to either side.
  package private(set) var keys = 0
  package private(set) var changes: [Change: Int] = [:]
  package private(set) var details: [Change: Details] = [:]
  /// The change of each key that has one.
  private var changeOf: [KeySubject: Change] = [:]

  /// How many keys fare differently.
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
      if let subject = isFirst ? first?.subject : second?.subject {
        count(
          subject, isFirst ? first?.outcome : nil, left.regions, isSecond ? second?.outcome : nil, right.regions)
      }
      if isFirst { first = left.next() }
      if isSecond { second = right.next() }
    }
    name(who: [before, after])
    changeOf = [:]
  }

  /// Counts each key once for each origin and each region that a claim of either side names.
  private mutating func name(who sides: [ClaimSet]) {
    struct Place: Hashable {
      var subject: KeySubject
      var name: String
      var isOrigin: Bool
    }
    var known: Set<Place> = []
    for claims in sides {
      for row in claims.rows {
        guard let change = changeOf[row.subject] else { continue }
        let claim = claims.stated(claims.claim(row))
        if known.insert(Place(subject: row.subject, name: claim.origin ?? "", isOrigin: true)).inserted {
          details[change, default: Details()].origins[claim.origin ?? "", default: 0] += 1
        }
        let regions = claim.visited ?? []
        for region in regions.isEmpty ? [""] : regions
        where known.insert(Place(subject: row.subject, name: region, isOrigin: false)).inserted {
          details[change, default: Details()].regions[region, default: 0] += 1
        }
      }
    }
  }

  private mutating func note(_ change: Change, _ subject: KeySubject) {
    changes[change, default: 0] += 1
    changeOf[subject] = change
    if details[change]?.example == nil { details[change, default: Details()].example = subject.key }
  }

  private mutating func count(
    _ subject: KeySubject, _ before: BeliefOutcome?, _ oldRegions: RegionTable, _ after: BeliefOutcome?,
    _ newRegions: RegionTable
  ) {
    if case .publish(let old) = before, case .publish(let new) = after {
      let fields = old.fieldsPublished(in: oldRegions, otherwiseThan: new, in: newRegions)
      guard !fields.isEmpty else { return }
      let change = Change(before: "published", after: "published-differently")
      note(change, subject)
      for field in fields { details[change, default: Details()].fields[field, default: 0] += 1 }
      return
    }
    let change = Change(before: before.summary, after: after.summary)
    if change.before != change.after { note(change, subject) }
  }
}

extension BelievedKey {
  /// What is told otherwise, to apps or to other gateways.
  fileprivate func fieldsPublished(
    in regions: RegionTable, otherwiseThan other: BelievedKey, in others: RegionTable
  ) -> [String] {
    let pairs = [(forFederation, other.forFederation), (forApps, other.forApps)]
    func differs<Value: Equatable>(_ field: KeyPath<ClaimedKey, Value>) -> Bool {
      pairs.contains { $0[keyPath: field] != $1[keyPath: field] }
    }
    var fields: [String] = []
    if differs(\.reportType) { fields.append("report type") }
    if differs(\.transmissionRisk) { fields.append("risk level") }
    if differs(\.daysSinceOnset) { fields.append("days since onset") }
    if differs(\.rollingPeriod) { fields.append("rolling period") }
    if differs(\.isRevised) { fields.append("revised") }
    if regions[forFederation.regions] != others[other.forFederation.regions] { fields.append("regions") }
    return fields
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
