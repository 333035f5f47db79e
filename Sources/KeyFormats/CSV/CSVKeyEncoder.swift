public import ExposureKeys

/// Writes keys as CSV in the canonical layout, described in `schemas/csv.md`: metadata as comment lines, one line of
/// names, one line a key.
///
/// What becomes known only at the end stands in comment lines behind the keys.
public final class CSVKeyEncoder: KeyEncoder {
  private let output: OutputBuffer
  private let statesMetadata: Bool
  private var written = ExportHeader()

  /// - Parameters:
  ///   - output: where the rows go.
  ///   - statesMetadata: whether comment lines say what is known of the document; most readers of tables know no
  ///     comments.
  public init(_ output: OutputBuffer, statesMetadata: Bool = true) {
    self.output = output
    self.statesMetadata = statesMetadata
  }

  public func begin(_ header: ExportHeader) throws {
    if statesMetadata { try output.append(CSVMetadata.lines(stating: header)) }
    try output.append(CSVColumn.canonicalLine + "\n")
    written = header
  }

  public func encode(
    _ keys: UnsafeBufferPointer<ClaimedKey>, regions: RegionTable, unknownFields: UnknownFieldTable
  ) throws {
    guard !keys.isEmpty else { return }
    var tails = RegionTails()
    try ReportTypeNames.shared.withUnsafeBytes { names in
      var index = 0
      while index < keys.count {
        let room = 1 << 14
        var row = CSVRowWriter(place: try output.reserve(room), names: names)
        let start = row.place
        while index < keys.count, room - (row.place - start) >= CSVRowWriter.reach {
          let key = keys[index]
          row.write(key)
          index += 1
          if key.regions == .none, key.unknownFields == 0 {
            row.writeEmptyTail()
            continue
          }
          let tail = tails.text(of: key.regions, in: regions)
          let length = tail.count + 1
          let fields = unknownFields[key.unknownFields]
          guard fields.isEmpty, room - (row.place - start) >= length + CSVRowWriter.reach else {
            output.commit(row.place - start)
            try output.append(tail)
            try output.append(Base64.encode(fields) + "\n")
            row.place = start
            break
          }
          row.write(tail)
        }
        output.commit(row.place - start)
      }
    }
  }

  public func finish(_ header: ExportHeader) throws {
    if statesMetadata { try output.append(CSVMetadata.lines(stating: header, after: written)) }
    written = header
    try output.flush()
  }
}

/// The region cells of the claims written last, so that each is spelled once.
private struct RegionTails {
  private var entries: [(id: RegionClaim.ID, text: [UInt8])] = Array(repeating: (.none, [0x2C, 0x2C]), count: 64)

  mutating func text(of id: RegionClaim.ID, in regions: RegionTable) -> [UInt8] {
    let slot = Int(id.rawValue) % entries.count
    if entries[slot].id != id {
      var text: [UInt8] = []
      CSVText.writeCells(regions[id], to: &text)
      entries[slot] = (id, text)
    }
    return entries[slot].text
  }
}

/// How the report types are spelled, by their numbers, each with a comma and in as many bytes as one vector; the last
/// byte is the length. A number that is no type's, or whose name is too long, is spelled as a number.
private enum ReportTypeNames {
  static let size = 32
  static let shared: [UInt8] = (0...(ReportType.allCases.map(\.rawValue).max() ?? 0)).flatMap { number in
    let name = ReportType(rawValue: number)?.name ?? ""
    let text = Array(((name.isEmpty || name.utf8.count > size - 2 ? "\(number)" : name) + ",").utf8)
    return text + [UInt8](repeating: 0, count: size - 1 - text.count) + [UInt8(text.count)]
  }
}

/// Writes rows through a pointer. The caller has made room: ``reach`` bytes a row.
private struct CSVRowWriter {
  /// The most bytes of a row up to the region cells, words written ahead included.
  static let reach = 160

  var place: UnsafeMutableRawPointer
  let names: UnsafeRawBufferPointer

  @inline(__always)
  mutating func write(_ key: ClaimedKey) {
    let fields = key.fields
    KeyText.writeHexadecimal(key.key, to: place)
    place.storeBytes(of: UInt8(ascii: ","), toByteOffset: 32, as: UInt8.self)
    place += 33
    write(key.rollingStartWord, fields.contains(.rollingStart))
    write(key.rollingPeriodWord, fields.contains(.rollingPeriod))
    write(key.transmissionRiskWord, fields.contains(.transmissionRisk))
    writeReportType(key.reportTypeWord, fields.contains(.reportType))
    write(key.daysSinceOnsetWord, fields.contains(.daysSinceOnset))
    // "true," and "false,", eight bytes written ahead each.
    let isRevised = fields.contains(.revised)
    let word: UInt64 = isRevised ? 0x2C_6575_7274 : 0x2C65_736C_6166
    place.storeBytes(of: word.littleEndian, as: UInt64.self)
    place += isRevised ? 5 : 6
  }

  @inline(__always)
  mutating func writeEmptyTail() {
    place.storeBytes(of: UInt32(0x0A2C_2C).littleEndian, as: UInt32.self)
    place += 3
  }

  mutating func write(_ tail: [UInt8]) {
    tail.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: place, count: $0.count).copyMemory(from: $0) }
    place.storeBytes(of: UInt8(ascii: "\n"), toByteOffset: tail.count, as: UInt8.self)
    place += tail.count + 1
  }

  @inline(__always)
  private mutating func writeReportType(_ value: Int32, _ isStated: Bool) {
    guard isStated, value >= 0, value < Int32(names.count / ReportTypeNames.size) else {
      write(value, isStated)
      return
    }
    let name = names.loadUnaligned(
      fromByteOffset: Int(value) * ReportTypeNames.size, as: SIMD32<UInt8>.self)
    place.storeBytes(of: name, as: SIMD32<UInt8>.self)
    place += Int(name[31])
  }

  /// The number, when it is stated, and a comma.
  @inline(__always)
  private mutating func write(_ value: Int32, _ isStated: Bool) {
    guard isStated else {
      place.storeBytes(of: UInt8(ascii: ","), as: UInt8.self)
      place += 1
      return
    }
    let length = DecimalText.write(value, to: place)
    place.storeBytes(of: UInt8(ascii: ","), toByteOffset: length, as: UInt8.self)
    place += length + 1
  }
}
