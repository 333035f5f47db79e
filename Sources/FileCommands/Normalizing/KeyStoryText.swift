internal import ExposureKeys
package import KeyConversion
internal import KeyIntake
package import KeyNormalization

extension KeyStory {
  /// The story for people. The key itself is not in it.
  package var text: String {
    mentions.map(\.text).joined() + explanations.map { "\n" + text(of: $0) }.joined() + deliveryText
  }

  /// Files are taken at the operator's word: `explain` is given no keys to verify them with.
  package static let isUnverified = "no signature was verified"

  /// What becomes of the key, in one line.
  package var answer: String {
    guard explanations.isEmpty else {
      return explanations.map { explanation in
        switch explanation.outcome {
        case .publish: "would be published" + (explanation.regions.map { ", \($0.text)" } ?? "")
        case .hold, .leaveOut: explanation.outcome.text
        }
      }.joined(separator: "; ") + "; \(Self.isUnverified)"
    }
    for mention in mentions {
      switch mention.reading {
      case .rejected(let reason, let detail): return "not admitted, \(reason.rawValue): \(detail)"
      case .heldForOperator: return "not admitted, held for the operator"
      case .admitted: continue
      }
    }
    return "not known"
  }

  private func text(of explanation: Explanation) -> String {
    let start = IntervalNumber(Int64(explanation.subject.rollingStart)).start
    var text = "decision about the key that is valid from \(minuteText(start)) UTC\n"
    for line in explanation.lines {
      let origin = line.claim.origin.map(printableText) ?? "origin not known"
      text += "  \(printableText(line.claim.source.name)), \(origin): \(line.standing.text)\n"
    }
    for step in explanation.steps { text += "  rule \(step.rule): \(step.effect)\n" }
    return text + "  outcome: \(explanation.outcome.text)\n"
      + (explanation.regions.map { "  regions: \($0.text)\n" } ?? "")
  }

  private var deliveryText: String {
    guard !deliveries.isEmpty else { return "" }
    let names = deliveries.map { $0.region.map(printableText) ?? "any other region" }
    let width = names.map(\.count).max() ?? 0
    let more = furtherRegions > 0 ? "  and \(counted(furtherRegions, "region")) more\n" : ""
    return "\nbundles\n"
      + zip(names, deliveries).map { name, delivery in
        let outcomes = delivery.outcomes.map(\.textForApps).joined(separator: "; ")
        return "  \(pad(name, width))  \(outcomes)\n"
      }.joined() + more
  }
}

extension KeyMention {
  fileprivate var text: String {
    var text = "\(printableText(document)), key \(position)"
    text += source == document ? "" : " (source \(printableText(source)))"
    text += "\n  said: \(sent.text); \(regions.text)\n"
    switch reading {
    case .rejected(let reason, let detail): text += "  rejected by policy \(policy), \(reason.rawValue): \(detail)\n"
    case .heldForOperator: text += "  held for the operator by policy \(policy)\n"
    case .admitted(let claim):
      let origin = claim.origin.map { "origin \(printableText($0))" } ?? "origin not known"
      text += "  admitted by policy \(policy): \(claim.key.text); \(origin); "
      text += "\(KeyStory.isUnverified)\n"
    }
    for allowance in allowances { text += "  allowed, \(allowance.code): \(allowance.text)\n" }
    return text
  }
}

extension Explanation.Line.Standing {
  package var text: String {
    func list(_ parts: [Explanation.Line.Part]) -> String { parts.map(\.rawValue).joined(separator: ", ") }
    return switch self {
    case .gives([.regions]): "counts for its regions; in all else another claim says more"
    case .gives(let parts): "counts: gives \(list(parts))"
    case .echoes(let parts): "an echo of an origin's own claim: gives \(list(parts)), and nothing else"
    case .leftOut(let reason): "its origin's word is left out, \(reason.rawValue)"
    case .revokedByItsOrigin: "revoked by its origin"
    case .revocationOutvoted: "a revocation that does not count, another origin stands behind the key"
    case .revocationWeighsLess: "a revocation that does not count: its origin has said a report type that weighs more"
    case .notCounted: "not counted, since the key's own origin says otherwise"
    case .setAside: "not counted, an origin with precedence has claimed the key"
    }
  }
}

extension BeliefOutcome {
  package var text: String {
    switch self {
    case .publish(let key): "would be published: \(key.forFederation.text)"
    case .hold(let instant, let reason): "held until \(instant), \(reason.rawValue)"
    case .leaveOut(let reason): "left out, \(reason.rawValue)"
    }
  }

  package var textForApps: String {
    if case .publish(let key) = self { "carries \(key.forApps.text)" } else { text }
  }
}

extension ClaimedKey {
  /// The five numbers, absent ones included, and whether the key was revised.
  fileprivate var text: String {
    func said(_ value: Int32?) -> String { value.map { "\($0)" } ?? "absent" }
    return "rolling start \(said(rollingStart)), period \(said(rollingPeriod)), risk \(said(transmissionRisk)), "
      + "report type \(reportTypeWords), days since onset \(onsetWords)" + (isRevised ? ", revised" : "")
  }
}

extension RegionClaim {
  fileprivate var text: String {
    let visited = visited.map { $0.isEmpty ? "none" : $0.map(printableText).joined(separator: ", ") }
    return "origin \(origin.map(printableText) ?? "absent"), visited \(visited ?? "absent")"
  }
}
