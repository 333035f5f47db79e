internal import ExposureKeys

/// What one row says.
struct CSVRow {
  var key = ClaimedKey(key: TemporaryExposureKey(high: 0, low: 0))
  var regions = RegionClaim()
  var unknownFields: [UInt8]?
  /// What a later statement about the key says, where the row has one.
  var revision: ClaimedKey?
  var startsInMilliseconds = false
}

/// What a row of cells means, in any layout: the specification of the format.
///
/// ``CSVPlainRows`` reads most rows without cutting them, and must read them as this does; a test compares both.
struct CSVRowReader {
  let layout: CSVLayout

  init(_ layout: CSVLayout) { self.layout = layout }

  /// - Parameters:
  ///   - scanner: has cut the row into cells.
  ///   - hasStrayText: whether something stands behind the closing quote of a cell.
  /// - Throws: ``EntryFault`` when the row is no key.
  func read(
    _ row: UnsafeRawBufferPointer, _ scanner: borrowing CSVRowScanner, hasStrayText: Bool
  ) throws(EntryFault) -> CSVRow {
    guard !hasStrayText || scanner.cellCount != layout.columns.count else {
      throw EntryFault(reason: .malformedEntry, detail: "text behind the closing quote of a cell; quotes are doubled")
    }
    return try read(row, scanner.cells, cellCount: scanner.cellCount)
  }

  /// - Parameters:
  ///   - cells: where the row's cells stand, as many as there are columns where there are as many.
  ///   - cellCount: how many there are.
  /// - Throws: ``EntryFault`` when the row is no key.
  func read(_ row: UnsafeRawBufferPointer, _ cells: [CSVCell], cellCount: Int) throws(EntryFault) -> CSVRow {
    guard cellCount == layout.columns.count else {
      throw EntryFault(
        reason: .malformedEntry,
        detail: "\(cellCount) cells, allowed are as many as columns: \(layout.columns.count)")
    }
    var read = CSVRow()
    for index in layout.columns.indices {
      guard let column = layout.columns[index] else { continue }
      let cell = cells[index]
      let text = cell.text(in: row)
      switch column {
      case .keyData: read.key.key = try keyData(text, index)
      case .rollingStart:
        (read.key.rollingStart, read.startsInMilliseconds) = try start(text)
      case .rollingPeriod: read.key.rollingPeriod = try number(text, column)
      case .transmissionRisk: read.key.transmissionRisk = try number(text, column)
      case .reportType: read.key.reportType = try reportType(text)
      case .daysSinceOnset: read.key.daysSinceOnset = try number(text, column)
      case .revised: read.key.isRevised = try isRevised(text)
      case .origin:
        if isStated(cell, text) { read.regions.origin = CSVText.string(cell.content(in: row)) }
      case .visitedRegions:
        if isStated(cell, text) { read.regions.visited = CSVText.list(cell.content(in: row)) }
      case .unknownFields: read.unknownFields = try bytes(text)
      }
    }
    if let revision = layout.revision { try readRevision(revision, row, cells, into: &read) }
    return read
  }

  /// What a later upload said: its type, and what else it stated.
  private func readRevision(
    _ revision: CSVLayout.Revision, _ row: UnsafeRawBufferPointer, _ cells: [CSVCell], into read: inout CSVRow
  ) throws(EntryFault) {
    guard let type = try reportType(cells[revision.reportType].text(in: row)) else { return }
    var revised = read.key
    revised.reportType = type
    revised.isRevised = true
    if let index = revision.daysSinceOnset, let days = try number(cells[index].text(in: row), .daysSinceOnset) {
      revised.daysSinceOnset = days
    }
    if let index = revision.transmissionRisk,
      let risk = try number(cells[index].text(in: row), .transmissionRisk)
    {
      revised.transmissionRisk = risk
    }
    read.revision = revised
  }

  /// In quotes any text is a name.
  private func isStated(_ cell: CSVCell, _ text: UnsafeRawBufferPointer) -> Bool {
    cell.isStated && (cell.isQuoted || !CSVText.isAbsent(text))
  }

  private func start(_ text: UnsafeRawBufferPointer) throws(EntryFault) -> (Int32?, inMilliseconds: Bool) {
    if text.count > 11, let milliseconds = DecimalCell.int64(text), milliseconds > Int64(UInt32.max) {
      switch StartsInSeconds.interval(milliseconds: milliseconds) {
      case .interval(let start): return (start, true)
      case .unaligned:
        throw EntryFault(reason: .valueNotAllowed, detail: StartsInSeconds.unaligned(milliseconds: milliseconds))
      case .noTime: break
      }
    }
    return (try number(text, .rollingStart), false)
  }

  private func keyData(_ text: UnsafeRawBufferPointer, _ index: Int) throws(EntryFault) -> TemporaryExposureKey {
    guard !CSVText.isAbsent(text) else {
      throw EntryFault(
        reason: .keyDataAbsent, detail: "column \(index + 1) (key_data): empty, allowed are 16 bytes of key data")
    }
    switch KeyText.read(text) {
    case .key(let key): return key
    case .wrongLength(let count):
      throw EntryFault(
        reason: .keyDataLength, detail: "column \(index + 1) (key_data): \(count) bytes of key data, allowed are 16")
    case .notKeyData:
      throw EntryFault(
        reason: .keyDataSpelling,
        detail: "column \(index + 1) (key_data): \(text.count) characters, allowed are 32 hexadecimal digits, "
          + "base64 of 16 bytes, or a UUID")
    }
  }

  /// `nil` for an empty cell: absent is not 0.
  private func number(_ text: UnsafeRawBufferPointer, _ column: CSVColumn) throws(EntryFault) -> Int32? {
    if CSVText.isAbsent(text) { return nil }
    guard let number = DecimalCell.int32(text) ?? DecimalCell.int64(text).flatMap({ Int32(exactly: $0) }) else {
      if text.contains(UInt8(ascii: ",")), text.allSatisfy({ DecimalCell.isDigit($0) || $0 == UInt8(ascii: ",") }) {
        throw fault(.fieldNotANumber, column, text, "a whole number without a comma in it")
      }
      throw fault(.fieldNotANumber, column, text, "a whole number \(Int32.min)...\(Int32.max)")
    }
    return number
  }

  private func reportType(_ text: UnsafeRawBufferPointer) throws(EntryFault) -> Int32? {
    let isNumber = text.allSatisfy {
      DecimalCell.isDigit($0) || [UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ",")].contains($0)
    }
    if isNumber || CSVText.isAbsent(text) { return try number(text, .reportType) }
    let name = String(decoding: text, as: UTF8.self)
    guard let type = ReportType(name: name) ?? ReportType(ofKeyServer: name) else {
      let names = ReportType.allCases.map(\.name).joined(separator: ", ")
      throw fault(.reportTypeUnknown, .reportType, text, "\(names), or a number")
    }
    return type.rawValue
  }

  private func isRevised(_ text: UnsafeRawBufferPointer) throws(EntryFault) -> Bool {
    switch text.count {
    case 0: return false
    case 1 where text[0] == UInt8(ascii: "1"): return true
    case 1 where text[0] == UInt8(ascii: "0"): return false
    case 1 where text[0] == UInt8(ascii: "t"): return true
    case 1 where text[0] == UInt8(ascii: "f"): return false
    case 4 where isWord(text, "true"): return true
    case 5 where isWord(text, "false"): return false
    case _ where CSVText.isAbsent(text): return false
    default: throw fault(.malformedEntry, .revised, text, "true, false, 1 or 0")
    }
  }

  private func isWord(_ text: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
    zip(text, UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)).allSatisfy { $0 | 0x20 == $1 }
  }

  private func bytes(_ text: UnsafeRawBufferPointer) throws(EntryFault) -> [UInt8]? {
    if CSVText.isAbsent(text) { return nil }
    guard let bytes = Base64.decode(text) else { throw fault(.malformedEntry, .unknownFields, text, "base64") }
    return bytes
  }

  private func fault(
    _ reason: RejectionReason, _ column: CSVColumn, _ text: UnsafeRawBufferPointer, _ allowed: String
  ) -> EntryFault {
    let index = layout.columns.firstIndex(of: column).map { "\($0 + 1) " } ?? ""
    return EntryFault(
      reason: reason,
      detail: "column \(index)(\(column.name)): \(ReportedText.value(text)), allowed is \(allowed)")
  }
}
