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
    try Self.encode(keys, unknownFields, tag: 0x3a, revisedTag: 0x42, to: output)
  }

  /// Writes key messages, each in a field of one of these tags.
  @inline(__always)
  static func encode(
    _ keys: UnsafeBufferPointer<ClaimedKey>, _ unknownFields: UnknownFieldTable, tag: UInt32, revisedTag: UInt32,
    to output: OutputBuffer
  ) throws {
    var index = 0
    while index < keys.count {
      let place = try output.reserveAll(atLeast: Self.room(keys[index], unknownFields))
      guard let base = place.baseAddress else { return }
      var record = base
      repeat {
        record = Self.store(keys[index], unknownFields, tag: keys[index].isRevised ? revisedTag : tag, record)
        index += 1
      } while index < keys.count && base + place.count - record >= Self.room(keys[index], unknownFields)
      output.commit(record - base)
    }
  }

  public func finish(_ header: ExportHeader) throws {
    // Unknown fields of the header go behind the known ones, which is where the common libraries put them.
    try output.append(header.unknownFields)
    try output.flush()
  }

  /// More than any record needs: tag and length, key data, five fields of a tag and at most ten bytes, unknown fields,
  /// and what is written beyond the end for the next record to write over.
  @inline(__always)
  private static func room(_ claim: ClaimedKey, _ unknownFields: UnknownFieldTable) -> Int {
    let known = 2 + 18 + 5 * 11 + 16
    return claim.unknownFields == 0 ? known : known + unknownFields.byteCount(of: claim.unknownFields)
  }

  /// Writes the record and returns the place behind it.
  @inline(__always)
  private static func store(
    _ claim: ClaimedKey, _ unknownFields: UnknownFieldTable, tag: UInt32, _ record: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let message = record + 2
    claim.key.store(to: message + 2)
    var end = storeUsualNumbers(claim, message + 18) ?? storeNumbers(claim, message + 18)
    if claim.unknownFields != 0 { end += unknownFields.copy(claim.unknownFields, to: end) }
    let length = end - message
    let head = 0x100a_0000 | UInt32(UInt8(truncatingIfNeeded: length)) << 8 | tag
    record.storeBytes(of: head.littleEndian, as: UInt32.self)
    return length < 0x80 ? end : lengthen(record, length)
  }

  /// Writes the numbers of almost every key without a branch, whichever of them it states: start of four bytes, period
  /// of one or two, the others of one byte.
  ///
  /// - Returns: the place behind them, or `nil` when another number is among them.
  @inline(__always)
  private static func storeUsualNumbers(
    _ claim: ClaimedKey, _ start: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer? {
    let risk = UInt32(bitPattern: claim.transmissionRiskWord)
    let rollingStart = UInt32(bitPattern: claim.rollingStartWord)
    let period = UInt32(bitPattern: claim.rollingPeriodWord)
    let type = UInt32(bitPattern: claim.reportTypeWord)
    let onset = zigZagEncoded(claim.daysSinceOnsetWord)
    let fields = claim.fields
    guard risk | type | onset < 1 << 7, period < 1 << 14,
      (1 << 21..<1 << 28).contains(rollingStart) || !fields.contains(.rollingStart)
    else { return nil }

    var place = start
    place.storeBytes(of: UInt16(truncatingIfNeeded: 0x10 | risk << 8).littleEndian, as: UInt16.self)
    place += fields.contains(.transmissionRisk) ? 2 : 0
    let threeGroups = rollingStart & 0x7f | rollingStart << 1 & 0x7f00 | rollingStart << 2 & 0x7f_0000
    let fourGroups = threeGroups | rollingStart << 3 & 0x7f00_0000 | 0x80_8080
    place.storeBytes(of: (0x18 | UInt64(fourGroups) << 8).littleEndian, as: UInt64.self)
    place += fields.contains(.rollingStart) ? 5 : 0
    let isLong: UInt32 = period < 1 << 7 ? 0 : 1
    let twoGroups = period & 0x7f | isLong << 7 | period << 1 & 0x7f00
    place.storeBytes(of: (0x20 | twoGroups << 8).littleEndian, as: UInt32.self)
    place += fields.contains(.rollingPeriod) ? 2 + Int(isLong) : 0
    place.storeBytes(of: UInt16(truncatingIfNeeded: 0x28 | type << 8).littleEndian, as: UInt16.self)
    place += fields.contains(.reportType) ? 2 : 0
    place.storeBytes(of: UInt16(truncatingIfNeeded: 0x30 | onset << 8).littleEndian, as: UInt16.self)
    return place + (fields.contains(.daysSinceOnset) ? 2 : 0)
  }

  /// Writes any numbers and returns the place behind them.
  private static func storeNumbers(_ claim: ClaimedKey, _ start: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    var place = start
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

  /// Makes room for a length of more than one byte, which only unknown fields make necessary.
  private static func lengthen(_ record: UnsafeMutableRawPointer, _ length: Int) -> UnsafeMutableRawPointer {
    let message = record + 1 + varintByteCount(UInt64(length))
    message.copyMemory(from: record + 2, byteCount: length)
    _ = storeVarint(UInt64(length), record + 1)
    return message + length
  }
}

/// An int32 field is sent as a 64-bit varint, negative numbers in ten bytes.
@inline(__always)
func signExtended(_ value: Int32) -> UInt64 { UInt64(bitPattern: Int64(value)) }
