internal import BundleTrust
internal import ExposureKeys
internal import KeyConversion
internal import KeyFormats
internal import KeyIntake
package import KeyNormalization
package import KeyStorage
package import TransparencyLog

/// Makes published bundles again from what the store has, and compares them with what was published.
///
/// What was known when a bundle was staged is what its claims' event numbers say; what was released, paused and asked for
/// then stands in the recipe that was kept with it. Selecting, folding, padding and encoding are those of publishing. It
/// reads, and changes nothing; memory is bounded as it is in a round.
package actor BundleAudit {
  private let ledger: Ledger
  private let folder: LocalFolder
  private let policies: [String: Policy]
  private let settings: [String: SeriesSettings]
  private let program: String
  private let log: NoteVerifier?
  /// What was found out about bundles.
  private var known: [BundleID: RebuildVerdict] = [:]

  /// - Parameters:
  ///   - folder: what is published.
  ///   - series: as they are configured now; their policies are known by their digests.
  ///   - policies: further ones, by the SHA-256 of their files in lower-case hexadecimal.
  ///   - program: name and version of this program.
  ///   - log: the public key of the log by which the proofs beside bundles are verified; `nil` verifies none.
  package init(
    ledger: Ledger, folder: LocalFolder, series: [SeriesSettings], policies: [String: Policy] = [:],
    program: String, log: NoteVerifier? = nil
  ) {
    self.log = log
    self.ledger = ledger
    self.folder = folder
    self.program = program
    settings = Dictionary(series.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let configured = series.compactMap { series in series.policyDigest.map { ($0, series.publishing) } }
    self.policies = Dictionary(configured, uniquingKeysWith: { first, _ in first }).merging(policies) { $1 }
  }

  /// The bundles of a series that are not removed yet, in the order in which they were staged; `nil` is every series.
  package func bundles(of series: String?) async throws -> [BundleRecord] {
    try await ledger.read { try $0.bundles(of: series, in: [.staged, .published, .expired]) }
  }

  /// The bundles that a name can mean: a path, the last part of one, or one without its ending.
  package func bundles(named name: String, of series: String?) async throws -> [BundleRecord] {
    let all = try await ledger.read { try $0.bundles(of: series, in: Set(BundleState.allCases)) }
    let path = all.filter { $0.bundle.path == name }
    if !path.isEmpty { return path }
    return all.filter { record in
      guard let file = record.bundle.path.split(separator: "/").last else { return false }
      return file == name || file == "\(name).zip" || "\(record.bundle.kind.rawValue)/\(record.bundle.ordinal)" == name
    }
  }

  /// The bundles that the folder shows and the store does not know: it was lost, or is older than the folder. Their paths, as the
  /// manifests name them.
  ///
  /// - Parameter series: `nil` is every one that is configured, or known to the store.
  /// - Throws: what the store and the folder throw; a manifest that cannot be read names nothing.
  package func unknown(of series: String?) async throws -> [String] {
    let records = try await ledger.read { try $0.bundles(of: series, in: Set(BundleState.allCases)) }
    let known = Set(records.map(\.bundle.path))
    let names = series.map { [$0] } ?? Set(records.map(\.bundle.series)).union(settings.keys).sorted()
    var unknown: [String] = []
    for name in names {
      guard let bytes = try folder.content(of: SeriesManifest.path(of: name), limit: SeriesManifest.byteLimit),
        let manifest = try? SeriesManifest(document: bytes)
      else { continue }
      for bundle in manifest.bundles where !known.contains(bundle.path) && bundle.path.hasPrefix("\(name)/") {
        if (try? folder.byteCount(of: bundle.path)) != nil { unknown.append(bundle.path) }
      }
    }
    return unknown
  }

  /// Makes a bundle again and compares it.
  ///
  /// - Throws: what the store and the folder throw.
  package func verdict(of record: BundleRecord) async throws -> RebuildVerdict {
    if let verdict = known[record.id] { return verdict }
    let bench = RebuildBench(
      record, folder: folder, policies: policies, settings: settings[record.bundle.series], program: program,
      known: known, log: log)
    let (verdict, others) = try await ledger.read { state in
      var bench = bench
      let verdict = try bench.verdict(of: record, in: state)
      return (verdict, bench.known)
    }
    known = others
    return verdict
  }
}

/// One state of the store, in which bundles of a series are made again.
private struct RebuildBench: Sendable {
  private let folder: LocalFolder
  private let policies: [String: Policy]
  private let settings: SeriesSettings?
  private let program: String
  private let series: String
  private let log: NoteVerifier?
  private(set) var known: [BundleID: RebuildVerdict]
  /// The bundles of the series by kind and number.
  private var records: [BundleKind: [Int: BundleRecord]]?
  /// What the last event released: it may have several bundles. And how many keys of uploads are taken as not known yet.
  private var last: (event: EventID, keys: KeyRun, later: Int)?
  private var history: RebuildHistory?

  init(
    _ record: BundleRecord, folder: LocalFolder, policies: [String: Policy], settings: SeriesSettings?,
    program: String, known: [BundleID: RebuildVerdict], log: NoteVerifier?
  ) {
    self.log = log
    (self.folder, self.policies, self.settings, self.program, self.known) = (folder, policies, settings, program, known)
    series = record.bundle.series
  }

  /// Why a bundle cannot be made again.
  private struct Obstacle: Error {
    let reason: RebuildVerdict.Reason

    init(_ code: RebuildVerdict.Reason.Code, _ text: String) { reason = RebuildVerdict.Reason(code: code, text: text) }
  }

  mutating func verdict(of record: BundleRecord, in state: any StoredState) throws -> RebuildVerdict {
    if let verdict = known[record.id] { return verdict }
    var verdict = RebuildVerdict(of: record)
    let published = try look(at: record, &verdict)
    do {
      try make(record, in: state, &verdict, published)
    } catch let obstacle as Obstacle {
      verdict.reason = obstacle.reason
    }
    known[record.id] = verdict
    return verdict
  }

  // MARK: Compare

  /// The file as it is in the folder; `nil` where there is none.
  private func look(at record: BundleRecord, _ verdict: inout RebuildVerdict) throws -> [UInt8]? {
    let bundle = record.bundle
    (verdict.isLogged, verdict.logFault) = standing(of: record)
    guard let count = try folder.byteCount(of: bundle.path) else { return nil }
    // What somebody has put in its place is read as far as a bundle goes.
    guard count <= max(bundle.byteCount, 64 << 20),
      let content = try folder.content(of: bundle.path, limit: max(count, 1))
    else {
      verdict.file = .changed
      return nil
    }
    verdict.file = sha256(content) == bundle.archiveDigest ? .whole : .changed
    return content
  }

  /// What the proof beside a bundle says, and why it is not good: that the log has this very bundle.
  private func standing(of record: BundleRecord) -> (isLogged: Bool?, fault: String?) {
    let bundle = record.bundle
    let place = bundle.path + ProofFile.ending
    do {
      guard let bytes = try folder.content(of: place, limit: ProofFile.byteLimit) else {
        let isNeeded = try log != nil && record.state == .published && folder.byteCount(of: bundle.path) != nil
        guard isNeeded else { return (nil, nil) }
        return (false, "there is no proof beside it, though it is published: the next round makes one")
      }
      let proof = try ProofFile(bytes, name: place)
      guard let extra = proof.extra else { return (false, "\(place) has no entry, so it is of no bundle") }
      let entry = try LogEntry(extra, name: place)
      guard entry.text("path") == bundle.path, entry.text("export_sha256") == bundle.exportDigest,
        entry.text("archive_sha256") == bundle.archiveDigest
      else { return (false, "\(place) is of another file") }
      if let log { _ = try proof.verify(extra, by: log, name: place) }
      return (true, nil)
    } catch let fault as LogFault {
      return (false, fault.reason)
    } catch {
      return (false, "\(place) cannot be read")
    }
  }

  private mutating func make(
    _ record: BundleRecord, in state: any StoredState, _ verdict: inout RebuildVerdict, _ published: [UInt8]?
  ) throws {
    guard let staged = try state.recipe(of: record.id) else {
      throw Obstacle(
        .noRecipe,
        "the store does not know how it was made, because it was found in the folder after the store was lost")
    }
    let (round, recipe) = try staged.read()
    verdict.event = staged.event.id
    verdict.known = round.selection.map { EventID(rawValue: $0.known) }
    verdict.clock = Instant(secondsSince1970: round.clock)
    verdict.policy = round.policy
    verdict.program = round.program
    if let settings {
      let changes = round.settings.changes(to: OutputSettings(settings))
      if !changes.isEmpty {
        verdict.notes.append(
          "settings of the series have changed since, and those of then are used: \(changes.joined(separator: "; "))")
      }
    }
    let keys = try self.keys(of: record, staged, round, recipe, in: state, &verdict)
    let header = ExportHeader(
      start: record.bundle.start, end: record.bundle.end, region: round.settings.headerRegion,
      signedBy: SignatureInfo(
        verificationKeyVersion: record.bundle.keyVersion, verificationKeyID: record.bundle.keyID,
        signatureAlgorithm: SignatureInfo.ecdsaWithSHA256))
    let written = try BundleWriter(signers: [], packing: .bareFiles).write(
      keys, under: header, to: ConversionOutput(document: DiscardingSink()))
    verdict.digest = written.digests.hexadecimal
    verdict.keys = written.keys + written.revised
    let recalls = try history(in: state).count(of: .recalled, after: staged.event.id)
    if recalls > 0 {
      verdict.notes.append(
        "\(counted(recalls, "recall")) since: what was withdrawn by \(recalls == 1 ? "it" : "them") is taken as it stood then"
      )
    }

    let isMade = verdict.digest == record.bundle.exportDigest
    if !isMade {
      verdict.result = .different
      // What somebody put in its place may be nothing that can be read.
      if let published {
        verdict.difference = try? RebuildDifference.first(
          between: published, path: record.bundle.path, and: keys, under: header)
      }
      verdict.reason = try reason(
        of: verdict, staged, round, verdict.file == .whole ? published : nil, keys, in: state)
    } else if verdict.file == .changed {
      verdict.result = .different
      if let published {
        verdict.difference = try? RebuildDifference.first(
          between: published, path: record.bundle.path, and: keys, under: header)
      }
      verdict.reason = RebuildVerdict.Reason(
        code: .fileChanged,
        text: "made again it is what was staged, and the file in the folder is not: somebody has changed the file")
    } else if verdict.isLogged == false {
      verdict.result = .different
      verdict.reason = RebuildVerdict.Reason(
        code: .log,
        text: verdict.logFault ?? "the proof beside it is of another file, or cannot be read")
    } else if verdict.file == .missing, record.state == .published {
      verdict.result = .different
      verdict.reason = RebuildVerdict.Reason(
        code: .fileMissing,
        text:
          "made again it is what was staged, and there is no file in the folder: the next round puts another in its place"
      )
    } else if let parts = verdict.parts, verdict.equalParts != parts {
      // It says what they say, and that is as good as they are.
      verdict.result = .notMade
      verdict.reason = RebuildVerdict.Reason(
        code: .parts,
        text: "it says what its \(counted(parts, "bundle")) say as published, and "
          + "\(parts - (verdict.equalParts ?? 0)) of these cannot be made again, or are not equal")
    } else {
      verdict.result = .equal
    }
  }

  // MARK: Make

  private mutating func keys(
    of record: BundleRecord, _ staged: StagedRecipe, _ round: RoundRecipe, _ recipe: BundleRecipe,
    in state: any StoredState, _ verdict: inout RebuildVerdict
  ) throws -> KeyShare {
    guard recipe.parts > 0, 0..<recipe.parts ~= recipe.part else {
      throw StorageFault(.corrupt, "how \(record.bundle.path) was made cannot be read")
    }
    let run =
      switch recipe.source {
      case .claims: try selected(staged, round, in: state, &verdict)
      case .bundles: try union(record, recipe, round, in: state, &verdict)
      case .nothing: KeyRun()
      case .copy: try copied(record, recipe, round, in: state, &verdict)
      case .replacement:
        throw Obstacle(
          .replacement,
          "it took the place of a file that was lost, and holds what the store had released then, not what was selected"
        )
      }
    return KeyShare(run: run, part: recipe.part, parts: recipe.parts)
  }

  /// What a round selected of the claims, with its look-alikes.
  private mutating func selected(
    _ staged: StagedRecipe, _ round: RoundRecipe, in state: any StoredState, _ verdict: inout RebuildVerdict
  ) throws -> KeyRun {
    func note(_ later: Int) {
      guard later > 0 else { return }
      verdict.notes.append(
        "when uploads of a day came is known to the day alone: \(counted(later, "key")) of them that did not go out with it "
          + "\(later == 1 ? "is" : "are") taken as not known then")
    }
    if let last, last.event == staged.event.id {
      note(last.later)
      return last.keys
    }
    guard let selection = round.selection else {
      throw StorageFault(.corrupt, "event \(staged.event.id.rawValue) does not say what it selected")
    }
    let settings = round.settings.settings(of: series, publishing: try policy(of: round))
    let found = try KeySelection(
      of: settings, from: state, at: Instant(secondsSince1970: selection.instant),
      followsRecall: selection.followsRecall,
      asOf: PastKnowledge(
        event: EventID(rawValue: selection.known), bundle: staged.first,
        pauses: PauseSet(sources: selection.pausedSources, origins: selection.pausedOrigins)))
    var uploads = try LaterUploads(than: round.clock, staged, by: series, in: state)
    let all = selection.releasesNew ? try uploads.without(found.new, limit: settings.mostKeys) : KeyRun()
    let (new, revised) = (all, try uploads.without(found.revised, limit: settings.mostKeys))
    note(uploads.count)
    var lookalikes: [ClaimedKey] = []
    let newRounds = try Padding.releasedRounds(of: new, by: series, from: state)
    let revisedRounds = try Padding.releasedRounds(of: revised, by: series, from: state)
    if !newRounds.isEmpty || !revisedRounds.isEmpty {
      guard let secret = try state.note(.paddingSecret) else {
        throw Obstacle(.secret, "the secret behind look-alikes is not in the store")
      }
      let padding = Padding(secret: secret, rounds: newRounds)
      lookalikes = try padding.lookalikes(of: new) + padding.lookalikes(of: revised, rounds: revisedRounds)
    }
    let keys = try new.together(with: revised, lookalikes)
    last = (staged.event.id, keys, uploads.count)
    return keys
  }

  private func policy(of round: RoundRecipe) throws -> Policy {
    guard let digest = round.policy else {
      guard let settings else {
        throw Obstacle(.policy, "its policy was read from no file, and no series \(series) is configured any more")
      }
      return settings.publishing
    }
    if let policy = policies[digest] { return policy }
    let now = settings?.policyDigest.map { "; the series is published by the one with \($0) now" } ?? ""
    throw Obstacle(
      .policy, "it was made by the policy whose file has the SHA-256 \(digest)\(now): give that file with --policy")
  }

  /// What increments hold, which are made again, too.
  private mutating func union(
    _ record: BundleRecord, _ recipe: BundleRecipe, _ round: RoundRecipe, in state: any StoredState,
    _ verdict: inout RebuildVerdict
  ) throws -> KeyRun {
    let steps = try (recipe.increments ?? []).map { text in
      guard let numbers = NumberList.numbers(in: text) else {
        throw StorageFault(.corrupt, "of what \(record.bundle.path) was made cannot be read")
      }
      return numbers
    }
    let erasures = try state.erasures()
    var (parts, equal) = (Set<BundleID>(), 0)
    var union: KeyRun?
    for numbers in steps {
      var said = BundleUnion()
      for number in numbers {
        guard let part = try find(.increment, number, in: state) else {
          throw StorageFault(
            .corrupt, "increment \(number), of which \(record.bundle.path) was made, is not in the store")
        }
        if parts.insert(part.id).inserted, try self.verdict(of: part, in: state).digest == part.bundle.exportDigest {
          equal += 1
        }
        said.begin()
        try read(part, in: state) { key in
          // What was erased before the union was made is not in it.
          let erased = erasures.moments.isEmpty ? nil : erasures.moments[sha256(key.key.bytes)]
          if let erased, let published = part.published, published <= erased, erased.secondsSince1970 <= round.clock {
            return
          }
          try said.add(key)
        }
      }
      switch record.bundle.kind {
      case .keyDay:
        let day = Instant(secondsSince1970: record.bundle.start).day
        union = try said.keyDays { $0 == day }[day] ?? KeyRun()
      case .edition: union = try said.sorter.union(oncePerKeyData: false)
      case .day: union = try said.sorter.union(oncePerKeyData: true)
      case .since:
        let keys = try said.sorter.union(oncePerKeyData: true)
        union = try BundleUnion.of(keys, before: union ?? KeyRun())
      case .increment: throw StorageFault(.corrupt, "the increment \(record.bundle.path) is made of others")
      }
    }
    (verdict.parts, verdict.equalParts) = (parts.count, equal)
    return union ?? KeyRun()
  }

  /// What another bundle holds, in its order.
  private mutating func copied(
    _ record: BundleRecord, _ recipe: BundleRecipe, _ round: RoundRecipe, in state: any StoredState,
    _ verdict: inout RebuildVerdict
  ) throws -> KeyRun {
    guard let number = recipe.copied, let other = try find(record.bundle.kind, number, in: state), other.id < record.id
    else {
      throw StorageFault(.corrupt, "the bundle that \(record.bundle.path) says again is not in the store")
    }
    let isEqual = try self.verdict(of: other, in: state).result == .equal
    (verdict.parts, verdict.equalParts) = (1, isEqual ? 1 : 0)
    let erasures = try state.erasures()
    var sorter = KeySorter()
    try read(other, in: state) { key in
      let erased = erasures.moments.isEmpty ? nil : erasures.moments[sha256(key.key.bytes)]
      if let erased, let published = other.published, published <= erased, erased.secondsSince1970 <= round.clock {
        return
      }
      try sorter.add(key)
    }
    var run = KeyRun()
    try sorter.drain { try run.append($0.key) }
    return run
  }

  private mutating func find(_ kind: BundleKind, _ number: Int, in state: any StoredState) throws -> BundleRecord? {
    if records == nil {
      var all: [BundleKind: [Int: BundleRecord]] = [:]
      for record in try state.bundles(of: series, in: Set(BundleState.allCases)) {
        all[record.bundle.kind, default: [:]][record.bundle.ordinal] = record
      }
      records = all
    }
    return records?[kind]?[number]
  }

  /// The keys of a bundle: of its file where that is whole, or else made again.
  private mutating func read(
    _ record: BundleRecord, in state: any StoredState, _ body: (ClaimedKey) throws -> Void
  ) throws {
    let bundle = record.bundle
    if let content = try? folder.content(of: bundle.path, limit: max(bundle.byteCount, 1)),
      sha256(content) == bundle.archiveDigest
    {
      return try PublishedKeys.read(of: content, path: bundle.path, body)
    }
    if let content = try state.content(of: record.id) {
      return try PublishedKeys.read(of: content, path: bundle.path, body)
    }
    guard let staged = try state.recipe(of: record.id) else {
      throw Obstacle(.parts, "\(bundle.path), of which it is made, is not in the folder any more")
    }
    let (round, recipe) = try staged.read()
    var verdict = RebuildVerdict(of: record)
    let keys: KeyShare
    do {
      keys = try self.keys(of: record, staged, round, recipe, in: state, &verdict)
    } catch let obstacle as Obstacle {
      throw Obstacle(
        .parts,
        "\(bundle.path), of which it is made, is not in the folder any more and cannot be made again: "
          + obstacle.reason.text)
    }
    for revised in [false, true] { try keys.read { if $0.key.isRevised == revised { try body($0.key) } } }
  }

  // MARK: Why not

  private mutating func history(in state: any StoredState) throws -> RebuildHistory {
    if let history { return history }
    let new = try RebuildHistory(of: state)
    history = new
    return new
  }

  /// Why what was made again is not what was published, as far as it can be known.
  private mutating func reason(
    of verdict: RebuildVerdict, _ staged: StagedRecipe, _ round: RoundRecipe, _ published: [UInt8]?, _ keys: KeyShare,
    in state: any StoredState
  ) throws -> RebuildVerdict.Reason {
    typealias Reason = RebuildVerdict.Reason
    let history = try history(in: state)
    let event = staged.event.id
    // Of the keys that are missing now, what became of them can be asked.
    if let published {
      let missing = try RebuildDifference.missing(from: keys, in: published, path: verdict.bundle.path)
      let erasures = try state.erasures()
      if !erasures.moments.isEmpty, missing.contains(where: { erasures.moments[sha256($0.key.bytes)] != nil }) {
        return Reason(
          code: .erased, text: "a key that it holds was erased since, and nothing of it is in the store any more")
      }
      if let horizon = history.horizon(after: event), missing.contains(where: { $0.isOver(by: horizon) }) {
        return Reason(
          code: .expired,
          text: "keys that it holds expired before \(horizon), and were removed from the store since (retention.keys)")
      }
    } else if let instant = round.selection?.instant, let horizon = history.horizon(after: event),
      let policy = try? policy(of: round),
      horizon.secondsSince1970 > instant
        - Int64(policy.at(Instant(secondsSince1970: instant)).publishing.maximumAgeDays) * 86_400
    {
      return Reason(
        code: .expired,
        text:
          "keys that expired before \(horizon) were removed from the store since (retention.keys), and so was its file")
    }
    if let parts = verdict.parts, verdict.equalParts != parts {
      return Reason(
        code: .parts, text: "of the \(parts) bundles that it is made of, \(verdict.equalParts ?? 0) are equal")
    }
    let rereadings = history.count(of: .reread, after: event)
    if rereadings > 0 {
      return Reason(
        code: .reread,
        text:
          "documents were read again since (\(counted(rereadings, "time"))), and what they said before is not known any more"
      )
    }
    let decided = [EventKind.heldReleased, .heldDiscarded, .discarded].reduce(0) {
      $0 + history.count(of: $1, after: event)
    }
    if decided > 0 {
      return Reason(
        code: .heldDecided,
        text:
          "what was held for the operator then delayed keys, and was decided about since (\(counted(decided, "time")))")
    }
    if history.count(of: .erased, after: event) > 0 {
      return Reason(code: .erased, text: "keys were erased since, and nothing of them is in the store any more")
    }
    if round.program != program {
      return Reason(code: .program, text: "\(round.program) made it, and this is \(program)")
    }
    if let horizon = history.horizon(after: event) {
      return Reason(
        code: .expired, text: "keys that expired before \(horizon) were removed from the store since (retention.keys)")
    }
    return Reason(code: .unknown, text: "nothing that the store has explains it")
  }
}

/// Keys of uploads that came on the day of a round, but after it. The store keeps of uploads the day alone, so that nobody who
/// reads it can tell which keys came together: whether one was known to the round is concluded from whether it went out.
private struct LaterUploads {
  /// How many were found.
  private(set) var count = 0
  private let clock: Instant
  private let state: any StoredState
  private let series: String
  private let staged: StagedRecipe
  /// Whether there were any uploads on that day; nearly nothing is asked where there were none.
  private let areThere: Bool

  init(than clock: Int64, _ staged: StagedRecipe, by series: String, in state: any StoredState) throws {
    self.clock = Instant(secondsSince1970: clock)
    self.state = state
    self.series = series
    self.staged = staged
    let name = "uploads/\(self.clock.day)"
    areThere = try state.sources().contains { try state.document(named: name, of: $0.name) != nil }
  }

  /// The first keys of a run, without those that came later.
  mutating func without(_ run: KeyRun, limit: Int) throws -> KeyRun {
    if !areThere, run.count <= limit { return run }
    var (left, later) = (KeyRun(), 0)
    var released = ReleasedKeys(
      by: series, from: state, pageSize: 1 << 14, only: nil, before: BundleID(rawValue: staged.last.rawValue + 1))
    try run.read { record in
      if areThere {
        while let next = try released.peek(), next.subject < record.key.subject { released.advance() }
        let own = try released.peek().flatMap { $0.subject == record.key.subject ? $0 : nil }
        let wentOut = own.map { !record.key.isRevised || $0.revisions > 0 } ?? false
        if try !wentOut && cameLater(record.key) {
          later += 1
          return
        }
      }
      if left.count < limit { try left.append(record.key, number: record.number) }
    }
    count += later
    return left
  }

  /// Uploads have the last second of their day as their time.
  private func cameLater(_ key: ClaimedKey) throws -> Bool {
    try state.record(of: key.key).claims.contains {
      $0.claim.subject == key.subject && $0.arrived > clock && $0.arrived.day == clock.day
    }
  }
}

/// What has happened that may change what can be made again.
private struct RebuildHistory: Sendable {
  private var events: [EventKind: [EventID]] = [:]
  /// When keys were removed, and until which expiry.
  private var horizons: [(event: EventID, before: Instant)] = []

  private static let kinds: Set<EventKind> = [.recalled, .reread, .heldReleased, .heldDiscarded, .discarded, .erased]

  init(of state: any StoredState) throws {
    var start = EventID(rawValue: 0)
    while true {
      let page = try state.events(from: start, limit: 1 << 14)
      for record in page {
        if Self.kinds.contains(record.event.kind) { events[record.event.kind, default: []].append(record.id) }
        if record.event.kind == .expired, let before = ExpiryWords.instant(in: record.event.subject) {
          horizons.append((record.id, before))
        }
      }
      guard let last = page.last else { return }
      start = EventID(rawValue: last.id.rawValue + 1)
    }
  }

  func count(of kind: EventKind, after event: EventID) -> Int { (events[kind] ?? []).count { $0 > event } }

  /// Until which expiry keys were removed since.
  func horizon(after event: EventID) -> Instant? { horizons.filter { $0.event > event }.map(\.before).max() }
}

extension ClaimedKey {
  /// Whether its claims had expired by then.
  fileprivate func isOver(by instant: Instant) -> Bool { subject.expiry <= instant }
}

/// Forgets what is written: only the digest is asked for.
private final class DiscardingSink: PatchableSink {
  func write(_ bytes: UnsafeRawBufferPointer) {}
  func overwrite(at offset: Int, with bytes: [UInt8]) {}
  func discard() {}
}
