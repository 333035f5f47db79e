package import ExposureKeys
internal import KeyPublishing
package import KeyStorage

/// How a destination stands: what `keyferry status` tells of it.
package struct DestinationStatus: Hashable, Sendable {
  package let name: String
  package let origin: String
  package let isRehearsal: Bool
  package let isPaused: Bool
  package let attempt: PushAttempt?
  /// Keys that it was told of, by how they stand.
  package let keys: [PushedKeyState: Int]
  /// Batches of which nobody knows whether they were taken.
  package let unanswered: [PushRecord]
  /// Keys that go with the next push, and those in batches without an answer; `nil` where the claims were not read.
  package let waiting: Int?
  package let now: Instant
  /// Who signs.
  package let signer: String

  /// - Parameter readsClaims: whether what waits is counted, for which all claims are read.
  package init(
    of settings: DestinationSettings, in state: any StoredState, now: Instant, readsClaims: Bool
  ) throws {
    self.now = now
    let pauses = PauseSet(try state.pauses())
    (name, origin, isRehearsal) = (settings.name, settings.origin, settings.isRehearsal)
    isPaused = pauses.stops(settings)
    attempt = try state.pushAttempt(to: settings.name)
    keys = try state.pushedKeyCounts(to: settings.name)
    unanswered = try state.pushes(to: settings.name, in: [.staged])
    signer = settings.signer.subject
    waiting = readsClaims ? try PushSelection(of: settings, from: state, at: now).counts.waiting : nil
  }

  /// `paused`, `rehearsal`, `failing`, `never tried`, `refusing` or `fine`.
  package var state: String {
    if isPaused { return "paused" }
    if isRehearsal { return "rehearsal" }
    if attempt?.fault != nil { return "failing" }
    if attempt == nil { return "never tried" }
    return keys[.refused, default: 0] > 0 ? "refusing" : "fine"
  }

  /// When it is due, while nobody has paused it.
  package var nextAttempt: Instant? { isPaused ? nil : attempt?.nextAttempt }

  package var isWrong: Bool { ["failing", "refusing"].contains(state) }
}

extension DestinationStatus: Encodable {
  private enum CodingKeys: String, CodingKey {
    case name, origin, state, fault, warning, keys, waiting, unanswered, lastAttempt, lastSuccess, nextAttempt
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(name, forKey: .name)
    try members.encode(origin, forKey: .origin)
    try members.encode(state, forKey: .state)
    try members.encodeIfPresent(attempt?.time.description, forKey: .lastAttempt)
    try members.encodeIfPresent(attempt?.lastSuccess?.description, forKey: .lastSuccess)
    try members.encodeIfPresent(nextAttempt?.description, forKey: .nextAttempt)
    try members.encodeIfPresent(attempt?.fault, forKey: .fault)
    try members.encodeIfPresent(attempt?.warning, forKey: .warning)
    try members.encodeIfPresent(waiting, forKey: .waiting)
    try members.encode(
      Dictionary(uniqueKeysWithValues: PushedKeyState.allCases.map { ($0.rawValue, keys[$0] ?? 0) }), forKey: .keys)
    try members.encode(unanswered.map(\.push.tag), forKey: .unanswered)
  }
}

extension PauseSet {
  /// Whether the destination, or the origin whose keys it gets, is to wait.
  func stops(_ destination: DestinationSettings) -> Bool {
    sources.contains(destination.name) || origins.contains(destination.origin)
  }
}

extension DestinationSettings {
  /// Whether it, or the origin whose keys it gets, is to wait.
  package func isPaused(by pauses: [Pause]) -> Bool { PauseSet(pauses).stops(self) }
}
