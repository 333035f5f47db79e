/// What all opinions about one key come to. Which one is heard first makes no difference.
struct OpinionSummary {
  /// The published opinions that say that the key stands, and those that revoke it.
  private var standing: Together?
  private var revoked: Together?
  /// The published opinions that are echoes, and those of copies, which only follow what others say.
  private var echo: Together?
  private var copy: Together?
  /// Revocations that would be published, but for their regions.
  private var revokedElsewhere: Together?
  /// Opinions that the key stands which would be published, but for their regions.
  private var standingElsewhere: Together?
  private var isEchoPublishedElsewhere = false
  /// An origin's own opinion is that the key stands, whether it is published or not. Without one, an echo keeps nothing
  /// alive that its origin revoked.
  private var isUpheld = false
  private var hasRevocation = false
  /// Why nothing is published, by the weightiest opinion.
  private var reason: (weight: UInt32, reason: LeaveOutReason)?

  enum Result {
    case publish(Together)
    case leaveOut(LeaveOutReason)
  }

  /// - Parameter origins: the names, by their number.
  mutating func take(_ opinion: Opinion, _ belief: Belief, _ verdict: OpinionVerdict, origins: [String]) {
    if opinion.isEcho {
      takeEcho(opinion, belief, verdict, origins: origins)
    } else if opinion.isRevocation {
      hasRevocation = true
      switch verdict {
      case .publish(let hold): revoked.add(Together(opinion, belief, hold: hold), origins: origins)
      case .elsewhere(let hold):
        revokedElsewhere.add(Together(opinion, belief, hold: hold), origins: origins)
        tell(.otherRegion, weight: 0)
      case .leaveOut(let reason): tell(reason, weight: 0)
      }
    } else {
      isUpheld = true
      switch verdict {
      case .publish(let hold): standing.add(Together(opinion, belief, hold: hold), origins: origins)
      case .elsewhere(let hold):
        standingElsewhere.add(Together(opinion, belief, hold: hold), origins: origins)
        tell(.otherRegion, weight: 1 + opinion.said.typeWeight)
      case .leaveOut(let reason): tell(reason, weight: 1 + opinion.said.typeWeight)
      }
    }
  }

  /// An echo revokes nothing; whose claim it echoes says so himself.
  private mutating func takeEcho(
    _ opinion: Opinion, _ belief: Belief, _ verdict: OpinionVerdict, origins: [String]
  ) {
    guard !opinion.isRevocation else { return }
    switch verdict {
    case .publish(let hold) where opinion.isCopy: copy.add(Together(opinion, belief, hold: hold), origins: origins)
    case .publish(let hold): echo.add(Together(opinion, belief, hold: hold), origins: origins)
    case .elsewhere: isEchoPublishedElsewhere = isEchoPublishedElsewhere || !opinion.isCopy
    case .leaveOut: break
    }
  }

  private mutating func tell(_ new: LeaveOutReason, weight: UInt32) {
    guard let known = reason else { return reason = (weight, new) }
    if (known.weight, new.place) < (weight, known.reason.place) { reason = (weight, new) }
  }

  /// Whether a revocation is outvoted.
  var isRevocationOutvoted: Bool { hasRevocation && isPublished }

  /// An opinion that the key stands is published, here or elsewhere.
  private var isPublished: Bool {
    standing != nil || standingElsewhere != nil || isUpheld && (echo != nil || isEchoPublishedElsewhere)
  }

  /// Whether opinions go out that would not go to these regions by themselves, because an echo or a copy carried the key
  /// there.
  var followsEcho: Bool {
    if isPublished { return standing == nil && echo == nil && copy != nil && standingElsewhere != nil }
    return revoked == nil && revokedElsewhere != nil && (echo != nil || copy != nil)
  }

  /// Whether an opinion that is an echo counts.
  func isCounted(_ opinion: Opinion) -> Bool {
    opinion.isCopy ? standing != nil || standingElsewhere != nil || isUpheld && echo != nil : isUpheld
  }

  func result(origins: [String]) -> Result {
    if isPublished {
      var result = standing
      if let echo, isUpheld { result.add(echo, origins: origins) }
      if let copy {
        // What is said about the person follows a key that a copy alone has carried here.
        if result == nil { result = standingElsewhere }
        result?.add(copy, origins: origins)
      }
      if hasRevocation { result?.note(.revocationOutvoted) }
      return result.map(Result.publish) ?? .leaveOut(revoked == nil ? .otherRegion : .revocationOutvoted)
    }
    // The revocation follows the key wherever an echo or a copy has carried it.
    var result = revoked ?? (echo == nil && copy == nil ? nil : revokedElsewhere)
    if let echo { result?.add(echo, origins: origins) }
    if let copy { result?.add(copy, origins: origins) }
    return result.map(Result.publish) ?? .leaveOut(reason?.reason ?? .otherRegion)
  }
}

extension Optional where Wrapped == Together {
  fileprivate mutating func add(_ other: Together, origins: [String]) {
    if self == nil { self = other } else { self?.add(other, origins: origins) }
  }
}
