package import ExposureKeys
package import KeyStorage
internal import TransparencyLog

/// What a publication folder shows of its log: for people and for metrics. Whoever relies on it verifies it by a key that he
/// was told by another way.
package struct ShownLog: Hashable, Sendable {
  package let name: String
  package let size: Int
  /// In base64, as the checkpoint has it.
  package let root: String
  /// The public key that lies beside it; `nil` where there is none that can be read.
  package let key: String?
  /// Who else has signed, by name.
  package let cosigners: [String]

  /// - Parameters:
  ///   - checkpoint: the file as it is shown.
  ///   - key: the file with the public key.
  /// - Returns: `nil` for what is no checkpoint.
  package init?(checkpoint: [UInt8], key: [UInt8]?) {
    guard let note = try? SignedNote(checkpoint, name: ""), let read = try? Checkpoint(text: note.text, name: "") else {
      return nil
    }
    (name, size, root) = (read.origin, read.size, read.root.base64)
    self.key = key.flatMap { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      return (try? NoteVerifier(text.hasSuffix("\n") ? String(text.dropLast()) : text)).map { "\($0)" }
    }
    cosigners = note.signatures.map(\.name).filter { $0 != read.origin }
  }

  package init?(in folder: LocalFolder, of settings: EvidenceSettings) {
    let place = { (name: String) in "\(settings.folder)/\(name)" }
    guard let bytes = try? folder.content(of: place(LogWriter.checkpointPath), limit: SignedNote.byteLimit) else {
      return nil
    }
    self.init(
      checkpoint: bytes, key: try? folder.content(of: place(EvidenceSettings.keyFile), limit: 4096))
  }
}

/// How the log of what is published stands: what `keyferry status` tells of it.
package struct LogStatus: Hashable, Sendable {
  package let name: String
  /// Entries that others can see; `nil` where there is no checkpoint.
  package let size: Int?
  package let root: String?
  /// Entries that wait for the next round.
  package let waiting: Int
  package let oldestWaiting: Instant?
  /// Why the next round will not go on, and what can be done; `nil` where it can, or where this user may not know.
  package let fault: String?
  package let now: Instant

  /// - Parameter fault: of ``fault(of:in:)``.
  package init(
    of settings: EvidenceSettings, in state: any StoredState, folder: String, fault: String?, now: Instant
  ) throws {
    let shown = ShownLog(in: LocalFolder(folder), of: settings)
    let head = try settings.place == .replicas ? state.logHead(named: settings.name) : nil
    name = settings.name
    (size, root) = head.map { (Int($0.tree.size), $0.tree.root) } ?? (shown?.size, shown?.root)
    let queue = try state.queueStanding()
    (waiting, oldestWaiting) = (queue?.count ?? 0, queue?.since)
    // The copy of a bucket may be behind it.
    let known = settings.place == .folder ? shown : nil
    self.fault = try fault ?? known.flatMap { try LogFault.wentBack(settings, to: $0.size, in: state)?.advice }
    self.now = now
  }

  /// Whether it can go on; nothing is changed.
  ///
  /// - Parameters:
  ///   - folder: what is published, or the copy of it, of which nothing but the checkpoint and the keys is looked at: it may
  ///     be behind.
  ///   - ledger: of the store; asked where it has the log's state.
  package static func fault(of settings: EvidenceSettings, in folder: String, ledger: Ledger? = nil) async -> String? {
    do {
      return try await fault(of: settings, in: folder, ledger: ledger, isKeeper: false)
    } catch {
      return "\(error)"
    }
  }

  /// - Parameter isKeeper: whether this process is to sign: then a key that it cannot read is a fault.
  /// - Throws: ``StorageFault`` where the store cannot be asked.
  package static func fault(
    of settings: EvidenceSettings, in folder: String, ledger: Ledger?, isKeeper: Bool
  ) async throws -> String? {
    let (keys, shelf) = (settings.stateFolder(), LogFolder("\(folder)/\(settings.folder)"))
    do {
      if settings.place == .folder {
        let signed = try await LogWriter.look(state: keys, folder: shelf)
        if let fault = LogFault.otherName(signed.checkpoint.origin, settings) { return fault.advice }
      } else {
        var state: any LogStatePlace = keys
        if settings.place == .replicas, let ledger { state = StoredLog(of: settings.name, in: ledger, keys: keys) }
        var signed = try await LogWriter.signed(state: state)
        if let fault = LogFault.otherName(signed.checkpoint.origin, settings) { return fault.advice }
        if settings.place == .replicas {
          _ = try await AttestationSigner.kept(in: keys, shownIn: shelf, makesKey: false)
        }
        let shown = ShownLog(in: LocalFolder(folder), of: settings)
        // It may have been signed and shown meanwhile.
        if let shown, shown.size > signed.size { signed = try await LogWriter.signed(state: state) }
        if let shown, shown.size > signed.size {
          return
            "\(settings.folder)/checkpoint was shown with \(shown.size) entries, and \(signed.size) are known to be signed: "
            + "the store, or \(settings.state), was brought back from an old backup; keyferry log adopt goes on with what is shown"
        }
      }
      try await AttestationSigner.check(keys, shownIn: shelf)
      return nil
    } catch let fault as LogFault {
      // Who is not the gateway's user cannot read its private key.
      guard isKeeper || fault.code != .inputOutput else { return nil }
      return fault.advice
    }
  }
}

extension LogFault {
  fileprivate var advice: String { [reason, hint].compactMap(\.self).joined(separator: "; ") }

  /// A log keeps its name.
  static func otherName(_ name: String, _ settings: EvidenceSettings) -> LogFault? {
    guard name != settings.name else { return nil }
    return LogFault(
      .otherOrigin, "\(settings.state) is the state of the log \(name), and log.name is \(settings.name)",
      hint: "a log never changes its name; write \(name), or begin another log in other folders")
  }

  /// State and folder of a log that were brought back together agree with each other; the store knows better, unless it is as
  /// old.
  static func wentBack(
    _ settings: EvidenceSettings, to size: Int, in state: any StoredState
  ) throws -> LogFault? {
    guard let known = try state.logSize(of: settings.name), known > size else { return nil }
    return LogFault(
      .wentBack,
      "the log has \(size) entries and had \(known) when it took entries last: folder and state were brought back from an "
        + "old backup, and to go on would rewrite what others have seen",
      hint:
        "bring back the newest copy of \(settings.folder), and then keyferry log adopt; where it is lost, begin another log "
        + "under another name and say so to those who follow this one")
  }
}

extension StoredState {
  /// The size of a log when this store gave it entries last; `nil` where it gave it none.
  func logSize(of name: String) throws -> Int? {
    try note(.logSize(name: name)).flatMap { Int(String(decoding: $0, as: UTF8.self)) }
  }
}

extension LogStatus: Encodable {
  private enum CodingKeys: String, CodingKey {
    case name, size, root, waiting, fault, oldestWaiting
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(name, forKey: .name)
    try members.encodeIfPresent(size, forKey: .size)
    try members.encodeIfPresent(root, forKey: .root)
    try members.encode(waiting, forKey: .waiting)
    try members.encodeIfPresent(oldestWaiting?.description, forKey: .oldestWaiting)
    try members.encodeIfPresent(fault, forKey: .fault)
  }
}
