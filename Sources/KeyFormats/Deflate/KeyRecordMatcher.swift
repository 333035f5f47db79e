/// Finds the keys in a piece of `export.bin`, and matches for what stands between them.
///
/// Key data is random and cannot be compressed. What stands between two keys (the rest of one record and the head of
/// the next: sixteen to twenty bytes as a rule) is one of some thousand strings, so it is looked up as a whole, and where
/// that has not been in the window, in two parts. Each of three tables knows where something with this hash last stood.
struct KeyRecordMatcher {
  // Where a string last stood, counted from the beginning of the document modulo 2³². Whatever a table says is
  // compared with the bytes, so a stale or hostile entry costs a match and nothing else.
  private let wholes: UnsafeMutablePointer<UInt32>
  private let firstParts: UnsafeMutablePointer<UInt32>
  private let secondParts: UnsafeMutablePointer<UInt32>
  /// Four bytes anywhere in what is not a plain record.
  private let words: UnsafeMutablePointer<UInt32>
  /// By length.
  private let masks: UnsafeMutablePointer<PartMasks>

  private static let wholeBits = 12
  private static let partBits = 11
  private static let wordBits = 12

  /// Bytes of the first part. Eight, because lengths up to ten have no extra bits.
  static let firstPart = 8
  /// What is looked up as a whole has 4 to 24 bytes: three words.
  static let longestWhole = 24
  /// Bytes that are read behind the last one that is looked at.
  static let lookAhead = 32

  /// Where the record ends whose key data was the last thing that was planned: from the end of the last block on. It
  /// is beyond the buffer when a field is larger than that.
  private(set) var recordEnd = 0
  /// What was planned was not what an export encoder writes; nothing is known about the rest of the document.
  private(set) var isLost = false

  init() {
    wholes = .allocate(capacity: 1 << Self.wholeBits)
    firstParts = .allocate(capacity: 1 << Self.partBits)
    secondParts = .allocate(capacity: 1 << Self.partBits)
    words = .allocate(capacity: 1 << Self.wordBits)
    wholes.initialize(repeating: 0, count: 1 << Self.wholeBits)
    firstParts.initialize(repeating: 0, count: 1 << Self.partBits)
    secondParts.initialize(repeating: 0, count: 1 << Self.partBits)
    words.initialize(repeating: 0, count: 1 << Self.wordBits)
    masks = .allocate(capacity: Self.longestWhole + 1)
    for length in 0...Self.longestWhole { (masks + length).initialize(to: PartMasks(length: length)) }
  }

  func deallocate() {
    wholes.deallocate()
    firstParts.deallocate()
    secondParts.deallocate()
    words.deallocate()
    masks.deallocate()
  }

  /// Says that the document's first `count` bytes are no record.
  mutating func skipFront(_ count: Int) { recordEnd = count }

  /// Gives the rest of the document up.
  mutating func lose() { isLost = true }

  /// Plans `bytes[start..<end]` up to the last whole key, or all of it.
  ///
  /// - Parameters:
  ///   - bytes: holds the window of 32 KiB in front of `start`, of which what lies in front of the document is never
  ///     looked at, and ``lookAhead`` bytes behind `end`, whose values do not matter.
  ///   - position: how many bytes of the document lie in front of `start`, and 64 KiB more.
  ///   - isWhole: take everything, because nothing follows.
  /// - Returns: where it stopped.
  mutating func plan(
    _ bytes: UnsafeRawPointer, from start: Int, to end: Int, position: UInt32, takesAll isWhole: Bool,
    into plan: inout KeyBlockPlan
  ) -> Int {
    // What is at `place` stands at `place + offset` in the document.
    let offset = position &- UInt32(truncatingIfNeeded: start)
    var place = start
    var next = start + recordEnd
    while !isLost {
      planRecords(bytes, &place, &next, end: end, offset: offset, into: &plan)
      // A field that is no plain record, or the end.
      guard let field = FieldHead(bytes, from: next, to: end) else {
        isLost = end - next > FieldHead.longest
        break
      }
      if let keyStart = field.keyStart {
        guard keyStart + 16 <= end else { break }
        planListed(bytes, place..<keyStart, offset: offset, hasKey: true, into: &plan)
        place = keyStart + 16
      }
      next = field.end
    }
    // A long rest is no piece of a record that the next block could see as a whole.
    if isWhole || isLost || end - place > 4096 {
      let stop = isWhole || isLost ? end : min(next, end)
      if place < stop, !isLost { planListed(bytes, place..<stop, offset: offset, hasKey: false, into: &plan) }
      place = stop
    }
    recordEnd = next - place
    return place
  }

  /// Plans plain records as long as there are any.
  @inline(__always)
  private func planRecords(
    _ bytes: UnsafeRawPointer, _ place: inout Int, _ next: inout Int, end: Int, offset: UInt32,
    into plan: inout KeyBlockPlan
  ) {
    let masks = masks
    var region = place
    var record = next
    var keys = plan.keyCount
    var repeated = 0
    var step = plan.steps + plan.stepCount
    let lengths = plan.lengthCounts
    let distances = plan.distanceCounts
    let literals = plan.literalCounts
    while record <= end - 24 {
      let head = UInt32(littleEndian: (bytes + record).loadUnaligned(as: UInt32.self))
      // Key or revised key, less than 128 bytes, which begin with sixteen bytes of key data.
      guard head & 0xffff_8087 == 0x100a_0002, head & 0x78 == 0x38 || head & 0x78 == 0x40, head & 0xff00 >= 0x1200 else {
        break
      }
      let keyStart = record + 4
      let length = keyStart - region
      guard length <= Self.longestWhole else { break }
      let mask = masks[length]
      let a = (bytes + region).loadUnaligned(as: UInt64.self) & mask.first
      let b = (bytes + region + 8).loadUnaligned(as: UInt64.self) & mask.second
      let lastStart = max(length, 16) - 8
      let c = (bytes + region + lastStart).loadUnaligned(as: UInt64.self) & mask.last
      let hashA = a &* 0x9e37_79b9_7f4a_7c15
      let hashB = (b ^ (c << 23 | c >> 41)) &* 0xd6e8_feb8_6659_fd93
      let whole = wholes + Int(truncatingIfNeeded: (hashA ^ (hashB << 5 | hashB >> 59)) &>> UInt64(64 - Self.wholeBits))
      let first = firstParts + Int(truncatingIfNeeded: hashA &>> UInt64(64 - Self.partBits))
      let second = secondParts + Int(truncatingIfNeeded: hashB &>> UInt64(64 - Self.partBits))
      let here = UInt32(truncatingIfNeeded: region) &+ offset
      let wholeDistance = here &- whole.pointee
      let firstDistance = here &- first.pointee
      let secondDistance = here &- second.pointee
      whole.pointee = here
      first.pointee = here
      second.pointee = here
      let key = (bytes + keyStart).loadUnaligned(as: UInt64.self)

      @inline(__always) func hasFirst(_ distance: UInt32) -> Bool {
        distance &- 1 < 32768
          && (bytes + region - Int(distance)).loadUnaligned(as: UInt64.self) & mask.first == a
      }
      @inline(__always) func hasSecond(_ distance: UInt32) -> Bool {
        let there = bytes + region - Int(distance)
        return distance &- 1 < 32768 && (there + 8).loadUnaligned(as: UInt64.self) & mask.second == b
          && (there + lastStart).loadUnaligned(as: UInt64.self) & mask.last == c
      }
      @inline(__always) func keyReach(_ distance: UInt32) -> Int {
        let other = (bytes + keyStart - Int(distance)).loadUnaligned(as: UInt64.self)
        let difference = UInt64(littleEndian: key ^ other)
        if difference == 0 { repeated += 1 }
        return min((difference | 1 << 32).trailingZeroBitCount >> 3, Step.longestReach)
      }
      var tokens: UInt64
      let reach: Int
      if hasFirst(wholeDistance), hasSecond(wholeDistance) {
        reach = keyReach(wholeDistance)
        let token = MatchToken.make(length: length + reach, distance: wholeDistance)
        lengths[length + reach] += 1
        distances[MatchToken.symbol(token)] += 1
        tokens = UInt64(token) | UInt64(MatchToken.none) << 32
      } else if length >= 11, hasFirst(firstDistance), hasSecond(secondDistance) {
        reach = keyReach(secondDistance)
        let front = MatchToken.make(length: Self.firstPart, distance: firstDistance)
        let back = MatchToken.make(length: length + reach - Self.firstPart, distance: secondDistance)
        lengths[Self.firstPart] += 1
        distances[MatchToken.symbol(front)] += 1
        lengths[length + reach - Self.firstPart] += 1
        distances[MatchToken.symbol(back)] += 1
        tokens = UInt64(front) | UInt64(back) << 32
      } else {
        break
      }
      tokens |= UInt64(truncatingIfNeeded: reach) << 27
      step.pointee = tokens
      step += 1
      if keys & (KeyBlockPlan.literalSample - 1) == 0 {
        for index in reach..<16 { literals[Int(bytes.load(fromByteOffset: keyStart + index, as: UInt8.self))] += 8 }
      }
      keys += 1
      region = keyStart + 16
      record += 2 + Int(head >> 8 & 0xff)
    }
    plan.stepCount = step - plan.steps
    plan.keyCount = keys
    plan.repeatedKeys += repeated
    place = region
    next = record
  }

  /// Plans what the tables do not know as a whole: the best match of four bytes or more at each place, or a literal.
  private func planListed(
    _ bytes: UnsafeRawPointer, _ region: Range<Int>, offset: UInt32, hasKey: Bool, into plan: inout KeyBlockPlan
  ) {
    let firstToken = plan.tokenCount
    var literalRun = 0
    func endRun() {
      guard literalRun > 0 else { return }
      plan.tokens[plan.tokenCount] = LiteralToken.flag | UInt32(literalRun)
      plan.tokenCount += 1
      literalRun = 0
    }
    var place = region.lowerBound
    while place < region.upperBound {
      let left = region.upperBound - place
      var length = 0
      var distance: UInt32 = 0
      if left >= 4 {
        let word = (bytes + place).loadUnaligned(as: UInt32.self)
        let entry = words + Int((word &* 0x9e37_79b1) >> UInt32(32 - Self.wordBits))
        let here = UInt32(truncatingIfNeeded: place) &+ offset
        distance = here &- entry.pointee
        entry.pointee = here
        if distance &- 1 < 32768 { length = matchLength(bytes, place, Int(distance), limit: min(left, 258)) }
      }
      if length >= 4 {
        endRun()
        let token = MatchToken.make(length: length, distance: distance)
        plan.tokens[plan.tokenCount] = token
        plan.tokenCount += 1
        plan.lengthCounts[length] += 1
        plan.distanceCounts[MatchToken.symbol(token)] += 1
        place += length
      } else {
        plan.literalCounts[Int(bytes.load(fromByteOffset: place, as: UInt8.self))] += 1
        literalRun += 1
        place += 1
      }
    }
    endRun()
    let reach = hasKey ? 0 : Step.noKey
    plan.steps[plan.stepCount] = UInt64(plan.tokenCount - firstToken) | reach << 27 | Step.isListed
    plan.stepCount += 1
    if hasKey { plan.keyCount += 1 }
    plan.otherBytes += max(0, region.count - 64)
  }

  /// How many bytes at `place` equal those `distance` bytes before them, which may overlap.
  private func matchLength(_ bytes: UnsafeRawPointer, _ place: Int, _ distance: Int, limit: Int) -> Int {
    var length = 0
    while length + 8 <= limit {
      let here = (bytes + place + length).loadUnaligned(as: UInt64.self)
      let there = (bytes + place + length - distance).loadUnaligned(as: UInt64.self)
      if here != there { return length + UInt64(littleEndian: here ^ there).trailingZeroBitCount >> 3 }
      length += 8
    }
    while length < limit, bytes.load(fromByteOffset: place + length, as: UInt8.self)
      == bytes.load(fromByteOffset: place + length - distance, as: UInt8.self)
    { length += 1 }
    return length
  }
}

/// Which bytes of three words belong to what stands between two keys, for each length of it.
private struct PartMasks {
  /// Bytes 0...7, 8...15, and the last eight, which begin with byte 8 at the earliest.
  var first: UInt64
  var second: UInt64
  var last: UInt64

  init(length: Int) {
    first = Self.mask(length)
    second = Self.mask(length - 8)
    last = length > 16 ? .max : second
  }

  private static func mask(_ bytes: Int) -> UInt64 {
    let mask: UInt64 = bytes <= 0 ? 0 : bytes >= 8 ? .max : 1 << UInt64(8 * bytes) - 1
    return mask.littleEndian
  }
}

/// The tag of a field at the top level of `export.bin`, where the field ends, and where its key data begins if it is a
/// key that begins with it.
private struct FieldHead {
  let keyStart: Int?
  let end: Int

  /// The most bytes of a tag, a length and what is in front of the key data.
  static let longest = 5 + 10 + 2

  /// `nil` where the head is no valid one, or not there as a whole.
  init?(_ bytes: UnsafeRawPointer, from start: Int, to end: Int) {
    var place = start
    func varint(_ most: Int) -> UInt64? {
      var value: UInt64 = 0
      for index in 0..<most {
        guard place < end else { return nil }
        let byte = bytes.load(fromByteOffset: place, as: UInt8.self)
        place += 1
        value |= UInt64(byte & 0x7f) << UInt64(7 * index)
        if byte < 0x80 { return value }
      }
      return nil
    }
    guard let tag = varint(5), tag >> 3 > 0 else { return nil }
    var keyStart: Int?
    switch tag & 7 {
    case 0:
      guard varint(10) != nil else { return nil }
    case 1: place += 8
    case 5: place += 4
    case 2:
      guard let length = varint(10), length < 1 << 40 else { return nil }
      if tag >> 3 == 7 || tag >> 3 == 8, length >= 18 {
        guard place + 2 <= end else { return nil }
        let front = (bytes + place).loadUnaligned(as: UInt16.self)
        if front == UInt16(0x100a).littleEndian { keyStart = place + 2 }
      }
      place += Int(length)
    default: return nil
    }
    self.keyStart = keyStart
    self.end = place
  }
}
