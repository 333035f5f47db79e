public import ExposureKeys

/// Writes `export.bin`: header bytes, header fields in ascending order, `keys`, then `revised_keys`.
///
/// A pure function of what it is given: keys are written in the order in which they come, so the caller sorts them by
/// raw bytes, the revised ones last. Every field that a key states is written, 144 and 0 too, because some devices
/// skip a file whose rolling period is left to its default.
public final class ExportEncoder: KeyEncoder {
  private let output: OutputBuffer

  public init(_ output: OutputBuffer) { self.output = output }

  public func begin(_ header: ExportHeader) throws {
    var writer = ProtobufWriter()
    writer.raw(ExportDecoder.fileHeader)
    writer.fixed64(1, header.startTimestamp)
    writer.fixed64(2, header.endTimestamp)
    writer.string(3, header.region)
    writer.int32(4, header.batchNum)
    writer.int32(5, header.batchSize)
    for info in header.signatureInfos { info.encode(into: &writer, number: 6) }
    try output.append(writer.bytes)
  }

  public func encode(
    _ keys: UnsafeBufferPointer<ClaimedKey>, regions: RegionTable, unknownFields: UnknownFieldTable
  ) throws {
    // Tag and length, key data, five fields of a tag and at most ten bytes.
    let room = 2 + 18 + 5 * 11
    for claim in keys {
      if claim.unknownFields != 0 {
        try encodeWithUnknownFields(claim, unknownFields)
        continue
      }
      let record = try output.reserve(room)
      let end = Self.store(claim, record + 2)
      record.storeBytes(of: claim.isRevised ? 0x42 : 0x3a, as: UInt8.self)
      record.storeBytes(of: UInt8(truncatingIfNeeded: end - record - 2), toByteOffset: 1, as: UInt8.self)
      output.commit(end - record)
    }
  }

  public func finish(_ header: ExportHeader) throws {
    // Unknown fields of the header go behind the known ones, which is where the common libraries put them.
    try output.append(header.unknownFields)
    try output.flush()
  }

  /// Writes the message and returns the place behind it.
  @inline(__always)
  private static func store(_ claim: ClaimedKey, _ start: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    start.storeBytes(of: UInt16(0x100a).littleEndian, as: UInt16.self)
    claim.key.store(to: start + 2)
    var place = start + 18
    let fields = claim.fields
    if fields.contains(.transmissionRisk) { place = storeField(0x10, signExtended(claim.transmissionRiskWord), place) }
    if fields.contains(.rollingStart) { place = storeField(0x18, signExtended(claim.rollingStartWord), place) }
    if fields.contains(.rollingPeriod) { place = storeField(0x20, signExtended(claim.rollingPeriodWord), place) }
    if fields.contains(.reportType) { place = storeField(0x28, signExtended(claim.reportTypeWord), place) }
    if fields.contains(.daysSinceOnset) {
      place = storeField(0x30, UInt64(zigZagEncoded(claim.daysSinceOnsetWord)), place)
    }
    return place
  }

  private func encodeWithUnknownFields(_ claim: ClaimedKey, _ table: UnknownFieldTable) throws {
    let unknown = table[claim.unknownFields]
    var message = [UInt8](repeating: 0, count: 18 + 5 * 11)
    let length = message.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress else { return 0 }
      return Self.store(claim, base) - base
    }
    message.removeLast(message.count - length)
    message.append(contentsOf: unknown)
    var writer = ProtobufWriter()
    writer.data(claim.isRevised ? 8 : 7, message)
    try output.append(writer.bytes)
  }
}

/// An int32 field is sent as a 64-bit varint, negative numbers in ten bytes.
@inline(__always)
func signExtended(_ value: Int32) -> UInt64 { UInt64(bitPattern: Int64(value)) }
