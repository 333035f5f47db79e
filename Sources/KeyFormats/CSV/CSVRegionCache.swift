internal import ExposureKeys

/// The report types as the encoder spells them.
enum ReportTypeSpelling {
  /// The type whose name stands at this place, where 28 bytes are readable; what stands behind it is not looked at.
  @inline(__always)
  static func find(_ place: UnsafeRawPointer) -> (type: ReportType, length: Int)? {
    @inline(__always)
    func word(_ offset: Int = 0) -> UInt64 {
      UInt64(littleEndian: place.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    let sevenBytes: UInt64 = 0x00FF_FFFF_FFFF_FFFF
    switch word() {
    case Spelling.confirmed where word(6) == Spelling.test: return (.confirmedTest, 14)
    case Spelling.confirmed
    where word(8) == Spelling.clinical && word(16) == Spelling.diagnosis && word(20) == Spelling.agnosis:
      return (.confirmedClinicalDiagnosis, 28)
    case Spelling.selfReport where word(3) == Spelling.report: return (.selfReport, 11)
    case Spelling.recursive where place.load(fromByteOffset: 8, as: UInt8.self) == UInt8(ascii: "E"):
      return (.recursive, 9)
    case let text where text & sevenBytes == Spelling.revoked: return (.revoked, 7)
    case let text where text & sevenBytes == Spelling.unknown: return (.unknown, 7)
    default: return nil
    }
  }
}

/// Eight characters of what the encoder writes, as words.
private enum Spelling {
  static var confirmed: UInt64 { word("CONFIRME") }
  static var test: UInt64 { word("MED_TEST") }
  static var clinical: UInt64 { word("D_CLINIC") }
  static var diagnosis: UInt64 { word("AL_DIAGN") }
  static var agnosis: UInt64 { word("IAGNOSIS") }
  static var selfReport: UInt64 { word("SELF_REP") }
  static var report: UInt64 { word("F_REPORT") }
  static var recursive: UInt64 { word("RECURSIV") }
  static var revoked: UInt64 { word("REVOKED\0") }
  static var unknown: UInt64 { word("UNKNOWN\0") }

  @inline(__always)
  private static func word(_ text: StaticString) -> UInt64 {
    UInt64(littleEndian: UnsafeRawPointer(text.utf8Start).loadUnaligned(as: UInt64.self))
  }
}

/// The region cells of rows that have been read, by their text, so that naming a region costs no string.
///
/// Owns its memory: sets of four slots of one text each.
struct CSVRegionCache: ~Copyable {
  private static let slotCount = 256
  private static let slotsInSet = 4
  /// The longest text that is kept.
  static let textLimit = 56
  /// A slot holds the text, its length and the region's number.
  private static let slotSize = 64
  private let slots: UnsafeMutableRawPointer
  /// The slot of the next text among those of its set.
  private var nextSlot = 0

  init() {
    slots = .allocate(byteCount: Self.slotCount * Self.slotSize, alignment: 64)
    slots.initializeMemory(as: UInt8.self, repeating: 0, count: Self.slotCount * Self.slotSize)
  }

  deinit { slots.deallocate() }

  /// The region whose text this is. `length` is at most ``textLimit``, and words are read ahead.
  @inline(__always)
  borrowing func find(_ text: UnsafeRawPointer, length: Int) -> RegionClaim.ID? {
    var slot = slots + Self.set(text, length)
    for _ in 0..<Self.slotsInSet {
      if slot.load(fromByteOffset: 56, as: UInt32.self) == UInt32(length), Self.isEqual(text, slot, length) {
        return RegionClaim.ID(rawValue: slot.load(fromByteOffset: 60, as: UInt32.self))
      }
      slot += Self.slotSize
    }
    return nil
  }

  /// Keeps a text of at most ``textLimit`` bytes.
  mutating func keep(_ text: some Collection<UInt8>, as id: RegionClaim.ID) {
    // The slot's text is the common buffer for hashing too, which reads whole words.
    withUnsafeTemporaryAllocation(byteCount: Self.slotSize, alignment: 64) { copy in
      copy.initializeMemory(as: UInt8.self, repeating: 0)
      copy.copyBytes(from: text)
      guard let base = copy.baseAddress else { return }
      copy.storeBytes(of: UInt32(text.count), toByteOffset: 56, as: UInt32.self)
      copy.storeBytes(of: id.rawValue, toByteOffset: 60, as: UInt32.self)
      let slot = Self.set(base, text.count) + nextSlot * Self.slotSize
      (slots + slot).copyMemory(from: base, byteCount: Self.slotSize)
    }
    nextSlot = (nextSlot + 1) % Self.slotsInSet
  }

  @inline(__always)
  private static func set(_ text: UnsafeRawPointer, _ length: Int) -> Int {
    var hash = UInt64(length)
    var offset = 0
    while offset < length {
      hash = (hash ^ masked(text, offset, length)) &* 0x9E37_79B9_7F4A_7C15
      hash ^= hash >> 29
      offset += 8
    }
    return Int(hash >> 8 & UInt64(slotCount / slotsInSet - 1)) * slotsInSet * slotSize
  }

  @inline(__always)
  private static func isEqual(_ text: UnsafeRawPointer, _ slot: UnsafeRawPointer, _ length: Int) -> Bool {
    var difference: UInt64 = 0
    var offset = 0
    while offset < length {
      difference |= masked(text, offset, length) ^ masked(slot, offset, length)
      offset += 8
    }
    return difference == 0
  }

  /// The word at `offset`, without the bytes behind `length`.
  @inline(__always)
  private static func masked(_ text: UnsafeRawPointer, _ offset: Int, _ length: Int) -> UInt64 {
    let word = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    let bytes = length - offset
    return bytes >= 8 ? word : word & ((1 << UInt64(8 * bytes)) - 1)
  }
}
