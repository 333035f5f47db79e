/// Appends to a log, and shows it in a folder or a bucket.
///
/// The order of what is written: the entries, as a queue; bundles and tiles; the signed checkpoint, in the state; and only
/// then `checkpoint` where others see it. Each is safe before the next. A crash anywhere is made good by the
/// next start, which makes the same bytes of the same queue. No size ever has two checkpoints, and no checkpoint stands
/// above tiles that are not there.
///
/// It is refused to go on where the folder that others see is ahead of the state, or beside it: going on would be a fork.
package final class LogWriter {
  /// The most entries that are added at once.
  package static let entriesAtOnce = 1 << 16
  /// The most bytes that entries have which are added at once.
  package static let bytesAtOnce = 1 << 28
  /// Where the newest checkpoint is shown.
  package static let checkpointPath = "checkpoint"

  package let verifier: NoteVerifier
  /// What others see.
  package let folder: any LogShelf
  /// The newest checkpoint that is signed; it is shown, too.
  package var checkpoint: SignedCheckpoint { signed.checkpoint }
  /// What was said at the newest ``append(_:cursor:)``; empty before.
  package var cursor: String { signed.cursor }

  private let signer: NoteSigner
  private let state: any LogStatePlace
  private let lock: LogLock?
  private var signed: LogState.Signed
  private var growth: TreeGrowth
  /// A fault leaves what is on the disk for the next start to look at.
  private var isBroken = false

  private init(
    _ signer: NoteSigner, _ state: any LogStatePlace, _ folder: any LogShelf, _ lock: LogLock?,
    _ signed: LogState.Signed, _ growth: TreeGrowth
  ) {
    self.signer = signer
    verifier = signer.verifier
    self.state = state
    self.folder = folder
    self.lock = lock
    self.signed = signed
    self.growth = growth
  }

  // MARK: Beginning

  /// Begins a log without entries, signed by a new key that is kept in the state.
  ///
  /// - Parameter key: another private key, as ``NoteSigner`` reads it; `nil` makes one.
  /// - Throws: ``LogFault`` `would-overwrite` where there is a log already, `bad-key`, `input-output`.
  package static func create(
    name: String, key: String? = nil, state: any LogStatePlace, folder: any LogShelf
  ) async throws -> LogWriter {
    let keys = state.keys
    // A start that was interrupted has made a key, and nothing else.
    let kept = try key.map { try NoteSigner($0) } ?? keys.logSigner()
    let signer = try kept ?? NoteSigner.generate(name: name)
    guard signer.verifier.kind == .log, signer.verifier.name == name else {
      throw LogFault(
        .badKey,
        "the private key is of \(signer.verifier.name), the log is \(name); a log's key has type 1 and its name")
    }
    func present(_ place: String) -> LogFault {
      LogFault(
        .wouldOverwrite, "\(place) is there: there is a log already, and its history is not begun again",
        hint: "begin a new log in other folders and with another name")
    }
    guard try keys.bytes(of: LogState.signedFile, limit: 1 << 20) == nil else {
      throw present("\(keys.path)/\(LogState.signedFile)")
    }
    for file in [checkpointPath, "tile/0/000.p/1"] {
      guard try await folder.content(of: file, limit: 1 << 20) == nil else { throw present("\(folder.name)/\(file)") }
    }
    guard try await state.signed(by: signer.verifier) == nil else { throw present(state.name) }
    if case .file = keys.privateKeys.log {
      let text = Array((signer.disclosed + "\n").utf8)
      try keys.put([(LogState.keyFile, text)], replacing: false, permissions: 0o600)
    }
    let empty = try SignedCheckpoint(Checkpoint(origin: name, size: 0, root: .empty), signer: signer)
    try await state.commit(LogState.Signed(checkpoint: empty, cursor: ""), over: nil, by: signer.verifier)
    return try await open(state: state, folder: folder)
  }

  /// Goes on with a log: finishes what a crash has left, and shows the newest checkpoint.
  ///
  /// - Throws: ``LogFault`` `bad-state` where there is no log, `stale-state` where the folder shows more than the state
  ///   knows, `fork`, `missing-tile`, `bad-tile`, `in-use`.
  package static func open(state: any LogStatePlace, folder: any LogShelf) async throws -> LogWriter {
    let lock = try state.takeLock()
    let signer = try signer(of: state.keys)
    guard let signed = try await state.signed(by: signer.verifier) else { throw lostState(state) }
    let growth = try await growth(of: signed.checkpoint, signer.verifier, folder)
    let writer = LogWriter(signer, state, folder, lock, signed, growth)
    try await writer.goOn()
    return writer
  }

  /// What opening a log would say. Nothing is changed, and somebody may write it meanwhile.
  ///
  /// - Returns: the newest checkpoint that was signed.
  /// - Throws: as ``open(state:folder:)``, but for `in-use`.
  package static func look(state: any LogStatePlace, folder: any LogShelf) async throws -> SignedCheckpoint {
    try await look(state, folder, try signer(of: state.keys).verifier)
  }

  /// The verifier is a parameter for the reason that ``adopt(state:folder:copy:)`` has.
  private static func look(
    _ state: any LogStatePlace, _ folder: any LogShelf, _ verifier: NoteVerifier
  ) async throws -> SignedCheckpoint {
    while true {
      guard let signed = try await state.signed(by: verifier) else { throw lostState(state) }
      do {
        _ = try await growth(of: signed.checkpoint, verifier, folder)
        return signed.checkpoint
      } catch {
        // Somebody has signed meanwhile, and what was read belongs to two trees.
        guard try await state.signed(by: verifier) != signed else { throw error }
      }
    }
  }

  /// What a log has signed last, by the key of this machine. Nothing that others see is looked at.
  ///
  /// - Throws: ``LogFault`` where there is no log, or this key is not the log's.
  package static func signed(state: any LogStatePlace) async throws -> SignedCheckpoint {
    guard let signed = try await state.signed(by: try signer(of: state.keys).verifier) else { throw lostState(state) }
    return signed.checkpoint
  }

  private static func lostState(_ state: any LogStatePlace) -> LogFault {
    guard state is LogFolder else {
      return LogFault(.badState, "\(state.name) has no log of this name", hint: lostKey)
    }
    return LogFault(
      .staleState, "\(state.name): the file \(LogState.signedFile), the newest checkpoint of the log, is gone",
      hint: recovery)
  }

  /// The right edge of what was signed, read from the folder that others see.
  private static func growth(
    of signed: SignedCheckpoint, _ verifier: NoteVerifier, _ folder: any LogShelf
  ) async throws -> TreeGrowth {
    let reader = TreeReader(folder, size: signed.size)
    do {
      try await checkShown(signed, verifier, folder, reader)
      return try await TreeGrowth(reader, root: signed.root)
    } catch let fault as LogFault where fault.code == .missingTile || fault.code == .badTile {
      throw LogFault(
        fault.code, fault.reason,
        hint: """
          the folder of the log was lost, damaged, or brought back from an old backup: bring its files back from a newer \
          copy or a mirror, since others were shown \(signed.size) entries
          """)
    }
  }

  /// The private key of a log.
  package static func signer(of state: LogFolder) throws -> NoteSigner {
    guard let signer = try state.logSigner() else {
      throw LogFault(
        .badState, "\(state.path): there is no \(LogState.keyFile), so no log", hint: lostKey)
    }
    return signer
  }

  static let lostKey = """
    keyferry log init begins a log. If there was one already, put \(LogState.keyFile) from a safe copy there, and then \
    keyferry log adopt goes on with it; a new log needs another name
    """

  private static let recovery = """
    a backup may have been restored, or two programs write one log; signing on would be a fork that others can prove. If \
    the folder has everything, keyferry log adopt takes its checkpoint over; otherwise begin a new log with another name
    """

  /// Refuses where what others see does not lead to what was signed.
  private static func checkShown(
    _ signed: SignedCheckpoint, _ verifier: NoteVerifier, _ folder: any LogShelf, _ reader: TreeReader
  ) async throws {
    guard let shown = try await shown(verifier, folder) else { return }
    let place = "\(folder.name)/\(checkpointPath)"
    guard shown.size <= signed.size else {
      throw LogFault(
        .staleState, "\(place) has the size \(shown.size), but the state knows of \(signed.size) entries alone",
        hint: recovery)
    }
    guard shown.size < signed.size || shown.root == signed.root else {
      throw LogFault(
        .fork,
        "\(place) has the size \(shown.size) and the root \(shown.root.base64), the state the root \(signed.root.base64)",
        hint: recovery)
    }
    try await signed.verifyExtends(shown, by: reader)
  }

  private static func shown(_ verifier: NoteVerifier, _ folder: any LogShelf) async throws -> SignedCheckpoint? {
    try await folder.content(of: checkpointPath, limit: SignedNote.byteLimit).map {
      try SignedCheckpoint($0, by: verifier, name: "\(folder.name)/\(checkpointPath)")
    }
  }

  /// Takes over what the folder shows, where the state is behind it or lost: every entry and every tile is read first, and
  /// what the state knows must be the beginning of it.
  ///
  /// - Parameter copy: a copy of the folder that this machine keeps: what it shows was shown.
  /// - Returns: the checkpoint with which the log goes on.
  /// - Throws: ``LogFault``.
  package static func adopt(
    state: any LogStatePlace, folder: any LogShelf, copy: (name: String, size: Int)? = nil
  ) async throws -> SignedCheckpoint {
    let lock = try state.takeLock()
    defer { _ = lock }
    return try await adopt(state, folder, copy, try signer(of: state.keys).verifier)
  }

  /// The verifier is a parameter, and not a local value of the function that reads the key: the optimizer of Swift 6.3.1 does
  /// not keep `kind` and `keyID` of such a value across an `await`, and a release looked for another key's signature.
  private static func adopt(
    _ state: any LogStatePlace, _ folder: any LogShelf, _ copy: (name: String, size: Int)?, _ verifier: NoteVerifier
  ) async throws -> SignedCheckpoint {
    guard let shown = try await shown(verifier, folder) else {
      throw LogFault(
        .badState, "\(folder.name)/\(checkpointPath) is not there: there is nothing to be taken over")
    }
    if let copy, copy.size > shown.size {
      throw LogFault(
        .wentBack,
        "\(folder.name) shows \(shown.size) entries, and its copy \(copy.name) has \(copy.size), which others were shown, too: "
          + "to go on from \(shown.size) would be a fork",
        hint: "bring the files of the copy back into \(folder.name) first; never remove the copy")
    }
    let reader = TreeReader(folder, size: shown.size)
    let old = try await state.signed(by: verifier)
    if let old {
      if old.checkpoint.size > shown.size {
        throw LogFault(
          .wentBack,
          "\(folder.name) shows \(shown.size) entries, the state knows \(old.checkpoint.size): the folder is behind",
          hint: "bring the files of the log back into \(folder.name), from a copy or a mirror")
      }
      try await shown.verifyExtends(old.checkpoint, by: reader)
    }
    try await LogVerification(reader, root: shown.root).run { _, _ in }
    if old?.checkpoint != shown {
      try await state.commit(
        LogState.Signed(checkpoint: shown, cursor: old?.cursor ?? ""), over: old, by: verifier)
    }
    return shown
  }

  /// Finishes what is queued, and shows what is signed.
  private nonisolated(nonsending) func goOn() async throws {
    if let queue = try await state.queue() {
      if queue.size == signed.checkpoint.size, queue.root == signed.checkpoint.root {
        return try await integrate(queue)
      }
      guard queue.size < signed.checkpoint.size else {
        throw LogFault(
          .staleState,
          """
          \(state.name)/\(LogState.queueFile) is for a log of \(queue.size) entries, the newest checkpoint has \
          \(signed.checkpoint.size)
          """, hint: Self.recovery)
      }
      try await state.removeQueue()
    }
    try await show()
  }

  // MARK: Appending

  /// Adds entries, in their order. When this returns, others can see and prove them, and a crash takes nothing back.
  ///
  /// - Parameters:
  ///   - entries: at most ``entriesAtOnce``, of 1...65,535 bytes each, ``bytesAtOnce`` together.
  ///   - cursor: what the caller wants to find again, on one line, at most 1000 bytes; see ``cursor``.
  /// - Returns: the index of the first one.
  /// - Throws: ``LogFault`` `bad-entry` where nothing was done; others end this writer, and the next one goes on.
  @discardableResult
  package nonisolated(nonsending) func append(_ entries: [[UInt8]], cursor: String = "") async throws -> Int {
    guard !isBroken else {
      throw LogFault(.badState, "\(state.name): the log is to be opened again after a fault")
    }
    let index = signed.checkpoint.size
    try check(entries, cursor)
    guard !entries.isEmpty else { return index }
    let queue = LogState.Queue(size: index, root: signed.checkpoint.root, cursor: cursor, entries: entries)
    isBroken = true
    try await state.commit(queue, behind: signed, by: verifier)
    try await integrate(queue)
    isBroken = false
    return index
  }

  private func check(_ entries: [[UInt8]], _ cursor: String) throws {
    func fault(_ reason: String) -> LogFault { LogFault(.badEntry, reason) }
    guard entries.count <= Self.entriesAtOnce else {
      throw fault("\(entries.count) entries at once, at most \(Self.entriesAtOnce) are added")
    }
    for (number, entry) in entries.enumerated() where entry.isEmpty || entry.count > EntryBundle.entryLimit {
      throw fault("entry \(number + 1) has \(entry.count) bytes, allowed are 1...\(EntryBundle.entryLimit)")
    }
    let bytes = entries.reduce(0) { $0 + $1.count }
    guard bytes <= Self.bytesAtOnce else {
      throw fault("\(bytes) bytes of entries at once, at most \(Self.bytesAtOnce) are added")
    }
    guard cursor.utf8.count <= 1000, cursor.utf8.allSatisfy({ $0 >= 0x20 }) else {
      throw fault("a cursor of \(cursor.utf8.count) bytes, allowed is one line of at most 1000")
    }
    guard signed.checkpoint.size <= RightEdge.sizeLimit - entries.count else {
      throw fault("the log is full: it has \(signed.checkpoint.size) entries")
    }
  }

  private nonisolated(nonsending) func integrate(_ queue: LogState.Queue) async throws {
    let files = growth.append(queue.entries)
    try await folder.put(files.map { ($0.tile.path, $0.content) })
    let next = Checkpoint(origin: verifier.name, size: growth.edge.size, root: growth.edge.root)
    let signed = LogState.Signed(checkpoint: try SignedCheckpoint(next, signer: signer), cursor: queue.cursor)
    try await state.commit(signed, over: self.signed, by: verifier)
    self.signed = signed
    try await show()
    try await state.removeQueue()
    for file in files where !file.tile.isPartial { try await folder.removePartials(of: file.tile) }
  }

  /// Adds signatures of witnesses to the newest checkpoint: the same tree is shown with more who have seen it.
  ///
  /// - Parameters:
  ///   - signatures: those that are there already are left out.
  ///   - witnesses: whose they are.
  /// - Throws: ``LogFault`` `not-signed` and `bad-signature` where nothing was done; others end this writer.
  package nonisolated(nonsending) func add(
    _ signatures: [SignedNote.Signature], by witnesses: [NoteVerifier]
  ) async throws {
    guard !isBroken else {
      throw LogFault(.badState, "\(state.name): the log is to be opened again after a fault")
    }
    var note = signed.checkpoint.note
    for signature in signatures {
      guard let witness = witnesses.first(where: { $0.claims(signature) }), witness.kind == .witness else {
        throw LogFault(.notSigned, "a signature of \(quoted(signature.name)), who is none of the witnesses")
      }
      if note.signatures.contains(where: witness.claims) { continue }
      note.add(signature)
      guard try witness.hasSigned(note) else { continue }
    }
    guard note != signed.checkpoint.note else { return }
    let name = "\(state.name)/\(LogState.signedFile)"
    let more = LogState.Signed(
      checkpoint: try SignedCheckpoint(note.bytes, by: verifier, name: name), cursor: signed.cursor)
    isBroken = true
    try await state.commit(more, over: signed, by: verifier)
    signed = more
    try await show()
    isBroken = false
  }

  private nonisolated(nonsending) func show() async throws { try await folder.show(signed.checkpoint, by: verifier) }

  // MARK: Proofs

  /// The proof that an entry is in the log, against the newest checkpoint.
  ///
  /// - Parameter entry: goes into the file, so that who has the file alone can verify it.
  /// - Throws: ``LogFault`` `not-included` where the log has no such entry there.
  package nonisolated(nonsending) func proof(of index: Int, entry: [UInt8]) async throws -> ProofFile {
    try await Self.proof(
      of: index, entry: entry, checkpoint: checkpoint, TreeReader(folder, size: checkpoint.size))
  }

  /// The proof that an entry is in a log, verified.
  package static func proof(
    of index: Int, entry: [UInt8], checkpoint: SignedCheckpoint, _ reader: TreeReader
  ) async throws -> ProofFile {
    let hashes = try await reader.inclusion(of: index)
    guard
      TreeProof.isIncluded(.leaf(entry), at: index, size: checkpoint.size, root: checkpoint.root, proof: hashes)
    else {
      throw LogFault(
        .notIncluded,
        "\(reader.source.name): its tiles do not prove that this is entry \(index) of the log of size \(checkpoint.size)"
      )
    }
    return ProofFile(index: index, hashes: hashes, extra: entry, checkpoint: checkpoint.bytes)
  }
}
