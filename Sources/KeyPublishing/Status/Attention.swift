internal import BundleTrust
internal import ExposureKeys
internal import KeyIntake
internal import KeyNormalization
internal import KeyStorage

/// Which key data a round of a series looks at.
///
/// A round that follows another under the same rules looks at what can have changed: what was noted since, what has ended
/// since, and what that one left for the next. It publishes byte for byte what a look at everything would; a test says so of
/// random histories, and `keyferry preview --full` of a store. Everything is looked at where that is as cheap, where
/// something else than claims has changed (the policy, the settings, a pause, a recall, the program, a clock that went back),
/// and once a day in any case.
enum Attention: Sendable {
  case everything
  /// In order, each once.
  case changes([TemporaryExposureKey], RoundMark)

  /// Stores with fewer claims are looked at as a whole: that takes no time, and its counts are about all keys.
  static let fewClaims = 1 << 17
  /// To look up a key takes as long as to read past this many.
  static let lookupCost = 8
  /// Everything is looked at again after this many seconds.
  static let wholeEvery: Int64 = 86_400

  /// - Parameter countsHeld: whether to look at keys that are not due for a long time as well, so that they can be counted. Only rounds
  ///   look at everything once a day.
  init(
    of settings: SeriesSettings, _ mark: RoundMark?, rules: String, followsRecall: Bool, at instant: Instant,
    habit: RoundMode, countsHeld: Bool = false, from state: any StoredState
  ) throws {
    self = .everything
    guard habit != .divided, let mark, mark.rules == rules, !followsRecall, mark.instant <= instant.secondsSince1970
    else { return }
    guard habit == .compared || countsHeld || instant.secondsSince1970 - mark.whole < Self.wholeEvery else { return }
    let count = habit == .usual ? try state.claimCount() : .max
    guard count >= Self.fewClaims else { return }
    let policy = settings.publishing.at(instant).publishing
    let hours = policy.expiryHours(
      ofReleasesAfter: Instant(secondsSince1970: mark.instant), until: instant)
    guard
      let changes = try state.agenda(
        after: EventID(rawValue: mark.event), endingIn: countsHeld ? hours.lowerBound...Int64.max : hours,
        limit: count / Self.lookupCost)
    else { return }
    self = .changes(changes, mark)
  }

  var isEverything: Bool { if case .everything = self { true } else { false } }

  /// When everything was looked at; `nil` is now.
  var whole: Int64? {
    if case .changes(_, let mark) = self { mark.whole } else { nil }
  }
}

extension [TemporaryExposureKey] {
  /// With the key data of a run, in order and each once; `nil` where that is more than `limit`.
  func joined(by run: KeyRun, atMost limit: Int) throws -> Self? {
    guard count + run.count <= limit else { return nil }
    var keys = Set(self)
    try run.read { keys.insert($0.key.key) }
    return keys.sorted()
  }
}

extension KeySelection {
  /// What was selected by a look at everything, which leaves for the next round what this selection leaves.
  ///
  /// - Throws: ``PublishingFault`` `selection-differs`, where something else was selected.
  func confirmed(by whole: KeySelection, of settings: SeriesSettings) throws -> KeySelection {
    guard try isSame(as: whole) else {
      throw PublishingFault(
        .selectionDiffers,
        "series \(settings.name): a look at what has changed selects \(counted(new.count, "new key")) and"
          + " \(revised.count) revised, a look at everything \(whole.new.count) and \(whole.revised.count), or others")
    }
    return whole.leaving(again, firstRest)
  }

  /// Whether the same keys would go out.
  func isSame(as other: KeySelection) throws -> Bool {
    try new.isSame(as: other.new) && revised.isSame(as: other.revised) && rest == other.rest
  }
}

extension KeyRun {
  fileprivate func isSame(as other: KeyRun) throws -> Bool {
    guard count == other.count else { return false }
    var all: [ClaimedKey] = []
    all.reserveCapacity(count)
    try other.read { all.append($0.key) }
    var (place, isSame) = (0, true)
    try read { record in
      if all[place] != record.key { isSame = false }
      place += 1
    }
    return isSame
  }
}

/// When a round looks at changes alone.
package enum RoundMode: Sendable {
  /// Where that is allowed, and cheaper than to look at everything.
  case usual
  /// Wherever it is allowed, also in a small store.
  case always
  /// Wherever it is allowed, and beside them at everything, to compare. The round goes on with what that selects.
  case compared
  /// Never: at everything part by part, also in a small store.
  case divided
}

/// What a round leaves for the next one, so that it need not look at everything: every key that was due when it selected has
/// gone out, but for those that it left on the agenda and those of its rest.
struct RoundMark: Hashable, Sendable, Codable {
  /// The last event that was known.
  var event: Int64
  /// What "still valid" referred to, in seconds since 1970.
  var instant: Int64
  /// A digest of everything but claims that decides what is due.
  var rules: String
  /// When everything was looked at, in seconds since 1970.
  var whole: Int64
  /// The first four bytes of key data from which on everything is looked at: a window had no room for more.
  var rest: UInt32?

  /// What no series that is published here needs of the agenda any more; `nil` where that is not known. A series that looks
  /// at everything needs none of it.
  static func floor(of all: [SeriesSettings], in state: any PublishingState) throws -> AgendaFloor? {
    let floors = try all.compactMap { try SeriesState(of: $0.name, from: state).mark?.floor(of: $0) }
    guard let event = floors.map(\.event).min(), let hour = floors.map(\.hour).min() else { return nil }
    return AgendaFloor(event: event, hour: hour)
  }

  /// What the agenda need not know any more for the next round.
  private func floor(of settings: SeriesSettings) -> AgendaFloor {
    let instant = Instant(secondsSince1970: instant)
    let hours = settings.publishing.at(instant).publishing.expiryHours(ofReleasesAfter: instant, until: instant)
    return AgendaFloor(event: EventID(rawValue: event), hour: hours.lowerBound - 1)
  }
}

extension SeriesSettings {
  /// A digest of everything but claims that decides which keys are due, and how they are told.
  ///
  /// - Parameter program: name and version of what publishes: its rules are part of it.
  func rules(at instant: Instant, _ pauses: PauseSet, program: String) -> String {
    let decisive: [Any] = [
      program, name, publishing.at(instant).publishing, selection, ownOrigins, pauses, pads, minimumKeys, mostKeys,
    ]
    return sha256(Array(CanonicalText.of(decisive).utf8))
  }
}

/// Any value as text, which is the same for the same value in every process: sets and dictionaries have an order in it.
enum CanonicalText {
  static func of(_ value: Any) -> String {
    let mirror = Mirror(reflecting: value)
    let children = mirror.children.map { "\($0.label ?? ""):\(of($0.value))" }
    switch mirror.displayStyle {
    case .set, .dictionary: return "{\(children.sorted().joined(separator: ","))}"
    case .enum where children.isEmpty: return ".\(value)"
    case nil where children.isEmpty: return String(reflecting: value)
    default: return "\(mirror.subjectType)(\(children.joined(separator: ",")))"
    }
  }
}
