package import ExposureKeys

/// What a store keeps of a public log that several gateways write in turn: the newest checkpoint that was signed, and what
/// comes next.
///
/// It only goes forward, and only from where it was seen: so no size has two checkpoints, whoever believes to be the only one
/// that signs. A store in a database has constraints that say the same.
package struct LogHead: Hashable, Sendable {
  /// The tree of the newest checkpoint.
  package struct Tree: Hashable, Sendable {
    package let size: Int64
    /// In base64, as checkpoints have it.
    package let root: String

    package init(size: Int64, root: String) { (self.size, self.root) = (size, root) }
  }

  package var tree: Tree
  /// The public key by which it is signed. It never changes.
  package var key: String
  /// The checkpoint, in the words of who signs.
  package var signed: [UInt8]
  /// The entries that come next, likewise; `nil` where nothing is under way.
  package var pending: [UInt8]?

  package init(_ tree: Tree, key: String, signed: [UInt8], pending: [UInt8]? = nil) {
    (self.tree, self.key, self.signed, self.pending) = (tree, key, signed, pending)
  }

  /// - Parameters:
  ///   - seen: the tree that whoever moves it has read; `nil` where there was no log.
  ///   - present: what there is.
  /// - Throws: ``StorageFault`` `conflict` where it must not follow, and then nothing is changed.
  package func check(follows seen: Tree?, present: LogHead?, named name: String) throws {
    func fault(_ reason: String) -> StorageFault {
      StorageFault(.conflict, "the log \(name): \(reason); nothing was changed")
    }
    guard tree.size >= 0 else { throw fault("\(tree.size) entries, allowed are 0 and more") }
    guard seen == present?.tree else {
      let now = present.map { "\($0.tree.size) entries" } ?? "no head"
      throw fault("somebody else has moved it: it has \(now) now, and \(seen?.size ?? 0) were seen")
    }
    guard let present else { return }
    guard key == present.key else { throw fault("it is signed by \(present.key), and not by \(key)") }
    guard tree != present.tree else {
      // More signatures under the same tree, or what comes next, which is said once and is not taken back.
      guard present.pending == nil || pending == present.pending else {
        throw fault("other entries are under way behind its \(tree.size) already")
      }
      return
    }
    guard tree.size > present.tree.size else {
      throw fault("it has \(present.tree.size) entries, and a checkpoint of \(tree.size) would be a fork")
    }
  }
}

extension Ledger {
  /// Moves what the store knows of a log forward, from the tree that was seen; see ``LogHead``. It is no event: nobody but the
  /// log itself tells of it.
  ///
  /// - Throws: ``StorageFault`` `conflict` where somebody else was first, `fenced` where the log is another replica's work now.
  package func moveLog(named name: String, from seen: LogHead.Tree?, to head: LogHead) async throws {
    // Without an event nothing has a time.
    try await transact(.logged, at: Instant(secondsSince1970: 0)) { page in
      try page.transaction.moveLog(named: name, from: seen, to: head)
    }
  }

  /// Puts entries behind all that wait for the log: what it should have had already, and has not.
  ///
  /// - Parameter kind: what they are in the queue.
  package func queueForLog(_ entries: [[UInt8]], kind: String, at now: Instant) async throws {
    if entries.isEmpty { return }
    try await transact(.logged, at: now) { page in
      let stamp = try page.open(.logged, about: "\(entries.count) entries are still to come")
      for entry in entries { try page.transaction.enqueue(entry, kind: kind, event: stamp.id) }
    }
  }
}
