package import ExposureKeys
internal import KeyIntake
package import KeyNormalization
package import KeyStorage

/// What a series would publish of everything that is in the store: its new keys, the changes that devices accept of those
/// that it has released, and what becomes of all the others.
///
/// Select, fold and compare are one pass: pages of claims, folded, beside pages of what was released, both in the order of
/// key data and rolling start. Memory is bounded by a page: what is new goes into a temporary file where it is much.
struct KeySelection: Sendable {
  /// First releases, in order, each with the number of those whose opinions publish it.
  private(set) var new = KeyRun()
  private(set) var origins = OriginNumbers()
  /// Second statements about released keys, in order, marked as revised.
  private(set) var revised = KeyRun()
  private(set) var counts = Counts()
  /// When the first of the held keys may go out.
  private(set) var nextRelease: Instant?
  /// Believed keys that are due, new or revised, for which a window has no room; and recalled ones.
  private(set) var rest = 0
  private(set) var recalledRest = 0
  private let limit: Int
  /// Key data that the next round has to look at again, whatever is said of it until then: in order, each once. `nil` where
  /// that is too much.
  private(set) var again: [TemporaryExposureKey]? = []
  /// The first key data for which the window has no room.
  private(set) var firstRest: TemporaryExposureKey?
  /// What becomes of each key, where one key alone is asked about.
  private(set) var fates: [KeySubject: Fate] = [:]
  private let keepsFates: Bool

  /// What becomes of one key in the round.
  enum Fate: Hashable, Sendable {
    case new(ClaimedKey)
    case revised(ClaimedKey)
    /// It was released, and devices take nothing more about it.
    case alreadyReleased
    case held(until: Instant, HoldReason)
    case leftOut(LeaveOutReason)
    case repeated
    case paused
    /// Nobody claims it since a recall: it goes out as revoked, or devices do not let go of its report type.
    case recalled
    case notRevocable
    /// It was released, and its claims are gone.
    case forgotten
  }

  struct Counts: Hashable, Sendable {
    var believed = 0
    var new = 0
    var revised = 0
    var alreadyReleased = 0
    var holds: [HoldReason: Int] = [:]
    var omissions: [LeaveOutReason: Int] = [:]
    /// Only paused sources and origins stand behind them.
    var paused = 0
    /// Not released, because the origins that claim them have the same key data released under other rolling starts: often
    /// before, or once in this round.
    var repeated = 0
    /// Released keys that nobody claims any more since a recall: revoked now, or of a report type that devices do not let
    /// go.
    var recalled = 0
    var notRevocable = 0
    /// Keys that one origin has revoked, and behind which another one stands, here or elsewhere: they go out, or stay with
    /// the phones that have them. They are counted above as well.
    var outvoted = 0

    mutating func add(_ other: Counts) {
      believed += other.believed
      new += other.new
      revised += other.revised
      alreadyReleased += other.alreadyReleased
      holds.merge(other.holds, uniquingKeysWith: +)
      omissions.merge(other.omissions, uniquingKeysWith: +)
      paused += other.paused
      repeated += other.repeated
      recalled += other.recalled
      notRevocable += other.notRevocable
      outvoted += other.outvoted
    }
  }

  /// Under how many rolling starts a series releases one key data for an origin. One is normal; a few lose nothing where a
  /// sender made a mistake, and no sender can fill bundles with the same key, or take its place from another.
  static let maximumRepetitions = 4

  /// The key data that goes out last in this round, and under which rolling starts.
  private var chosen: (key: TemporaryExposureKey, starts: [Int32])?

  /// The key data that was met last, and the rolling starts under which it is released.
  private var lastReleased: TemporaryExposureKey?
  private var lastStarts: [Int32] = []

  /// Key data in ``again`` at most.
  static let mostAgain = 1 << 16

  /// - Parameters:
  ///   - instant: what "still valid" and "too old" refer to: the window's end.
  ///   - followsRecall: whether claims were withdrawn since the last round. Otherwise a released key without claims is not
  ///     looked at.
  ///   - pageSize: how many claims, and how many released keys, are in memory at once.
  ///   - key: the one key data that is asked about; `nil` is all.
  ///   - limit: how many new keys are taken, and how many revised ones; the others are counted and wait.
  ///   - past: what was known when a bundle was made that is made again; `nil` is what is known now.
  ///   - attention: what is looked at. Where it is not everything, counts are about what is.
  init(
    of settings: SeriesSettings, from state: any StoredState, at instant: Instant, followsRecall: Bool,
    pageSize: Int = 1 << 15, only key: TemporaryExposureKey? = nil, limit: Int = .max, asOf past: PastKnowledge? = nil,
    looking attention: Attention = .everything
  ) throws {
    self.limit = limit
    keepsFates = key != nil
    let selector = Selector(
      settings: settings, instant: instant,
      pauses: try past?.pauses ?? PauseSet(try state.pauses(), rehearsing: settings.rehearsals),
      followsRecall: followsRecall)
    var start: TemporaryExposureKey? = key ?? TemporaryExposureKey(high: 0, low: 0)
    if case .changes(let changes, let mark) = attention {
      start = mark.rest.map { TemporaryExposureKey(high: UInt64($0) << 32, low: 0) }
      let end = start.map { start in changes.firstIndex { $0 >= start } ?? changes.count } ?? changes.count
      for first in stride(from: 0, to: end, by: pageSize) {
        let keys = Array(changes[first..<min(first + pageSize, end)])
        var released = ReleasedKeys(page: try state.released(by: settings.name, about: keys))
        try take(try state.claims(about: keys), &released, selector, from: state)
        try finish(&released, selector, from: state)
      }
    }
    if start == nil {
      finishCounts()
      return
    }
    var released = ReleasedKeys(
      by: settings.name, from: state, pageSize: pageSize, only: key,
      within: start.map { KeyDataPart(first: $0) } ?? .whole,
      before: past?.bundle)
    while let from = start {
      // A page never has a part of one key's claims.
      let page = try state.claims(from: from, limit: key == nil ? pageSize : 1, asOf: past?.event)
      if let key, !page.claims.isAbout(key) { break }
      try take(page, &released, selector, from: state, asOf: past?.event)
      start = key == nil ? page.next : nil
    }
    try finish(&released, selector, from: state, asOf: past?.event)
    finishCounts()
  }

  /// What is asked of everything that is in the store now.
  struct Question: Sendable {
    var settings: SeriesSettings
    var instant: Instant
    var followsRecall: Bool
    var attention: Attention
    var pauses: PauseSet
  }

  /// The selections of several series, each as if it were alone. Where more than one looks at everything, claims are read once for
  /// all of these.
  static func together(
    _ questions: [Question], from state: any StoredState, pageSize: Int = 1 << 15
  ) throws -> [KeySelection] {
    let wholes = questions.filter(\.attention.isEverything)
    var selected = try everything(wholes, from: state, pageSize: pageSize).makeIterator()
    return try questions.map { question in
      if question.attention.isEverything, let selection = selected.next() { return selection }
      return try KeySelection(
        of: question.settings, from: state, at: question.instant, followsRecall: question.followsRecall,
        pageSize: pageSize,
        limit: question.settings.mostKeys, looking: question.attention)
    }
  }

  /// What several series select of a part of all key data, from claims that are read once.
  ///
  /// - Parameters:
  ///   - event: as things were known when this event had happened; `nil` is now.
  static func everything(
    _ questions: [Question], within part: KeyDataPart = .whole, from state: any StoredState, asOf event: EventID? = nil,
    pageSize: Int = 1 << 15
  ) throws -> [KeySelection] {
    if questions.isEmpty { return [] }
    var selections = questions.map { KeySelection(limit: $0.settings.mostKeys) }
    let selectors = questions.map {
      Selector(settings: $0.settings, instant: $0.instant, pauses: $0.pauses, followsRecall: $0.followsRecall)
    }
    var released = questions.map {
      ReleasedKeys(by: $0.settings.name, from: state, pageSize: pageSize, only: nil, within: part)
    }
    var start: TemporaryExposureKey? = part.first
    while let from = start {
      let page = try state.claims(from: from, limit: pageSize, asOf: event).ending(with: part)
      for index in questions.indices {
        try selections[index].take(page, &released[index], selectors[index], from: state, asOf: event)
      }
      start = page.next
    }
    for index in questions.indices {
      try selections[index].finish(&released[index], selectors[index], from: state, asOf: event)
      selections[index].finishCounts()
    }
    return selections
  }

  /// Takes over what was selected of the key data that follows, as if both had been one.
  ///
  /// - Returns: `false` where there are more revised keys than a window has room for: then all of it is to be selected in one.
  /// - Throws: ``FileFault``.
  mutating func join(_ next: KeySelection) throws -> Bool {
    guard revised.count + next.revised.count <= limit else { return false }
    var (numbers, firstLeft) = ([UInt32: UInt32](), TemporaryExposureKey?.none)
    try next.new.read { record in
      guard new.count < limit else {
        firstLeft = firstLeft ?? record.key.key
        rest += 1
        return
      }
      try new.append(record.key, number: number(of: record, among: next.origins, &numbers))
    }
    try next.revised.read { try revised.append($0.key, number: $0.number) }
    firstRest = firstRest ?? [firstLeft, next.firstRest].compactMap { $0 }.min()
    rest += next.rest
    recalledRest += next.recalledRest
    nextRelease = [nextRelease, next.nextRelease].compactMap { $0 }.min()
    again = again.flatMap { again in next.again.map { again + $0 } }.flatMap { $0.count <= Self.mostAgain ? $0 : nil }
    counts.add(next.counts)
    finishCounts()
    return true
  }

  /// Selections of parts that follow each other, as one for each series: `nil` where ``join(_:)`` says so.
  ///
  /// - Parameter parts: for each part the selections of all series. They are not used any more.
  /// - Throws: ``FileFault``.
  static func joined(_ parts: [[KeySelection]]) throws -> [KeySelection?] {
    guard let first = parts.first else { return [] }
    return try first.indices.map { series in
      var selection = first[series]
      for part in parts.dropFirst() {
        guard try selection.join(part[series]) else { return nil }
      }
      return selection
    }
  }

  private mutating func number(
    of record: NumberedKey, among others: OriginNumbers, _ numbers: inout [UInt32: UInt32]
  ) -> UInt32 {
    if let number = numbers[record.number] { return number }
    let number =
      if case .some(.some(let releasing)) = others[record.number] { origins.number(of: releasing) } else {
        record.number
      }
    numbers[record.number] = number
    return number
  }

  /// Of everything, of which nothing was looked at yet.
  private init(limit: Int) {
    self.limit = limit
    keepsFates = false
  }

  /// Folds a page, beside what was released of its key data.
  private mutating func take(
    _ page: ClaimPage, _ released: inout ReleasedKeys, _ selector: Selector, from state: any StoredState,
    asOf event: EventID? = nil
  ) throws {
    var beliefs = selector.beliefs(of: page)
    var claimants = Claimants(of: page.claims)
    while let belief = beliefs.next() {
      var next = try released.nextSubject()
      while let subject = next, subject < belief.subject {
        if let other = released.first { try recall(other, selector, from: state, asOf: event) }
        released.advance()
        next = try released.nextSubject()
      }
      let known = next == belief.subject ? released.first : nil
      try take(belief, known, &claimants, &beliefs)
      if let known {
        count(releaseOf: known.subject)
        released.advance()
      }
    }
  }

  /// Released keys behind the last believed one.
  private mutating func finish(
    _ released: inout ReleasedKeys, _ selector: Selector, from state: any StoredState, asOf event: EventID? = nil
  ) throws {
    while let other = try released.peek() {
      try recall(other, selector, from: state, asOf: event)
      released.advance()
    }
  }

  private mutating func finishCounts() {
    counts.new = new.count
    counts.revised = revised.count - counts.recalled
  }

  func leaving(_ again: [TemporaryExposureKey]?, _ firstRest: TemporaryExposureKey?) -> KeySelection {
    var selection = self
    (selection.again, selection.firstRest) = (again, firstRest)
    return selection
  }

  /// The next round looks at this key data again.
  private mutating func lookAgain(at key: TemporaryExposureKey) {
    guard let count = again?.count, again?.last != key else { return }
    if count < Self.mostAgain { again?.append(key) } else { again = nil }
  }

  private mutating func count(releaseOf subject: KeySubject) {
    if lastReleased != subject.key {
      lastReleased = subject.key
      lastStarts.removeAll(keepingCapacity: true)
    }
    lastStarts.append(subject.rollingStart)
  }

  /// Whether one of those who claim the key has room for another rolling start of its data.
  private func isRepeated(_ subject: KeySubject, _ claimants: inout Claimants) -> Bool {
    guard lastReleased == subject.key, lastStarts.count >= Self.maximumRepetitions else { return false }
    let starts = claimants.starts(of: subject.key)
    return !starts.values.contains { claimed in
      claimed.contains(subject.rollingStart)
        && lastStarts.count(where: claimed.contains) < Self.maximumRepetitions
    }
  }

  private mutating func choose(_ subject: KeySubject) {
    if chosen?.key == subject.key {
      chosen?.starts.append(subject.rollingStart)
    } else {
      chosen = (subject.key, [subject.rollingStart])
    }
  }

  /// Whether all who claim the key have its data in this round already, under another start: it waits for the next one,
  /// since a bundle holds key data once, and one sender's repetitions are no reason for more bundles.
  private func isTwin(_ subject: KeySubject, _ claimants: inout Claimants) -> Bool {
    guard let chosen, chosen.key == subject.key else { return false }
    return claimants.starts(of: subject.key).values.allSatisfy { claimed in
      !claimed.contains(subject.rollingStart) || chosen.starts.contains(where: claimed.contains)
    }
  }

  private mutating func take(
    _ belief: PausedBelief, _ released: ReleasedKey?, _ claimants: inout Claimants, _ beliefs: inout PausedBeliefs
  ) throws {
    counts.believed += 1
    switch belief.outcome {
    case .publish(let key): if key.notes.contains(.revocationOutvoted) { counts.outvoted += 1 }
    // Phones keep what the series has released.
    case .leaveOut(.revocationOutvoted): if released.map({ !$0.key.isRevocation }) ?? false { counts.outvoted += 1 }
    case .leaveOut, .hold, .paused: break
    }
    switch (belief.outcome, released) {
    case (.publish(let key), let released?):
      let believed = key.forApps
      guard var revision = released.revision(to: believed), revision.isRevocation ? belief.isRevokedByAll : true else {
        counts.alreadyReleased += 1
        return note(.alreadyReleased, of: belief.subject)
      }
      if let origins = released.origins {
        // Devices take one revision. It is for those whose opinions were in the first release.
        guard let own = beliefs.believed(by: origins, includingPaused: revision.isRevocation),
          let ownRevision = released.revision(to: own)
        else {
          counts.alreadyReleased += 1
          return note(.alreadyReleased, of: belief.subject)
        }
        revision = ownRevision
      }
      guard !isTwin(belief.subject, &claimants) else {
        lookAgain(at: belief.subject.key)
        counts.alreadyReleased += 1
        return note(.alreadyReleased, of: belief.subject)
      }
      choose(belief.subject)
      note(.revised(revision), of: belief.subject)
      if try !revise(revision) {
        rest += 1
        firstRest = firstRest ?? belief.subject.key
      }
    case (.publish(let key), nil):
      var key = key.forApps
      // A key that was never released has nothing to be revoked.
      guard !key.isRevocation else {
        counts.omissions[.revoked, default: 0] += 1
        return note(.leftOut(.revoked), of: belief.subject)
      }
      guard !isRepeated(belief.subject, &claimants), !isTwin(belief.subject, &claimants) else {
        lookAgain(at: belief.subject.key)
        counts.repeated += 1
        return note(.repeated, of: belief.subject)
      }
      choose(belief.subject)
      count(releaseOf: belief.subject)
      key.regions = .none
      key.isRevised = false
      note(.new(key), of: belief.subject)
      guard new.count < limit else {
        rest += 1
        firstRest = firstRest ?? belief.subject.key
        return
      }
      try new.append(key, number: origins.number(of: ReleasingOrigins(beliefs.publishingOrigins)))
    case (.paused, nil):
      counts.paused += 1
      note(.paused, of: belief.subject)
    case (.paused, _?):
      counts.alreadyReleased += 1
      note(.alreadyReleased, of: belief.subject)
    case (.hold(let release, let reason), _):
      note(.held(until: release, reason), of: belief.subject)
      counts.holds[reason, default: 0] += 1
      nextRelease = nextRelease.map { min($0, release) } ?? release
    case (.leaveOut(let reason), _):
      counts.omissions[reason, default: 0] += 1
      note(.leftOut(reason), of: belief.subject)
    }
  }

  /// - Returns: whether there is room for it.
  private mutating func revise(_ revision: ClaimedKey) throws -> Bool {
    guard revised.count < limit else { return false }
    try revised.append(revision, number: OriginNumbers.releasedBefore)
    return true
  }

  @inline(__always)
  private mutating func note(_ fate: Fate, of subject: KeySubject) {
    if keepsFates { fates[subject] = fate }
  }

  /// Nobody claims this key any more: it was recalled, or its claims have expired or were replaced, or a store that was lost
  /// knew them, and they have not been pulled again.
  private mutating func recall(
    _ released: ReleasedKey, _ selector: Selector, from state: any StoredState, asOf event: EventID?
  ) throws {
    count(releaseOf: released.subject)
    guard selector.followsRecall, released.key.reportType != ReportType.revoked.rawValue,
      selector.isYoung(released.key), try state.isWithdrawn(released.subject, asOf: event)
    else { return note(.forgotten, of: released.subject) }
    var revocation = released.key
    revocation.reportType = ReportType.revoked.rawValue
    guard selector.publishesRevocations, let revision = released.revision(to: revocation) else {
      counts.notRevocable += 1
      return note(.notRevocable, of: released.subject)
    }
    note(.recalled, of: released.subject)
    if try revise(revision) { counts.recalled += 1 } else { recalledRest += 1 }
  }
}

/// Who claims key data of a page under which rolling starts, gathered when it is asked for: only repeated key data is.
private struct Claimants {
  private let claims: ClaimSet
  private var starts: [TemporaryExposureKey: [String: Set<Int32>]]?

  init(of claims: ClaimSet) { self.claims = claims }

  /// The starts by origin; the lost one has no name.
  mutating func starts(of key: TemporaryExposureKey) -> [String: Set<Int32>] {
    if starts == nil {
      var all: [TemporaryExposureKey: [String: Set<Int32>]] = [:]
      for claim in claims.statedClaims {
        all[claim.subject.key, default: [:]][claim.origin ?? "", default: []].insert(claim.subject.rollingStart)
      }
      starts = all
    }
    return starts?[key] ?? [:]
  }
}

extension ClaimSet {
  /// Whether it has a claim about the key; for small sets.
  package func isAbout(_ key: TemporaryExposureKey) -> Bool {
    statedClaims.contains { $0.subject.key == key }
  }
}

extension KeySelection {
  /// `nil` where all have room.
  func windowFull(_ settings: SeriesSettings) -> PublishingWarning? {
    guard rest + recalledRest > 0 else { return nil }
    return PublishingWarning(
      .windowFull,
      "\(counted(rest + recalledRest, "key")) more are due than a window of series \(settings.name) takes, \(grouped(settings.mostKeys));"
        + " they go out with the next ones, and split.window is where the number stands")
  }
}

extension KeySelection.Counts {
  /// `nil` where nothing is outvoted.
  var outvotedWarning: PublishingWarning? {
    guard outvoted > 0 else { return nil }
    return PublishingWarning(
      .revocationOutvoted,
      "\(counted(outvoted, "key")) revoked by one origin, and another one stands behind them: ask explain")
  }

  var held: Int { holds.values.reduce(0, +) }
  var leftOut: Int { omissions.values.reduce(0, +) + repeated }
}

// MARK: Revisions

extension ReleasedKey {
  var subject: KeySubject { KeySubject(key: key.key, rollingStart: key.rollingStartWord) }

  /// What goes out about a released key that is believed otherwise now; `nil` when devices would not take it.
  ///
  /// They take one other report type, once: a self-report becomes anything that somebody confirmed, or is revoked, and a
  /// clinical diagnosis becomes a confirmed test, or is revoked. A key of another rolling period is none that they know, so
  /// the released one stays. A change of risk or onset alone is nothing to them.
  func revision(to believed: ClaimedKey) -> ClaimedKey? {
    guard revisions == 0, let before = key.reportType.flatMap(ReportType.init(rawValue:)),
      let after = believed.reportType.flatMap(ReportType.init(rawValue:)), before.mayBeRevised(to: after)
    else { return nil }
    // A revocation often says nothing else.
    var revision = after == .revoked ? key : believed
    revision.reportType = after.rawValue
    revision.rollingPeriod = key.rollingPeriod
    revision.regions = .none
    revision.unknownFields = 0
    revision.isRevised = true
    return revision
  }
}

extension ClaimedKey {
  var isRevocation: Bool { reportType == ReportType.revoked.rawValue }
  var subject: KeySubject { KeySubject(key: key, rollingStart: rollingStartWord) }
}

// MARK: Select and fold

extension RegionSelection {
  /// Whether keys that one origin sends there belong to the series. It is asked of each origin's opinion alone, so nobody
  /// takes another's key out of a series by what he adds.
  ///
  /// A key that goes everywhere names no region: it is for every included one and for more than one, and no exclusion is
  /// about it.
  func wants(_ destination: KeyDestination) -> Bool {
    let regions = destination.visited ?? []
    if let origins, !destination.origins.contains(where: origins.contains) { return false }
    if destination.goesEverywhere { return true }
    if travellersOnly, regions.count < 2 { return false }
    if let include { return regions.contains(where: include.contains) }
    return !regions.contains(where: exclude.contains)
  }

  /// As regions are written in claims.
  fileprivate var normalized: RegionSelection {
    func upper(_ names: Set<String>) -> Set<String> { Set(names.map { $0.uppercased() }) }
    return RegionSelection(
      include: include.map(upper), exclude: upper(exclude), origins: origins.map(upper),
      travellersOnly: travellersOnly)
  }
}

/// The kill switches that are thrown.
package struct PauseSet: Sendable {
  package private(set) var sources: Set<String> = []
  package private(set) var origins: Set<String> = []

  /// - Parameter rehearsals: sources whose claims stand still as if they were paused.
  package init(_ pauses: [Pause], rehearsing rehearsals: Set<String> = []) {
    sources = rehearsals
    for pause in pauses {
      switch pause.subject {
      case .source(let name): sources.insert(name)
      case .origin(let name): origins.insert(name.uppercased())
      }
    }
  }

  /// Those of an earlier round.
  package init(sources: [String], origins: [String]) {
    self.sources = Set(sources)
    self.origins = Set(origins)
  }

  package var isEmpty: Bool { sources.isEmpty && origins.isEmpty }

  package func covers(_ claim: StatedClaim) -> Bool {
    sources.contains(claim.source.name) || claim.origin.map(origins.contains) ?? false
  }
}

/// What was known when bundles were staged.
struct PastKnowledge: Sendable {
  /// The last event that was known.
  var event: EventID
  /// The first of the bundles: what came with an earlier one was released.
  var bundle: BundleID
  var pauses: PauseSet
}

struct Selector {
  let settings: SeriesSettings
  let instant: Instant
  let pauses: PauseSet
  let followsRecall: Bool
  let selection: RegionSelection

  init(settings: SeriesSettings, instant: Instant, pauses: PauseSet, followsRecall: Bool) {
    self.settings = settings
    self.instant = instant
    self.pauses = pauses
    self.followsRecall = followsRecall
    selection = settings.selection.normalized
  }

  var policy: PublishingPolicy { settings.publishing.at(instant).publishing }
  var publishesRevocations: Bool { policy.reportTypes[.revoked] == .publish(as: .revoked) }

  /// Whether phones may still have sightings of it.
  func isYoung(_ key: ClaimedKey) -> Bool {
    let expiry = IntervalNumber(Int64(key.rollingStartWord) + Int64(key.rollingPeriodWord)).start
    return instant.secondsSince1970 - expiry.secondsSince1970 <= Int64(policy.maximumAgeDays) * 86_400
  }

  /// What is paused counts for the embargo all the same.
  fileprivate func beliefs(of page: ClaimPage) -> PausedBeliefs {
    let all = fold(page.claims, page.embargo)
    if pauses.isEmpty { return PausedBeliefs(all: all, unpaused: nil) { _ in false } }
    var embargo = page.embargo
    embargo.add(page.claims.removing { !pauses.covers($0) })
    return PausedBeliefs(
      all: all, unpaused: fold(page.claims.removing(where: pauses.covers), embargo), isPaused: pauses.covers)
  }

  private func fold(_ claims: ClaimSet, _ embargo: Embargo) -> Beliefs {
    let selection = selection
    return Beliefs(
      of: claims, policy: policy, ownOrigins: settings.ownOrigins, embargo: embargo, now: instant,
      needsOrigins: selection.origins != nil, isWanted: selection.wants)
  }
}

/// What becomes of a key while something is paused.
private struct PausedBelief {
  enum Outcome {
    case publish(BelievedKey)
    case hold(until: Instant, HoldReason)
    case leaveOut(LeaveOutReason)
    case paused
  }

  var subject: KeySubject
  var outcome: Outcome
  /// Not even those who are paused stand behind it.
  var isRevokedByAll: Bool
}

/// What everybody says beside what those say who are not paused. Nothing new comes from a paused claim, and nothing is
/// revoked because a claim is paused.
private struct PausedBeliefs {
  var all: Beliefs
  var unpaused: Beliefs?
  private var nextUnpaused: (subject: KeySubject, outcome: BeliefOutcome)?

  private let isPaused: (StatedClaim) -> Bool

  init(all: Beliefs, unpaused: Beliefs?, isPaused: @escaping (StatedClaim) -> Bool) {
    self.all = all
    self.unpaused = unpaused
    self.isPaused = isPaused
    nextUnpaused = self.unpaused?.next()
  }

  /// Whose opinions publish the key that was returned last.
  var publishingOrigins: Set<String> {
    mutating get { all.publishingOrigins { [isPaused] in !isPaused($0) } }
  }

  /// What apps would be told of the key that was returned last, if these origins alone had spoken.
  ///
  /// - Parameter includingPaused: whether those who are paused are asked as well.
  mutating func believed(by origins: ReleasingOrigins, includingPaused: Bool) -> ClaimedKey? {
    let outcome = all.outcome { [isPaused] in origins.contains($0.origin) && (includingPaused || !isPaused($0)) }
    guard case .publish(let key)? = outcome else { return nil }
    return key.forApps
  }

  mutating func next() -> PausedBelief? {
    guard let (subject, full) = all.next() else { return nil }
    guard unpaused != nil else {
      return PausedBelief(subject: subject, outcome: .init(full), isRevokedByAll: true)
    }
    var outcome: PausedBelief.Outcome?
    if let next = nextUnpaused, next.subject == subject {
      outcome = .init(next.outcome)
      nextUnpaused = unpaused?.next()
    }
    let isHeld = if case .hold = full { true } else { false }
    let stands = if case .publish(let key) = full { !key.forApps.isRevocation } else { false }
    switch outcome {
    case .publish(let key)? where !key.forApps.isRevocation: break
    case .hold?: break
    // Those who are not paused revoked it, or do not know it, or not for this series.
    case .publish?, .leaveOut?: if stands { outcome = .paused }
    // Nor is what is still valid promised for a time while it stands still.
    case .paused?, nil: outcome = stands || isHeld ? .paused : .init(full)
    }
    let revoked = if case .publish(let key) = full { key.forApps.isRevocation } else { false }
    return PausedBelief(subject: subject, outcome: outcome ?? .init(full), isRevokedByAll: revoked)
  }
}

extension PausedBelief.Outcome {
  init(_ outcome: BeliefOutcome) {
    switch outcome {
    case .publish(let key): self = .publish(key)
    case .hold(let instant, let reason): self = .hold(until: instant, reason)
    case .leaveOut(let reason): self = .leaveOut(reason)
    }
  }
}

/// What a series has released, one key at a time, read in pages.
struct ReleasedKeys {
  private let series: String
  /// `nil` where there is nothing more to read.
  private let state: (any StoredState)?
  private let only: TemporaryExposureKey?
  private let part: KeyDataPart
  private let bundle: BundleID?
  private var pageSize: Int
  private var page: [ReleasedKey] = []
  /// Of the page, what is still to come.
  private var position = 0
  private var end = 0
  private var last: KeySubject?
  private var isAtEnd = false

  /// - Parameters:
  ///   - key: the one key data that is asked about; `nil` is all.
  ///   - part: of which key data.
  ///   - bundle: as it was before this bundle; `nil` is now.
  init(
    by series: String, from state: any StoredState, pageSize: Int, only key: TemporaryExposureKey?,
    within part: KeyDataPart = .whole, before bundle: BundleID? = nil
  ) {
    self.bundle = bundle
    self.part = key.map { KeyDataPart(first: $0) } ?? part
    self.series = series
    self.state = state
    only = key
    self.pageSize = key == nil ? pageSize : 2 * KeySelection.maximumRepetitions
  }

  /// These, in their order.
  init(page: [ReleasedKey]) {
    (series, state, only, bundle, part) = ("", nil, nil, nil, .whole)
    pageSize = page.count
    self.page = page
    end = page.count
    isAtEnd = true
  }

  private func isAsked(_ key: TemporaryExposureKey) -> Bool {
    part.contains(key) && only.map { $0 == key } ?? true
  }

  /// The one that comes next, without taking it.
  mutating func peek() throws -> ReleasedKey? {
    try nextSubject() == nil ? nil : first
  }

  /// What the one that comes next is about. It is asked of every key that is folded, and copies nothing more.
  mutating func nextSubject() throws -> KeySubject? {
    while position == end, !isAtEnd { try readPage() }
    return position < end ? page[position].subject : nil
  }

  /// The one that ``nextSubject()`` told of.
  var first: ReleasedKey? { position < end ? page[position] : nil }

  mutating func advance() {
    last = page[position].subject
    position += 1
  }

  private mutating func readPage() throws {
    guard let state else { return }
    let read = try state.released(by: series, from: last?.key ?? part.first, limit: pageSize, before: bundle)
    isAtEnd = read.count < pageSize
    position = last.flatMap { last in read.firstIndex { last < $0.subject } } ?? (last == nil ? 0 : read.count)
    end = read.count
    // One key data under so many rolling starts that a page is not enough to get past it.
    if position == end, !isAtEnd { pageSize *= 2 }
    page = read
    // What comes behind is nobody's question.
    while end > position, !isAsked(page[end - 1].key.key) { (end, isAtEnd) = (end - 1, true) }
  }
}
