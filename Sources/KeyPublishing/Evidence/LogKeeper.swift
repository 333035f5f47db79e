package import ExposureKeys
package import KeyStorage
package import TransparencyLog

/// Takes what is queued in the store into the transparency log, and proves what the log has. It owns the log for as long
/// as it is there: a round of publishing, and nobody else writes the log meanwhile.
///
/// Each entry comes into the log once. The number of the newest one that was taken is committed together with the
/// checkpoint; what the store still has of those was taken before a crash, and stands at the end of the log. Where it does
/// not stand there, the store is another one, or an older one that was restored: then the whole log is read, and what it
/// has already is not taken again. The log itself never goes back with a store.
///
/// Of several replicas one takes entries into the log. On the others a round waits for it, and proves what is shown then.
package actor LogKeeper {
  private let settings: EvidenceSettings
  private let ledger: Ledger
  private let folder: any PublicationFolder
  private let logFolder: any LogShelf
  private let state: any LogStatePlace
  private let taker: Taker
  private let caller: (any WitnessCaller)?
  private let isEnding: @Sendable () -> Bool
  private var writer: LogWriter?
  /// The checkpoint that witnesses were asked about last.
  private var asked: SignedCheckpoint?
  /// What each witness has signed last, as far as it is known.
  private var signedSizes: [NoteVerifier: Int] = [:]
  /// What was wrong with witnesses since somebody asked.
  private var misses: [String] = []
  /// What the log has of bundles, as far as it was looked for, by their paths.
  private var places: [String: Place] = [:]
  /// The log's size when this store had given it everything last, zero where it never had.
  private var sizeInStore = 0

  /// What was found to be proved and attested beside bundles of a bucket, where each look is a request, by their paths.
  private var looked: Set<String> = []

  /// Who takes what is queued into the log.
  package enum Taker: Sendable {
    /// Whoever has this keeper.
    case this
    /// Another process, or another part of this one; it is waited for.
    case another
  }

  private struct Place {
    let index: Int
    let entry: [UInt8]
  }

  /// Entries that are taken at once.
  private static let most = 4096

  /// - Parameters:
  ///   - folder: what is published.
  ///   - shelf: where the log is shown in it.
  ///   - state: where its state is.
  ///   - caller: the way to witnesses; without one none is asked.
  ///   - isEnding: whether the process is told to end; then nobody else is waited for.
  package init(
    _ settings: EvidenceSettings, ledger: Ledger, folder: any PublicationFolder, shelf: any LogShelf,
    state: any LogStatePlace, taker: Taker = .this, caller: (any WitnessCaller)? = nil,
    isEnding: @escaping @Sendable () -> Bool = { false }
  ) {
    self.isEnding = isEnding
    self.settings = settings
    self.ledger = ledger
    self.caller = caller
    self.folder = folder
    self.taker = taker
    self.state = state
    logFolder = shelf
  }

  /// - Parameters:
  ///   - folder: what is published.
  ///   - path: where that is on this machine.
  ///   - caller: the way to witnesses; without one none is asked.
  ///   - willDo: is told each change of the log before it is done, and can make it fail.
  package init(
    _ settings: EvidenceSettings, ledger: Ledger, folder: LocalFolder, at path: String,
    caller: (any WitnessCaller)? = nil,
    willDo: @escaping @Sendable (LogFolder.Step, String) throws -> Void = { _, _ in }
  ) {
    self.init(
      settings, ledger: ledger, folder: folder, shelf: LogFolder("\(path)/\(settings.folder)", willDo: willDo),
      state: settings.stateFolder(willDo: willDo), caller: caller)
  }

  /// Gives the log out of hand; it is opened again when it is asked for.
  private func close() { writer = nil }

  private func opened() async throws -> LogWriter {
    if let writer { return writer }
    let writer = try await LogWriter.open(state: state, folder: logFolder)
    if let fault = LogFault.otherName(writer.verifier.name, settings) { throw fault }
    let (settings, size) = (settings, writer.checkpoint.size)
    let (fault, sizeInStore) = try await ledger.read { state in
      (try LogFault.wentBack(settings, to: size, in: state), try state.logSize(of: settings.name) ?? 0)
    }
    if let fault { throw fault }
    // The log goes on by itself, but what is attested by another key than others were told helps nobody.
    try await AttestationSigner.check(state.keys, shownIn: logFolder)
    let path = "\(settings.folder)/\(EvidenceSettings.keyFile)"
    for witness in settings.witnesses where writer.checkpoint.note.signatures.contains(where: witness.key.claims) {
      signedSizes[witness.key] = writer.checkpoint.size
    }
    let key = Array("\(writer.verifier)\n".utf8)
    if (try? await folder.content(of: path, limit: 4096)) != key { try await folder.show(key, at: path) }
    self.sizeInStore = sizeInStore
    self.writer = writer
    return writer
  }

  private func log(_ writer: LogWriter) -> (name: String, size: Int) { (settings.name, writer.checkpoint.size) }

  // MARK: Integrating

  /// Takes everything that is queued. When this returns, others can see it, and a crash takes nothing back.
  ///
  /// - Parameters:
  ///   - series: in whose round it happens: what its folder has the store knows.
  ///   - sound: a clock that nobody doubts, by which hours are over; `nil` closes none.
  /// - Throws: ``LogFault`` where the log cannot go on, and says what can be done.
  package func integrate(of series: String, at now: Instant, sound: SoundTime? = nil) async throws {
    if taker == .another { return try await waitForTaker() }
    do {
      if let sound, !settings.doors.isEmpty {
        try await ledger.uploadsCounted(at: settings.doors, keptFor: settings.evidenceDays, at: sound)
      }
      let writer = try await opened()
      var isOtherStore = writer.cursor.isEmpty
      while case let queued = try await ledger.read({ try $0.queuedEntries(limit: Self.most) }), !queued.isEmpty {
        try await take(queued, &isOtherStore, of: series, at: now)
      }
      try await askWitnesses(at: now)
    } catch {
      // What is on the disk is looked at anew.
      close()
      throw error
    }
  }

  /// Until what waits now is in the log, and shown.
  private func waitForTaker() async throws {
    let end = ContinuousClock.now + .seconds(Self.secondsOfTaker)
    var isMore = true
    while isMore {
      let queued = try await ledger.read { try $0.queuedEntries(limit: Self.most).map(\.id) }
      guard let last = queued.last else { return }
      try await waitForTaker(of: last, until: end)
      isMore = queued.count == Self.most
    }
  }

  private func waitForTaker(of last: QueuedEntryID, until end: ContinuousClock.Instant) async throws {
    while let first = try await ledger.read({ try $0.queuedEntries(limit: 1).first?.id }), first <= last {
      guard !isEnding() else {
        throw LogFault(
          .inUse,
          "the gateway ends while what is to be published waits for the log; nothing is lost, and the next round publishes it"
        )
      }
      guard ContinuousClock.now < end else {
        throw LogFault(
          .inUse,
          "what is to be published waits for the log, and whoever holds the work \(Duty.log) has not taken it in for "
            + "\(Self.secondsOfTaker) seconds: keyferry status names who holds it")
      }
      try await Task.sleep(for: .milliseconds(250))
    }
  }

  /// A replica that dies is replaced in less.
  private static let secondsOfTaker: Int64 = 30

  private func take(
    _ queued: [QueuedEntry], _ isOtherStore: inout Bool, of series: String, at now: Instant
  ) async throws {
    let writer = try await opened()
    let last = Int64(writer.cursor) ?? 0
    let taken = queued.prefix { $0.id.rawValue <= last }
    if !taken.isEmpty, !isOtherStore {
      if try await isEnd(taken.map(\.bytes), writer.checkpoint.size) {
        try await ledger.logged(taken.map(\.id), of: log(writer), at: now)
        sizeInStore += taken.count
        return
      }
      isOtherStore = true
    }
    if sizeInStore != writer.checkpoint.size { isOtherStore = true }
    var entries = queued.map(\.bytes)
    var cursor = "\(queued.last?.id.rawValue ?? last)"
    if isOtherStore || queued.contains(where: { $0.kind == EvidenceListener.adoptedKind }) {
      var orphans = isOtherStore ? try await OrphanedBundles(of: series, ledger, folder) : nil
      let known = try await known(of: queued, writer.checkpoint.size, &orphans)
      let new = queued.filter { !known.contains($0.id) }
      entries = try new.map(\.bytes) + (orphans?.entries(at: now) ?? [])
      cursor = new.last.map { "\($0.id.rawValue)" } ?? writer.cursor
    }
    if !entries.isEmpty {
      let first = try await writer.append(entries, cursor: cursor)
      for (offset, entry) in entries.enumerated() { note(entry, at: first + offset) }
    }
    // While another store has more to give, a crash must not let it look like the one that gave everything.
    let isWhole = !isOtherStore || queued.count < Self.most
    try await ledger.logged(queued.map(\.id), of: isWhole ? log(writer) : nil, at: now)
    if isWhole { sizeInStore = writer.checkpoint.size }
  }

  private func note(_ bytes: [UInt8], at index: Int) {
    guard let entry = Self.published(bytes), let path = entry.text("path") else { return }
    places[path] = Place(index: index, entry: bytes)
  }

  /// Whether the log ends with these entries.
  private func isEnd(_ entries: [[UInt8]], _ size: Int) async throws -> Bool {
    guard entries.count <= size else { return false }
    let reader = TreeReader(logFolder, size: size)
    var index = size - entries.count
    var rest = entries[...]
    while !rest.isEmpty {
      let bundle = try await reader.bundle(index / Tile.width).entries.dropFirst(index % Tile.width)
      guard rest.starts(with: bundle) else { return false }
      rest = rest.dropFirst(bundle.count)
      index += bundle.count
    }
    return true
  }

  /// Which of the queued entries the log has: these very ones, or the same bundle.
  ///
  /// - Throws: ``LogFault`` `would-overwrite` where it has another bundle of a name.
  private func known(
    of queued: [QueuedEntry], _ size: Int, _ orphans: inout OrphanedBundles?
  ) async throws -> Set<QueuedEntryID> {
    var leaves: [TreeHash: QueuedEntryID] = [:]
    var bundles: [String: (id: QueuedEntryID, digest: String)] = [:]
    for entry in queued {
      leaves[.leaf(entry.bytes)] = entry.id
      if let said = Self.published(entry.bytes), let path = said.text("path"), let digest = said.text("archive_sha256")
      {
        bundles[path] = (entry.id, digest)
      }
    }
    var known: Set<QueuedEntryID> = []
    let reader = TreeReader(logFolder, size: size)
    for number in 0..<(size + Tile.width - 1) / Tile.width {
      let bundle = try await reader.bundle(number)
      for (offset, (bytes, leaf)) in zip(bundle.entries, bundle.leaves).enumerated() {
        if let id = leaves[leaf] { known.insert(id) }
        await orphans?.see(bytes)
        guard let said = Self.published(bytes), let path = said.text("path"), let new = bundles[path] else { continue }
        try Self.check(said, is: new.digest, at: number * Tile.width + offset, path)
        known.insert(new.id)
      }
    }
    return known
  }

  private static func check(_ entry: LogEntry, is digest: String, at index: Int, _ path: String) throws {
    guard let logged = entry.text("archive_sha256"), logged != digest else { return }
    throw LogFault(
      .wouldOverwrite,
      "entry \(index) of the log says that \(path) was published with the SHA-256 \(logged), and it is \(digest) now: a name is "
        + "never answered with two contents",
      hint: "store and folder were lost, and numbers are given again; begin the series under another name")
  }

  /// Other kinds begin otherwise, since members are in the order of their names.
  private static let beginOfPublished = Array(#"{"archive_sha256":"#.utf8)

  private static func published(_ bytes: [UInt8]) -> LogEntry? {
    guard bytes.starts(with: beginOfPublished), let entry = try? LogEntry(bytes, name: "entry"),
      entry.kind == .published
    else { return nil }
    return entry
  }

  // MARK: Witnesses

  /// Seconds until a witness must have answered. Publishing does not wait longer for it.
  private static let secondsOfWitness: Int64 = 1
  /// By so much the clocks of a witness and of the gateway may differ.
  private static let secondsOfClocks: Int64 = 86_400

  /// What was wrong with witnesses since the last time.
  package func takeMisses() -> [String] {
    defer { misses = [] }
    return misses
  }

  /// Asks all witnesses at once for their signatures under the newest checkpoint, once for each checkpoint. What is missing
  /// is told and holds nothing up.
  private func askWitnesses(at now: Instant) async throws {
    guard let caller, !settings.witnesses.isEmpty else { return }
    let writer = try await opened()
    let checkpoint = writer.checkpoint
    let missing = settings.witnesses.filter { witness in
      !checkpoint.note.signatures.contains(where: witness.key.claims)
    }
    guard checkpoint.size > 0, asked?.checkpoint != checkpoint.checkpoint, !missing.isEmpty else { return }
    asked = checkpoint
    let known = signedSizes
    let reader = TreeReader(logFolder, size: checkpoint.size)
    let answers = await withTaskGroup(of: (WitnessSettings, Result<SignedNote.Signature, any Error>).self) { group in
      for witness in missing {
        group.addTask {
          do {
            let old = known[witness.key] ?? 0
            return (
              witness, .success(try await Self.signature(of: witness, under: checkpoint, from: old, reader, caller))
            )
          } catch {
            return (witness, .failure(error))
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    var signatures: [SignedNote.Signature] = []
    for (witness, answer) in answers {
      switch answer {
      case .success(let signature):
        signatures.append(signature)
        signedSizes[witness.key] = checkpoint.size
        if let time = witness.key.cosigningTime(of: signature), abs(time - now.secondsSince1970) > Self.secondsOfClocks
        {
          let side = time > now.secondsSince1970 ? "still to come" : "before the entries that it is of"
          misses.append(
            "the witness \(witness.key.name) has signed the log of size \(checkpoint.size) with the time "
              + "\(Instant(secondsSince1970: time)), which is \(side): its clock or this one is wrong")
        }
      case .failure(let error):
        misses.append("the witness \(witness.key.name) has not signed the log of size \(checkpoint.size): \(error)")
      }
    }
    misses.sort()
    try await writer.add(signatures, by: settings.witnesses.map(\.key))
  }

  private static func signature(
    of witness: WitnessSettings, under checkpoint: SignedCheckpoint, from known: Int, _ reader: TreeReader,
    _ caller: any WitnessCaller
  ) async throws -> SignedNote.Signature {
    var old = min(known, checkpoint.size)
    // It may have signed another size than we know of, and says so once.
    for _ in 0..<2 {
      let proof = old == 0 || old == checkpoint.size ? [] : try await reader.consistency(from: old)
      let (status, body) = try await caller.post(
        Witness.request(old: old, proof: proof, checkpoint), to: "\(witness.address)/\(Witness.path)",
        seconds: secondsOfWitness, limit: Witness.answerLimit)
      switch try Witness.answer(status: status, body, by: witness.key, to: checkpoint) {
      case .signed(let signature): return signature
      case .has(let size):
        guard size <= checkpoint.size else {
          throw LogFault(
            .wentBack,
            "it has signed the log of size \(size), and this is smaller: state and folder of the log were brought back from an "
              + "old backup; stop publishing, and bring back what is newer")
        }
        old = size
      }
    }
    throw LogFault(.inputOutput, "it says twice that it has signed another size")
  }

  // MARK: Proving

  /// The proofs that are missing beside bundles, or do not belong there. A bundle that the log does not have, since there
  /// was no log when it was published, comes into it now.
  ///
  /// - Parameter bundles: those that an index is to name.
  /// - Returns: paths and contents of proof files.
  package func missingProofs(
    of bundles: [BundleRecord], at now: Instant
  ) async throws -> [(path: String, content: [UInt8])] {
    do {
      let verifier = taker == .this ? try await opened().verifier : try LogWriter.signer(of: state.keys).verifier
      let known = looked
      let isProved = try await folder.each(bundles.map(\.bundle)) { [folder] bundle in
        if known.contains(bundle.path + ProofFile.ending) { return true }
        return await Self.isProved(bundle, verifier, in: folder)
      }
      var missing: [String: BundleRecord] = [:]
      for (record, isProved) in zip(bundles, isProved) where !isProved { missing[record.bundle.path] = record }
      if folder.width > 1 { looked.formUnion(bundles.map { $0.bundle.path + ProofFile.ending }) }
      if missing.isEmpty { return [] }
      if taker == .another {
        // The key is read again, since the optimizer loses a local verifier across an `await`: see `LogWriter.adopt`.
        return try await proofs(of: missing, by: try LogWriter.signer(of: state.keys).verifier, at: now)
      }
      let writer = try await opened()
      try await find(missing, writer.checkpoint.size)
      let unlogged = missing.values.filter { places[$0.bundle.path] == nil }.sorted { $0.id < $1.id }
      for start in stride(from: 0, to: unlogged.count, by: Self.most) {
        let entries = try Self.entries(of: unlogged[start..<min(start + Self.most, unlogged.count)], at: now)
        let first = try await writer.append(entries, cursor: writer.cursor)
        if sizeInStore == first { sizeInStore = writer.checkpoint.size }
        for (offset, entry) in entries.enumerated() { note(entry, at: first + offset) }
      }
      if !unlogged.isEmpty { try await askWitnesses(at: now) }
      return try await proofs(of: missing, against: writer.checkpoint)
    } catch {
      close()
      looked = []
      throw error
    }
  }

  private static func entries(of bundles: some Sequence<BundleRecord>, at now: Instant) throws -> [[UInt8]] {
    try bundles.map { try LogEntry($0.bundle, policy: nil, program: nil, at: $0.published ?? now).bytes }
  }

  private func proofs(
    of bundles: [String: BundleRecord], against checkpoint: SignedCheckpoint
  ) async throws -> [(path: String, content: [UInt8])] {
    let reader = TreeReader(logFolder, size: checkpoint.size)
    var proofs: [(path: String, content: [UInt8])] = []
    for path in bundles.keys.sorted() {
      guard let place = places[path] else { continue }
      let proof = try await LogWriter.proof(
        of: place.index, entry: place.entry, checkpoint: checkpoint, reader)
      proofs.append((path + ProofFile.ending, proof.bytes))
    }
    return proofs
  }

  /// By what is shown, where another one takes entries into the log. What it does not have is queued for it.
  private func proofs(
    of missing: [String: BundleRecord], by verifier: NoteVerifier, at now: Instant
  ) async throws -> [(path: String, content: [UInt8])] {
    // A key that is not that of the others is told of as such.
    _ = try await LogWriter.signed(state: state)
    var shown = try await LogWatch.checkpoint(of: logFolder, by: verifier)
    try await find(missing, shown.size)
    let unlogged = missing.values.filter { places[$0.bundle.path] == nil }.sorted { $0.id < $1.id }
    if !unlogged.isEmpty {
      let entries = try Self.entries(of: unlogged, at: now)
      try await ledger.queueForLog(entries, kind: EvidenceListener.adoptedKind, at: now)
      try await waitForTaker()
      shown = try await LogWatch.checkpoint(of: logFolder, by: verifier)
      try await find(missing, shown.size)
    }
    if let lost = missing.keys.filter({ places[$0] == nil }).min() {
      throw LogFault(.notIncluded, "\(logFolder.name): the log of size \(shown.size) does not have \(lost) yet")
    }
    return try await proofs(of: missing, against: shown)
  }

  // MARK: Attesting

  /// The attestations that are missing beside bundles, or are not what they should be: of each bundle whose making was noted.
  /// They belong behind the proofs, which say where bundles are in the log. Made again, one has the same bytes.
  ///
  /// - Parameter bundles: those that are served, also those that no index names any more.
  /// - Returns: paths and contents of files with one envelope.
  package func missingAttestations(of bundles: [BundleRecord]) async throws -> [(path: String, content: [UInt8])] {
    let recipes = try await ledger.read { state in try bundles.map { try state.recipe(of: $0.id) } }
    guard recipes.contains(where: { $0 != nil }) else { return [] }
    let signer = try await AttestationSigner.kept(
      in: state.keys, shownIn: logFolder, makesKey: state is LogFolder)
    let keyPath = "\(settings.folder)/\(EvidenceSettings.attestationKeyFile)"
    let key = Array(signer.publicKey.pem.utf8)
    if (try? await folder.content(of: keyPath, limit: 4096)) != key { try await folder.show(key, at: keyPath) }
    let made = zip(bundles, recipes).compactMap { record, recipe in recipe.map { (record: record, recipe: $0) } }
      .filter { !looked.contains($0.record.bundle.path + Envelope.ending) }
    let found = try await folder.each(made) { [folder, name = settings.name] one in
      try await Self.missingAttestation(of: one.record, one.recipe, in: name, by: signer, in: folder)
    }
    if folder.width > 1 { looked.formUnion(made.map { $0.record.bundle.path + Envelope.ending }) }
    return found.compactMap(\.self)
  }

  private static func missingAttestation(
    of record: BundleRecord, _ recipe: StagedRecipe, in log: String, by signer: AttestationSigner,
    in folder: any PublicationFolder
  ) async throws -> (path: String, content: [UInt8])? {
    guard let index = await provedIndex(of: record.bundle, in: folder) else { return nil }
    let payload = try BundleProvenance.provenance(of: record, recipe, in: log, at: index).bytes
    let path = record.bundle.path + Envelope.ending
    if let present = try? await folder.content(of: path, limit: Envelope.byteLimit),
      let envelope = try? Envelope(present, name: path), envelope.payload == payload,
      (try? envelope.verify(by: signer.publicKey, name: path)) != nil
    {
      return nil
    }
    return (path, try Envelope(payload, by: signer).bytes)
  }

  private static func provedIndex(of bundle: NewBundle, in folder: any PublicationFolder) async -> Int? {
    let path = bundle.path + ProofFile.ending
    guard let bytes = try? await folder.content(of: path, limit: ProofFile.byteLimit) else { return nil }
    return (try? ProofFile(bytes, name: path))?.index
  }

  private static func isProved(
    _ bundle: NewBundle, _ verifier: NoteVerifier, in folder: any PublicationFolder
  ) async -> Bool {
    let path = bundle.path + ProofFile.ending
    guard let bytes = try? await folder.content(of: path, limit: ProofFile.byteLimit),
      let proof = try? ProofFile(bytes, name: path), let extra = proof.extra, let entry = published(extra),
      entry.text("path") == bundle.path, entry.text("archive_sha256") == bundle.archiveDigest
    else { return false }
    return (try? proof.verify(extra, by: verifier, name: path)) != nil
  }

  /// Looks for bundles from the newest entry back, and notes where they are.
  private func find(_ bundles: [String: BundleRecord], _ size: Int) async throws {
    var left = Set(bundles.keys).subtracting(places.keys)
    let reader = TreeReader(logFolder, size: size)
    var number = (size + Tile.width - 1) / Tile.width
    while number > 0, !left.isEmpty {
      number -= 1
      for (offset, bytes) in try await reader.bundle(number).entries.enumerated() {
        guard let entry = Self.published(bytes), let path = entry.text("path"), let record = bundles[path] else {
          continue
        }
        let index = number * Tile.width + offset
        try Self.check(entry, is: record.bundle.archiveDigest, at: index, path)
        places[path] = Place(index: index, entry: bytes)
        left.remove(path)
      }
    }
  }
}
