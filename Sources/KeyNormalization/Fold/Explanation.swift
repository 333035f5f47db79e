package import ExposureKeys

/// How the fold decided about one key: what everybody said, what each claim gave to the result or why it gave nothing, and
/// what the publishing rules made of the opinions that are published.
package struct Explanation: Hashable, Sendable {
  /// One claim and what became of it.
  package struct Line: Hashable, Sendable {
    package enum Standing: Hashable, Sendable {
      /// Its origin's opinion is published, and these parts of the result are as this claim says.
      case gives([Part])
      /// The relays' word about a key of which an own claim is known, or a copy of an upload that was proven: it publishes
      /// the key and gives these parts.
      case echoes([Part])
      /// The policy leaves out its origin's opinion.
      case leftOut(LeaveOutReason)
      /// Its origin revoked it.
      case revokedByItsOrigin
      /// A revocation that does not count, because another origin stands behind the key.
      case revocationOutvoted
      /// A revocation by an origin that has also said something that weighs more: a confirmed test is not taken back.
      case revocationWeighsLess
      /// The relays' word about a key that every origin with a claim of its own has revoked, and so a copy's; or their
      /// revocation; or anyone's word about a key that the gateway's own origins have revoked.
      case notCounted
      /// An origin with precedence has claimed the key.
      case setAside
    }

    /// A part of what is published.
    package enum Part: String, Hashable, Sendable, CaseIterable {
      case reportType = "report type"
      case riskLevel = "risk level"
      case onset = "days since onset"
      case rollingPeriod = "rolling period"
      case regions
    }

    package let claim: StatedClaim
    package let standing: Standing
  }

  /// One publishing rule and what it did; rules that did nothing are not listed.
  package struct Step: Hashable, Sendable {
    package let rule: String
    package let effect: String
  }

  package let subject: KeySubject
  package let lines: [Line]
  package let steps: [Step]
  package let outcome: BeliefOutcome
  /// The regions that the key goes with, where it is published.
  package let regions: RegionClaim?
}

/// Explains what is believed about a key: one explanation for each rolling start under which claims know it.
///
/// - Parameter embargo: what else is stated about how long keys are valid.
package func explain(
  _ key: TemporaryExposureKey, _ claims: ClaimSet, policy: PublishingPolicy, region: String? = nil,
  embargo: Embargo = Embargo(), now: Instant
) -> [Explanation] {
  explain(key, claims, policy: policy, ownOrigins: [], embargo: embargo, now: now, target: .init(region: region))
}

/// Explains what is believed about a key for those who want some destinations alone.
///
/// - Parameters:
///   - ownOrigins: the gateway's own origins.
///   - needsOrigins: whether `isWanted` looks at the origins.
///   - isWanted: whether keys that one origin sends to this destination are wanted.
package func explain(
  _ key: TemporaryExposureKey, _ claims: ClaimSet, policy: PublishingPolicy, ownOrigins: Set<String> = [],
  embargo: Embargo, now: Instant, needsOrigins: Bool, isWanted: @escaping (KeyDestination) -> Bool
) -> [Explanation] {
  explain(
    key, claims, policy: policy, ownOrigins: ownOrigins, embargo: embargo, now: now,
    target: .init(needsOrigins: needsOrigins, isWanted: isWanted))
}

private func explain(
  _ key: TemporaryExposureKey, _ claims: ClaimSet, policy: PublishingPolicy, ownOrigins: Set<String>,
  embargo: Embargo, now: Instant, target: RegionRouter.Target
) -> [Explanation] {
  let said = claims.rows.filter { $0.key == key }.map { claims.claim($0) }
  let starts = Set(said.map(\.subject.rollingStart)).sorted()
  return starts.map { start in
    var judge = BeliefJudge(claims: claims, policy: policy, ownOrigins: ownOrigins, target: target, now: now)
    let about = said.filter { $0.subject.rollingStart == start }.sorted { $0.origin.rawValue < $1.origin.rawValue }
    return judge.explain(about[...], claims: claims, embargo: embargo)
  }
}

/// Whose claims about a key make one opinion.
private struct Speaker: Hashable {
  let origin: OriginID
  let isCopy: Bool
}

extension BeliefJudge {
  fileprivate mutating func explain(
    _ said: ArraySlice<AdmittedClaim>, claims: ClaimSet, embargo: Embargo
  ) -> Explanation {
    var hearing = OpinionSummary()
    var heard: [Speaker: (opinion: Opinion, verdict: OpinionVerdict)] = [:]
    let subject = said[said.startIndex].subject
    let deciding = speakers.deciding(said)
    hear(deciding, longestPeriod: longestPeriod(of: said, embargo.period(of: subject))) {
      opinion, belief, verdict, origins in
      hearing.take(opinion, belief, verdict, origins: origins)
      heard[Speaker(origin: opinion.origin, isCopy: opinion.isCopy)] = (opinion, verdict)
    }
    let outcome = outcome(of: hearing, isContradicted: isContradicted(deciding), about: subject.key)
    let together: Together? =
      switch hearing.result(origins: claims.names.origins) {
      case .publish(let together): together
      case .leaveOut: nil
      }
    // Strangers can make many claims about a key: each is looked up in constant time.
    let (copies, others) = (Set(deciding.copies), Set(deciding.claims))
    let lines = said.map { claim in
      let isCopy = copies.contains(claim)
      var standing = Explanation.Line.Standing.setAside
      if isCopy || others.contains(claim),
        let heard = heard[Speaker(origin: claim.origin, isCopy: isCopy)]
      {
        standing = self.standing(of: claim, heard.opinion, heard.verdict, hearing, together)
      }
      return Explanation.Line(claim: claims.stated(claim), standing: standing)
    }
    var regions: RegionClaim?
    if case .publish(let key) = outcome { regions = router.table[key.forFederation.regions] }
    return Explanation(
      subject: subject, lines: lines, steps: steps(of: outcome, together), outcome: outcome, regions: regions)
  }

  /// - Parameter together: what is published, or held; `nil` where nothing is.
  private func standing(
    of claim: AdmittedClaim, _ opinion: Opinion, _ verdict: OpinionVerdict, _ hearing: OpinionSummary,
    _ together: Together?
  ) -> Explanation.Line.Standing {
    if claim.isRevocation, !opinion.isRevocation, !opinion.isEcho { return .revocationWeighsLess }
    if opinion.isEcho, opinion.isRevocation || !hearing.isCounted(opinion) { return .notCounted }
    if opinion.isRevocation, !opinion.isEcho {
      if !claim.isRevocation { return .revokedByItsOrigin }
      if hearing.isRevocationOutvoted { return .revocationOutvoted }
    }
    switch verdict {
    case .leaveOut(let reason): return .leftOut(reason)
    case .elsewhere where opinion.isEcho || !hearing.followsEcho: return .leftOut(.otherRegion)
    case .publish, .elsewhere:
      guard let said = together?.said else { return .leftOut(.otherRegion) }
      let parts = parts(of: claim.said, in: said, isEcho: opinion.isEcho)
      return opinion.isEcho ? .echoes(parts) : .gives(parts)
    }
  }

  private func parts(
    of claim: StatedFields, in said: StatedFields, isEcho: Bool
  ) -> [Explanation.Line.Part] {
    Explanation.Line.Part.allCases.filter { part in
      switch part {
      case .reportType: !isEcho && claim.reportType != nil && claim.reportType == said.reportType
      case .riskLevel: !isEcho && claim.transmissionRisk != nil && claim.transmissionRisk == said.transmissionRisk
      case .onset: !isEcho && claim.daysSinceOnset != nil && claim.daysSinceOnset == said.daysSinceOnset
      case .rollingPeriod: claim.rollingPeriod == said.rollingPeriod
      case .regions: true
      }
    }
  }

  /// What the rules did, each beside its name.
  private func steps(of outcome: BeliefOutcome, _ together: Together?) -> [Explanation.Step] {
    var notes = together?.notes ?? PublishingNotes()
    if case .publish(let key) = outcome { notes = key.notes }
    var steps = PublishingNote.allCases.compactMap { note in
      notes.contains(note) ? note.rule.map { Explanation.Step(rule: $0, effect: note.text) } : nil
    }
    switch outcome {
    case .publish: break
    case .hold(let instant, let reason):
      steps.append(
        Explanation.Step(rule: BeliefRule.stillValid.name, effect: "\(reason.rawValue), held until \(instant)"))
    case .leaveOut(let reason):
      if let rule = reason.rule { steps.append(Explanation.Step(rule: rule, effect: "left out: \(reason.rawValue)")) }
    }
    return steps
  }
}

extension BeliefRule {
  fileprivate var name: String { documentation.name }
}

extension PublishingNote {
  /// The rule that notes it; `nil` where it comes of several claims.
  fileprivate var rule: String? {
    switch self {
    case .conflictDecided, .revocationOutvoted: nil
    case .reportTypeMapped: BeliefRule.reportTypePublished.name
    case .rollingPeriodExpanded: BeliefRule.shortPeriods.name
    case .riskDerived, .riskDefaulted, .riskCapped, .riskNotNamed: BeliefRule.publishedRisk.name
    case .onsetDefaulted, .onsetWithheld, .onsetReplaced: BeliefRule.onsetForApps.name
    case .riskReencoded: BeliefRule.riskForApps.name
    case .fieldWithheld: BeliefRule.fieldsForApps.name
    }
  }
}

extension LeaveOutReason {
  /// The rule that leaves it out; `nil` where it comes of several claims.
  fileprivate var rule: String? {
    switch self {
    case .reportTypeNotPublished, .revoked: BeliefRule.reportTypePublished.name
    case .tooOld: BeliefRule.tooOld.name
    case .otherRegion: BeliefRule.visitedRegions.name
    case .riskNotPublished: BeliefRule.publishedRisk.name
    case .revocationOutvoted: nil
    }
  }
}
