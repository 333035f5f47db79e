/// What a log knows of itself, in a folder that nobody else sees: the newest checkpoint that it has signed, and the entries
/// that it was given since.
///
/// `signed` is the truth: a checkpoint is in it, synced, before anybody is shown it. `queue` has the entries that come
/// next, so that whoever starts again makes the same files of them. `log.key` is the private key.
struct LogState {
  static let keyFile = "log.key"
  static let signedFile = "signed"
  static let queueFile = "queue"
  static let lockFile = "lock"
  static let signedLimit = SignedNote.byteLimit + 4096
  private static let queueLimit = 1 << 30

  /// A checkpoint that was committed.
  struct Signed: Equatable {
    var checkpoint: SignedCheckpoint
    /// What the log's owner had handed over by then, in words of its own.
    var cursor: String

    var bytes: [UInt8] { Array("keyferry log state 1\ncursor \(cursor)\n\n".utf8) + checkpoint.bytes }

    init(checkpoint: SignedCheckpoint, cursor: String) {
      self.checkpoint = checkpoint
      self.cursor = cursor
    }

    init(_ bytes: [UInt8], by log: NoteVerifier, name: String) throws {
      let (lines, rest) = try LogState.head(of: bytes, name: name)
      guard lines.count == 2, lines[0] == "keyferry log state 1", lines[1].hasPrefix("cursor ") else {
        throw LogFault(.badState, "\(name): it does not begin with \"keyferry log state 1\" and a cursor")
      }
      cursor = String(lines[1].dropFirst(7))
      checkpoint = try SignedCheckpoint(rest, by: log, name: name)
    }
  }

  /// Entries that come next.
  struct Queue: Equatable {
    /// The tree that they are appended to.
    var size: Int
    var root: TreeHash
    var cursor: String
    var entries: [[UInt8]]

    var bytes: [UInt8] {
      let content = EntryBundle.encode(entries)
      let head = """
        keyferry log queue 1
        size \(size)
        root \(root.base64)
        cursor \(cursor)
        count \(entries.count)
        sum \(TreeHash.leaf(content).base64)


        """
      return Array(head.utf8) + content
    }

    init(size: Int, root: TreeHash, cursor: String, entries: [[UInt8]]) {
      self.size = size
      self.root = root
      self.cursor = cursor
      self.entries = entries
    }

    init(_ bytes: [UInt8], name: String) throws {
      let (lines, content) = try LogState.head(of: bytes, name: name)
      func member(_ index: Int, _ label: String) -> Substring? {
        guard lines.count == 6, lines[0] == "keyferry log queue 1", lines[index].hasPrefix(label + " ") else {
          return nil
        }
        return lines[index].dropFirst(label.utf8.count + 1)
      }
      guard let size = member(1, "size").flatMap({ DecimalText.decode($0, limit: RightEdge.sizeLimit) }),
        let root = member(2, "root").flatMap({ TreeHash(base64: $0) }), let cursor = member(3, "cursor"),
        let count = member(4, "count").flatMap({ DecimalText.decode($0, limit: LogWriter.entriesAtOnce) }),
        member(5, "sum").flatMap({ TreeHash(base64: $0) }) == .leaf(content)
      else { throw LogFault(.badState, "\(name): it is damaged, or no queue of a log") }
      (self.size, self.root, self.cursor) = (size, root, String(cursor))
      entries = try EntryBundle.places(in: content, count: count, name: name).map { Array(content[$0]) }
    }
  }

  /// The lines before the first empty one, and what follows it.
  private static func head(of bytes: [UInt8], name: String) throws -> ([Substring], [UInt8]) {
    let end = bytes.indices.prefix(4096).dropFirst().first { bytes[$0] == 0x0a && bytes[$0 - 1] == 0x0a }
    guard let end, let text = String(validating: bytes[..<end], as: UTF8.self) else {
      throw LogFault(.badState, "\(name): it is damaged: its first lines have no end")
    }
    return (text.split(separator: "\n"), Array(bytes[(end + 1)...]))
  }

  let folder: LogFolder

  func signed(by log: NoteVerifier) throws -> Signed? {
    try folder.bytes(of: Self.signedFile, limit: Self.signedLimit).map {
      try Signed($0, by: log, name: "\(folder.path)/\(Self.signedFile)")
    }
  }

  func commit(_ signed: Signed) throws {
    try folder.put([(Self.signedFile, signed.bytes)], replacing: true, permissions: 0o600)
  }

  func queue() throws -> Queue? {
    try folder.bytes(of: Self.queueFile, limit: Self.queueLimit).map {
      try Queue($0, name: "\(folder.path)/\(Self.queueFile)")
    }
  }

  func commit(_ queue: Queue) throws {
    try folder.put([(Self.queueFile, queue.bytes)], replacing: true, permissions: 0o600)
  }

  func removeQueue() throws { try folder.remove(Self.queueFile) }
}
