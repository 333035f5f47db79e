package import ExposureKeys
internal import KeyFormats
package import KeyNormalization
internal import KeyPublishing
package import KeyStorage

/// What a destination is to be told now: the own origin's opinion about its keys alone, aged, with what the destination has
/// already left out.
package struct PushSelection: Sendable {
  /// Keys to send, in the order of key data; each with the row that stays its own until the destination has it.
  package private(set) var keys: [PushedKey] = []
  package private(set) var counts = Counts()
  /// When the first held key may go.
  package private(set) var nextRelease: Instant?

  /// Of the own keys whose claims may go to the destination.
  package struct Counts: Hashable, Sendable, Encodable {
    /// Never sent before, or sent and not taken.
    package fileprivate(set) var toSend = 0
    /// Of these, keys that the destination has under another report type.
    package fileprivate(set) var revised = 0
    /// The destination has them as they are.
    package fileprivate(set) var known = 0
    /// They are in a batch of which nobody knows whether it was taken.
    package fileprivate(set) var unanswered = 0
    /// Whoever uploaded them said that they are for the origin alone.
    package fileprivate(set) var forOriginAlone = 0
    /// Put aside for the operator: a flood, say.
    package fileprivate(set) var putAside = 0
    /// Still valid, or not long enough over.
    package fileprivate(set) var held = 0
    package internal(set) var tooOld = 0
    /// The destination does not take them.
    package fileprivate(set) var refused = 0
    /// Revocations of keys that the destination never had.
    package fileprivate(set) var neverSent = 0
    /// They cannot be said so that a signature over them means one thing alone.
    package fileprivate(set) var ambiguous = 0
    /// By the code of the reason, as for apps.
    package fileprivate(set) var leftOut: [String: Int] = [:]

    /// What is still on its way.
    var waiting: Int { toSend + unanswered }

    private enum CodingKeys: String, CodingKey {
      case revised, known, unanswered, held, refused, ambiguous, forOriginAlone, putAside, toSend, tooOld, neverSent,
        leftOut
    }
  }

  /// - Parameters:
  ///   - now: what "still valid" and "too old" refer to.
  ///   - pageSize: how many claims are in memory at once.
  ///   - key: the one key data that is asked about; `nil` is all.
  ///   - told: keys of which the destination has told in this push what became of them: they are counted there, and only what
  ///     is to be sent of them again is here.
  package init(
    of settings: DestinationSettings, from state: any StoredState, at now: Instant, pageSize: Int = 1 << 15,
    only key: TemporaryExposureKey? = nil, except told: Set<KeySubject> = []
  ) throws {
    let pauses = PauseSet(try state.pauses())
    var policy = settings.publishing.at(now).publishing
    // A gateway is told the regions as they were named; which apps get the key is for others to say.
    (policy.emptyVisited, policy.includesOrigin, policy.ignoresVisited) = (.none, false, false)
    var start: TemporaryExposureKey? = key ?? TemporaryExposureKey(high: 0, low: 0)
    while let from = start {
      let page = try state.claims(from: from, limit: key == nil ? pageSize : 1)
      if let key, !page.claims.isAbout(key) { break }
      start = key == nil ? page.next : nil
      // A copy makes no key one of the origin's own, and says nothing about where its owner wants it.
      let own = page.claims.removing { !settings.concerns($0) || pauses.covers($0) }.withoutCopies(beside: page.claims)
      if own.isEmpty { continue }
      let staying = Self.staying(of: own, settings)
      // Whoever says that a key is valid delays it, also those whose word counts for nothing else here.
      var embargo = page.embargo
      embargo.add(page.claims)
      let noted = try state.pushedKeys(to: settings.name, from: from, before: page.next)
      let known = Dictionary(noted.map { ($0.subject, $0) }, uniquingKeysWith: { first, _ in first })
      var beliefs = Beliefs(of: own, policy: policy, embargo: embargo, now: now)
      while let (subject, outcome) = beliefs.next() {
        // What is said about a key that went goes after it, whoever says it: a revocation above all.
        if staying.contains(subject), known[subject]?.storedType == nil, known[subject]?.state != .batched {
          counts.forOriginAlone += 1
          continue
        }
        guard told.contains(subject) else {
          take(outcome, about: subject, known[subject], beliefs.regions, settings, at: now)
          continue
        }
        let (before, waiting) = (counts, keys.count)
        take(outcome, about: subject, known[subject], beliefs.regions, settings, at: now)
        if keys.count == waiting { counts = before }
      }
    }
    if key == nil { counts.putAside = try Self.putAside(for: settings, in: state) }
  }

  /// Keys of which each claim is for the origin alone.
  private static func staying(of own: ClaimSet, _ settings: DestinationSettings) -> Set<KeySubject> {
    if settings.doors.isEmpty { return [] }
    let home = own.removing { !settings.isForOriginAlone($0) }
    if home.isEmpty { return [] }
    let going = own.removing { settings.isForOriginAlone($0) }
    return Set(home.statedClaims.map(\.subject)).subtracting(going.statedClaims.map(\.subject))
  }

  /// How many keys an operator has to admit first.
  private static func putAside(for settings: DestinationSettings, in state: any StoredState) throws -> Int {
    var subjects: Set<KeySubject> = []
    for source in settings.sources.sorted() where try state.summary(of: source).counts.held > 0 {
      for document in try state.documents(of: source, in: [.recorded], limit: .max)
      where try !state.holds(of: document.id).isEmpty {
        subjects.formUnion(try state.held(of: document.id).filter(settings.takes).map(\.subject))
      }
    }
    return subjects.count
  }

  private mutating func take(
    _ outcome: BeliefOutcome, about subject: KeySubject, _ known: PushedKey?, _ regions: RegionTable,
    _ settings: DestinationSettings, at now: Instant
  ) {
    switch outcome {
    case .hold(let until, _):
      counts.held += 1
      nextRelease = nextRelease.map { min($0, until) } ?? until
    case .leaveOut(.tooOld): counts.tooOld += 1
    case .leaveOut(let reason): counts.leftOut[reason.rawValue, default: 0] += 1
    case .publish(let belief):
      let oldest = Day(daysSince1970: now.day.daysSince1970 - Int64(settings.maximumAgeDays)).firstInterval.rawValue
      guard Int64(subject.rollingStart) >= oldest else { return counts.tooOld += 1 }
      let key = belief.forFederation
      guard let row = PushedKey.Row(key, regions[key.regions], settings, at: now) else {
        return counts.ambiguous += 1
      }
      take(row, about: subject, known, at: now)
    }
  }

  private mutating func take(_ row: PushedKey.Row, about subject: KeySubject, _ known: PushedKey?, at now: Instant) {
    let isSame = known?.row.reportType == row.reportType
    switch known?.state {
    // Nobody knows yet what became of it.
    case .batched: return counts.unanswered += 1
    case .stored where known?.storedType == row.reportType: return counts.known += 1
    case .refused where isSame: return counts.refused += 1
    case .stored, .refused, .pending, nil: break
    }
    guard row.reportType != ReportType.revoked.rawValue || known?.storedType != nil else {
      return counts.neverSent += 1
    }
    counts.toSend += 1
    if let type = known?.storedType, type != row.reportType { counts.revised += 1 }
    var key = known ?? PushedKey(subject: subject, row: row, changed: now)
    if known?.state != .pending || !isSame { (key.row, key.failures, key.reason) = (row, 0, nil) }
    key.state = .pending
    keys.append(key)
  }
}

extension PushedKey.Row {
  /// How a batch spells what is said of a key; `nil` where the bytes that are signed could mean something else, too.
  ///
  /// - Parameter named: the regions that the own origin's claims name.
  fileprivate init?(_ key: ClaimedKey, _ named: RegionClaim, _ settings: DestinationSettings, at now: Instant) {
    guard let period = key.rollingPeriod, RollingPeriod.range.contains(period), let start = key.rollingStart else {
      return nil
    }
    let visited = settings.regions ?? named.visited ?? []
    // Commas separate the elements in what is signed, and no two systems agree about letters beyond ASCII.
    let isClear = visited.allSatisfy { element in
      !element.isEmpty && element.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ",") }
    }
    guard isClear else { return nil }
    self.init(
      rollingPeriod: period, transmissionRisk: key.transmissionRisk ?? EFGSJSONEncoder.noTransmissionRisk,
      reportType: key.reportType ?? ReportType.unknown.rawValue,
      daysSinceOnset: key.daysSinceOnset
        ?? settings.missingOnset.code(ofKeyOn: IntervalNumber(Int64(start)).day, at: now),
      visited: visited)
  }

  /// What goes into the batch.
  func key(about subject: KeySubject, regions: RegionClaim.ID) -> ClaimedKey {
    var key = ClaimedKey(key: subject.key, regions: regions)
    key.rollingStart = subject.rollingStart
    key.rollingPeriod = rollingPeriod
    key.transmissionRisk = transmissionRisk == EFGSJSONEncoder.noTransmissionRisk ? nil : transmissionRisk
    key.reportType = reportType
    key.daysSinceOnset = daysSinceOnset
    return key
  }
}

extension DestinationSettings.MissingOnset {
  fileprivate func code(ofKeyOn day: Day, at now: Instant) -> Int32 {
    switch self {
    case .notProvided: return SymptomStatus.notProvidedCode
    case .statusUnknown:
      let days = Int(min(max(day.daysSince1970 - now.day.daysSince1970, -14), 0))
      guard let offset = DayOffset(days) else { return SymptomStatus.notProvidedCode }
      return SymptomStatus.statusUnknown(sinceSubmission: offset).federationCode
    }
  }
}
