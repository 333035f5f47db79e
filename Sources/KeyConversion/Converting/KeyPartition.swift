import ExposureKeys

/// Many keys, put as they come into runs that agree in the list they stand in and in the leading bits of their key data:
/// the runs, one after the other, are in order, and each is small enough to be sorted in the second-level cache.
///
/// Key data is random. A sender who crowds a run makes it a slower sort, no more.
struct KeyPartition: ~Copyable {
  /// How many leading bits of the key data the keys of a run share.
  static let bits = 10
  /// The revised keys' runs stand behind the others.
  static let runCount = 2 << bits

  private struct Run: BitwiseCopyable {
    var count = 0
    var lastSegment = 0
    /// Where the next key goes, while the last segment has room.
    var end: UnsafeMutablePointer<ClaimedKey>
  }

  /// Keys that a run takes from a slab at once.
  private static let segmentSize = 64
  /// A slab is one huge page, and this is how many segments it has.
  private static let slabSize = (2 << 20) / (segmentSize * MemoryLayout<ClaimedKey>.stride)

  private var slabs = [newSlab()]
  /// For each segment, the one in front of it in its run.
  private var previous: [Int] = []
  private let runs: UnsafeMutablePointer<Run>

  init() {
    runs = .allocate(capacity: Self.runCount)
    runs.initialize(repeating: Run(end: slabs[0].base), count: Self.runCount)
  }

  deinit { runs.deallocate() }

  mutating func append(_ keys: UnsafeBufferPointer<ClaimedKey>) {
    for key in keys {
      let number = (key.isRevised ? 1 << Self.bits : 0) | Int(key.key.high >> UInt64(64 - Self.bits))
      if runs[number].count % Self.segmentSize == 0 { addSegment(to: number) }
      runs[number].end.pointee = key
      runs[number].end += 1
      runs[number].count += 1
    }
  }

  /// Puts the keys of a run into `room`, in the order in which they came.
  func read(_ number: Int, into room: inout KeyBuffer) {
    let run = runs[number]
    room.removeAll()
    room.reserve(run.count)
    room.appendDirectly { free in
      var (rest, segment) = (run.count, run.lastSegment)
      while rest > 0 {
        let count = (rest - 1) % Self.segmentSize + 1
        rest -= count
        _ = UnsafeMutableBufferPointer(rebasing: free[rest..<rest + count])
          .update(fromContentsOf: UnsafeBufferPointer(start: start(of: segment), count: count))
        segment = previous[segment]
      }
      return run.count
    }
  }

  private mutating func addSegment(to number: Int) {
    let segment = previous.count
    if segment == slabs.count * Self.slabSize { slabs.append(Self.newSlab()) }
    previous.append(runs[number].lastSegment)
    runs[number].lastSegment = segment
    runs[number].end = start(of: segment)
  }

  private func start(of segment: Int) -> UnsafeMutablePointer<ClaimedKey> {
    slabs[segment / Self.slabSize].base + segment % Self.slabSize * Self.segmentSize
  }

  private static func newSlab() -> LargeMemory<ClaimedKey> { LargeMemory(capacity: slabSize * segmentSize) }
}
