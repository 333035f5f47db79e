internal import ExposureKeys

/// Reads rows that look as our encoder writes them: hexadecimal key data, no quotes or blanks, `true` or `false`.
///
/// It reads words ahead without looking for the row's end, and stops at the first row that is anything else, so that
/// the caller cuts that one into cells. It never reads a row otherwise than the caller would.
struct CSVCanonicalRows {
  /// No row that is read here takes more bytes, words read ahead included.
  static let reach = 256

  /// Reads rows from `start` on, while `reach` bytes are left before `end` and `free` has room.
  static func read(
    _ start: UnsafeRawPointer, _ end: UnsafeRawPointer, withRegions: Bool, tails: borrowing CSVTailCache,
    into free: UnsafeMutableBufferPointer<ClaimedKey>
  ) -> (rows: Int, end: UnsafeRawPointer) {
    var row = start
    var count = 0
    while count < free.count, end - row >= reach {
      var reader = CSVCanonicalRows(place: row)
      guard let key = reader.row(withRegions, tails) else { break }
      free.initializeElement(at: count, to: key)
      count += 1
      row = reader.place
    }
    return (count, row)
  }

  private var place: UnsafeRawPointer
  private var fields: UInt32 = 0

  private init(place: UnsafeRawPointer) { self.place = place }

  @inline(__always)
  private mutating func row(_ withRegions: Bool, _ tails: borrowing CSVTailCache) -> ClaimedKey? {
    guard let key = keyData(), let start = start(), let period = number(.rollingPeriod),
      let risk = number(.transmissionRisk), let type = reportType(), let onset = number(.daysSinceOnset),
      let regions = withRegions ? revisedAndRegions(tails) : revisedAndLineEnd()
    else { return nil }
    return ClaimedKey(
      key: key, rollingStartWord: start, rollingPeriodWord: period, transmissionRiskWord: risk, reportTypeWord: type,
      daysSinceOnsetWord: onset, fields: KeyFields(rawValue: fields), regions: regions)
  }

  @inline(__always)
  private func word(_ offset: Int = 0) -> UInt64 {
    UInt64(littleEndian: place.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  @inline(__always)
  private func byte(_ offset: Int = 0) -> UInt8 { place.load(fromByteOffset: offset, as: UInt8.self) }

  @inline(__always)
  private mutating func keyData() -> TemporaryExposureKey? {
    let digits = UnsafeRawBufferPointer(start: place, count: 32)
    guard let key = KeyText.keyFromHexadecimal(digits), byte(32) == comma else { return nil }
    place += 33
    return key
  }

  /// Rolling starts have had seven digits since 1989 and will have until 2160.
  @inline(__always)
  private mutating func start() -> Int32? {
    let text = word()
    let digits = text & 0x00FF_FFFF_FFFF_FFFF ^ 0x0030_3030_3030_3030
    let wrong = (digits &+ 0x0076_7676_7676_7676 | digits) & 0x0080_8080_8080_8080
    guard text >> 56 == UInt64(comma), wrong == 0 else { return number(.rollingStart) }
    var value = ((digits << 8) &* 2561) >> 8
    value = ((value & 0x00FF_00FF_00FF_00FF) &* 6_553_601) >> 16
    value = ((value & 0x0000_FFFF_0000_FFFF) &* 42_949_672_960_001) >> 32
    place += 8
    fields |= KeyFields.rollingStart.rawValue
    return Int32(truncatingIfNeeded: value)
  }

  /// A number and the comma behind it; 0 and no presence bit when the cell is empty.
  @inline(__always)
  private mutating func number(_ field: KeyFields) -> Int32? {
    var index = 0
    if byte() == comma {
      place += 1
      return 0
    }
    let isNegative = byte() == UInt8(ascii: "-")
    if isNegative { index = 1 }
    let first = byte(index) &- UInt8(ascii: "0")
    guard first < 10 else { return nil }
    var value = Int64(first)
    let limit = index + 10
    index += 1
    while true {
      let digit = byte(index) &- UInt8(ascii: "0")
      guard digit < 10 else { break }
      guard index < limit else { return nil }
      value = value &* 10 &+ Int64(digit)
      index += 1
    }
    guard byte(index) == comma, let exact = Int32(exactly: isNegative ? -value : value) else { return nil }
    place += index + 1
    fields |= field.rawValue
    return exact
  }

  @inline(__always)
  private mutating func reportType() -> Int32? {
    guard byte() >= UInt8(ascii: "A") else { return number(.reportType) }
    let read = ReportTypeSpelling.find(place)
    guard let read, byte(read.length) == comma else { return nil }
    place += read.length + 1
    fields |= KeyFields.reportType.rawValue
    return read.type.rawValue
  }

  @inline(__always)
  private mutating func revisedAndLineEnd() -> RegionClaim.ID? {
    switch word() {
    case let text where text & 0xFFFF_FFFF_FFFF == Spelling.falseAndLineEnd:
      place += 6
    case let text where text & 0xFF_FFFF_FFFF == Spelling.trueAndLineEnd:
      place += 5
      fields |= KeyFields.revised.rawValue
    default: return nil
    }
    return RegionClaim.ID.none
  }

  @inline(__always)
  private mutating func revisedAndRegions(_ tails: borrowing CSVTailCache) -> RegionClaim.ID? {
    let text = word()
    if text == Spelling.falseAndNothing, byte(8) == UInt8(ascii: "\n") {
      place += 9
      return RegionClaim.ID.none
    }
    if text & 0xFFFF_FFFF_FFFF == Spelling.falseAndComma {
      place += 6
    } else if text & 0xFF_FFFF_FFFF == Spelling.trueAndComma {
      place += 5
      fields |= KeyFields.revised.rawValue
    } else {
      return nil
    }
    guard let (id, length) = tails.find(at: place) else { return nil }
    place += length
    return id
  }
}

private let comma = UInt8(ascii: ",")

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
  static var falseAndNothing: UInt64 { word("false,,,") }
  static var falseAndComma: UInt64 { word("false,\0\0") }
  static var trueAndComma: UInt64 { word("true,\0\0\0") }
  static var falseAndLineEnd: UInt64 { word("false\n\0\0") }
  static var trueAndLineEnd: UInt64 { word("true\n\0\0\0") }

  @inline(__always)
  private static func word(_ text: StaticString) -> UInt64 {
    UInt64(littleEndian: UnsafeRawPointer(text.utf8Start).loadUnaligned(as: UInt64.self))
  }
}

/// The region cells of rows already read, by their text, so that naming a region costs no string.
///
/// Owns its memory: sets of four slots of one text each.
struct CSVTailCache: ~Copyable {
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

  /// The region whose cells stand at `text`, and their length with the line's end.
  @inline(__always)
  borrowing func find(at text: UnsafeRawPointer) -> (id: RegionClaim.ID, length: Int)? {
    guard let length = Self.lengthOfLine(text) else { return nil }
    if length == 3, text.loadUnaligned(as: UInt16.self) == 0x2C2C { return (RegionClaim.ID.none, 3) }
    return find(text, length: length).map { ($0, length) }
  }

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

  /// Keeps what `row` says from `start` on, when it is short, ends with LF, and ends nowhere before.
  mutating func keep(_ row: UnsafeRawBufferPointer, from start: Int, as id: RegionClaim.ID) {
    let text = row[start...]
    guard text.count <= Self.textLimit, text.firstIndex(of: UInt8(ascii: "\n")) == row.count - 1 else { return }
    keep(text, as: id)
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

  /// The length up to and with the first LF, when it is at most ``textLimit``.
  @inline(__always)
  private static func lengthOfLine(_ text: UnsafeRawPointer) -> Int? {
    var offset = 0
    while offset < textLimit {
      let word = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      let other = word ^ 0x0A0A_0A0A_0A0A_0A0A
      let hits = (other &- 0x0101_0101_0101_0101) & ~other & 0x8080_8080_8080_8080
      if hits != 0 { return offset + hits.trailingZeroBitCount / 8 + 1 }
      offset += 8
    }
    return nil
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
