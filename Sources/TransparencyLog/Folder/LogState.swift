internal import Glibc

/// What a log knows of itself, where nobody else sees it: the newest checkpoint that it has signed, and the entries that it was
/// given since.
///
/// What was signed is the truth: a checkpoint is kept there, safe from any crash, before anybody is shown it. The queue has the
/// entries that come next, so that whoever starts again makes the same files of them.
package protocol LogStatePlace: Sendable {
  /// For messages.
  var name: String { get }
  /// The folder of this machine that has the private keys.
  var keys: LogFolder { get }

  /// Keeps others from writing this log at the same time, for as long as what is returned is there; `nil` where whatever is
  /// written is refused instead, once another one has taken the log.
  func takeLock() throws -> LogLock?
  /// The newest checkpoint; `nil` where there is none.
  func signed(by log: NoteVerifier) async throws -> LogState.Signed?
  /// Keeps a checkpoint in place of the one that was seen.
  ///
  /// - Throws: where another one stands there by now.
  func commit(_ signed: LogState.Signed, over seen: LogState.Signed?, by log: NoteVerifier) async throws
  func queue() async throws -> LogState.Queue?
  func commit(_ queue: LogState.Queue, behind seen: LogState.Signed, by log: NoteVerifier) async throws
  /// What was queued is in the log, and shown.
  func removeQueue() async throws
}

/// A lock on a file. It is given back when nobody has it any more.
package final class LogLock: Sendable {
  private let descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }
}

/// How checkpoints and queues are written down.
package enum LogState {
  static let keyFile = "log.key"
  static let signedFile = "signed"
  static let queueFile = "queue"
  static let lockFile = "lock"
  static let signedLimit = SignedNote.byteLimit + 4096
  static let queueLimit = 1 << 30

  /// A checkpoint that was committed.
  package struct Signed: Hashable, Sendable {
    package var checkpoint: SignedCheckpoint
    /// What the log's owner had handed over by then, in words of its own.
    package var cursor: String

    package var bytes: [UInt8] { Array("keyferry log state 1\ncursor \(cursor)\n\n".utf8) + checkpoint.bytes }

    package init(checkpoint: SignedCheckpoint, cursor: String) {
      self.checkpoint = checkpoint
      self.cursor = cursor
    }

    package init(_ bytes: [UInt8], by log: NoteVerifier, name: String) throws {
      let (lines, rest) = try LogState.head(of: bytes, name: name)
      guard lines.count == 2, lines[0] == "keyferry log state 1", lines[1].hasPrefix("cursor ") else {
        throw LogFault(.badState, "\(name): it does not begin with \"keyferry log state 1\" and a cursor")
      }
      cursor = String(lines[1].dropFirst(7))
      checkpoint = try SignedCheckpoint(rest, by: log, name: name)
    }
  }

  /// Entries that come next.
  package struct Queue: Hashable, Sendable {
    /// The tree that they are appended to.
    package var size: Int
    package var root: TreeHash
    package var cursor: String
    package var entries: [[UInt8]]

    package var bytes: [UInt8] {
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

    package init(_ bytes: [UInt8], name: String) throws {
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
}

/// In a folder of this machine: `signed`, `queue`, `log.key`, and a lock of one process.
extension LogFolder: LogStatePlace {
  package var keys: LogFolder { self }

  /// A tenth of a second.
  private static let lockAttempts = 20

  package func takeLock() throws -> LogLock? {
    let place = "\(path)/\(LogState.lockFile)"
    guard access(path, F_OK) == 0 else {
      throw LogFault(.badState, "\(path) is no folder of a log", hint: LogWriter.lostKey)
    }
    let lock = Glibc.open(place, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0 else { throw LogFolder.fault("open", place) }
    for attempt in 0..<Self.lockAttempts {
      if flock(lock, LOCK_EX | LOCK_NB) == 0 { return LogLock(lock) }
      // A child that this process has just begun holds what was given back, until it is another program.
      if attempt + 1 < Self.lockAttempts { usleep(5000) }
    }
    close(lock)
    throw LogFault(.inUse, "\(path): another process writes this log")
  }

  package func signed(by log: NoteVerifier) throws -> LogState.Signed? {
    try bytes(of: LogState.signedFile, limit: LogState.signedLimit).map {
      try LogState.Signed($0, by: log, name: "\(path)/\(LogState.signedFile)")
    }
  }

  package func commit(_ signed: LogState.Signed, over seen: LogState.Signed?, by log: NoteVerifier) throws {
    try put([(LogState.signedFile, signed.bytes)], replacing: true, permissions: 0o600)
  }

  package func queue() throws -> LogState.Queue? {
    try bytes(of: LogState.queueFile, limit: LogState.queueLimit).map {
      try LogState.Queue($0, name: "\(path)/\(LogState.queueFile)")
    }
  }

  package func commit(_ queue: LogState.Queue, behind seen: LogState.Signed, by log: NoteVerifier) throws {
    try put([(LogState.queueFile, queue.bytes)], replacing: true, permissions: 0o600)
  }

  package func removeQueue() throws { try remove(LogState.queueFile) }
}
