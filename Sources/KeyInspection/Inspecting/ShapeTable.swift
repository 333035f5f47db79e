import ExposureKeys

/// Everything that a key states beside its sixteen bytes. Real files hold few of them, so what is asked of every key
/// is asked of each shape once, and after the header is complete, wherever in the file it stood.
struct KeyShape: Hashable, BitwiseCopyable {
  var rollingStartWord: Int32
  var rollingPeriodWord: Int32
  var transmissionRiskWord: Int32
  var reportTypeWord: Int32
  var daysSinceOnsetWord: Int32
  var fields: KeyFields
  var regions: RegionClaim.ID
  var hasUnknownFields: Bool

  @inline(__always)
  init(_ claim: ClaimedKey) {
    rollingStartWord = claim.rollingStartWord
    rollingPeriodWord = claim.rollingPeriodWord
    transmissionRiskWord = claim.transmissionRiskWord
    reportTypeWord = claim.reportTypeWord
    daysSinceOnsetWord = claim.daysSinceOnsetWord
    fields = claim.fields
    regions = claim.regions
    hasUnknownFields = claim.unknownFields != 0
  }

  var rollingStart: Int32? { fields.contains(.rollingStart) ? rollingStartWord : nil }
  var rollingPeriod: Int32? { fields.contains(.rollingPeriod) ? rollingPeriodWord : nil }
  var transmissionRisk: Int32? { fields.contains(.transmissionRisk) ? transmissionRiskWord : nil }
  var reportType: Int32? { fields.contains(.reportType) ? reportTypeWord : nil }
  var daysSinceOnset: Int32? { fields.contains(.daysSinceOnset) ? daysSinceOnsetWord : nil }
  var isRevised: Bool { fields.contains(.revised) }

  /// The same but for the list in which the key stood.
  func saysTheSame(as other: KeyShape) -> Bool {
    var left = self
    var right = other
    left.fields.remove(.revised)
    right.fields.remove(.revised)
    return left == right
  }
}

/// The distinct shapes of a document, each with its count and the index of its first key.
///
/// At most ``limit`` shapes of 48 bytes are held; a hostile file has a new one in every key.
struct ShapeTable {
  struct Entry {
    let shape: KeyShape
    var count: Int
    let first: Int
  }

  private(set) var entries: [Entry] = []
  /// Entry numbers plus one, 0 for a free slot; a power of two of them, at most half used.
  private var slots = [UInt32](repeating: 0, count: 256)
  private let seed: (UInt64, UInt64)
  let limit: Int

  init(limit: Int) {
    self.limit = limit
    // The standard library seeds its hasher anew in every process, so no file can aim at one slot.
    seed = (
      UInt64(truncatingIfNeeded: 0.hashValue) | 1, UInt64(truncatingIfNeeded: 1.hashValue) | 1
    )
  }

  /// Counts one key of this shape and returns the shape's number; `nil` when it is new and the table is full.
  mutating func count(_ shape: KeyShape, at index: Int) -> UInt32? {
    let mask = slots.count - 1
    var slot = hash(shape) & mask
    while slots[slot] != 0 {
      let number = Int(slots[slot]) - 1
      if entries[number].shape == shape {
        entries[number].count += 1
        return UInt32(number)
      }
      slot = (slot + 1) & mask
    }
    guard entries.count < limit else { return nil }
    entries.append(Entry(shape: shape, count: 1, first: index))
    slots[slot] = UInt32(entries.count)
    if entries.count * 2 > slots.count { grow() }
    return UInt32(entries.count - 1)
  }

  private mutating func grow() {
    let mask = slots.count * 2 - 1
    slots = [UInt32](repeating: 0, count: mask + 1)
    for (number, entry) in entries.enumerated() {
      var slot = hash(entry.shape) & mask
      while slots[slot] != 0 { slot = (slot + 1) & mask }
      slots[slot] = UInt32(number + 1)
    }
  }

  @inline(__always)
  private func hash(_ shape: KeyShape) -> Int {
    func pair(_ low: Int32, _ high: UInt32) -> UInt64 { UInt64(UInt32(bitPattern: low)) | UInt64(high) << 32 }
    func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
      let product = left.multipliedFullWidth(by: right)
      return product.high ^ product.low
    }
    let time = pair(shape.rollingStartWord, UInt32(bitPattern: shape.rollingPeriodWord))
    let risk = pair(shape.transmissionRiskWord, UInt32(bitPattern: shape.reportTypeWord))
    let rest = pair(shape.daysSinceOnsetWord, shape.fields.rawValue | (shape.hasUnknownFields ? 1 << 31 : 0))
    let mixed = fold(time ^ seed.0, risk ^ seed.1)
    return Int(
      truncatingIfNeeded: fold(rest ^ seed.1 ^ UInt64(shape.regions.rawValue) &* 0x9e37_79b9_7f4a_7c15, mixed ^ seed.0))
  }
}
