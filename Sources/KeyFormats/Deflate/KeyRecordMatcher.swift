/// Finds the keys in a piece of `export.bin`, and matches for what stands between them.
///
/// Key data is random and cannot be compressed. What stands between two keys (the rest of one record and the head of
/// the next: sixteen to twenty bytes as a rule) is one of some thousand strings, so it is looked up as a whole, and where
/// that has not been in the window, in two parts. Each of three tables knows where something with this hash last stood.
struct KeyRecordMatcher {
  // Each of these was looked up by all of its bytes.
  private let wholes = PlaceTable(bits: 13)
  private let fronts = PlaceTable(bits: 11)
  private let backs = PlaceTable(bits: 12)
  private let longFronts = PlaceTable(bits: 12)
  private let ends = PlaceTable(bits: 11)
  /// Four bytes anywhere in what is not a plain record.
  private let words = PlaceTable(bits: 12)
  /// By length.
  private let masks: UnsafeMutablePointer<PartMasks>

  /// What is looked up as a whole has 4 to 24 bytes: three words.
  static let longestWhole = 23
  /// What places are counted from; see ``PlaceTable``.
  static let origin: UInt32 = 32769
  /// Bytes that are read behind the last one that is looked at.
  static let lookAhead = 32

  /// Where the record ends whose key data was the last thing that was planned: from the end of the last block on. It
  /// is beyond the buffer when a field is larger than that.
  private(set) var recordEnd = 0
  /// Whether long fronts and ends pay: some blocks of plain records in random order never need them.
  private var usesLongFronts = true

  /// What was planned was not what an export encoder writes; nothing is known about the rest of the document.
  private(set) var isLost = false

  init() {
    masks = .allocate(capacity: Self.longestWhole + 1)
    for length in 0...Self.longestWhole { (masks + length).initialize(to: PartMasks(length: length)) }
  }

  func deallocate() {
    wholes.deallocate()
    fronts.deallocate()
    backs.deallocate()
    longFronts.deallocate()
    ends.deallocate()
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
  ///   - position: how many bytes of the document lie in front of `start`, and ``origin``, modulo 2³².
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
    plan.usesLongFronts = usesLongFronts || position <= Self.origin
    while !isLost {
      if plan.usesLongFronts {
        planRecords(bytes, &place, &next, end: end, offset: offset, longFronts: true, into: &plan)
      } else {
        planRecords(bytes, &place, &next, end: end, offset: offset, longFronts: false, into: &plan)
      }
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
    usesLongFronts = (plan.longFrontCount + plan.listedCount) * 64 > plan.keyCount
    return place
  }

  /// Plans plain records as long as there are any.
  @inline(__always)
  private func planRecords(
    _ bytes: UnsafeRawPointer, _ place: inout Int, _ next: inout Int, end: Int, offset: UInt32,
    longFronts usesLong: Bool, into plan: inout KeyBlockPlan
  ) {
    // Pointers and wrapping sums: the checks of ordinary ones would be a tenth of the loop.
    var region = bytes + place
    var record = bytes + next
    let last = bytes + (end - 24)
    let origin = bytes - Int(offset)
    var keys = 0
    var repeated = 0
    var longs = 0
    var step = plan.steps + plan.stepCount
    let (lengthCounts, distanceCounts) = (plan.lengthCounts, plan.distanceCounts)
    let (literalCounts, splits) = (plan.literalCounts, plan.splits)
    let masks = masks
    let learns = offset &+ UInt32(truncatingIfNeeded: place) < Self.origin + 128 << 10
    while record <= last {
      let head = UInt32(littleEndian: record.loadUnaligned(as: UInt32.self))
      // Key or revised key, less than 128 bytes, which begin with sixteen bytes of key data.
      guard head & 0xffff_8087 == 0x100a_0002, head & 0x78 == 0x38 || head & 0x78 == 0x40, head & 0xff00 >= 0x1200
      else {
        break
      }
      let keyStart = record + 4
      let length = keyStart - region
      guard length <= Self.longestWhole else { break }
      let mask = masks[length]
      let a = region.loadUnaligned(as: UInt64.self) & mask.front
      let b = (region + 7).loadUnaligned(as: UInt64.self) & mask.middle
      let lastStart = mask.lastStart
      let c = (region + lastStart).loadUnaligned(as: UInt64.self) & mask.middle
      let longLength = mask.longLength
      let d = (region + longLength).loadUnaligned(as: UInt64.self) & mask.end
      let hashA = a &* 0x9e37_79b9_7f4a_7c15
      let hashB = (b ^ (c << 23 | c >> 41) ^ UInt64(head) << 29) &* 0xd6e8_feb8_6659_fd93
      let hashF = (hashA ^ (b & mask.long)) &* 0xc2b2_ae3d_27d4_eb4f
      let hashD = (d ^ UInt64(head) << 29) &* 0x9e37_79b9_7f4a_7c15
      let here = UInt32(truncatingIfNeeded: region - origin)
      let endHere = here &+ UInt32(truncatingIfNeeded: longLength)
      @inline(__always) func match(_ length: Int, _ distance: UInt32) -> UInt32 {
        let token = MatchToken.make(length: length, distance: distance)
        lengthCounts[length] &+= 1
        distanceCounts[MatchToken.symbol(token)] &+= 1
        return token
      }
      let wholeDistance = wholes.exchange(hashA ^ (hashB << 5 | hashB >> 59), here)
      let frontDistance = fronts.exchange(hashA, here)
      let backDistance = backs.exchange(hashB, here)
      let longDistance = usesLong ? longFronts.exchange(hashF, here) : 0
      let endDistance = usesLong ? ends.exchange(hashD, endHere) : 0
      let key = keyStart.loadUnaligned(as: UInt64.self)

      @inline(__always) func hasFront(_ distance: UInt32) -> Bool {
        distance &- 1 < 32768
          && (region - Int(distance)).loadUnaligned(as: UInt64.self) & mask.front == a
      }
      @inline(__always) func hasBack(_ distance: UInt32) -> Bool {
        let there = region - Int(distance)
        return distance &- 1 < 32768 && (there + 7).loadUnaligned(as: UInt64.self) & mask.middle == b
          && (there + lastStart).loadUnaligned(as: UInt64.self) & mask.middle == c
          && UInt32(littleEndian: (there + length - 4).loadUnaligned(as: UInt32.self)) == head
      }
      @inline(__always) func hasLongFront(_ distance: UInt32) -> Bool {
        hasFront(distance)
          && ((region - Int(distance) + 7).loadUnaligned(as: UInt64.self) ^ b) & mask.long == 0
      }
      @inline(__always) func hasEnd(_ distance: UInt32) -> Bool {
        let there = keyStart - Int(distance)
        return distance &- 1 < 32768 && (there - (length - longLength)).loadUnaligned(as: UInt64.self) & mask.end == d
          && UInt32(littleEndian: (there - 4).loadUnaligned(as: UInt32.self)) == head
      }
      @inline(__always) func keyReach(_ distance: UInt32) -> Int {
        let other = (keyStart - Int(distance)).loadUnaligned(as: UInt64.self)
        let difference = UInt64(littleEndian: key ^ other)
        if difference == 0 { repeated &+= 1 }
        return min((difference | 1 << 32).trailingZeroBitCount >> 3, Step.longestReach)
      }
      if hasFront(wholeDistance), hasBack(wholeDistance) {
        let reach = keyReach(wholeDistance)
        let token = match(length &+ reach, wholeDistance)
        step.pointee = Step.make(token, MatchToken.none, reach)
        step += 1
      } else if length >= 11 {
        let fits = hasFront(frontDistance) && hasBack(backDistance)
        let endFits = usesLong && length >= 13 && hasEnd(endDistance)
        let reach = fits ? keyReach(backDistance) : -1
        let endReach = endFits ? keyReach(endDistance) : -1
        if endReach > reach, hasLongFront(longDistance) {
          longs &+= 1
          let first = match(longLength, longDistance)
          let second = match(length &- longLength &+ endReach, endDistance)
          step.pointee = Step.make(first, second, endReach)
          step += 1
        } else if fits {
          let wanted = Int(splits[length &+ reach])
          let other = (region - Int(frontDistance) + 7).loadUnaligned(as: UInt64.self)
          let shared =
            (UInt64(littleEndian: (region + 7).loadUnaligned(as: UInt64.self) ^ other) | 1 << 40)
            .trailingZeroBitCount >> 3
          let split = min(wanted, 7 + shared)
          let first = match(split, frontDistance)
          let second = match(length &+ reach &- split, backDistance)
          step.pointee = Step.make(first, second, reach)
          step += 1
        } else {
          plan.stepCount = step - plan.steps
          let front = hasFront(frontDistance) ? frontDistance : 0
          planParts(
            bytes, region - bytes..<keyStart - bytes, offset: offset, front: front,
            end: endFits ? endDistance : 0, endLength: length - longLength, reach: max(endReach, 0), into: &plan)
          step += 1
        }
      } else {
        break
      }
      if keys & (KeyBlockPlan.literalSample - 1) == 0 {
        for index in 4..<16 {
          literalCounts[Int(keyStart.load(fromByteOffset: index, as: UInt8.self))] &+= 8
        }
      }
      if learns { learnWords(bytes, region - bytes..<keyStart - bytes, offset: offset) }
      keys &+= 1
      region = keyStart + 16
      record += 2 &+ Int(head >> 8 & 0xff)
    }
    place = region - bytes
    next = record - bytes
    plan.stepCount = step - plan.steps
    plan.keyCount += keys
    plan.repeatedKeys += repeated
    plan.longFrontCount += longs
  }

  /// Plans a record whose parts are not all known. A distance of 0 is none.
  @inline(never)
  private func planParts(
    _ bytes: UnsafeRawPointer, _ region: Range<Int>, offset: UInt32, front: UInt32, end: UInt32, endLength: Int,
    reach: Int, into plan: inout KeyBlockPlan
  ) {
    let firstToken = plan.tokenCount
    var place = region.lowerBound
    var endStart = region.upperBound - (end > 0 ? endLength : 0)
    if front > 0 {
      // As far as it goes, because the middle is what is rare here.
      let length = matchLength(bytes, place, Int(front), limit: endStart - place)
      plan.addToken(plan.match(length, front))
      place += length
    }
    if end > 0 {
      let other = bytes - Int(end)
      while endStart > place,
        bytes.load(fromByteOffset: endStart - 1, as: UInt8.self)
          == other.load(fromByteOffset: endStart - 1, as: UInt8.self)
      {
        endStart -= 1
      }
    }
    planAnything(bytes, place..<endStart, offset: offset, into: &plan)
    if end > 0 { plan.addToken(plan.match(region.upperBound - endStart + reach, end)) }
    plan.listedCount += 1
    plan.addListedStep(from: firstToken, reach)
  }

  /// Plans what is no plain record.
  private func planListed(
    _ bytes: UnsafeRawPointer, _ region: Range<Int>, offset: UInt32, hasKey: Bool, into plan: inout KeyBlockPlan
  ) {
    let firstToken = plan.tokenCount
    planAnything(bytes, region, offset: offset, into: &plan)
    plan.addListedStep(from: firstToken, hasKey ? 0 : Int(Step.noKey))
    if hasKey { plan.keyCount += 1 }
  }

  @inline(__always)
  private static func hash(_ word: UInt32) -> UInt64 { UInt64(word) &* 0x9e37_79b9_7f4a_7c15 }

  /// Enters all words of a region that was planned as a whole, as long as there is little to learn from.
  private func learnWords(_ bytes: UnsafeRawPointer, _ region: Range<Int>, offset: UInt32) {
    for place in region.lowerBound..<region.upperBound - 3 {
      let word = (bytes + place).loadUnaligned(as: UInt32.self)
      _ = words.exchange(Self.hash(word), UInt32(truncatingIfNeeded: place) &+ offset)
    }
  }

  /// Plans what the tables do not know as a whole: a match of four bytes or more where there is one, or a literal.
  private func planAnything(
    _ bytes: UnsafeRawPointer, _ region: Range<Int>, offset: UInt32, into plan: inout KeyBlockPlan
  ) {
    var literalRun = 0
    var place = region.lowerBound
    while place < region.upperBound {
      let left = region.upperBound - place
      var length = 0
      var distance: UInt32 = 0
      if left >= 4 {
        let word = (bytes + place).loadUnaligned(as: UInt32.self)
        distance = words.exchange(Self.hash(word), UInt32(truncatingIfNeeded: place) &+ offset)
        if distance &- 1 < 32768 { length = matchLength(bytes, place, Int(distance), limit: min(left, 258)) }
      }
      if length >= 4 {
        plan.addLiterals(literalRun)
        literalRun = 0
        plan.addToken(plan.match(length, distance))
        place += length
      } else {
        plan.literalCounts[Int(bytes.load(fromByteOffset: place, as: UInt8.self))] += 1
        literalRun += 1
        place += 1
      }
    }
    plan.addLiterals(literalRun)
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
    while length < limit,
      bytes.load(fromByteOffset: place + length, as: UInt8.self)
        == bytes.load(fromByteOffset: place + length - distance, as: UInt8.self)
    { length += 1 }
    return length
  }
}

/// Where something with a hash last stood: the lowest sixteen bits of the place, counted from the beginning of the
/// document and ``origin``.
///
/// That is enough, because nothing is further away than half of what they can say. Whatever the table says is compared
/// with the bytes, so a stale or hostile entry costs a match and nothing else. An empty entry never leads in front of
/// the document, because that begins at ``origin``.
private struct PlaceTable {
  private let places: UnsafeMutablePointer<UInt16>
  private let shift: UInt64

  init(bits: Int) {
    places = .allocate(capacity: 1 << bits)
    places.initialize(repeating: 0, count: 1 << bits)
    shift = UInt64(64 - bits)
  }

  func deallocate() { places.deallocate() }

  /// Enters `here` and returns how far back the last place is: a distance only if ``isDistance(_:)``.
  @inline(__always)
  func exchange(_ hash: UInt64, _ here: UInt32) -> UInt32 {
    let entry = places + Int(truncatingIfNeeded: hash &>> shift)
    let distance = (here &- UInt32(entry.pointee)) & 0xffff
    entry.pointee = UInt16(truncatingIfNeeded: here)
    return distance
  }
}

/// Which bytes of three words belong to which part of what stands between two keys, for each length of it.
private struct PartMasks {
  /// Bytes 0...6, or fewer where the head of the next record begins before.
  var front: UInt64
  /// Bytes 7...14 in front of the head, and the last eight in front of it.
  var middle: UInt64
  /// Where the last eight begin.
  var lastStart: Int
  /// The first twelve bytes, or all but the last six: how many, and which of bytes 7...14.
  var longLength: Int
  var long: UInt64
  /// The first eight bytes behind these.
  var end: UInt64

  init(length: Int) {
    front = Self.mask(length < 11 ? length - 4 : 7)
    middle = Self.mask(length - 11)
    lastStart = max(length, 19) - 12
    longLength = max(min(length - 6, 12), 7)
    long = Self.mask(longLength - 7)
    end = Self.mask(length - longLength)
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
