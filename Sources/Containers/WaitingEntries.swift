internal import KeyFormats
internal import KeyIntake

/// The entries of a tar that wait for the signature beside them: `export.bin` and `export.sig` stand in any order. What
/// comes behind one that waits waits, too, so that the order stays; where another folder begins, nothing waits any more.
struct WaitingEntries {
  struct Entry {
    let name: String
    var source: any SeekableSource
    var signatureFile: [UInt8]?
    fileprivate var isWaiting: Bool
  }

  private var folder = ""
  /// In their order; `nil` where one was handed over, or was the signature of another.
  private var entries: [Entry?] = []
  /// How many were taken away in front of `entries`, and how many of `entries` are handed over.
  private var (past, head) = (0, 0)
  /// The places of those that wait for another one, counted with what is past: none is looked for in vain.
  private var waiting: [String: Int] = [:]
  /// Bytes of those that are held in memory.
  private var heldBytes = 0
  private var spool: SpoolFile?

  /// More than this goes into a file.
  private static let memory = 32 << 20

  /// - Returns: the entries that wait no more, in their order.
  mutating func add(_ name: String, _ source: any SeekableSource, signatureLimit: Int) throws -> [Entry] {
    var ready: [Entry] = []
    let folder = name.lastIndex(of: "/").map { String(name[..<$0]) } ?? ""
    if folder != self.folder, !folder.hasPrefix(self.folder + "/") {
      ready = finish()
      self.folder = folder
    }
    let stem = String(name.dropLast(3))
    if name.hasSuffix(".sig"), let place = waiting.removeValue(forKey: stem + "bin") {
      entries[place - past]?.signatureFile = try Self.signature(source, name, limit: signatureLimit)
      entries[place - past]?.isWaiting = false
      return ready + takeReady()
    }
    if name.hasSuffix(".bin"), let place = waiting.removeValue(forKey: stem + "sig") {
      let signature = try entries[place - past].map { try Self.signature($0.source, name, limit: signatureLimit) }
      entries[place - past] = nil
      entries.append(Entry(name: name, source: source, signatureFile: signature, isWaiting: false))
      return ready + takeReady()
    }
    let isWaiting = name.hasSuffix(".bin") || name.hasSuffix(".sig")
    entries.append(Entry(name: name, source: source, isWaiting: isWaiting))
    if isWaiting { waiting[name] = past + entries.count - 1 }
    ready += takeReady()
    if !entries.isEmpty { try holdLast() }
    return ready
  }

  /// All that wait still.
  mutating func finish() -> [Entry] {
    let rest = entries[head...].compactMap(\.self)
    entries = []
    (past, head) = (0, 0)
    waiting = [:]
    heldBytes = 0
    spool = nil
    return rest
  }

  private mutating func takeReady() -> [Entry] {
    var ready: [Entry] = []
    while head < entries.count, entries[head]?.isWaiting != true {
      if let entry = entries[head] { ready.append(entry) }
      entries[head] = nil
      head += 1
    }
    if head == entries.count {
      _ = finish()
    } else if head > entries.count / 2 {
      entries.removeFirst(head)
      (past, head) = (past + head, 0)
    }
    return ready
  }

  /// Puts the content of the entry that came last into the file of all that wait, where memory holds enough or it has a file
  /// of its own: many of these must not be open at once.
  private mutating func holdLast() throws {
    guard let source = entries.last??.source, !(source is SpoolPart) else { return }
    if source is MemorySource, heldBytes + source.byteCount <= Self.memory {
      heldBytes += source.byteCount
      return
    }
    let spool = try self.spool ?? SpoolFile()
    self.spool = spool
    let start = spool.byteCount
    let content = SequentialSource(source)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 16)
    defer { buffer.deallocate() }
    while case let count = try content.read(into: buffer), count > 0 {
      try spool.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    entries[entries.count - 1]?.source = SpoolPart(spool, start..<spool.byteCount)
  }

  private static func signature(_ source: any SeekableSource, _ name: String, limit: Int) throws -> [UInt8] {
    do {
      return try SequentialSource(source).readAll(limit: limit)
    } catch let error as FormatError {
      throw error.within(name)
    }
  }
}

/// An entry has more bytes than are read of one. The archive around it may be sound.
struct OversizeContent: Error {
  let limit: Int

  func fault(in name: String) -> FormatError {
    let signature =
      name.hasSuffix(".sig") ? ", the most of a file of signatures" : " (--max-bytes says how many are read)"
    return FormatError(.limitExceeded, place: name, "it has more than \(limit) bytes\(signature)")
  }
}

/// Content that was read to its end: in memory, or in a file without a name when it is large.
enum SpooledContent {
  private static let memory = 4 << 20

  static func read(_ content: any ByteSource, limit: Int) throws -> any SeekableSource {
    var front: [UInt8] = []
    var spool: SpoolFile?
    var total = 0
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 16)
    defer { buffer.deallocate() }
    while case let count = try content.read(into: buffer), count > 0 {
      total += count
      guard total <= limit else {
        throw OversizeContent(limit: limit)
      }
      let piece = UnsafeRawBufferPointer(rebasing: buffer[..<count])
      if let spool {
        try spool.write(piece)
        continue
      }
      front.append(contentsOf: piece)
      if front.count > memory {
        let file = try SpoolFile()
        try file.write(front)
        front = []
        spool = file
      }
    }
    return spool ?? MemorySource(front)
  }
}
