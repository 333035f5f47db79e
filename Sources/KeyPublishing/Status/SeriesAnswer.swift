package import ExposureKeys
package import KeyNormalization
package import KeyStorage

/// What a series makes of one key data, and why. It is made by the selection that a round makes, of this key alone, so
/// that it says what the round does.
package struct SeriesAnswer: Sendable {
  package let series: String
  package let title: String
  package let policy: String
  /// The window for which it is decided: the next one that is published.
  package let window: ExportWindow
  package let isDue: Bool
  /// The series waits for so many keys before it publishes any; 0 where it does not.
  package let leastKeys: Int
  /// One for each rolling start under which the store knows the key.
  package let subjects: [Subject]

  package struct Subject: Sendable {
    package let subject: KeySubject
    /// The newest bundle that carries it; `nil` where none does.
    package let release: Release?
    package let fate: Fate
    /// The recalls that withdrew claims about it, in their order.
    package let recalls: [Recall]
    /// How many claims about it are put aside for the operator, and how many only a refused document makes.
    package let held: Int
    package let refused: Int
    /// Whether it is `forgotten` since a recall, and devices go on with it: they do not let go of its report type.
    package let isKept: Bool
    /// What is said of it now and apps are not told, since devices take no such change of a report type; `nil` where it is out as
    /// it is said.
    package let untold: ReportType?
    /// What everybody said whose word counts now, and what it gave to the result. Paused claims are not among them,
    /// unless they are all that stands behind the key.
    package let explanation: Explanation?
  }

  package struct Release: Hashable, Sendable {
    package let key: ReleasedKey
    /// `nil` where the store has lost it.
    package let bundle: BundleRecord?

    package init(key: ReleasedKey, bundle: BundleRecord?) { (self.key, self.bundle) = (key, bundle) }
  }

  package enum Fate: Hashable, Sendable {
    /// It goes out with the window, for the first time.
    case goesOut(ClaimedKey)
    /// It goes out with the window as a revision of what devices have.
    case revised(ClaimedKey)
    /// It is out, and nothing more about it goes out.
    case carried
    /// It goes out in this window at the earliest.
    case held(until: Instant, HoldReason, window: Instant)
    case leftOut(LeaveOutReason)
    /// The same key data is out under so many rolling starts that another one is not released.
    case repeated
    /// These stand still, and nobody else stands behind it.
    case paused([Pause])
    /// Everything that was said about it is put aside for the operator.
    case awaitsOperator
    /// Everything that was said about it is withdrawn. It was never out.
    case withdrawn
    /// It is out, nobody claims it since a recall, and it goes out as revoked.
    case recalled
    /// The same, but devices do not let go of its report type.
    case notRevocable
    /// It is out, and its claims have expired or were replaced.
    case forgotten
  }

  /// - Parameters:
  ///   - record: what the store has about the key.
  ///   - bundles: those that released keys refer to.
  init(
    of key: TemporaryExposureKey, in settings: SeriesSettings, from state: any StoredState, _ record: KeyRecord,
    bundles: [BundleID: BundleRecord], now: Instant
  ) throws {
    series = settings.name
    title = settings.title
    policy = settings.publishing.name
    leastKeys = settings.pads ? 0 : settings.minimumKeys
    let known = try SeriesState(of: settings.name, from: state)
    let window = try ExportWindow.next(
      of: settings, after: known, try state.bundles(of: settings.name, in: Set(BundleState.allCases)), now: now)
    self.window = window
    isDue = window.instant <= now
    let recalls = try state.recalls()
    let followsRecall = recalls.count > known.recalls
    let selection = try KeySelection(
      of: settings, from: state, at: window.instant, followsRecall: followsRecall, only: key)
    let pauses =
      try state.pauses()
      + settings.rehearsals.sorted().map {
        Pause(.source($0), since: now, reason: "rehearsal: true in the configuration")
      }
    let selector = Selector(
      settings: settings, instant: window.instant, pauses: PauseSet(pauses), followsRecall: followsRecall)
    let page = try state.claims(from: key, limit: 1)
    let explained = selector.explanations(of: key, page)
    let released = record.released.filter { $0.series == settings.name }.map(\.key)
    let claimed = record.claims.map(\.claim.subject) + record.held.map(\.claim.subject)
    subjects = Set(claimed + released.map(\.subject)).sorted().map { subject in
      let release = released.first { $0.subject == subject }
      let fate: Fate
      if let known = selection.fates[subject] {
        fate = Fate(known, pauses: selector.pauses.covering(record, subject, pauses), settings, window)
      } else {
        fate = record.claims.contains { $0.claim.subject == subject } ? .withdrawn : .awaitsOperator
      }
      let isRecalled = record.claims.contains { $0.claim.subject == subject && $0.recall != nil }
      // The round after a recall looks at it, and later ones do not: devices have it still.
      let isKept = fate == .forgotten && isRecalled && release.map(selector.cannotRevoke) ?? false
      var explanation = fate.isPaused ? explained.all[subject] : explained.unpaused[subject] ?? explained.all[subject]
      if case .revised(let key) = fate, let origins = release?.origins {
        explanation = selector.explanations(of: subject, page, by: origins, includingPaused: key.isRevocation)
      }
      var untold: ReportType?
      if fate == .carried, let release, case .publish(let believed)? = explanation?.outcome,
        let said = believed.forApps.reportType, said != release.key.reportType,
        release.revision(to: believed.forApps) == nil
      {
        untold = ReportType(rawValue: said)
      }
      let withdrawing = Set(record.claims.filter { $0.claim.subject == subject }.compactMap(\.recall))
      return Subject(
        subject: subject, release: release.map { Release(key: $0, bundle: bundles[$0.bundle]) }, fate: fate,
        recalls: recalls.filter { withdrawing.contains($0.event) },
        held: record.held.count { $0.claim.subject == subject && $0.reason != .documentRefused },
        refused: record.held.count { $0.claim.subject == subject && $0.reason == .documentRefused }, isKept: isKept,
        untold: untold, explanation: explanation)
    }
  }

  /// What every series makes of a key.
  ///
  /// - Parameter bundles: ``bundles(of:from:)``.
  package static func all(
    of key: TemporaryExposureKey, in series: [SeriesSettings], from state: any StoredState, _ record: KeyRecord,
    bundles: [BundleID: BundleRecord], now: Instant
  ) throws -> [SeriesAnswer] {
    try series.map { try SeriesAnswer(of: key, in: $0, from: state, record, bundles: bundles, now: now) }
  }

  /// The bundles that released keys of a record refer to.
  package static func bundles(
    of record: KeyRecord, from state: any StoredState
  ) throws -> [BundleID: BundleRecord] {
    let needed = Set(record.released.map(\.key.bundle))
    if needed.isEmpty { return [:] }
    let all = try state.bundles(of: nil, in: Set(BundleState.allCases))
    return Dictionary(uniqueKeysWithValues: all.filter { needed.contains($0.id) }.map { ($0.id, $0) })
  }
}

extension SeriesAnswer.Fate {
  /// For programs.
  package var code: String {
    switch self {
    case .goesOut: "goes-out"
    case .revised: "revised"
    case .carried: "carried"
    case .held: "held"
    case .leftOut: "left-out"
    case .repeated: "repeated"
    case .paused: "paused"
    case .awaitsOperator: "awaits-operator"
    case .withdrawn: "withdrawn"
    case .recalled: "recalled"
    case .notRevocable: "not-revocable"
    case .forgotten: "forgotten"
    }
  }

  var isPaused: Bool { if case .paused = self { true } else { false } }

  fileprivate init(_ fate: KeySelection.Fate, pauses: [Pause], _ settings: SeriesSettings, _ window: ExportWindow) {
    switch fate {
    case .new(let key): self = .goesOut(key)
    case .revised(let key): self = .revised(key)
    case .alreadyReleased: self = .carried
    case .held(let until, let reason):
      // Windows end at multiples of the period.
      let missing = max(0, until.secondsSince1970 - window.end)
      let windows = (missing + settings.period - 1) / settings.period
      self = .held(
        until: until, reason, window: Instant(secondsSince1970: window.end + windows * settings.period))
    case .leftOut(let reason): self = .leftOut(reason)
    case .repeated: self = .repeated
    case .paused: self = .paused(pauses)
    case .recalled: self = .recalled
    case .notRevocable: self = .notRevocable
    case .forgotten: self = .forgotten
    }
  }
}

extension PauseSet {
  /// The kill switches under which claims about a key stand.
  fileprivate func covering(_ record: KeyRecord, _ subject: KeySubject, _ pauses: [Pause]) -> [Pause] {
    let claims = record.claims.map(\.claim).filter { $0.subject == subject }
    return pauses.filter { pause in claims.contains(where: PauseSet([pause]).covers) }
  }
}

extension Selector {
  /// Whether a key that is out cannot be revoked: the policy does not publish revocations, or devices do not let go of what
  /// they have.
  fileprivate func cannotRevoke(_ released: ReleasedKey) -> Bool {
    guard released.key.reportType != ReportType.revoked.rawValue, isYoung(released.key) else { return false }
    var revocation = released.key
    revocation.reportType = ReportType.revoked.rawValue
    return !publishesRevocations || released.revision(to: revocation) == nil
  }

  /// What everybody said about a key, and what those said who are not paused.
  fileprivate func explanations(
    of key: TemporaryExposureKey, _ page: ClaimPage
  ) -> (all: [KeySubject: Explanation], unpaused: [KeySubject: Explanation]) {
    let all = explain(key, page.claims, page.embargo)
    if pauses.isEmpty { return (all, all) }
    var embargo = page.embargo
    embargo.add(page.claims.removing { !pauses.covers($0) })
    return (all, explain(key, page.claims.removing(where: pauses.covers), embargo))
  }

  /// What those said whose opinions were in the first release: a revision is theirs alone.
  fileprivate func explanations(
    of subject: KeySubject, _ page: ClaimPage, by origins: ReleasingOrigins, includingPaused: Bool
  ) -> Explanation? {
    let own = page.claims.removing { !origins.contains($0.origin) || (!includingPaused && pauses.covers($0)) }
    return explain(subject.key, own, page.embargo)[subject]
  }

  private func explain(
    _ key: TemporaryExposureKey, _ claims: ClaimSet, _ embargo: Embargo
  ) -> [KeySubject: Explanation] {
    let selection = selection
    let explanations = KeyNormalization.explain(
      key, claims, policy: policy, ownOrigins: settings.ownOrigins, embargo: embargo, now: instant,
      needsOrigins: selection.origins != nil, isWanted: selection.wants)
    return Dictionary(uniqueKeysWithValues: explanations.map { ($0.subject, $0) })
  }
}
