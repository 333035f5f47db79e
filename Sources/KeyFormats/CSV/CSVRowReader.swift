internal import ExposureKeys

/// What one row says.
struct CSVRow {
  var key = ClaimedKey(key: TemporaryExposureKey(high: 0, low: 0))
  var regions = RegionClaim()
  var unknownFields: [UInt8]?
}

/// What a row of cells means, in any layout: the specification of the format.
///
/// ``CSVCanonicalRows`` and ``CSVPlainRows`` read most rows without cutting them; what they read, they read as it is
/// said here, and a test compares.
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
    guard scanner.cellCount == layout.columns.count else {
      let allowed = layout.columns.count
      throw EntryFault(
        reason: .malformedEntry, detail: "\(scanner.cellCount) cells, allowed are as many as columns: \(allowed)")
    }
    guard !hasStrayText else {
      throw EntryFault(reason: .malformedEntry, detail: "text behind the closing quote of a cell; quotes are doubled")
    }
    var read = CSVRow()
    for index in layout.columns.indices {
      guard let column = layout.columns[index] else { continue }
      let cell = scanner.cells[index]
      let text = cell.text(in: row)
      switch column {
      case .keyData: read.key.key = try keyData(text, index)
      case .rollingStart: read.key.rollingStart = try number(text, column)
      case .rollingPeriod: read.key.rollingPeriod = try number(text, column)
      case .transmissionRisk: read.key.transmissionRisk = try number(text, column)
      case .reportType: read.key.reportType = try reportType(text)
      case .daysSinceOnset: read.key.daysSinceOnset = try number(text, column)
      case .revised: read.key.isRevised = try isRevised(text)
      case .origin: read.regions.origin = cell.isStated ? CSVText.string(cell.content(in: row)) : nil
      case .visitedRegions: read.regions.visited = cell.isStated ? CSVText.list(cell.content(in: row)) : nil
      case .unknownFields: read.unknownFields = try bytes(text)
      }
    }
    return read
  }

  private func keyData(_ text: UnsafeRawBufferPointer, _ index: Int) throws(EntryFault) -> TemporaryExposureKey {
    guard !text.isEmpty else {
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
    if text.isEmpty { return nil }
    guard let number = DecimalCell.int32(text) else {
      throw fault(.fieldNotANumber, column, text, "a whole number \(Int32.min)...\(Int32.max)")
    }
    return number
  }

  private func reportType(_ text: UnsafeRawBufferPointer) throws(EntryFault) -> Int32? {
    if text.allSatisfy({ DecimalCell.isDigit($0) || $0 == UInt8(ascii: "-") }) { return try number(text, .reportType) }
    guard let type = ReportType(name: String(decoding: text, as: UTF8.self)) else {
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
    case 4 where isWord(text, "true"): return true
    case 5 where isWord(text, "false"): return false
    default: throw fault(.malformedEntry, .revised, text, "true, false, 1 or 0")
    }
  }

  private func isWord(_ text: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
    zip(text, UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)).allSatisfy { $0 | 0x20 == $1 }
  }

  private func bytes(_ text: UnsafeRawBufferPointer) throws(EntryFault) -> [UInt8]? {
    if text.isEmpty { return nil }
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
