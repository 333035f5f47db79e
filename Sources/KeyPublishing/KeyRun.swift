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
  var part = 0
  var parts = 1

  func read(_ body: (NumberedKey) throws -> Void) throws {
    if parts == 1 { return try run.read(body) }
    var place = 0
    try run.read { record in
      if place % parts == part { try body(record) }
      place += 1
    }
  }
}

/// Keys in a temporary file without a name.
///
/// One owner appends, before it is shared; then it is only read, at given places, from any thread.
final class KeySpool: @unchecked Sendable {
  private let file: SpoolFile
  private static let stride = MemoryLayout<NumberedKey>.stride

  init() throws { file = try SpoolFile() }

  var count: Int { file.byteCount / Self.stride }

  func append(_ keys: [NumberedKey]) throws { try keys.withUnsafeBytes { try file.write($0) } }

  /// Reads keys from place `start` on into `room`, and says how many: fewer only at the end.
  func read(at start: Int, into room: UnsafeMutableBufferPointer<NumberedKey>) throws -> Int {
    let bytes = UnsafeMutableRawBufferPointer(room)
    var filled = 0
    while filled < bytes.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[filled...])
      let count = try file.read(at: start * Self.stride + filled, into: rest)
      if count == 0 { break }
      filled += count
    }
    return filled / Self.stride
  }

  func forEachPiece(_ body: (UnsafeBufferPointer<NumberedKey>) throws -> Void) throws {
    let room = UnsafeMutableBufferPointer<NumberedKey>.allocate(capacity: 1 << 12)
    defer { room.deallocate() }
    var place = 0
    while place < count {
      let read = try read(at: place, into: room)
      guard read > 0 else { throw FileFault("read", "temporary file", reason: "it ends early") }
      try body(UnsafeBufferPointer(rebasing: room[..<read]))
      place += read
    }
  }
}
