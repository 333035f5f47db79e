internal import ExposureKeys
internal import KeyIntake
internal import KeyNormalization

/// Brings any number of keys into the order of their subjects, those of one subject into that of their numbers. Some
/// thousand are in memory at once; beyond that, sorted stretches go into a temporary file and are merged.
struct KeySorter: ~Copyable {
  private var keys: [NumberedKey] = []
  private var spool: KeySpool?
  /// Where the sorted stretches end in the file.
  private var ends: [Int] = []
  private var last: NumberedKey?

  /// Keys in memory at most.
  private let capacity: Int

  init(capacity: Int = 1 << 16) { self.capacity = capacity }

  /// - Throws: ``FileFault``.
  mutating func add(_ key: ClaimedKey, number: UInt32 = 0) throws {
    if keys.count >= capacity { try spill() }
    keys.append(NumberedKey(key: key, number: number))
  }

  mutating func add(_ run: KeyRun, number: UInt32) throws {
    try run.read { try add($0.key, number: number) }
  }

  mutating func add(_ share: KeyShare, number: UInt32) throws {
    try share.read { try add($0.key, number: number) }
  }

  private static func precedes(_ left: NumberedKey, _ right: NumberedKey) -> Bool {
    if left.key.key != right.key.key { return left.key.key < right.key.key }
    if left.key.rollingStartWord != right.key.rollingStartWord {
      return left.key.rollingStartWord < right.key.rollingStartWord
    }
    return left.number < right.number
  }

  /// Most come in order.
  private mutating func sort() {
    guard keys.indices.dropFirst().contains(where: { Self.precedes(keys[$0], keys[$0 - 1]) }) else { return }
    keys.sort(by: Self.precedes)
  }

  private mutating func spill() throws {
    sort()
    let spool = try self.spool ?? KeySpool()
    self.spool = spool
    try spool.append(keys)
    // What goes on where the last stretch ended lengthens it.
    if let first = keys.first, let last, !ends.isEmpty, !Self.precedes(first, last) { ends.removeLast() }
    ends.append(spool.count)
    last = keys.last
    keys.removeAll(keepingCapacity: true)
  }

  /// Hands everything over in order. Nothing is left behind.
  ///
  /// - Throws: ``FileFault``, or what `body` throws.
  mutating func drain(_ body: (NumberedKey) throws -> Void) throws {
    defer { self = KeySorter(capacity: capacity) }
    guard spool != nil else {
      sort()
      for key in keys { try body(key) }
      return
    }
    if !keys.isEmpty { try spill() }
    keys = []
    guard let spool else { return }
    var stretches: [Stretch] = []
    var start = 0
    for end in ends {
      if let stretch = try Stretch(of: spool, start..<end) { stretches.append(stretch) }
      start = end
    }
    try Self.merge(&stretches, body)
  }

  /// A heap of the stretches by what each has next; of equals the one that came first.
  private static func merge(_ stretches: inout [Stretch], _ body: (NumberedKey) throws -> Void) throws {
    func isBefore(_ left: Int, _ right: Int) -> Bool {
      let (first, second) = (stretches[left].next, stretches[right].next)
      if precedes(first, second) { return true }
      return precedes(second, first) ? false : left < right
    }
    var heap = Array(stretches.indices)
    func sink(_ start: Int) {
      var place = start
      while true {
        var least = place
        for child in [2 * place + 1, 2 * place + 2] where child < heap.count && isBefore(heap[child], heap[least]) {
          least = child
        }
        if least == place { return }
        heap.swapAt(place, least)
        place = least
      }
    }
    for place in heap.indices.reversed() { sink(place) }
    while let top = heap.first {
      try body(stretches[top].next)
      if try !stretches[top].advance() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
      }
      sink(0)
    }
  }

  /// A sorted part of the file that is read from front to back, a piece at a time.
  private struct Stretch {
    private let spool: KeySpool
    private var rest: Range<Int>
    private var piece: [NumberedKey] = []
    private var position = 0

    private static let pieceSize = 1 << 10

    /// `nil` where it is empty.
    init?(of spool: KeySpool, _ range: Range<Int>) throws {
      self.spool = spool
      rest = range
      guard try fill() else { return nil }
    }

    var next: NumberedKey { piece[position] }

    /// - Returns: whether there is another key.
    mutating func advance() throws -> Bool {
      position += 1
      return try position < piece.count || fill()
    }

    private mutating func fill() throws -> Bool {
      let count = min(Self.pieceSize, rest.count)
      if count == 0 { return false }
      let (spool, start) = (spool, rest.lowerBound)
      piece = try [NumberedKey](unsafeUninitializedCapacity: count) { room, length in
        length = try spool.read(at: start, into: UnsafeMutableBufferPointer(rebasing: room[..<count]))
      }
      guard piece.count == count else { throw FileFault("read", "temporary file", reason: "it ends early") }
      rest = start + count..<rest.upperBound
      position = 0
      return true
    }
  }
}

extension KeySorter {
  /// Everything that bundles say, each key once and as it was said last; the numbers say in which order the bundles came.
  ///
  /// Who reads the union has seen nothing of it before: a key that is released in it and revised later stands among the
  /// `keys` as it was revised. One that is revoked later, or was released earlier, stands among the `revised_keys`. A
  /// bundle that was lost and made again comes late with what it said early: so a release is older than a revision
  /// wherever they stand, and nothing is newer than a revocation.
  mutating func drainUnion(_ body: (ClaimedKey) throws -> Void) throws {
    var last: ClaimedKey?
    var isReleased = false
    func say() throws {
      guard var key = last else { return }
      key.isRevised = key.isRevised && !(isReleased && !key.isRevocation)
      try body(key)
    }
    try drain { record in
      if let last, last.subject != record.key.subject {
        try say()
        isReleased = false
      }
      isReleased = isReleased || !record.key.isRevised
      if let last, last.subject == record.key.subject, last.rank > record.key.rank { return }
      last = record.key
    }
    try say()
  }

  /// - Parameter oncePerKeyData: whether of those that stand under several starts the first alone is taken.
  mutating func union(oncePerKeyData: Bool) throws -> KeyRun {
    var union = KeyRun()
    try drainUnion { key in
      if oncePerKeyData { try union.appendOnce(key) } else { try union.append(key) }
    }
    return union
  }
}

extension ClaimedKey {
  /// What is newer, whatever bundle it stands in.
  fileprivate var rank: Int { !isRevised ? 0 : isRevocation ? 2 : 1 }
}
