package import ExposureKeys
internal import KeyNormalization
internal import KeyPublishing
package import KeyStorage

/// What becomes of one key at a destination, and why: whose consent it needs, and what the destination was told of it.
package struct DestinationAnswer: Hashable, Sendable {
  package let name: String
  package let origin: String
  /// The sources and doors whose claims may go there.
  package let sources: [String]
  /// Whether a claim about the key may.
  package let mayGo: Bool
  /// Whether each claim that would is for the origin alone.
  package let staysHome: Bool
  /// One rolling start each; empty where it was told of none.
  package let told: [Told]
  /// What the next push does with it, where something may go.
  package let next: String?

  package struct Told: Hashable, Sendable {
    package let rollingStart: Int32
    package let state: PushedKeyState
    package let changed: Instant
    /// Of the last batch that it was in, while that is known.
    package let tag: String?
    /// Under which the destination has it.
    package let reportType: ReportType?
    package let reason: String?
  }

  package init(
    of key: TemporaryExposureKey, to settings: DestinationSettings, in state: any StoredState, _ record: KeyRecord,
    now: Instant
  ) throws {
    (name, origin, sources) = (settings.name, settings.origin, settings.sources.sorted())
    mayGo = record.claims.contains { $0.recall == nil && settings.takes($0.claim) }
    staysHome = !mayGo && record.claims.contains { $0.recall == nil && settings.concerns($0.claim) }
    let pauses = PauseSet(try state.pauses())
    let isPaused = pauses.stops(settings)
    let pushes = try state.pushes(to: settings.name, in: Set(PushState.allCases))
    let tags = Dictionary(pushes.map { ($0.id, $0.push.tag) }, uniquingKeysWith: { first, _ in first })
    told = try state.pushes(of: key).filter { $0.destination == settings.name }.map { noted in
      let key = noted.key
      return Told(
        rollingStart: key.subject.rollingStart, state: key.state, changed: key.changed,
        tag: key.push.flatMap { tags[$0] }, reportType: key.storedType.flatMap(ReportType.init(rawValue:)),
        reason: key.reason)
    }
    next =
      mayGo || staysHome
      ? try PushSelection(of: settings, from: state, at: now, only: key).words(isPaused: isPaused) : nil
  }

  /// In one line.
  package var text: String {
    guard mayGo || staysHome || !told.isEmpty else {
      return "nothing of it goes there: no claim of \(origin) came by \(sources.joined(separator: ", "))"
    }
    let lines = told.map { told in
      var text =
        switch told.state {
        case .stored: "it has the key since \(told.changed)"
        case .batched: "sent, and not answered yet, since \(told.changed)"
        case .pending: told.tag == nil ? "not sent yet" : "to be sent again"
        case .refused: "refused since \(told.changed)"
        }
      if let type = told.reportType { text += " as \(type.name)" }
      if let tag = told.tag { text += ", batch \(tag)" }
      if let reason = told.reason { text += ": \(reason)" }
      return text
    }
    let all = lines + [next].compactMap(\.self)
    return all.isEmpty ? "waits: its source or its origin is paused" : all.joined(separator: "; ")
  }
}

extension PushSelection {
  /// What becomes of the keys that it looked at.
  fileprivate func words(isPaused: Bool) -> String? {
    var parts: [String] = []
    if counts.toSend > 0 {
      let when = isPaused ? "once the destination goes on: it is paused" : "with the next push"
      parts.append("\(counts.revised > 0 ? "its revision goes" : "goes") \(when)")
    }
    if counts.forOriginAlone > 0 { parts.append("stays at home: who uploaded it said so") }
    if let nextRelease { parts.append("held until \(nextRelease)") }
    if counts.tooOld > 0 { parts.append("too old to be sent") }
    if counts.neverSent > 0 { parts.append("revoked, and never sent") }
    if counts.ambiguous > 0 { parts.append("its regions have no one spelling in what is signed") }
    for (reason, _) in counts.leftOut.sorted(by: { $0.key < $1.key }) {
      parts.append("left out by the policy, \(reason)")
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}
