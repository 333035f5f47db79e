/// What a log says of itself: which log, how many entries, and the root over them.
///
/// Source: C2SP tlog-checkpoint. Lines behind these three are allowed there and not recommended; programs disagree about
/// who signs them, so none are written here and none are read.
package struct Checkpoint: Hashable, Sendable {
  /// The name of the log, which is also the name of its key.
  package let origin: String
  /// 0...``RightEdge/sizeLimit``.
  package let size: Int
  package let root: TreeHash

  package init(origin: String, size: Int, root: TreeHash) {
    self.origin = origin
    self.size = size
    self.root = root
  }

  /// Three lines.
  package var text: String { "\(origin)\n\(size)\n\(root.base64)\n" }

  /// - Parameter name: for messages.
  /// - Throws: ``LogFault`` `bad-checkpoint`.
  package init(text: String, name: String) throws {
    func fault(_ reason: String) -> LogFault { LogFault(.badCheckpoint, "\(name): \(reason)") }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    guard lines.count == 3 else {
      throw fault("a checkpoint has three lines (log, size, root), this has \(lines.count)")
    }
    guard KeyName.isValid(lines[0]) else { throw fault("line 1 is \(quoted(lines[0])), which is no name of a log") }
    guard let size = DecimalText.decode(lines[1], limit: RightEdge.sizeLimit) else {
      throw fault("line 2, the size, is \(quoted(lines[1])), allowed is 0...\(RightEdge.sizeLimit) in plain digits")
    }
    guard let root = TreeHash(base64: lines[2]) else {
      throw fault("line 3, the root, is \(quoted(lines[2])), allowed are 32 bytes in base64")
    }
    guard size > 0 || root == .empty else { throw fault("the size is 0, but the root is not that of an empty tree") }
    self.init(origin: String(lines[0]), size: size, root: root)
  }
}

/// A checkpoint with the signatures under it, of which at least the log's own was verified.
package struct SignedCheckpoint: Hashable, Sendable {
  package let checkpoint: Checkpoint
  package let note: SignedNote

  package var size: Int { checkpoint.size }
  package var root: TreeHash { checkpoint.root }
  package var bytes: [UInt8] { note.bytes }

  /// Signs a checkpoint.
  ///
  /// - Parameter signer: whose name is the origin.
  package init(_ checkpoint: Checkpoint, signer: NoteSigner) throws {
    self.checkpoint = checkpoint
    note = SignedNote(text: checkpoint.text, signatures: [try signer.sign(checkpoint.text)])
  }

  /// Reads a checkpoint and verifies it.
  ///
  /// - Parameter name: for messages.
  /// - Throws: ``LogFault`` `bad-note`, `bad-checkpoint`, `other-origin`, `not-signed` and `bad-signature`.
  package init(_ bytes: [UInt8], by log: NoteVerifier, name: String) throws {
    let note = try SignedNote(bytes, name: name)
    // A wrong signature by a key that we know is worse than what the text says.
    guard try log.hasSigned(note) else {
      let names = note.signatures.prefix(8).map { "\($0.name) (key \($0.keyID.hexadecimal))" }
      throw LogFault(
        .notSigned,
        "\(name): it is not signed by \(log.name) (key \(log.keyID.hexadecimal)), but by \(names.joined(separator: ", "))"
      )
    }
    let checkpoint = try Checkpoint(text: note.text, name: name)
    guard checkpoint.origin == log.name else {
      throw LogFault(.otherOrigin, "\(name): a checkpoint of \(checkpoint.origin), not of \(log.name)")
    }
    (self.checkpoint, self.note) = (checkpoint, note)
  }

  /// Verifies that this checkpoint extends an older one of the same log, of which nothing but the checkpoint is needed.
  ///
  /// - Parameter reader: the tree of this checkpoint.
  /// - Throws: ``LogFault`` `went-back`, `fork`, `bad-tile` where the tiles are not those of this checkpoint, or what reading
  ///   throws.
  package func verifyExtends(_ old: SignedCheckpoint, by reader: TreeReader) async throws {
    guard old.size <= size else {
      throw LogFault(.wentBack, "\(reader.source.name): the log has \(size) entries and had \(old.size) before")
    }
    let proof = old.size == size ? [] : try await reader.consistency(from: old.size)
    guard TreeProof.isConsistent(from: old.size, root: old.root, to: size, root: root, proof: proof) else {
      // It is a fork where the tiles show that this tree begins with another one; tiles that show nothing were changed.
      if old.size < size {
        let shown = try await reader.edge(of: old.size).root
        guard shown != old.root, TreeProof.isConsistent(from: old.size, root: shown, to: size, root: root, proof: proof)
        else {
          throw LogFault(
            .badTile,
            """
            \(reader.source.name): the tiles do not lead to the root \(root.base64) of size \(size), so nobody can see whether \
            it begins with size \(old.size): one of them was changed
            """)
        }
      }
      throw LogFault(
        .fork,
        """
        \(reader.source.name): a fork: the log of size \(size) with the root \(root.base64) does not begin with the one \
        of size \(old.size) with the root \(old.root.base64)
        """, hint: "keep both checkpoints: they prove it")
    }
  }
}
