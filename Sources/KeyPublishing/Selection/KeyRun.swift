internal import ExposureKeys
internal import KeyIntake
internal import KeyNormalization

/// A key with a number beside it, as it is kept outside of memory: which bundle said it, or whose opinions publish it.
/// 52 bytes.
struct NumberedKey: BitwiseCopyable, Sendable {
  var key: ClaimedKey
  var number: UInt32
}

/// Any number of keys, one after the other: in memory while they are few, beyond that in a temporary file without a name, so
/// that a window of millions takes no more memory than one of thousands. They are read as often as they are needed.
///
/// A run is filled by one owner and not changed once it was copied: copies share the file.
struct KeyRun: Sendable {
  private(set) var count = 0
  private(set) var revisedCount = 0
  /// How often the most frequent key data stands there in a row.
  private(set) var multiplicity = 0
  private var repetitions = 0
  private var lastKey: TemporaryExposureKey?
  /// The last ones, which are not in the file.
  private var back: [NumberedKey] = []
  private var spool: KeySpool?

  /// Keys in memory at most.
  private static let capacity = 1 << 13

  init() {}

  /// Keys that are in memory anyway.
  init(_ keys: [ClaimedKey]) {
    back.reserveCapacity(keys.count)
    for key in keys {
      count(key)
      back.append(NumberedKey(key: key, number: 0))
    }
  }

  var isEmpty: Bool { count == 0 }

  /// - Throws: ``FileFault``.
  mutating func append(_ key: ClaimedKey, number: UInt32 = 0) throws {
    if back.count >= Self.capacity {
      let spool = try self.spool ?? KeySpool()
      try spool.append(back)
      self.spool = spool
      back.removeAll(keepingCapacity: true)
    }
    count(key)
    back.append(NumberedKey(key: key, number: number))
  }

  /// Adds a key unless the last one has the same key data: devices want it once in a file, and of those that stand under
  /// several starts it is the first.
  mutating func appendOnce(_ key: ClaimedKey) throws {
    if lastKey != key.key { try append(key) }
  }

  private mutating func count(_ key: ClaimedKey) {
    count += 1
    if key.isRevised { revisedCount += 1 }
    repetitions = lastKey == key.key ? repetitions + 1 : 1
    multiplicity = max(multiplicity, repetitions)
    lastKey = key.key
  }

  /// Hands the keys over in their order, some thousand at a time.
  func forEachPiece(_ body: (UnsafeBufferPointer<NumberedKey>) throws -> Void) throws {
    try spool?.forEachPiece(body)
    if !back.isEmpty { try back.withUnsafeBufferPointer(body) }
  }

  func read(_ body: (NumberedKey) throws -> Void) throws {
    try forEachPiece { for record in $0 { try body(record) } }
  }

  /// Hands over every `step`-th key, from place `first` on.
  func read(every step: Int, from first: Int, _ body: (NumberedKey) throws -> Void) throws {
    guard spool != nil else {
      for place in stride(from: first, to: back.count, by: step) { try body(back[place]) }
      return
    }
    var place = 0
    try read { record in
      if place % step == first { try body(record) }
      place += 1
    }
  }

  /// Dealt out like cards among so many shares. The run is read once for all of them.
  ///
  /// - Throws: ``FileFault``.
  func dealt(among parts: Int) throws -> [KeyShare] {
    guard parts > 1, spool != nil else {
      return (0..<parts).map { KeyShare(run: self, part: $0, parts: parts) }
    }
    let hands = DealtKeys(parts)
    var place = 0
    try read { record in
      try hands.deal(record, to: place % parts)
      place += 1
    }
    return (0..<parts).map { KeyShare(run: self, part: $0, parts: parts, hands: hands) }
  }

  /// The same keys, none of them in memory: they lie behind those of other runs.
  ///
  /// - Throws: ``FileFault``.
  func kept(on shelf: KeyRunFile) throws -> KeyRun {
    if isEmpty { return self }
    let spool = try shelf.newSpool()
    try forEachPiece { try spool.append($0) }
    var kept = self
    kept.back = []
    kept.spool = spool
    return kept
  }

  /// All of them in memory: for runs that are known to be short.
  func keys() throws -> [ClaimedKey] {
    var keys: [ClaimedKey] = []
    keys.reserveCapacity(count)
    try read { keys.append($0.key) }
    return keys
  }
}

/// Every `parts`-th key of a run, from `part` on: what one of several bundles holds.
struct KeyShare: Sendable {
  let run: KeyRun
  let part: Int
  let parts: Int
  /// Where the shares of all parts lie; `nil` where the run is read for each.
  private let hands: DealtKeys?

  init(run: KeyRun, part: Int = 0, parts: Int = 1, hands: DealtKeys? = nil) {
    self.run = run
    self.part = part
    self.parts = parts
    self.hands = hands
  }

  func read(_ body: (NumberedKey) throws -> Void) throws {
    if parts == 1 { return try run.read(body) }
    guard let hands else { return try run.read(every: parts, from: part, body) }
    try hands.read(part, body)
  }
}

/// Keys that are dealt out to many hands, each of which keeps them in the order in which it got them: one temporary file without
/// a name, and some thousand keys in memory.
///
/// One owner deals, before it is shared; then it is only read, from any thread.
final class DealtKeys: @unchecked Sendable {
  private struct Hand {
    /// Those that are not in the file yet.
    var waiting: [NumberedKey] = []
    /// The places in the file where its pieces begin.
    var pieces: [Int] = []
  }

  private var hands: [Hand]
  private let pieceSize: Int
  private var spool: KeySpool?

  /// Keys in memory at most.
  private static let capacity = 1 << 14

  init(_ count: Int) {
    hands = Array(repeating: Hand(), count: count)
    pieceSize = max(1, Self.capacity / max(1, count))
  }

  /// - Throws: ``FileFault``.
  func deal(_ key: NumberedKey, to hand: Int) throws {
    hands[hand].waiting.append(key)
    guard hands[hand].waiting.count == pieceSize else { return }
    let spool = try self.spool ?? KeySpool()
    self.spool = spool
    hands[hand].pieces.append(spool.count)
    try hands[hand].waiting.withUnsafeBufferPointer { try spool.append($0) }
    hands[hand].waiting.removeAll(keepingCapacity: true)
  }

  func read(_ hand: Int, _ body: (NumberedKey) throws -> Void) throws {
    if let spool {
      let room = UnsafeMutableBufferPointer<NumberedKey>.allocate(capacity: pieceSize)
      defer { room.deallocate() }
      for start in hands[hand].pieces {
        guard try spool.read(at: start, into: room) == pieceSize else { throw KeySpool.endsEarly }
        for key in room { try body(key) }
      }
    }
    for key in hands[hand].waiting { try body(key) }
  }
}

/// One temporary file without a name for many runs of keys, one behind the other.
///
/// One owner adds runs; each is whole before the next begins.
final class KeyRunFile {
  private var file: SpoolFile?

  fileprivate func newSpool() throws -> KeySpool {
    let file = try self.file ?? SpoolFile()
    self.file = file
    return KeySpool(behind: file)
  }
}

/// Keys in a temporary file without a name.
///
/// One owner appends, before it is shared; then it is only read, at given places, from any thread.
final class KeySpool: @unchecked Sendable {
  private let file: SpoolFile
  /// The byte of the file where it begins.
  private let start: Int
  private(set) var count = 0
  private static let stride = MemoryLayout<NumberedKey>.stride

  init() throws {
    file = try SpoolFile()
    start = 0
  }

  /// Behind everything that the file has.
  fileprivate init(behind file: SpoolFile) {
    self.file = file
    start = file.byteCount
  }

  func append(_ keys: [NumberedKey]) throws { try keys.withUnsafeBufferPointer { try append($0) } }

  func append(_ keys: UnsafeBufferPointer<NumberedKey>) throws {
    try file.write(UnsafeRawBufferPointer(keys))
    count += keys.count
  }

  /// Reads keys from a place on into `room`, and says how many: fewer only at the end.
  func read(at place: Int, into room: UnsafeMutableBufferPointer<NumberedKey>) throws -> Int {
    let bytes = UnsafeMutableRawBufferPointer(
      rebasing: UnsafeMutableRawBufferPointer(room)[
        ..<(max(0, min(room.count, count - place)) * Self.stride)])
    var filled = 0
    while filled < bytes.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[filled...])
      let count = try file.read(at: start + place * Self.stride + filled, into: rest)
      if count == 0 { break }
      filled += count
    }
    return filled / Self.stride
  }

  static var endsEarly: FileFault { FileFault("read", "temporary file", reason: "it ends early") }

  func forEachPiece(_ body: (UnsafeBufferPointer<NumberedKey>) throws -> Void) throws {
    let room = UnsafeMutableBufferPointer<NumberedKey>.allocate(capacity: 1 << 12)
    defer { room.deallocate() }
    var place = 0
    while place < count {
      let read = try read(at: place, into: room)
      guard read > 0 else { throw Self.endsEarly }
      try body(UnsafeBufferPointer(rebasing: room[..<read]))
      place += read
    }
  }
}
