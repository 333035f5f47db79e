package import KeyStorage
package import TransparencyLog

/// The state of a log that several replicas keep in turn: what was signed and what comes next are in their store, which lets it
/// go forward alone. The private keys are on each machine, and never in the store.
package struct StoredLog: LogStatePlace {
  private let ledger: Ledger
  private let log: String
  package let keys: LogFolder

  /// - Parameters:
  ///   - ledger: what it writes is refused once the log is another replica's.
  ///   - log: its name.
  ///   - keys: the folder with `log.key` and `attest.key`.
  package init(of log: String, in ledger: Ledger, keys: LogFolder) {
    (self.log, self.ledger, self.keys) = (log, ledger, keys)
  }

  package var name: String { "the store" }

  /// Each write is refused that does not go forward from what was seen.
  package func takeLock() -> LogLock? { nil }

  package func signed(by log: NoteVerifier) async throws -> LogState.Signed? {
    guard let head = try await head(by: log) else { return nil }
    let signed = try LogState.Signed(head.signed, by: log, name: "the newest checkpoint of \(self.log) in the store")
    guard head.tree == LogHead.Tree(signed) else {
      throw LogFault(
        .badState,
        "the store says that the log \(self.log) has \(head.tree.size) entries, and the checkpoint beside it has "
          + "\(signed.checkpoint.size): somebody has changed its row",
        hint: "bring the row back from a copy of the database; it is in the table log_heads")
    }
    return signed
  }

  package func queue() async throws -> LogState.Queue? {
    try await ledger.read { [log] in try $0.logHead(named: log) }?.pending.map {
      try LogState.Queue($0, name: "what comes next in \(log), in the store")
    }
  }

  package func commit(
    _ signed: LogState.Signed, over seen: LogState.Signed?, by log: NoteVerifier
  ) async throws {
    try await ledger.moveLog(
      named: self.log, from: seen.map(LogHead.Tree.init),
      to: LogHead(LogHead.Tree(signed), key: "\(log)", signed: signed.bytes))
  }

  package func commit(_ queue: LogState.Queue, behind seen: LogState.Signed, by log: NoteVerifier) async throws {
    let tree = LogHead.Tree(seen)
    try await ledger.moveLog(
      named: self.log, from: tree, to: LogHead(tree, key: "\(log)", signed: seen.bytes, pending: queue.bytes))
  }

  /// It went with the checkpoint that has it.
  package func removeQueue() {}

  private func head(by log: NoteVerifier) async throws -> LogHead? {
    guard let head = try await ledger.read({ [name = self.log] in try $0.logHead(named: name) }) else { return nil }
    guard head.key == "\(log)" else {
      throw LogFault(
        .badState,
        "\(keys.placeOfLogKey) is not the key of this log: the store has \(head.key), and this one is \(log)",
        hint: "each replica has a copy of the log.key that keyferry log init made")
    }
    return head
  }
}

extension LogHead.Tree {
  init(_ signed: LogState.Signed) {
    self.init(size: Int64(signed.checkpoint.size), root: signed.checkpoint.root.base64)
  }
}
