import ExposureKeys

/// One layout of key messages: which bytes all its messages share, and where their values stand.
///
/// It covers messages of sixteen bytes of key data, numbers of at most four varint bytes, fields that name regions,
/// and one run of unknown fields, in any order. A few comparisons of sixteen bytes prove that every tag, every length
/// and every continuation bit stands where the template says, so that the values are gathered without a branch.
struct KeyRecordTemplate {
  /// The longest message that may have a template.
  static let longest = 80

  /// The number of the next template to try for messages of this length; 0 when there is none.
  var next: UInt8 = 0

  private(set) var front = Window()
  private(set) var back = Window()
  /// What the two leave open.
  private var middle = InlineArray<3, Window>(repeating: Window())
  private(set) var middleCount: UInt8 = 0

  private(set) var values = Values()
  private var unknownStart: UInt8 = 0
  private(set) var unknownCount: UInt8 = 0

  init() {}

  /// Sixteen bytes of a message and those of their bits that are always the same.
  struct Window {
    fileprivate static let byteCount = 16

    fileprivate var offset: UInt8 = 0
    fileprivate var mask = SIMD2<UInt64>(repeating: 0)
    fileprivate var pattern = SIMD2<UInt64>(repeating: 0)

    @inline(__always)
    func matches(_ message: UnsafeRawPointer, with other: Window) -> Bool {
      let difference = difference(message) | other.difference(message)
      return difference[0] | difference[1] == 0
    }

    @inline(__always)
    private func difference(_ message: UnsafeRawPointer) -> SIMD2<UInt64> {
      message.loadUnaligned(fromByteOffset: Int(offset), as: SIMD2<UInt64>.self) & mask ^ pattern
    }
  }

  /// Where the values stand.
  struct Values {
    fileprivate var keyData: UInt8 = 0
    // For each number its place, and which of the 28 bits there belong to it: none when the field is absent. Rolling
    // start, rolling period, transmission risk, report type, days since onset: as a `ClaimedKey` has them.
    fileprivate var places = SIMD8<UInt8>(repeating: 0)
    fileprivate var masks = SIMD8<UInt32>(repeating: 0)
    fileprivate var fields: KeyFields = []
    fileprivate var regions = RegionClaim.ID.none

    @inline(__always)
    func revised(_ isRevised: Bool) -> Values {
      var values = self
      if isRevised { values.fields.insert(.revised) }
      return values
    }

    /// The key of a message that matches. Three bytes behind the message can be loaded.
    @inline(__always)
    func read(_ message: UnsafeRawPointer, unknownFields: UInt32) -> ClaimedKey {
      let numbers =
        joined(
          SIMD8(
            word(message, places[0]), word(message, places[1]), word(message, places[2]), word(message, places[3]),
            word(message, places[4]), 0, 0, 0)) & masks
      return ClaimedKey(
        key: TemporaryExposureKey(loadingFrom: message + Int(keyData)),
        rollingStartWord: Int32(bitPattern: numbers[0]), rollingPeriodWord: Int32(bitPattern: numbers[1]),
        transmissionRiskWord: Int32(bitPattern: numbers[2]), reportTypeWord: Int32(bitPattern: numbers[3]),
        daysSinceOnsetWord: zigZagDecoded(numbers[4]), fields: fields, regions: regions, unknownFields: unknownFields)
    }

    @inline(__always)
    private func word(_ message: UnsafeRawPointer, _ offset: UInt8) -> UInt32 {
      UInt32(littleEndian: message.loadUnaligned(fromByteOffset: Int(offset), as: UInt32.self))
    }

    /// Moves the seven-bit groups of four varint bytes together.
    @inline(__always)
    private func joined(_ word: SIMD8<UInt32>) -> SIMD8<UInt32> {
      let first = word & SIMD8(repeating: 0x7f)
      let second = word &>> SIMD8(repeating: 1) & SIMD8(repeating: 0x3f80)
      let third = word &>> SIMD8(repeating: 2) & SIMD8(repeating: 0x1f_c000)
      let fourth = word &>> SIMD8(repeating: 3) & SIMD8(repeating: 0xfe0_0000)
      return first | second | third | fourth
    }
  }

  /// `message` has the length of this template's messages.
  @inline(__always)
  func matches(_ message: UnsafeRawPointer) -> Bool {
    front.matches(message, with: back) && (middleCount == 0 || middleMatches(message))
  }

  @inline(__always)
  func middleMatches(_ message: UnsafeRawPointer) -> Bool {
    for index in 0..<Int(middleCount) where !middle[index].matches(message, with: back) { return false }
    return true
  }

  @inline(__always)
  func unknownFields(in message: UnsafeRawPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: message + Int(unknownStart), count: Int(unknownCount))
  }
}

// MARK: Learning

extension KeyRecordTemplate {
  /// The layout of a message that the general reader has accepted as `claim`, or `nil` where it is not covered.
  init?(_ message: UnsafeRawBufferPointer, _ layout: KeyMessageLayout, _ claim: ClaimedKey) {
    guard message.count <= Self.longest, let base = message.baseAddress else { return nil }
    var shared = SharedBits()
    var seen: KeyFields = []
    var (hasKeyData, hasOrigin) = (false, false)
    var reader = ProtobufReader(message, isWhole: true)
    while !reader.isAtEnd {
      let start = reader.position - base
      guard let tag = try? reader.readTag() else { return nil }
      let value = reader.position - base
      shared.pin(start..<value, of: message)
      guard (try? reader.skip(tag)) != nil, tag.wire != .startGroup else { return nil }
      let end = reader.position - base
      if tag.wire == .varint {
        shared.pin(value..<end, of: message, bits: 0x80)
      } else if tag.wire == .length {
        var length = ProtobufReader(UnsafeRawBufferPointer(rebasing: message[value...]))
        guard let content = try? length.readBytes() else { return nil }
        shared.pin(value..<end - content.count, of: message)
      }
      let meaning = layout.meaning(of: tag)
      switch meaning {
      case .keyData:
        guard !hasKeyData, end - start == 2 + TemporaryExposureKey.byteCount else { return nil }
        hasKeyData = true
        values.keyData = UInt8(start + 2)
      case .rollingStart, .rollingPeriod, .transmissionRisk, .reportType, .daysSinceOnset:
        guard let (field, lane) = meaning.number, seen.insert(field).inserted else { return nil }
        guard claim.fields.contains(field) else {
          // A number that means "not given".
          shared.pin(value..<end, of: message)
          break
        }
        guard end - value <= 4 else { return nil }
        values.places[lane] = UInt8(value)
        values.masks[lane] = UInt32(1) << UInt32(7 * (end - value)) - 1
      case .visitedRegion, .origin:
        if meaning == .origin {
          guard !hasOrigin else { return nil }
          hasOrigin = true
        }
        shared.pin(value..<end, of: message)
      case .unknown:
        guard unknownCount == 0 || Int(unknownStart) + Int(unknownCount) == start else { return nil }
        if unknownCount == 0 { unknownStart = UInt8(start) }
        unknownCount += UInt8(end - start)
      }
    }
    guard hasKeyData, cover(shared, message.count) else { return nil }
    values.fields = claim.fields
    values.regions = claim.regions
  }

  /// Lays windows over all shared bits; says whether they suffice.
  private mutating func cover(_ shared: SharedBits, _ count: Int) -> Bool {
    let last = count - Window.byteCount
    front = shared.window(at: 0)
    back = shared.window(at: last)
    var open = Window.byteCount
    while let next = (open..<max(open, last)).first(where: { shared.mask[$0] != 0 }) {
      guard Int(middleCount) < middle.count else { return false }
      middle[Int(middleCount)] = shared.window(at: next)
      middleCount += 1
      open = next + Window.byteCount
    }
    return true
  }

  /// The bits that all messages of a layout share, and their values.
  private struct SharedBits {
    var mask = InlineArray<80, UInt8>(repeating: 0)
    var pattern = InlineArray<80, UInt8>(repeating: 0)

    mutating func pin(_ range: Range<Int>, of message: UnsafeRawBufferPointer, bits: UInt8 = 0xff) {
      for index in range {
        mask[index] = bits
        pattern[index] = message[index] & bits
      }
    }

    func window(at offset: Int) -> Window {
      Window(offset: UInt8(offset), mask: words(mask, offset), pattern: words(pattern, offset))
    }

    private func words(_ bytes: InlineArray<80, UInt8>, _ offset: Int) -> SIMD2<UInt64> {
      var words = SIMD2<UInt64>(repeating: 0)
      for index in 0..<Window.byteCount {
        words[index / 8] |= UInt64(bytes[offset + index]) << UInt64(8 * (index % 8))
      }
      return SIMD2(words[0].littleEndian, words[1].littleEndian)
    }
  }
}

extension KeyMessageLayout.Meaning {
  /// The field that carries a number, and its lane in a template.
  fileprivate var number: (field: KeyFields, lane: Int)? {
    switch self {
    case .rollingStart: (.rollingStart, 0)
    case .rollingPeriod: (.rollingPeriod, 1)
    case .transmissionRisk: (.transmissionRisk, 2)
    case .reportType: (.reportType, 3)
    case .daysSinceOnset: (.daysSinceOnset, 4)
    case .unknown, .keyData, .visitedRegion, .origin: nil
    }
  }
}
