public import ExposureKeys

extension KeyFormat {
  /// The key file of the iOS 13.5 beta.
  public static let gaenBeta = KeyFormat(
    KeyFormatDefinition(
      name: "gaen-beta", summary: "the key file of the iOS 13.5 beta, without header bytes and signature",
      fileExtension: "bin", isBinary: true, readers: .apps,
      detection: .front { front in
        guard let protobuf = front.protobuf else { return false }
        // A key, or the header, whose first field is a time.
        return protobuf.tag == ProtobufTag(number: 2, wire: .length)
          || protobuf.message.map { $0.wires[1] == .varint && !$0.isSignature } == true
      },
      decoder: { BetaFileDecoder($0, limits: $1) }))
}

extension KeyMessageLayout {
  /// `Key` of the file of the iOS 13.5 beta.
  static let beta = KeyMessageLayout(
    meanings: [.unknown, .keyData, .rollingStart, .rollingPeriod, .transmissionRisk], implied: [],
    absentTransmissionRisk: nil)
}

/// Reads the file of the iOS 13.5 beta: `File { Header header = 1; repeated Key key = 2; }`, neither header bytes nor
/// signature.
public final class BetaFileDecoder: KeyDecoder {
  public private(set) var header = ExportHeader()
  public var regions: RegionTable { keys.regions }
  public var notes: ReadingNotes {
    var notes = headerNotes
    notes.add(keys.notes)
    return notes
  }

  private var headerNotes = ReadingNotes()
  private var keys: ProtobufKeyStream
  private let limits: ReadLimits

  public init(_ window: InputWindow, limits: ReadLimits = ReadLimits()) {
    self.limits = limits
    keys = ProtobufKeyStream(window, limits: limits, layout: .beta, keyTag: 0x12)
  }

  public func decode(into chunk: inout KeyChunk) throws -> Bool {
    var (header, notes) = (header, headerNotes)
    defer { (self.header, headerNotes) = (header, notes) }
    return try keys.decode(into: &chunk) { tag, reader, start throws(ProtobufFault) in
      if tag == ProtobufTag(number: 1, wire: .length) {
        var fields = ProtobufReader(try reader.readBytes(), isWhole: true)
        while !fields.isAtEnd {
          let fieldStart = fields.position
          let tag = try fields.readTag()
          if header.isStated(inBeta: tag) {
            notes.countRepeated("field \(tag.number) of the header", in: "the header")
          }
          switch (tag.number, tag.wire) {
          case (1, .varint): header.startTimestamp = try fields.readVarint()
          case (2, .varint): header.endTimestamp = try fields.readVarint()
          case (3, .length): header.region = try fields.readString()
          case (4, .varint): header.batchNum = Int32(truncatingIfNeeded: try fields.readVarint())
          case (5, .varint): header.batchSize = Int32(truncatingIfNeeded: try fields.readVarint())
          default:
            try fields.skip(tag)
            try header.keep(
              unknown: UnsafeRawBufferPointer(start: fieldStart, count: fields.position - fieldStart), limits)
          }
        }
      } else {
        try reader.skip(tag)
        try header.keep(unknown: UnsafeRawBufferPointer(start: start, count: reader.position - start), limits)
      }
    }
  }
}

extension ExportHeader {
  /// Whether the header has the value of this field, which it may have once.
  fileprivate func isStated(inBeta tag: ProtobufTag) -> Bool {
    switch (tag.number, tag.wire) {
    case (1, .varint): startTimestamp != nil
    case (2, .varint): endTimestamp != nil
    case (3, .length): region != nil
    case (4, .varint): batchNum != nil
    case (5, .varint): batchSize != nil
    default: false
    }
  }
}
