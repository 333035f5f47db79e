internal import BundleTrust
internal import ExposureKeys
internal import KeyIntake
internal import KeyNormalization
internal import KeyStorage
internal import TransparencyLog

/// One round of one series, step by step.
struct SeriesRound: Sendable {
  let settings: SeriesSettings
  /// The clock as the round began.
  private let look: ClockLook
  private let ledger: Ledger
  private let folder: any PublicationFolder
  /// `nil` where there is no log.
  private let log: LogKeeper?

  private(set) var receipt: SeriesReceipt
  private var signer: SigningIdentity?
  private var state = SeriesState()
  private var records: [BundleRecord] = []
  private var windows: [ExportWindow] = []
  private var erasures = Erasures()
  private var selection: KeySelection?
  private var recalls = 0
  /// How the selection was made; `nil` until there is one.
  private var selected: RoundRecipe.Selection?
  /// What the selection leaves for the next round.
  private var mark: RoundMark?
  private let habit: RoundMode
  /// All series that are published here, this one among them.
  private let peers: [SeriesSettings]
  /// Name and version of what publishes.
  private let program: String
  /// Bundles whose files are gone or damaged.
  private var lost: Set<BundleID> = []
  /// Those in whose place others were staged.
  private var replaced: Set<BundleID> = []
  /// Whether files were read in this round to find damage.
  private var hasDigested = false
  /// The manifest as it was read or written last, with its bytes: most steps of a round find it unchanged.
  private var lastManifest: (content: [UInt8], manifest: SeriesManifest, isWritten: Bool)?
  /// How many look-alikes the revised keys were released with.
  private var releasedRounds: [KeySubject: UInt32] = [:]

  init(
    _ settings: SeriesSettings, among peers: [SeriesSettings] = [], ledger: Ledger, folder: any PublicationFolder,
    log: LogKeeper? = nil, program: String, habit: RoundMode = .usual, at look: ClockLook
  ) {
    self.habit = habit
    self.peers = peers
    self.log = log
    self.program = program
    self.settings = settings
    self.ledger = ledger
    self.folder = folder
    self.look = look
    receipt = SeriesReceipt(series: settings.name, now: look.now)
  }

  private var now: Instant { look.now }

  /// What the index names now. While the clock is in doubt nothing is too old for it.
  private var listing: SeriesListing {
    var listing = SeriesListing(of: settings, records, state, now: now, agesBundles: look.sound != nil)
    for record in records where lost.contains(record.id) || replaced.contains(record.id) { listing.drop(record) }
    return listing
  }

  /// Takes a step, unless an earlier one failed. A fault ends the round of this series.
  mutating func attempt(_ step: (inout SeriesRound) async throws -> Void) async throws {
    guard receipt.fault == nil else { return }
    try Task.checkCancellation()
    do {
      try await step(&self)
    } catch {
      try fail(error)
    }
  }

  mutating func fail(_ error: any Error) throws {
    if error is CancellationError { throw error }
    receipt.fault = PublishingFault(error)
    // What was selected is still in the store, and nothing of it was published.
    receipt.waiting += receipt.published + receipt.revised
    receipt.published = 0
    receipt.revised = 0
    receipt.lookalikes = 0
    receipt.recalled = 0
  }

  // MARK: 1. Resume

  /// Publishes what an earlier round has staged, and keeps index and files up to date.
  mutating func resume() async throws {
    try settings.check()
    signer = try settings.signer(at: now)
    if let warning = settings.signingWarning(at: now) { receipt.warn(warning) }
    try await adopt()
    try await begin()
    try await settle()
  }

  /// The store knows of a series before its folder does: a folder that says something of a series that the store does not
  /// know belongs to a store that was lost.
  private mutating func begin() async throws {
    try await load()
    guard let signer, state == SeriesState() else { return }
    var newState = state
    newState.key = signer.key.publicKey.fingerprint
    try await stage(Staging(settings, signer, records, beside: folder), newState)
  }

  /// Takes over what the folder has and the store does not know: numbers go on behind it, no name gets other bytes, and
  /// what apps have seen is released.
  private mutating func adopt() async throws {
    try await load()
    let found: FoundBundles
    do {
      guard
        let new = try await FoundBundles(
          of: settings.name, in: folder, beside: records, isKnown: state != SeriesState())
      else { return }
      found = new
    } catch let damaged as DamagedManifest {
      receipt.warn(PublishingWarning(.fileDamaged, "\(damaged.path) cannot be read; it is made again from the store"))
      return
    }
    receipt.warn(
      PublishingWarning(
        .folderAhead,
        "the folder has \(counted(found.count, "bundle")) of series \(settings.name) that the store does not know: the store"
          + " was lost, or is older than the folder; what apps have seen is taken as released, and keys that only the lost"
          + " store knew have to be pulled again; its pauses, recalls and erasures have to be said again"))
    if found.clashes > 0 {
      receipt.warn(
        PublishingWarning(
          .folderAhead,
          "\(counted(found.clashes, "bundle")) of the folder have numbers under which the store knows others; no index names"
            + " them, and their keys go out again where the store knows them"))
    }
    guard !found.listed.isEmpty || !found.unlisted.isEmpty else { return }
    let oldState = state
    var newState = state
    newState.editionEnd = [state.editionEnd, found.editionEnd].compactMap(\.self).max()
    newState.windowEnd = [state.windowEnd, found.windowEnd(settings.period)].compactMap(\.self).max()
    newState.key = found.key ?? state.key
    // How far the clock went when the lost store had it, its bundles tell.
    let known = records.map(\.bundle) + found.bundles
    let next = (known.filter { $0.kind == .increment }.map(\.ordinal).max() ?? -1) + 1
    newState.mark = nil
    if let end = [state.reach?.end, newState.windowEnd, found.lastWindow].compactMap(\.self).max() {
      newState.reach = SeriesState.Reach(end: end, next: next)
    }
    for (kind, ordinal) in found.firstOrdinals {
      newState.firstOrdinals[kind] = max(newState.firstOrdinals[kind] ?? 0, ordinal)
    }
    try await ledger.adopted(found.listed, unlisted: found.unlisted, by: settings.name, at: now) {
      [name = settings.name, newState] state in
      [try newState.change(for: name, replacing: oldState, in: state)]
    }
    try await removeDamaged(found.unlisted)
  }

  /// Removes files that have other bytes than were published and that no index names any more: nobody shall be given them
  /// for as long as a bundle that has left is served to those who have an old index. Each is looked at once more.
  private func removeDamaged(_ bundles: [NewBundle]) async throws {
    _ = try await folder.each(bundles) { [folder] bundle in
      guard try await folder.fault(of: bundle, digest: true)?.code == .fileDamaged else { return }
      try await folder.remove(bundle.path)
    }
  }

  /// Writes the files of all staged bundles, then the log and their proofs, then the index, marks them, and retires old
  /// files. Doing it again changes nothing.
  private mutating func settle() async throws {
    // Before the store is asked: whatever somebody has written since then is newer than what follows, and stays.
    let shown = try await lists()
    try await load()
    let staged = records.filter { $0.state == .staged }
    _ = try await folder.each(staged) { [folder, ledger] in try await Self.writeFile(of: $0, to: folder, ledger) }
    // What an index names can be proved: a log that cannot go on leaves the index as it is.
    try await log?.integrate(of: settings.name, at: now, sound: look.sound)
    for miss in await log?.takeMisses() ?? [] { receipt.warn(PublishingWarning(.witness, miss)) }

    try await look(at: listing.listed)
    let listing = self.listing
    try await prove(listing)
    if let fault = indexFault(listing, shown) {
      receipt.warn(fault)
      try await ledger.indexRestored(of: settings.name, at: now)
    }
    try await write(listing, over: shown)

    try await ledger.published(staged.map(\.id), by: settings.name, at: now)
    receipt.bundles += staged.map { SeriesReceipt.Bundle($0.bundle) }
    let leaving = self.listing.leaving
    guard let sound = look.sound else { return }
    let aged = leaving.filter { !lost.contains($0.id) && !replaced.contains($0.id) }
    try await ledger.unlisted(aged.map(\.id), by: settings.name, at: sound)
    receipt.expired += aged.count
    try await remove(listing.removable, at: sound)
  }

  private func prove(_ listing: SeriesListing) async throws {
    guard let log else { return }
    for (path, content) in try await log.missingProofs(of: records.filter(listing.isListed), at: now) {
      try await folder.show(content, at: path)
    }
    for (path, content) in try await log.missingAttestations(of: records.filter(listing.isServed)) {
      try await folder.show(content, at: path)
    }
  }

  private mutating func load() async throws {
    let name = settings.name
    (records, state, erasures) = try await ledger.read { state in
      (
        try state.bundles(of: name, in: Set(BundleState.allCases)), try SeriesState(of: name, from: state),
        try state.erasures()
      )
    }
  }

  private static func writeFile(
    of record: BundleRecord, to folder: any PublicationFolder, _ ledger: Ledger
  ) async throws {
    let bundle = record.bundle
    guard let content = try await ledger.read({ try $0.content(of: record.id) }) else {
      throw StorageFault(.corrupt, "the bytes of the staged bundle \(bundle.path) are not in the store")
    }
    if folder.isOwnedAlone {
      try await folder.heal(bundle.path, with: content)
    } else {
      try await folder.create(content, at: bundle.path)
    }
  }

  /// An index names only what is there and whole. Lengths are looked at each time, digests in turns and once a round.
  private mutating func look(at listed: Set<BundleID>) async throws {
    let all = records.filter { listed.contains($0.id) }
    let turn = all.isEmpty ? 0 : Int(now.secondsSince1970 / 60 % Int64(all.count))
    var budget = hasDigested ? 0 : Self.digestedBytes
    hasDigested = true
    let looks = (all[turn...] + all[..<turn]).map { record in
      defer { budget -= record.bundle.byteCount }
      return (record: record, isDigested: budget > 0)
    }
    let faults = try await folder.each(looks) { [folder] look in
      (look.record.id, try await folder.fault(of: look.record.bundle, digest: look.isDigested))
    }
    for case (let id, let fault?) in faults {
      lost.insert(id)
      receipt.warn(fault)
    }
  }

  /// Bytes of files that are read in one round to find damage.
  private static let digestedBytes = 32 << 20

  /// The index goes last: by then everything that it names is there, and so is what describes it.
  ///
  /// Of two that publish into one bucket only the one whose manifest has replaced what both saw goes on to the lists.
  private mutating func write(_ listing: SeriesListing, over shown: Lists) async throws {
    guard let signer else { return }
    let old = shown.manifest
    var manifest = listing.manifest(signer: signer)
    if let old {
      let written = manifest.written
      manifest.written = old.written
      if manifest != old { manifest.written = written }
    }
    let document =
      try lastManifest.flatMap { $0.isWritten && $0.manifest == manifest ? $0.content : nil } ?? manifest.document
    try await replace(shown.document, with: document, at: SeriesManifest.path(of: settings.name))
    lastManifest = (document, manifest, isWritten: true)
    try await replace(shown.sums, with: listing.sums, at: "\(settings.name)/SHA256SUMS")
    try await replace(shown.index, with: listing.index, at: "\(settings.name)/index.txt")
  }

  /// Leaves a list alone that has these bytes already: its validators stay the same for caches.
  private func replace(_ shown: ShownList?, with content: [UInt8], at path: String) async throws {
    if let shown, shown.content == content { return }
    _ = try await folder.replace(shown?.version, with: content, at: path)
  }

  /// The lists of the series as they were seen before the store was asked.
  private struct Lists {
    let document: ShownList?
    /// `nil` where there is none, or none that can be read.
    let manifest: SeriesManifest?
    let sums: ShownList?
    let index: ShownList?
  }

  /// A larger list of names is not read, and replaced.
  private static let listBytes = 16 << 20

  private mutating func lists() async throws -> Lists {
    let name = settings.name
    let document = try await folder.list(SeriesManifest.path(of: name), limit: SeriesManifest.byteLimit)
    return Lists(
      document: document, manifest: manifest(in: document),
      sums: try await folder.list("\(name)/SHA256SUMS", limit: Self.listBytes),
      index: try await folder.list("\(name)/index.txt", limit: Self.listBytes))
  }

  private mutating func manifest(in shown: ShownList?) -> SeriesManifest? {
    guard let content = shown?.content else { return nil }
    if let last = lastManifest, last.content == content { return last.manifest }
    guard let manifest = try? SeriesManifest(document: content) else { return nil }
    lastManifest = (content, manifest, isWritten: false)
    return manifest
  }

  /// Whether somebody has changed the index since it was written. While bundles come or go nobody can tell: a crash may
  /// have left a manifest that is newer than its index.
  private func indexFault(_ listing: SeriesListing, _ shown: Lists) -> PublishingWarning? {
    guard !records.contains(where: { $0.state == .staged }), listing.leaving.isEmpty, let manifest = shown.manifest
    else { return nil }
    let listed = manifest.bundles.filter { $0.kind == BundleKind.increment.rawValue && $0.isListed }
    let written = Array(listed.sorted { $0.ordinal < $1.ordinal }.map(\.path).joined(separator: "\n").utf8)
    let present = shown.index?.content
    if present == written || present == listing.index { return nil }
    return PublishingWarning(
      .indexChanged, "\(settings.name)/index.txt was not as it was written; it is written anew")
  }

  private mutating func remove(_ records: [BundleRecord], at sound: SoundTime) async throws {
    guard !records.isEmpty else { return }
    _ = try await folder.each(records) { [folder, log] record in
      try await folder.remove(record.bundle.path)
      for ending in [ProofFile.ending, Envelope.ending] where log != nil || folder.width == 1 {
        let beside = record.bundle.path + ending
        if try await folder.byteCount(of: beside) != nil { try await folder.remove(beside) }
      }
    }
    try await ledger.removed(records.map(\.id), by: settings.name, at: sound)
    receipt.removed += records.count
  }

  // MARK: 2. Make again what is lost

  /// Makes lost bundles again from what the store has released: under new names and numbers, since a signature is never
  /// the same twice, and a name never stands for two contents. Everything up to the last lost one moves behind the others
  /// with it: some apps count from the newest number down, and would never see what lies before a gap.
  mutating func makeAgain() async throws {
    guard let signer, !lost.isEmpty else { return }
    try await load()
    let sealer = BundleSealer(settings: settings, signer: signer)
    var staging = Staging(settings, signer, records, beside: folder)
    if let first = state.firstEdition { staging.beginEditions(at: first) }
    let increments = records.filter { lost.contains($0.id) && $0.bundle.kind == .increment }
    if let last = increments.map(\.bundle.ordinal).max() {
      let moving = increments + listing.listed(.increment).filter { $0.bundle.ordinal < last }
      let released = try await releasedKeys(
        of: moving.map(\.id), revisedIn: increments + listing.listed(.increment))
      let firsts = try await firstReleases(of: released, lostWith: increments)
      let shelf = KeyRunFile()
      for record in moving.sorted(by: { $0.bundle.ordinal < $1.bundle.ordinal }) {
        var keys = lost.contains(record.id) ? nil : try await keys(of: record, among: released)
        if keys == nil { keys = try await keysAgain(of: record, released, with: firsts[record.id] ?? []) }
        replaced.insert(record.id)
        guard let keys = try keys?.kept(on: shelf) else { continue }
        if keys.isEmpty && record.bundle.keyCount + record.bundle.revisedKeyCount > 0 { continue }
        try await staging.add(
          sealer.sealOne(
            keys, start: record.bundle.start, windowEnd: record.bundle.windowEnd(settings.period),
            end: record.bundle.end),
          .increment, made: .replacement)
      }
    }
    let window = ExportWindow(
      over: Instant(secondsSince1970: state.windowEnd ?? now.secondsSince1970), period: settings.period)
    let days = records.filter { lost.contains($0.id) && $0.bundle.kind == .day }
    let ends = Dictionary(
      days.map { (Instant(secondsSince1970: $0.bundle.start).day, $0.bundle.windowEnd(settings.period)) },
      uniquingKeysWith: max)
    replaced.formUnion(lost)
    try await makeEditionsAgain(&staging, sealer)
    try await rollUp(&staging, sealer, until: window, again: ends)
    if settings.makesKeyDays { try await gatherKeyDays(&staging, sealer, until: window) }
    try await stage(staging, state)
    receipt.madeAgain = staging.bundles.count
    let gone = records.filter { lost.contains($0.id) }.map(\.bundle)
    lost = []
    try await settle()
    // What stands in their place is listed by now.
    try await removeDamaged(gone)
  }

  /// Each holds what the increments of its time hold now.
  private mutating func makeEditionsAgain(_ staging: inout Staging, _ sealer: BundleSealer) async throws {
    let made = staging.bundles.map(\.sealed)
    let listed = listing.listed(.increment)
    let parts = records.filter { lost.contains($0.id) && $0.bundle.kind == .edition }
    for (start, parts) in Dictionary(grouping: parts, by: \.bundle.start).sorted(by: { $0.key < $1.key }) {
      let ends = parts.map(\.bundle.end)
      guard let lowest = ends.min(), let last = ends.max() else { continue }
      let time = start..<last
      var said = BundleUnion()
      // Without a file that is gone it holds what is made again alone.
      if try await !gather(listed.filter { time.contains($0.bundle.start) }, into: &said) { said = BundleUnion() }
      for bundle in made where time.contains(bundle.start) { try said.add(bundle.keys) }
      // Of an edition in several parts the others are there still, and nobody is to get their keys twice.
      var held: Set<KeySubject> = []
      let others = listing.listed(.edition).filter { $0.bundle.start == start }
      for record in others { try await read(record) { held.insert($0.subject) } }
      var keys = KeyRun()
      try said.sorter.drainUnion { if !held.contains($0.subject) { try keys.append($0) } }
      if keys.isEmpty { continue }
      let windowEnd = parts[0].bundle.windowEnd(settings.period)
      // No two parts end at one second.
      let first = others.isEmpty ? lowest : (others.map(\.bundle.end) + ends).reduce(lowest, max) + 1
      for bundle in try sealer.seal(keys, start: start, windowEnd: windowEnd, firstEnd: first) {
        try await staging.add(bundle, .edition, made: .replacement)
      }
    }
  }

  /// The keys that are to stand plain in each lost increment, because their first release was lost with it: the store knows
  /// a revised key by its revision alone, and a phone that has never seen it takes it from the `keys` of a file only. A
  /// key that is revoked is for nobody who has not seen it.
  private mutating func firstReleases(
    of released: ReleasedContents, lostWith increments: [BundleRecord]
  ) async throws -> [BundleID: [ClaimedKey]] {
    let missing = try await missingReleases(released)
    guard !missing.isEmpty else { return [:] }
    let lookalikes = try await padding(of: missing)?.byOwner ?? [:]
    let lost = increments.sorted { $0.bundle.ordinal < $1.bundle.ordinal }
    // Devices want key data once in a file.
    var named: Set<TemporaryExposureKey> = []
    try missing.read { named.insert($0.key.key) }
    for (_, keys) in lookalikes { named.formUnion(keys.map(\.key)) }
    var held: [BundleID: Set<TemporaryExposureKey>] = [:]
    for record in lost {
      held[record.id] = []
      try released.read(record.id) { if named.contains($0.key) { held[record.id]?.insert($0.key) } }
    }
    // A look-alike may stand in a file that is there.
    var plain: Set<KeySubject> = []
    if !lookalikes.isEmpty {
      for record in listing.listed(.increment) {
        try await read(record) { if !$0.isRevised, named.contains($0.key) { plain.insert($0.subject) } }
      }
    }
    let places = Dictionary(uniqueKeysWithValues: released.others.map { ($0.id, $0.bundle.ordinal) })
    var additions: [BundleID: [ClaimedKey]] = [:]
    try missing.read { record in
      let (key, bundle) = (record.key, released.others[Int(record.number)].id)
      // It was published before its revision, in a file whose end lies behind the key's own by the time that devices ask.
      let fitting = lost.filter {
        $0.id != bundle && $0.bundle.end >= key.expiry.secondsSince1970 + Self.embargoSeconds
          && held[$0.id]?.contains(key.key) == false
      }
      let place = fitting.last { $0.bundle.ordinal < places[bundle] ?? .max } ?? fitting.first
      guard let place else { return }
      // What was taken over from a folder has its look-alikes among the releases, and beside its keys.
      for key in [key] + (lookalikes[key.subject] ?? [])
      where plain.insert(key.subject).inserted && held[place.id]?.insert(key.key).inserted == true {
        additions[place.id, default: []].append(key)
      }
    }
    return additions
  }

  /// Revised keys whose first release stands in no listed increment any more, plain, each with the place of the bundle that has
  /// the revision.
  private mutating func missingReleases(_ released: ReleasedContents) async throws -> KeyRun {
    var missing = KeyRun()
    if released.revised.isEmpty { return missing }
    // Before the revisions of a subject come the files that have it plain.
    var sorter = KeySorter()
    for record in listing.listed(.increment) { try await read(record) { if !$0.isRevised { try sorter.add($0) } } }
    try released.revised.read { try sorter.add($0.key, number: $0.number + 1) }
    var plain: KeySubject?
    try sorter.drain { record in
      if record.number == 0 {
        plain = record.key.subject
      } else if plain != record.key.subject {
        try missing.append(record.key, number: record.number - 1)
      }
    }
    return missing
  }

  /// A key has expired for this long when it is published.
  private static let embargoSeconds: Int64 = 7200

  /// What bundles released, as the store has it, revised keys as such.
  ///
  /// - Parameter others: bundles whose revised keys are listed, too.
  private func releasedKeys(
    of bundles: [BundleID], revisedIn others: [BundleRecord] = []
  ) async throws -> ReleasedContents {
    let name = settings.name
    let oldest = now.secondsSince1970 - settings.listedDays * 86_400
    return try await ledger.read { state in
      var contents = ReleasedContents(of: bundles, others)
      var all = ReleasedKeys(by: name, from: state, pageSize: 1 << 13, only: nil)
      while let released = try all.peek() {
        all.advance()
        try contents.add(released, youngerThan: oldest)
      }
      return contents
    }
  }

  /// What a lost bundle held: the keys that it released, with their look-alikes, and those that are to stand in it, too.
  private func keysAgain(
    of record: BundleRecord, _ released: ReleasedContents, with others: [ClaimedKey]
  ) async throws -> KeyRun {
    var keys = KeyRun()
    try released.read(record.id) { try keys.append($0, number: OriginNumbers.releasedBefore) }
    let padding = try await padding(of: keys)
    if padding == nil, others.isEmpty { return keys }
    var sorter = KeySorter()
    // What was taken over from a folder has its look-alikes among its keys.
    let known = Set((padding?.lookalikes ?? []).map(\.subject))
    try keys.read { record in
      guard !known.contains(record.key.subject) else { return }
      try sorter.add(record.key, number: record.number)
      for key in padding?.byOwner[record.key.subject] ?? [] { try sorter.add(key, number: OriginNumbers.none) }
    }
    for key in others { try sorter.add(key, number: OriginNumbers.none) }
    var all = KeyRun()
    try sorter.drain { try all.append($0.key, number: $0.number) }
    return all
  }

  /// The look-alikes of keys, as the series has released them; `nil` where they have none. Only small windows are padded.
  private func padding(
    of keys: KeyRun
  ) async throws -> (lookalikes: [ClaimedKey], byOwner: [KeySubject: [ClaimedKey]])? {
    let name = settings.name
    return try await ledger.read { state in
      guard let secret = try state.note(.paddingSecret) else { return nil }
      let rounds = try Padding.releasedRounds(of: keys, by: name, from: state)
      if rounds.isEmpty { return nil }
      let padding = Padding(secret: secret, rounds: [:])
      var byOwner: [KeySubject: [ClaimedKey]] = [:]
      try keys.read { record in
        let lookalikes = padding.lookalikes(of: [record.key], rounds: rounds)
        if !lookalikes.isEmpty { byOwner[record.key.subject] = lookalikes }
      }
      return byOwner.isEmpty ? nil : (byOwner.values.flatMap(\.self), byOwner)
    }
  }

  // MARK: 3. Sign again

  /// When another key has taken over, signs everything that is listed with it: a server's files change over at once
  /// (Apple), and phones that know the new key alone still find everything of the last days.
  ///
  /// The bundles get new names and numbers behind all others; the old ones leave the index in the same moment, and their
  /// files stay for as long as any old bundle's.
  mutating func signAgain() async throws {
    guard let signer, let key = state.key, key != signer.key.publicKey.fingerprint else { return }
    try await load()
    // Another gateway with the same store may have done it meanwhile, and its files may not be there yet.
    guard state.key == key else { return }
    let listing = self.listing
    var staging = Staging(settings, signer, records, beside: folder)
    if let first = state.firstEdition { staging.beginEditions(at: first) }
    let sealer = BundleSealer(settings: settings, signer: signer)
    // So that the store knows what the new bundles hold, should they be lost.
    let released = try await releasedKeys(of: listing.listed(.increment).map(\.id))
    let shelf = KeyRunFile()
    var old: [BundleRecord] = []
    for record in BundleKind.allCases.flatMap(listing.listed) {
      let isIncrement = record.bundle.kind == .increment
      guard let published = try await keys(of: record, among: isIncrement ? released : nil) else { continue }
      old.append(record)
      let sealed = try sealer.sealOne(
        isIncrement ? try published.kept(on: shelf) : published, start: record.bundle.start,
        windowEnd: record.bundle.windowEnd(settings.period), end: record.bundle.end)
      try await staging.add(sealed, record.bundle.kind, made: .copy(record.bundle))
    }
    var newState = state
    newState.key = signer.key.publicKey.fingerprint
    newState.firstOrdinals = staging.firstOrdinals
    try await stage(staging, newState, resigned: old)
    receipt.signedAgain = staging.bundles.count
    try await settle()
  }

  /// What a published bundle holds, in the order of subjects, without keys that were erased since; `nil` with a warning when
  /// its file is not what was published.
  ///
  /// - Parameter released: of its keys, those that stand in it are marked as released before.
  private mutating func keys(of record: BundleRecord, among released: ReleasedContents? = nil) async throws -> KeyRun? {
    // Before the key of a subject comes what the store says of it.
    var sorter = KeySorter()
    guard try await read(record, { try sorter.add($0, number: 1) }) else { return nil }
    try released?.read(record.id) { try sorter.add($0) }
    try released?.revisedHere.read { try sorter.add($0.key) }
    var (keys, known) = (KeyRun(), KeySubject?.none)
    try sorter.drain { record in
      if record.number == 0 {
        known = record.key.subject
      } else {
        let isKnown = known == record.key.subject
        try keys.append(record.key, number: isKnown ? OriginNumbers.releasedBefore : OriginNumbers.none)
      }
    }
    return keys
  }

  /// Hands over what a published bundle holds, without keys that were erased since.
  ///
  /// - Returns: whether its file is what was published; where it is not, there is a warning.
  @discardableResult
  private mutating func read(_ record: BundleRecord, _ body: (ClaimedKey) throws -> Void) async throws -> Bool {
    guard let content = try await content(of: record) else { return false }
    try PublishedKeys.read(of: content, path: record.bundle.path) { key in
      if !isErased(key, of: record) { try body(key) }
    }
    return true
  }

  private func isErased(_ key: ClaimedKey, of record: BundleRecord) -> Bool {
    if erasures.moments.isEmpty { return false }
    return erasures.moments[sha256(key.key.bytes)].map { $0 >= record.published ?? now } ?? false
  }

  /// The bytes of a published bundle; `nil` with a warning when its file is not what was published.
  private mutating func content(of record: BundleRecord) async throws -> [UInt8]? {
    let bundle = record.bundle
    guard let content = try await folder.content(of: bundle.path, limit: max(bundle.byteCount, 1)) else {
      receipt.warn(PublishingWarning(.fileMissing, "\(bundle.path) is not in the folder any more; no index names it"))
      return nil
    }
    guard sha256(content) == bundle.archiveDigest else {
      receipt.warn(PublishingWarning(.fileDamaged, "\(bundle.path) has other bytes than were published"))
      return nil
    }
    return content
  }

  // MARK: 4. Select, fold, compare

  /// Finds the window that is published.
  mutating func prepareSelection() async throws {
    try await load()
    let last = ExportWindow.lastEnd(of: settings, state, records, now: now)
    if let end = state.windowEnd, ExportWindow.isAhead(state, now: now) {
      receipt.warn(
        PublishingWarning(
          .windowAhead,
          "the last window of series \(settings.name) ended at \(Instant(secondsSince1970: end)), which is still to come: the"
            + " clock was ahead then; windows go on by the time as it is now"))
    }
    windows = ExportWindow.due(
      period: settings.period, now: now, last: last,
      earliest: now.secondsSince1970 - settings.listedDays * 86_400)
    let newest = ExportWindow(over: now, period: settings.period)
    guard windows.last != nil else {
      receipt.nextWindow = ExportWindow.next(of: settings, after: state, records, now: now).instant
      return
    }
    receipt.nextWindow = newest.next(period: settings.period).instant
  }

  /// What it asks the store; `nil` where no window is over, or an earlier step has failed.
  var selectionRequest: SelectionRequest? {
    guard receipt.fault == nil, let window = windows.last else { return nil }
    return SelectionRequest(settings: settings, known: state, window: window, habit: habit, program: program)
  }

  /// A look at everything that was divided among processors was given up.
  mutating func note(dividedFault reason: String) { receipt.dividedFault = reason }

  mutating func take(_ answer: SelectionAnswer) {
    (selection, recalls, releasedRounds) = (answer.selection, answer.recalls, answer.rounds)
    (selected, mark) = (answer.selected, answer.mark)
    receipt.looksAtChanges = answer.looksAtChanges
    receipt.window = windows.last
    receipt.count(answer.selection)
    if let warning = answer.selection.windowFull(settings) { receipt.warn(warning) }
  }

  var paddingRequest: Padding.Request? {
    guard receipt.fault == nil, let selection else { return nil }
    return Padding.Request(settings, selection)
  }

  // MARK: 5. Prepare, encode, sign, seal, stage, publish

  mutating func publish(_ padding: Padding?) async throws {
    guard let signer, let window = windows.last, let selection, var selected else { return }
    var newState = state
    newState.windowEnd = window.end
    newState.key = signer.key.publicKey.fingerprint
    // Keys that nobody claims any more since a recall are looked for until the last of them has had its place.
    if selection.recalledRest == 0 { newState.recalls = recalls }

    // What the next round has to look at again beside what is new.
    var again = selection.again
    var (released, lookalikes) = (selection.new, try padding?.lookalikes(of: selection.new) ?? [])
    if released.count + lookalikes.count < settings.minimumKeys {
      receipt.waiting += released.count
      receipt.published = 0
      again = try again.flatMap { try $0.joined(by: released, atMost: KeySelection.mostAgain) }
      (released, lookalikes) = (KeyRun(), [])
      selected.releasesNew = false
    }
    newState.mark = again == nil ? nil : mark
    var staging = Staging(settings, signer, records, beside: folder)
    staging.origins = selection.origins
    // What becomes of a key becomes of its look-alikes.
    staging.padded = released
    lookalikes += try padding?.lookalikes(of: selection.revised, rounds: releasedRounds) ?? []
    receipt.lookalikes = lookalikes.count
    released = try released.together(with: selection.revised, lookalikes)

    let sealer = BundleSealer(settings: settings, signer: signer)
    let place = self.place(of: window)
    for empty in windows.dropLast() where settings.publishesEmptyWindows && empty.start >= reach?.end ?? .min {
      try await staging.add(
        sealer.sealOne(KeyRun(), start: empty.start, windowEnd: empty.end, end: empty.end), .increment, made: .nothing)
    }
    if !released.isEmpty || (settings.publishesEmptyWindows && place == window) {
      let end = firstEnd(in: place)
      for bundle in try sealer.seal(released, start: place.start, windowEnd: place.end, firstEnd: end) {
        try await staging.add(bundle, .increment, made: .claims)
      }
    }
    try await rollUp(&staging, sealer, until: place)
    if settings.makesKeyDays { try await gatherKeyDays(&staging, sealer, until: window) }
    try await closeEditions(&staging, sealer, until: window, &newState)
    if window.end >= reach?.end ?? .min {
      newState.reach = SeriesState.Reach(end: window.end, next: staging.nextOrdinal(.increment))
    } else {
      newState.reach = reach?.afterRound(endingAt: window.end)
    }
    try await stage(staging, newState, padding, selected: selected, lookingAgainAt: again ?? [])
    // Also where nothing is new: the manifest says which window was the last.
    try await settle()
  }

  private var increments: [NewBundle] { records.map(\.bundle).filter { $0.kind == .increment } }

  private var reach: SeriesState.Reach? {
    state.reach
      ?? state.windowEnd.map {
        SeriesState.Reach(end: $0, next: (increments.map(\.ordinal).max() ?? -1) + 1)
      }
  }

  /// Which window the new bundles of a window state: itself, unless a clock was ahead and has closed it before.
  ///
  /// Apps have seen windows, days and editions then as over, and take none of them twice: what is new goes into the first
  /// window that they have not seen. After a large step nobody shall wait so long: it stays where it is, or goes to the next
  /// day that has nothing which they could have seen.
  private func place(of window: ExportWindow) -> ExportWindow {
    guard let reach, window.start < reach.end else { return window }
    if reach.end - window.end <= SeriesState.Reach.nearSeconds {
      return ExportWindow(notBefore: reach.end, period: settings.period)
    }
    let seen = Set(increments.filter { $0.ordinal < reach.next }.map { Instant(secondsSince1970: $0.start).day })
    var place = window
    while seen.contains(place.day), place.day.start.secondsSince1970 + 86_400 <= reach.end {
      place = ExportWindow(notBefore: place.day.start.secondsSince1970 + 86_400, period: settings.period)
    }
    return place
  }

  /// The end that the first bundle of a window states: behind every other of its day, since an app that compares ends looks
  /// behind the last one that it has seen.
  private func firstEnd(in window: ExportWindow) -> Int64 {
    let kinds: Set<BundleKind> = [.increment, .day, .since]
    let dayEnd = window.day.start.secondsSince1970 + 86_400
    let ends = records.map(\.bundle).filter { bundle in
      kinds.contains(bundle.kind) && bundle.end >= window.end
        && (bundle.end <= dayEnd || Instant(secondsSince1970: bundle.start).day == window.day)
    }
    return ends.map { $0.end + 1 }.max() ?? window.end
  }

  /// - Parameters:
  ///   - resigned: the bundles in whose place those of the staging are, because another key signs now.
  ///   - selected: how the keys of its increments were selected; `nil` where none were.
  ///   - again: what the next round has to look at again.
  private mutating func stage(
    _ staging: Staging, _ newState: SeriesState, _ padding: Padding? = nil, resigned: [BundleRecord] = [],
    selected: RoundRecipe.Selection? = nil, lookingAgainAt again: [TemporaryExposureKey] = []
  ) async throws {
    let (name, oldState) = (settings.name, state)
    var newState = newState
    // What is made again may leave a revision to be told once more.
    if selected == nil { newState.mark = nil }
    let recipe = try NewRecipe(
      RoundRecipe(
        program: program, clock: now.secondsSince1970, policy: settings.policyDigest,
        settings: OutputSettings(settings),
        selection: selected),
      staging.bundles.map(\.recipe))
    let stagings = staging.bundles.map { NewStaging($0.bundle, $0.sealed.content.stored) }
    // What was lost leaves with the step by which others take its place, whatever the clock says: after a crash in between
    // both would be listed, or it would be made once more.
    let old = records.filter { replaced.contains($0.id) && $0.state == .published }.map(\.id)
    try await ledger.staged(
      stagings, by: name, replacing: old, resigned: resigned, policy: settings.policyDigest, recipe: recipe,
      at: now, lookingAgainAt: again, releasing: staging.releases
    ) {
      [padded = staging.padded, newState] state in
      try (padding?.release(of: padded, by: name, from: state) ?? [])
        + [newState.change(for: name, replacing: oldState, in: state)]
    } sweeping: { [peers] state in
      try RoundMark.floor(of: peers, in: state)
    }
    state = newState
    receipt.expired += old.count
  }

  // MARK: Roll-ups

  /// Makes the roll-ups of every day that has new increments, and those since each listed midnight. They hold exactly
  /// what their increments hold, look-alikes included, but key data once. Each is one archive, however large: the layouts that name a day
  /// name one, and a phone would be given none of several. Those that need a file that is gone are not made, and the last
  /// ones stay.
  ///
  /// - Parameter again: days whose roll-ups were lost, and where they ended.
  private mutating func rollUp(
    _ staging: inout Staging, _ sealer: BundleSealer, until window: ExportWindow, again: [Day: Int64] = [:]
  ) async throws {
    let added = Dictionary(grouping: staging.bundles) { Instant(secondsSince1970: $0.sealed.start).day }
    guard !added.isEmpty || !replaced.isEmpty, settings.makesDays || settings.makesSince else { return }
    let listing = self.listing
    let old = Dictionary(grouping: listing.listed(.increment)) { Instant(secondsSince1970: $0.bundle.start).day }

    // What is made again for the sake of one window is not named by its end: a version of that name may have been there,
    // which a store that was lost has forgotten.
    let dayEnds = Dictionary(
      records.filter { $0.bundle.kind == .day }.map { ($0.bundle.start, $0.bundle.windowEnd(self.settings.period)) },
      uniquingKeysWith: max)
    var since: KeyRun? = settings.makesSince ? KeyRun() : nil
    var steps: [[Int]] = []
    for day in rollUpDays(old: Set(old.keys), added: Set(added.keys).union(again.keys), newest: window.day) {
      var said = BundleUnion()
      guard try await gather(old[day] ?? [], into: &said) else {
        since = nil
        continue
      }
      for bundle in added[day] ?? [] { try said.add(bundle.sealed.keys) }
      let parts =
        (old[day] ?? []).map(\.bundle.ordinal)
        + (added[day] ?? []).filter { $0.bundle.kind == .increment }.map(\.bundle.ordinal)
      steps.append(parts)
      let keys = try said.sorter.union(oncePerKeyData: true)
      let start = day.start.secondsSince1970
      let ends =
        (added[day] ?? []).map(\.sealed.windowEnd)
        + [again[day], replaced.isEmpty ? nil : dayEnds[start]].compactMap(\.self)
      if settings.makesDays, let end = ends.max() {
        try await staging.add(
          sealer.sealOne(keys, start: start, windowEnd: end, end: end), .day, made: .union([parts]))
      }
      guard let later = since else { continue }
      let union = try BundleUnion.of(keys, before: later)
      try await staging.add(
        sealer.sealOne(union, start: start, windowEnd: window.end, end: window.end), .since, made: .union(steps))
      since = union
    }
  }

  /// Makes the archive of every key day about which there is something new, and at first of every key day: everything
  /// that the listed increments hold about keys that began to be used on it, whenever they were published. It is one whole
  /// archive, since an app asks for a day once.
  private mutating func gatherKeyDays(
    _ staging: inout Staging, _ sealer: BundleSealer, until window: ExportWindow
  ) async throws {
    let listing = self.listing
    let new = staging.bundles.filter { $0.bundle.kind == .increment }
    let added = new.map(\.sealed.keys)
    let made = Set(listing.listed(.keyDay).map(\.bundle.start))
    guard !added.isEmpty || made.isEmpty || !replaced.isEmpty else { return }
    // Without a file that is gone a day would lose keys; the last archives stay.
    var said = BundleUnion()
    guard try await gather(listing.listed(.increment), into: &said) else { return }
    let oldest = now.day.daysSince1970 - settings.listedDays
    var changed: Set<Day> = []
    for keys in added {
      try keys.read { changed.insert($0.key.day) }
      try said.add(keys)
    }
    let recipe = BundleRecipe.union([listing.listed(.increment).map(\.bundle.ordinal) + new.map(\.bundle.ordinal)])
    var days = try said.keyDays { day in
      day.daysSince1970 > oldest && (changed.contains(day) || !made.contains(day.start.secondsSince1970))
    }
    for day in days.keys.sorted() {
      guard let keys = days.removeValue(forKey: day) else { continue }
      let start = day.start.secondsSince1970
      // Some apps ask for what ends later than what they have.
      let later = records.filter { $0.bundle.kind == .keyDay && $0.bundle.start == start && $0.bundle.end > window.end }
      let end = later.map { $0.bundle.end + 1 }.max() ?? window.end
      try await staging.add(sealer.sealOne(keys, start: start, windowEnd: window.end, end: end), .keyDay, made: recipe)
    }
  }

  /// Makes the editions that are over: each holds once what the increments of its time hold, and is never made again.
  ///
  /// Apps go on where they stopped counting. Where editions begin on top of increments, those of the time before are
  /// numbered so that they end where the increments ended: an app that was given all of these is given none of them again,
  /// and one that lacks the last few gets at least these, since an edition has one increment or more.
  private mutating func closeEditions(
    _ staging: inout Staging, _ sealer: BundleSealer, until window: ExportWindow, _ newState: inout SeriesState
  ) async throws {
    guard settings.editionsPerDay > 0 else {
      (newState.editionEnd, newState.firstEdition) = (nil, nil)
      return
    }
    let length = 86_400 / Int64(settings.editionsPerDay)
    let end = window.end / length * length
    var begin = state.editionEnd ?? .min
    if begin > now.secondsSince1970 + ExportWindow.smallStep {
      // A clock that was ahead has closed it.
      begin = records.filter { $0.bundle.kind == .edition }.map(\.bundle.end).filter { $0 <= end }.max() ?? .min
    }
    let isOpen = { [begin] (start: Int64) in start >= begin && start < end }
    let listing = self.listing
    let old = listing.listed(.increment).filter { isOpen($0.bundle.start) }
    let new = staging.bundles.filter { $0.bundle.kind == .increment && isOpen($0.bundle.start) }
    var sealed: [(bundle: SealedBundle, recipe: BundleRecipe)] = []
    var earlier = 0
    let parts = Set(old.map { $0.bundle.start / length } + new.map { $0.bundle.start / length })
    for part in parts.sorted() {
      // An increment whose file is gone is in no index either.
      var said = BundleUnion()
      var held: [Int] = []
      for record in old where record.bundle.start / length == part {
        if try await gather([record], into: &said) { held.append(record.bundle.ordinal) }
      }
      let added = new.filter { $0.bundle.start / length == part }
      for bundle in added { try said.add(bundle.sealed.keys) }
      let union = try said.sorter.union(oncePerKeyData: false)
      guard !union.isEmpty else { continue }
      let recipe = BundleRecipe.union([held + added.map(\.bundle.ordinal)])
      sealed += try sealer.seal(union, start: max(part * length, begin), windowEnd: (part + 1) * length)
        .map { ($0, recipe) }
      if added.isEmpty { earlier = sealed.count }
    }
    if state.editionEnd == nil {
      let increments = (records.filter { $0.bundle.kind == .increment }.map(\.bundle.ordinal).max() ?? -1) + 1
      newState.firstEdition = max(0, increments - earlier)
    }
    if let first = newState.firstEdition { staging.beginEditions(at: first) }
    for (bundle, recipe) in sealed { try await staging.add(bundle, .edition, made: recipe) }
    newState.editionEnd = max(end, begin)
  }

  /// Newest first: every listed day of which there is something, and with `since` those between.
  private func rollUpDays(old: Set<Day>, added: Set<Day>, newest: Day) -> [Day] {
    guard settings.makesSince else { return added.sorted(by: >) }
    let oldest = max(
      now.day.daysSince1970 - settings.listedDays + 1, old.union(added).map(\.daysSince1970).min() ?? .max)
    guard oldest <= newest.daysSince1970 else { return added.sorted(by: >) }
    let days = (oldest...newest.daysSince1970).map { Day(daysSince1970: $0) }
    return Set(days).union(added).sorted(by: >)
  }

  /// Adds what published bundles hold, file by file.
  ///
  /// - Returns: whether all were there; up to the first that was not they were added.
  private mutating func gather(_ records: [BundleRecord], into said: inout BundleUnion) async throws -> Bool {
    for record in records {
      said.begin()
      guard try await read(record, { try said.add($0) }) else { return false }
    }
    return true
  }
}

/// What bundles released, outside of memory: there are as many keys as were published.
private struct ReleasedContents: Sendable {
  /// Bundles whose revised keys are listed.
  let others: [BundleRecord]
  /// The keys of each bundle, in order, and its place.
  private let keys: DealtKeys
  private let places: [BundleID: Int]
  private let placesOfOthers: [BundleID: Int]
  /// Keys of the bundles that a revision went out about, in order.
  private(set) var revisedHere = KeyRun()
  /// Keys of the others that a revision went out about, but for revocations; plain, in order, with the places of the bundles.
  private(set) var revised = KeyRun()

  init(of bundles: [BundleID], _ others: [BundleRecord]) {
    self.others = others
    keys = DealtKeys(bundles.count)
    places = Dictionary(uniqueKeysWithValues: zip(bundles, bundles.indices))
    placesOfOthers = Dictionary(uniqueKeysWithValues: zip(others.map(\.id), others.indices))
  }

  /// - Parameter oldest: what expired before is not listed among the revised ones; seconds since 1970.
  mutating func add(_ released: ReleasedKey, youngerThan oldest: Int64) throws {
    var key = released.key
    let isRevised = released.revisions > 0
    if isRevised, !key.isRevocation, key.expiry.secondsSince1970 > oldest,
      let place = placesOfOthers[released.bundle]
    {
      try revised.append(key, number: UInt32(place))
    }
    guard let place = places[released.bundle] else { return }
    key.isRevised = isRevised
    try keys.deal(NumberedKey(key: key, number: OriginNumbers.releasedBefore), to: place)
    if isRevised { try revisedHere.append(key) }
  }

  /// Hands over what a bundle released, in order.
  func read(_ bundle: BundleID, _ body: (ClaimedKey) throws -> Void) throws {
    guard let place = places[bundle] else { return }
    try keys.read(place) { try body($0.key) }
  }
}

extension ClaimedKey {
  /// When it was no longer in use.
  fileprivate var expiry: Instant {
    IntervalNumber(Int64(rollingStartWord) + Int64(rollingPeriodWord)).start
  }
}
