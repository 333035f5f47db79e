internal import BundleTrust
internal import ExposureKeys
internal import KeyNormalization
internal import KeyStorage

/// One round of one series, step by step.
struct SeriesRound: Sendable {
  let settings: SeriesSettings
  let now: Instant
  private let ledger: Ledger
  private let folder: any PublicationFolder

  private(set) var receipt: SeriesReceipt
  private var signer: SigningIdentity?
  private var state = SeriesState()
  private var records: [BundleRecord] = []
  private var windows: [ExportWindow] = []
  private var selection: KeySelection?
  private var recalls = 0
  /// How many look-alikes the revised keys were released with.
  private var releasedRounds: [KeySubject: UInt32] = [:]

  init(_ settings: SeriesSettings, ledger: Ledger, folder: any PublicationFolder, now: Instant) {
    self.settings = settings
    self.ledger = ledger
    self.folder = folder
    self.now = now
    receipt = SeriesReceipt(series: settings.name, now: now)
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
    try await settle()
  }

  /// Writes the files of all staged bundles, then the index, marks them, and retires old files. Doing it again changes
  /// nothing.
  private mutating func settle() async throws {
    try await load()
    let staged = records.filter { $0.state == .staged }
    for record in staged { try await writeFile(of: record) }

    var listing = SeriesListing(of: settings, records, state, now: now)
    for record in records where listing.isListed(record) {
      guard let fault = try missing(record) else { continue }
      listing.drop(record)
      receipt.warn(fault)
    }
    try write(listing)

    let now = now
    let leaving = SeriesListing(of: settings, records, state, now: now).leaving
    try await ledger.published(
      staged.map(\.id), unlisting: leaving.map(\.id), by: settings.name, at: now)
    receipt.bundles += staged.map { SeriesReceipt.Bundle($0.bundle) }
    receipt.expired += leaving.count
    try await remove(listing.removable)
  }

  private mutating func load() async throws {
    let name = settings.name
    (records, state) = try await ledger.read { state in
      (try state.bundles(of: name, in: Set(BundleState.allCases)), try SeriesState(of: name, from: state))
    }
  }

  private func writeFile(of record: BundleRecord) async throws {
    let bundle = record.bundle
    if let present = try? folder.content(of: bundle.path, limit: bundle.byteCount),
      sha256(present) == bundle.archiveDigest
    {
      return
    }
    guard let content = try await ledger.read({ try $0.content(of: record.id) }) else {
      throw StorageFault(.corrupt, "the bytes of the staged bundle \(bundle.path) are not in the store")
    }
    try folder.put(content, at: bundle.path)
  }

  /// An index names only what is there.
  private func missing(_ record: BundleRecord) throws -> PublishingWarning? {
    let (path, length) = (record.bundle.path, record.bundle.byteCount)
    guard let count = try folder.byteCount(of: path) else {
      return PublishingWarning(.fileMissing, "\(path) is not in the folder any more; no index names it")
    }
    guard count == length else {
      return PublishingWarning(
        .fileDamaged, "\(path) has \(count) bytes, published were \(length); no index names it")
    }
    return nil
  }

  /// The index goes last: by then everything that it names is there, and so is what describes it.
  private func write(_ listing: SeriesListing) throws {
    guard let signer else { return }
    var manifest = listing.manifest(signer: signer)
    let path = SeriesManifest.path(of: settings.name)
    if let old = try? folder.content(of: path, limit: 1 << 30).map({ try SeriesManifest(document: $0) }) {
      let written = manifest.written
      manifest.written = old.written
      if manifest != old { manifest.written = written }
    }
    try replace(path, with: manifest.document)
    try replace("\(settings.name)/SHA256SUMS", with: listing.sums)
    try replace("\(settings.name)/index.txt", with: listing.index)
  }

  /// Leaves a file alone that has these bytes already: its validators stay the same for caches.
  private func replace(_ path: String, with content: [UInt8]) throws {
    if let present = try? folder.content(of: path, limit: content.count), present == content { return }
    try folder.put(content, at: path)
  }

  private mutating func remove(_ records: [BundleRecord]) async throws {
    guard !records.isEmpty else { return }
    for record in records { try folder.remove(record.bundle.path) }
    try await ledger.removed(records.map(\.id), by: settings.name, at: now)
    receipt.removed += records.count
  }

  // MARK: 2. Sign again

  /// When another key has taken over, signs everything that is listed with it: a server's files change over at once
  /// (Apple), and phones that know the new key alone still find everything of the last days.
  ///
  /// The bundles get new names and numbers behind all others; the old ones leave the index in the same moment, and their
  /// files stay for as long as any old bundle's.
  mutating func signAgain() async throws {
    guard let signer, let key = state.key, key != signer.key.publicKey.fingerprint else { return }
    try await load()
    let listing = SeriesListing(of: settings, records, state, now: now)
    var staging = Staging(settings, signer, records)
    let sealer = BundleSealer(settings: settings, signer: signer)
    for record in BundleKind.allCases.flatMap(listing.listed) {
      guard let published = try keys(of: record) else { continue }
      let sealed = try sealer.sealOne(
        published, start: record.bundle.start, windowEnd: record.bundle.windowEnd(settings.period),
        end: record.bundle.end)
      staging.add(sealed, record.bundle.kind)
    }
    var newState = state
    newState.key = signer.key.publicKey.fingerprint
    newState.firstOrdinals = staging.firstOrdinals
    try await stage(staging, newState)
    receipt.signedAgain = staging.bundles.count
    try await settle()
  }

  /// What a published bundle holds; `nil` with a warning when its file is not what was published.
  private mutating func keys(of record: BundleRecord) throws -> [ClaimedKey]? {
    let bundle = record.bundle
    guard let content = try folder.content(of: bundle.path, limit: max(bundle.byteCount, 1)) else {
      receipt.warn(PublishingWarning(.fileMissing, "\(bundle.path) is not in the folder any more; no index names it"))
      return nil
    }
    guard sha256(content) == bundle.archiveDigest else {
      receipt.warn(PublishingWarning(.fileDamaged, "\(bundle.path) has other bytes than were published"))
      return nil
    }
    return try PublishedKeys.keys(of: content, path: bundle.path)
  }

  // MARK: 3. Select, fold, compare

  mutating func select() async throws {
    try await load()
    windows = ExportWindow.due(
      period: settings.period, now: now, last: state.windowEnd,
      earliest: now.secondsSince1970 - settings.listedDays * 86_400)
    let newest = ExportWindow(over: now, period: settings.period)
    receipt.nextWindow = newest.next(period: settings.period).instant
    guard let window = windows.last else { return }
    let (settings, known) = (settings, state)
    (selection, recalls, releasedRounds) = try await ledger.read { state in
      let recalls = try state.recalls().count
      let selection = try KeySelection(
        of: settings, from: state, at: window.instant, followsRecall: recalls > known.recalls)
      let rounds = try Padding.releasedRounds(of: selection.revised, by: settings.name, from: state)
      return (selection, recalls, rounds)
    }
    receipt.window = window
    if let selection { receipt.count(selection) }
  }

  var paddingRequest: Padding.Request? {
    guard receipt.fault == nil, let selection else { return nil }
    return Padding.Request(settings, selection)
  }

  // MARK: 4. Prepare, encode, sign, seal, stage, publish

  mutating func publish(_ padding: Padding?) async throws {
    guard let signer, let window = windows.last, let selection else { return }
    var newState = state
    newState.windowEnd = window.end
    newState.key = signer.key.publicKey.fingerprint
    newState.recalls = recalls

    var (released, lookalikes) = (selection.new, padding?.lookalikes(of: selection.new) ?? [])
    if released.count + lookalikes.count < settings.minimumKeys {
      receipt.waiting = released.count
      receipt.published = 0
      (released, lookalikes) = ([], [])
    }
    var staging = Staging(settings, signer, records)
    // What becomes of a key becomes of its look-alikes.
    staging.padded = released
    lookalikes += padding?.lookalikes(of: selection.revised, rounds: releasedRounds) ?? []
    released += selection.revised
    receipt.lookalikes = lookalikes.count

    let sealer = BundleSealer(settings: settings, signer: signer)
    for empty in windows.dropLast() where settings.publishesEmptyWindows {
      staging.add(try sealer.sealOne([], start: empty.start, windowEnd: empty.end, end: empty.end), .increment)
    }
    if !released.isEmpty || settings.publishesEmptyWindows {
      for bundle in try sealer.seal(released + lookalikes, start: window.start, end: window.end) {
        staging.add(bundle, .increment)
      }
    }
    try rollUp(&staging, sealer, until: window)
    if settings.makesKeyDays { try gatherKeyDays(&staging, sealer, until: window) }
    staging.released = Set(released.map(\.subject))
    try await stage(staging, newState, padding)
    if !staging.bundles.isEmpty { try await settle() }
  }

  private mutating func stage(_ staging: Staging, _ newState: SeriesState, _ padding: Padding? = nil) async throws {
    let (name, oldState) = (settings.name, state)
    let stagings = staging.bundles.map { bundle, sealed in
      NewStaging(bundle, sealed.content, releasing: bundle.kind == .increment ? staging.releases(of: sealed) : [])
    }
    try await ledger.staged(stagings, by: name, at: now) { [padded = staging.padded] state in
      try (padding?.release(of: padded, by: name, from: state) ?? [])
        + [newState.change(for: name, replacing: oldState, in: state)]
    }
    state = newState
  }

  // MARK: Roll-ups

  /// Makes the roll-ups of every day that has new increments, and those since each listed midnight. They hold exactly
  /// what their increments hold, look-alikes included. Those that need a file that is gone are not made, and the last
  /// ones stay.
  private mutating func rollUp(_ staging: inout Staging, _ sealer: BundleSealer, until window: ExportWindow) throws {
    let added = Dictionary(grouping: staging.bundles.map(\.sealed)) { Instant(secondsSince1970: $0.start).day }
    guard !added.isEmpty, settings.makesDays || settings.makesSince else { return }
    let listing = SeriesListing(of: settings, records, state, now: now)
    let old = Dictionary(grouping: listing.listed(.increment)) { Instant(secondsSince1970: $0.bundle.start).day }

    var since: [ClaimedKey]? = settings.makesSince ? [] : nil
    for day in rollUpDays(old: Set(old.keys), added: Set(added.keys), newest: window.day) {
      guard let earlier = try keys(of: old[day] ?? []) else {
        since = nil
        continue
      }
      let keys = PublishedKeys.union(of: earlier + (added[day] ?? []).map(\.keys))
      let start = day.start.secondsSince1970
      if settings.makesDays, let end = added[day]?.map(\.windowEnd).max() {
        for bundle in try sealer.seal(keys, start: start, end: end) { staging.add(bundle, .day) }
      }
      guard let later = since else { continue }
      let union = PublishedKeys.union(of: [keys, later])
      for bundle in try sealer.seal(union, start: start, end: window.end) { staging.add(bundle, .since) }
      since = union
    }
  }

  /// Makes the archive of every key day about which there is something new, and at first of every key day: everything
  /// that the listed increments hold about keys that began to be used on it, whenever they were published. It is one whole
  /// archive, since an app asks for a day once.
  private mutating func gatherKeyDays(
    _ staging: inout Staging, _ sealer: BundleSealer, until window: ExportWindow
  ) throws {
    let listing = SeriesListing(of: settings, records, state, now: now)
    let added = staging.bundles.filter { $0.bundle.kind == .increment }.map(\.sealed.keys)
    let made = Set(listing.listed(.keyDay).map(\.bundle.start))
    guard !added.isEmpty || made.isEmpty else { return }
    // Without a file that is gone a day would lose keys; the last archives stay.
    guard let old = try keys(of: listing.listed(.increment)) else { return }
    let oldest = now.day.daysSince1970 - settings.listedDays
    let changed = Set(added.joined().map(\.day))
    for (day, keys) in Dictionary(grouping: PublishedKeys.union(of: old + added), by: \.day).sorted(by: {
      $0.key < $1.key
    })
    where day.daysSince1970 > oldest && (changed.contains(day) || !made.contains(day.start.secondsSince1970)) {
      let start = day.start.secondsSince1970
      staging.add(
        try sealer.sealOne(keys.oncePerKeyData, start: start, windowEnd: window.end, end: window.end), .keyDay)
    }
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

  private mutating func keys(of records: [BundleRecord]) throws -> [[ClaimedKey]]? {
    var all: [[ClaimedKey]] = []
    for record in records {
      guard let keys = try keys(of: record) else { return nil }
      all.append(keys)
    }
    return all
  }
}

extension ClaimedKey {
  /// The UTC day on which it began to be used.
  fileprivate var day: Day { IntervalNumber(Int64(rollingStartWord)).day }
}

extension [ClaimedKey] {
  /// Devices want key data once in a file: of those that stand under several starts of one day the first.
  fileprivate var oncePerKeyData: Self {
    var seen: Set<TemporaryExposureKey> = []
    return sorted { $0.subject < $1.subject }.filter { seen.insert($0.key).inserted }
  }
}
