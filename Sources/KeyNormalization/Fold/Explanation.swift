package import ExposureKeys

/// How the fold decided about one key: what everybody said, what each claim was compared with, and what the publishing
/// rules made of the result.
package struct Explanation: Hashable, Sendable {
  /// One claim and what became of it.
  package struct Line: Hashable, Sendable {
    package enum Standing: Hashable, Sendable {
      /// This one is believed.
      case decided
      /// Another claim of its origin is greater; what decided that, or that both say the same.
      case lesserOfItsOrigin(by: String)
      /// Another origin's claim is greater.
      case lesserAcrossOrigins(by: String)
      /// The policy leaves out what this claim would have published.
      case leftOut(LeaveOutReason)
      /// A revocation that does not count, because another origin stands behind the key.
      case revocationOutvoted
      /// Its origin is lost, and an origin's own claim is known.
      case notCounted
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
package func explain(
  _ key: TemporaryExposureKey, _ claims: ClaimSet, policy: PublishingPolicy, region: String? = nil, now: Instant
) -> [Explanation] {
  let said = claims.rows.filter { $0.key == key }.map { claims.claim($0) }
  let starts = Set(said.map(\.subject.rollingStart)).sorted()
  return starts.map { start in
    var judge = BeliefJudge(claims: claims, policy: policy, target: .init(region: region), now: now)
    let about = said.filter { $0.subject.rollingStart == start }.sorted { $0.origin.rawValue < $1.origin.rawValue }
    return judge.explain(about[...], claims: claims)
  }
}

extension BeliefJudge {
  fileprivate mutating func explain(_ said: ArraySlice<AdmittedClaim>, claims: ClaimSet) -> Explanation {
    let decision = Decision.decide(said, by: order, routing: &router)
    var leftOut: [AdmittedClaim: LeaveOutReason] = [:]
    var believed: (candidate: Decision.Candidate, outcome: BeliefOutcome)?
    for candidate in [decision.first] + Decision.others(said, by: order, routing: &router) {
      let outcome = self.outcome(of: candidate, isContradicted: decision.isContradicted)
      if case .leaveOut(let reason) = outcome {
        leftOut[candidate.claim] = reason
      } else if believed == nil {
        believed = (candidate, outcome)
      }
    }
    let candidate = believed?.candidate ?? decision.first
    let outcome = believed?.outcome ?? self.outcome(of: decision.first, isContradicted: decision.isContradicted)
    var best: [OriginID: ClaimOrder.Ranked] = [:]
    for claim in Decision.counted(said) {
      let ranked = order.ranked(claim)
      best[claim.origin] = best[claim.origin].map { order.isLess($0, ranked) ? ranked : $0 } ?? ranked
    }
    let lines = said.map { claim in
      Explanation.Line(
        claim: claims.stated(claim),
        standing: standing(of: claim, besides: best[claim.origin], believed: candidate, leftOut: leftOut[claim]))
    }
    var regions: RegionClaim?
    if case .publish(let key) = outcome { regions = router.table[key.forFederation.regions] }
    return Explanation(
      subject: candidate.claim.subject, lines: lines,
      steps: steps(of: candidate, isContradicted: decision.isContradicted), outcome: outcome, regions: regions)
  }

  /// - Parameter best: the greatest claim of the same origin; `nil` where the origin does not count.
  private func standing(
    of claim: AdmittedClaim, besides best: ClaimOrder.Ranked?, believed: Decision.Candidate, leftOut: LeaveOutReason?
  ) -> Explanation.Line.Standing {
    guard let best else { return .notCounted }
    if claim == believed.claim, leftOut == nil { return .decided }
    let ranked = order.ranked(claim)
    if best.claim != claim { return .lesserOfItsOrigin(by: order.compare(ranked, best).by.rawValue) }
    if let leftOut { return .leftOut(leftOut) }
    if claim.isRevocation, !believed.isRevoked { return .revocationOutvoted }
    return .lesserAcrossOrigins(by: order.compare(ranked, order.ranked(believed.claim)).by.rawValue)
  }

  /// Asks the rules one by one and tells what each changed.
  private func steps(of candidate: Decision.Candidate, isContradicted: Bool) -> [Explanation.Step] {
    var belief = Belief(
      candidate, isContradicted: isContradicted, reachesTarget: router.reachesTarget(candidate.regions))
    var steps: [Explanation.Step] = []
    for rule in BeliefRules.all {
      let before = belief
      let verdict = rule.apply(&belief, context)
      let effects = PublishingNote.allCases.filter { belief.notes.contains($0) && !before.notes.contains($0) }.map(
        \.text)
      steps += effects.map { Explanation.Step(rule: rule.documentation.name, effect: $0) }
      switch verdict {
      case .goOn: continue
      case .hold(let instant, let reason):
        steps.append(
          Explanation.Step(rule: rule.documentation.name, effect: "\(reason.rawValue), held until \(instant)"))
      case .leaveOut(let reason):
        steps.append(Explanation.Step(rule: rule.documentation.name, effect: "left out: \(reason.rawValue)"))
      }
      break
    }
    return steps
  }
}
