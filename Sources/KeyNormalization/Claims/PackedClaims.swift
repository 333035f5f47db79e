internal import ExposureKeys

/// The rows of a set, in segments that never move once they are full: growing never needs twice the memory.
struct PackedClaims: Sendable {
  private static let shift = 16
  private static let segmentSize = 1 << shift

  private var segments: [LargeMemory<PackedClaim>] = []
  private(set) var count = 0

  subscript(number: Int) -> PackedClaim {
    precondition(number >= 0 && number < count)
    return segments[number >> Self.shift].base[number & (Self.segmentSize - 1)]
  }

  mutating func append(_ row: PackedClaim) {
    let place = count & (Self.segmentSize - 1)
    if place == 0 {
      segments.append(LargeMemory(capacity: count == 0 ? 32 : Self.segmentSize))
    } else {
      makeRoom(place)
    }
    segments[count >> Self.shift].base[place] = row
    count += 1
  }

  /// The last segment is this set's own and has room at `place`.
  @inline(__always)
  private mutating func makeRoom(_ place: Int) {
    let last = segments.count - 1
    if place < segments[last].capacity, isKnownUniquelyReferenced(&segments[last]) { return }
    let capacity = place < segments[last].capacity ? segments[last].capacity : place * 2
    segments[last] = LargeMemory(copying: segments[last], count: place, capacity: capacity)
  }

  /// Lets `body` read rows by their numbers without a look at who else holds them.
  func withReader<Result>(_ body: (Reader) -> Result) -> Result {
    withExtendedLifetime(segments) {
      segments.map(\.base).withUnsafeBufferPointer { body(Reader(segments: $0, count: count)) }
    }
  }

  struct Reader {
    fileprivate let segments: UnsafeBufferPointer<UnsafeMutablePointer<PackedClaim>>
    let count: Int

    @inline(__always)
    subscript(number: Int) -> PackedClaim {
      precondition(number >= 0 && number < count)
      return segments[number >> PackedClaims.shift][number & (PackedClaims.segmentSize - 1)]
    }
  }
}

extension PackedClaims: Sequence {
  func makeIterator() -> Iterator { Iterator(rows: self) }

  struct Iterator: IteratorProtocol {
    let rows: PackedClaims
    var number = 0

    mutating func next() -> PackedClaim? {
      guard number < rows.count else { return nil }
      defer { number += 1 }
      return rows[number]
    }
  }
}

/// An open-addressing hash table of row numbers. A slot holds 32 bits of the hash beside the number, so that growing
/// reads no row and most probes of others' slots read none either.
struct ClaimSlots: Sendable {
  private struct Slot: BitwiseCopyable {
    var hash: UInt32 = 0
    /// The row's number plus one; 0 is empty.
    var number: UInt32 = 0
  }

  /// How many rows are inserted at once: enough that their slots are fetched from memory together, few enough that
  /// these slots stay in the first-level cache meanwhile.
  static let blockSize = 256

  private var slots = LargeMemory<Slot>(capacity: 16)
  private let seed = HashSeed()
  /// How many rows have slots: those that were added as distinct ones have none until somebody searches.
  private var count = 0

  /// Adds the rows of a block that are new to `known`.
  mutating func insert(_ block: UnsafeBufferPointer<PackedClaim>, to known: inout PackedClaims) {
    catchUp(with: known)
    defer { count = known.count }
    makeRoom(for: known.count + block.count)
    withUnsafeTemporaryAllocation(of: Slot.self, capacity: block.count) { first in
      // A loop that does nothing but ask for slots, so that the waits for memory overlap.
      for (index, row) in block.enumerated() {
        let hash = row.hash(seed)
        let slot = slots.base[Int(hash) & (slots.capacity - 1)]
        first.initializeElement(at: index, to: Slot(hash: hash, number: slot.hash == hash ? slot.number : 0))
      }
      for (index, row) in block.enumerated() {
        let slot = first[index]
        if slot.number != 0, known[Int(slot.number) - 1] == row { continue }
        insert(row, hash: slot.hash, to: &known)
      }
    }
  }

  /// Adds a row where it is new to `known`.
  mutating func insert(_ row: PackedClaim, to known: inout PackedClaims) {
    catchUp(with: known)
    defer { count = known.count }
    makeRoom(for: known.count + 1)
    insert(row, hash: row.hash(seed), to: &known)
  }

  /// Gives slots to rows that have none.
  private mutating func catchUp(with known: PackedClaims) {
    guard count < known.count else { return }
    makeRoom(for: known.count)
    let (slots, mask) = (slots.base, slots.capacity - 1)
    for number in count..<known.count {
      let hash = known[number].hash(seed)
      var position = Int(hash) & mask
      while slots[position].number != 0 { position = (position + 1) & mask }
      slots[position] = Slot(hash: hash, number: UInt32(number) + 1)
    }
    count = known.count
  }

  /// There is room for one more.
  @inline(__always)
  private func insert(_ row: PackedClaim, hash: UInt32, to known: inout PackedClaims) {
    let (slots, mask) = (slots.base, slots.capacity - 1)
    var position = Int(hash) & mask
    while slots[position].number != 0 {
      if slots[position].hash == hash, known[Int(slots[position].number) - 1] == row { return }
      position = (position + 1) & mask
    }
    slots[position] = Slot(hash: hash, number: UInt32(known.count) + 1)
    known.append(row)
  }

  /// At most three quarters of the slots are in use, and they are this set's own.
  private mutating func makeRoom(for count: Int) {
    precondition(count < Int(UInt32.max), "a claim set holds fewer than 4,294,967,295 claims")
    var capacity = slots.capacity
    while count > capacity / 4 * 3 { capacity *= 2 }
    if capacity == slots.capacity {
      if !isKnownUniquelyReferenced(&slots) {
        slots = LargeMemory(copying: slots, count: capacity, capacity: capacity)
      }
      return
    }
    let (old, new) = (slots, LargeMemory<Slot>(capacity: capacity))
    let mask = capacity - 1
    for index in 0..<old.capacity where old.base[index].number != 0 {
      var position = Int(old.base[index].hash) & mask
      while new.base[position].number != 0 { position = (position + 1) & mask }
      new.base[position] = old.base[index]
    }
    slots = new
  }
}
