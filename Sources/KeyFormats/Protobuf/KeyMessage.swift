import ExposureKeys

/// Which field number of a key message means what: the formats share one reader and differ in this table.
struct KeyMessageLayout {
  enum Meaning: UInt8, CaseIterable {
    case unknown, keyData, transmissionRisk, rollingStart, rollingPeriod, reportType, daysSinceOnset
    case visitedRegion, origin

    /// For people; `nil` for fields that a message may have more than once.
    var name: String? {
      switch self {
      case .unknown, .visitedRegion: nil
      case .keyData: "key data"
      case .transmissionRisk: "risk level"
      case .rollingStart: "rolling start"
      case .rollingPeriod: "rolling period"
      case .reportType: "report type"
      case .daysSinceOnset: "days since onset"
      case .origin: "origin"
      }
    }

    /// The bits of those that a message may have once.
    static let singular: UInt32 = allCases.filter { $0.name != nil }.reduce(0) { $0 | $1.bit }

    @inline(__always)
    var bit: UInt32 { 1 &<< UInt32(rawValue) }

    fileprivate var wire: WireType {
      switch self {
      case .unknown, .keyData, .visitedRegion, .origin: .length
      case .transmissionRisk, .rollingStart, .rollingPeriod, .reportType, .daysSinceOnset: .varint
      }
    }
  }

  /// The meaning of each field number, four bits each from the lowest on: a table that costs no memory access.
  private let packed: UInt64
  /// Fields that count as stated even when they are not there: a proto3 zero is not written.
  let implied: KeyFields
  /// This transmission risk means "not given".
  let absentTransmissionRisk: Int32?
  /// Whether a key states its regions; none at all is then an empty list.
  let namesRegions: Bool
  /// Whether empty key data counts as absent: proto3 cannot tell them apart.
  var emptyIsAbsent: Bool { !implied.isEmpty }

  /// - Parameter meanings: by field number, at most sixteen; greater numbers are unknown.
  init(meanings: [Meaning], implied: KeyFields, absentTransmissionRisk: Int32?) {
    packed = meanings.enumerated().reduce(0) { $0 | UInt64($1.element.rawValue) << UInt64(4 * $1.offset) }
    self.implied = implied
    self.absentTransmissionRisk = absentTransmissionRisk
    namesRegions = meanings.contains(.origin)
  }

  /// A field of another wire type than its number has is one that nobody knows.
  @inline(__always)
  func meaning(of tag: ProtobufTag) -> Meaning {
    let meaning = meaning(of: tag.number)
    return tag.wire == meaning.wire ? meaning : .unknown
  }

  /// The number of the field that means this.
  func number(of meaning: Meaning) -> UInt32? { (0..<16).first { self.meaning(of: $0) == meaning } }

  @inline(__always)
  private func meaning(of number: UInt32) -> Meaning {
    number < 16 ? Meaning(rawValue: UInt8(truncatingIfNeeded: packed >> UInt64(4 * number)) & 15) ?? .unknown : .unknown
  }
}

/// Reads key messages one field at a time: any order, any presence, unknown fields kept.
struct KeyMessageReader {
  let layout: KeyMessageLayout
  private(set) var regions = RegionTable()
  private var regionMemo = RegionMemo()
  /// Reused for the unknown fields of the message at hand.
  private var unknown: [UInt8] = []
  /// The bits of what the last message stated more than once although it may once.
  private(set) var repeated: UInt32 = 0

  init(_ layout: KeyMessageLayout) { self.layout = layout }

  enum Outcome {
    case key(ClaimedKey)
    case rejected(RejectionReason, String)
  }

  /// Reads the message in `bytes`. Fields that this version does not know are added to `table`.
  mutating func read(_ bytes: UnsafeRawBufferPointer, unknownFields table: inout UnknownFieldTable)
    throws(KeyMessageFault) -> Outcome
  {
    var claim = ClaimedKey(key: TemporaryExposureKey(high: 0, low: 0))
    var keyLength = -1
    var regionFields: RegionFields?
    var (seen, again): (UInt32, UInt32) = (0, 0)
    defer { repeated = again & KeyMessageLayout.Meaning.singular }
    unknown.removeAll(keepingCapacity: true)

    var reader = ProtobufReader(bytes, isWhole: true)
    do {
      while !reader.isAtEnd {
        let start = reader.position
        let tag = try reader.readTag()
        let meaning = layout.meaning(of: tag)
        again |= seen & meaning.bit
        seen |= meaning.bit
        switch meaning {
        case .keyData:
          let data = try reader.readBytes()
          keyLength = data.count
          if keyLength == TemporaryExposureKey.byteCount, let base = data.baseAddress {
            claim.key = TemporaryExposureKey(loadingFrom: base)
          }
        case .transmissionRisk:
          claim.transmissionRiskWord = Int32(truncatingIfNeeded: try reader.readVarint())
          claim.fields.insert(.transmissionRisk)
        case .rollingStart:
          claim.rollingStartWord = Int32(truncatingIfNeeded: try reader.readVarint())
          claim.fields.insert(.rollingStart)
        case .rollingPeriod:
          claim.rollingPeriodWord = Int32(truncatingIfNeeded: try reader.readVarint())
          claim.fields.insert(.rollingPeriod)
        case .reportType:
          claim.reportTypeWord = Int32(truncatingIfNeeded: try reader.readVarint())
          claim.fields.insert(.reportType)
        case .daysSinceOnset:
          claim.daysSinceOnsetWord = zigZagDecoded(UInt32(truncatingIfNeeded: try reader.readVarint()))
          claim.fields.insert(.daysSinceOnset)
        case .visitedRegion, .origin:
          _ = try reader.readBytes()
          regionFields = RegionFields(
            first: regionFields?.first ?? start - reader.base(of: bytes), end: reader.position - reader.base(of: bytes))
        case .unknown:
          try reader.skip(tag)
          unknown.append(contentsOf: UnsafeRawBufferPointer(start: start, count: reader.position - start))
        }
      }
    } catch {
      throw KeyMessageFault(fault: error, offset: reader.position - reader.base(of: bytes))
    }

    if layout.namesRegions {
      let named = regionFields.map { bytes[$0.first..<$0.end] } ?? bytes[..<0]
      switch try regions(in: UnsafeRawBufferPointer(rebasing: named)) {
      case .number(let number): claim.regions = number
      case .noRoom(let detail): return .rejected(.tooManyRegionSets, detail)
      }
    }
    guard keyLength == TemporaryExposureKey.byteCount else {
      return keyLength < 0 || (keyLength == 0 && layout.emptyIsAbsent)
        ? .rejected(.keyDataAbsent, "no key data, required are \(TemporaryExposureKey.byteCount) bytes")
        : .rejected(.keyDataLength, "key data of \(keyLength) bytes, required \(TemporaryExposureKey.byteCount)")
    }
    claim.fields.formUnion(layout.implied)
    if let absent = layout.absentTransmissionRisk, claim.transmissionRiskWord == absent {
      claim.transmissionRisk = nil
    }
    if !unknown.isEmpty { claim.unknownFields = table.append(unknown) }
    return .key(claim)
  }

  /// Where in the message the first field that names a region begins and the last one ends.
  private struct RegionFields {
    var first: Int
    var end: Int
  }

  private enum Regions {
    case number(RegionClaim.ID)
    case noRoom(String)
  }

  private mutating func regions(in fields: UnsafeRawBufferPointer) throws(KeyMessageFault) -> Regions {
    if let known = regionMemo[fields] { return .number(known) }
    var claim = RegionClaim(visited: [])
    var reader = ProtobufReader(fields, isWhole: true)
    do {
      while !reader.isAtEnd {
        let tag = try reader.readTag()
        switch layout.meaning(of: tag) {
        case .visitedRegion: claim.visited?.append(try reader.readString())
        case .origin: claim.origin = try reader.readString()
        default: try reader.skip(tag)
        }
      }
    } catch {
      throw KeyMessageFault(fault: error, offset: 0)
    }
    // An empty text is what proto3 does not send.
    if claim.origin == "" { claim.origin = nil }
    guard let id = regions.intern(claim) else { return .noRoom(RegionTable.refusal(of: claim)) }
    regionMemo.remember(fields, as: id)
    return .number(id)
  }
}

extension ProtobufReader {
  fileprivate func base(of bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer { end - bytes.count }
}

/// Why a key message could not be read: the document as a whole is not valid.
struct KeyMessageFault: Error {
  let fault: ProtobufFault
  /// Offset in the message.
  let offset: Int

  func error(messageOffset: Int, what: String) -> FormatError { fault.error(at: messageOffset + offset, in: what) }
}

/// Recognises the encoded region fields of earlier keys, so that a key whose regions were seen costs no allocation.
private struct RegionMemo {
  private var blob: [UInt8] = []
  private var slots = [Slot?](repeating: nil, count: 256)

  private struct Slot {
    var hash: Int
    var start: Int
    var end: Int
    var id: RegionClaim.ID
  }

  subscript(fields: UnsafeRawBufferPointer) -> RegionClaim.ID? {
    let hash = Self.hash(fields)
    guard let slot = slots[hash & 255], slot.hash == hash, slot.end - slot.start == fields.count else { return nil }
    return blob[slot.start..<slot.end].elementsEqual(fields) ? slot.id : nil
  }

  /// Long or ever-changing fields are not worth remembering; they are then read anew each time.
  mutating func remember(_ fields: UnsafeRawBufferPointer, as id: RegionClaim.ID) {
    guard fields.count <= 1024 else { return }
    if blob.count > 1 << 20 {
      blob.removeAll(keepingCapacity: true)
      slots = [Slot?](repeating: nil, count: 256)
    }
    let hash = Self.hash(fields)
    slots[hash & 255] = Slot(hash: hash, start: blob.count, end: blob.count + fields.count, id: id)
    blob.append(contentsOf: fields)
  }

  /// Seeded per process by the standard library.
  private static func hash(_ fields: UnsafeRawBufferPointer) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: fields)
    return hasher.finalize()
  }
}

@inline(__always)
func zigZagDecoded(_ value: UInt32) -> Int32 {
  Int32(bitPattern: value >> 1) ^ -Int32(bitPattern: value & 1)
}

@inline(__always)
func zigZagEncoded(_ value: Int32) -> UInt32 {
  UInt32(bitPattern: (value << 1) ^ (value >> 31))
}
