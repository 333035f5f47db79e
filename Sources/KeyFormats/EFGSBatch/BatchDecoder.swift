public import ExposureKeys

extension KeyFormat {
  /// The batch of the EU federation gateway.
  public static let efgsProtobuf = KeyFormat(
    KeyFormatDefinition(
      name: "efgs-protobuf", summary: "DiagnosisKeyBatch of the EU federation gateway as protobuf",
      fileExtension: "bin", isBinary: true, readers: .gateways,
      detection: .front { $0.protobuf?.message?.isKey == true },
      decoder: { BatchDecoder($0, limits: $1) },
      capabilities: .federation(carriesUnknownFields: true),
      ownFields: OwnFields(key: .federationKey, file: .federationBatch), schema: .federation,
      encoder: { BatchEncoder($0) }))
}

extension FormatCapabilities {
  /// Of a federation batch in either spelling.
  static func federation(carriesUnknownFields: Bool) -> FormatCapabilities {
    FormatCapabilities(
      rollingStart: .requiredUnsigned(), rollingPeriod: .requiredUnsigned(default: 144),
      // The batch says 2147483647 for a risk level that is not given, so no key can state that number.
      transmissionRisk: .optional(Int64(Int32.min)...Int64(Int32.max) - 1), reportType: .required(default: 0),
      daysSinceOnset: .required(), origin: .required, visitedRegions: .optional,
      carriesUnknownFields: carriesUnknownFields)
  }
}

extension KeyMessageLayout {
  /// `DiagnosisKey` of the federation batch.
  static let federation = KeyMessageLayout(
    meanings: [
      .unknown, .keyData, .rollingStart, .rollingPeriod, .transmissionRisk, .visitedRegion, .origin, .reportType,
      .daysSinceOnset,
    ], implied: .numbers, absentTransmissionRisk: .max)
}

extension MessageFields {
  static let federationKey = MessageFields(
    wireTypes: [nil, .length, .varint, .varint, .varint, .length, .length, .varint, .varint])
  static let federationBatch = MessageFields(wireTypes: [nil, .length])
}

/// Reads the federation's `DiagnosisKeyBatch` (proto3, package `eu.interop`): `repeated DiagnosisKey keys = 1`.
///
/// A proto3 zero is not on the wire, so a numeric field that is not there is stated as 0; a transmission risk of
/// 2147483647 means "not given" and is absent.
public final class BatchDecoder: KeyDecoder {
  public private(set) var header = ExportHeader()
  public var regions: RegionTable { keys.regions }
  public var notes: ReadingNotes { keys.notes }

  private var keys: ProtobufKeyStream
  private let limits: ReadLimits

  public init(_ window: InputWindow, limits: ReadLimits = ReadLimits()) {
    self.limits = limits
    keys = ProtobufKeyStream(window, limits: limits, layout: .federation, keyTag: 0x0a)
  }

  public func decode(into chunk: inout KeyChunk) throws -> Bool {
    var header = header
    defer { self.header = header }
    return try keys.decode(into: &chunk) { tag, reader, start throws(ProtobufFault) in
      try reader.skip(tag)
      try header.keep(unknown: UnsafeRawBufferPointer(start: start, count: reader.position - start), limits)
    }
  }
}

/// Writes the federation's `DiagnosisKeyBatch`, fields in ascending order, zeros left out as proto3 does.
public final class BatchEncoder: KeyEncoder {
  private let output: OutputBuffer
  /// The encoded region fields of each entry of the table, made once.
  private var encodedRegions: [[UInt8]] = []

  public init(_ output: OutputBuffer) { self.output = output }

  public func begin(_ header: ExportHeader) throws {}

  public func encode(
    _ keys: UnsafeBufferPointer<ClaimedKey>, regions: RegionTable, unknownFields: UnknownFieldTable
  ) throws {
    for index in encodedRegions.count..<max(encodedRegions.count, regions.claims.count) {
      var writer = ProtobufWriter()
      let claim = regions.claims[index]
      for region in claim.visited ?? [] { writer.string(5, region) }
      if claim.origin != "" { writer.string(6, claim.origin) }
      encodedRegions.append(writer.bytes)
    }
    for claim in keys {
      let named = encodedRegions[Int(claim.regions.rawValue)]
      let unknown = unknownFields[claim.unknownFields]
      let numbers = 18 + 5 * 11
      let room = numbers + named.count + unknown.count
      // The length is written last, in as many bytes as the largest possible one needs, then moved up.
      let record = try output.reserve(11 + room)
      let message = record + 11
      let end = Self.store(claim, regions: named, unknown: unknown, message)
      let length = end - message
      record.storeBytes(of: 0x0a, as: UInt8.self)
      let start = storeVarint(UInt64(length), record + 1)
      start.copyMemory(from: message, byteCount: length)
      output.commit(start - record + length)
    }
  }

  public func finish(_ header: ExportHeader) throws {
    try output.append(header.unknownFields)
    try output.flush()
  }

  private static func store(
    _ claim: ClaimedKey, regions: [UInt8], unknown: ArraySlice<UInt8>, _ start: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    start.storeBytes(of: UInt16(0x100a).littleEndian, as: UInt16.self)
    claim.key.store(to: start + 2)
    var place = start + 18
    if let value = claim.rollingStart, value != 0 { place = storeField(0x10, UInt64(UInt32(bitPattern: value)), place) }
    if let value = claim.rollingPeriod, value != 0 {
      place = storeField(0x18, UInt64(UInt32(bitPattern: value)), place)
    }
    let risk = claim.transmissionRisk ?? .max
    if risk != 0 { place = storeField(0x20, signExtended(risk), place) }
    UnsafeMutableRawBufferPointer(start: place, count: regions.count).copyBytes(from: regions)
    place += regions.count
    if let value = claim.reportType, value != 0 { place = storeField(0x38, signExtended(value), place) }
    if let value = claim.daysSinceOnset, value != 0 { place = storeField(0x40, UInt64(zigZagEncoded(value)), place) }
    UnsafeMutableRawBufferPointer(start: place, count: unknown.count).copyBytes(from: unknown)
    return place + unknown.count
  }
}
