public import ExposureKeys

/// Reads keys from CSV: our own layout, described in `schemas/csv.md`, and the key lists of other tools.
///
/// Columns are found by name in any order. What a row states wrongly is a rejection; the other rows go on.
public final class CSVKeyDecoder: KeyDecoder {
  public private(set) var header = ExportHeader()
  public private(set) var regions = RegionTable()
  public private(set) var notes = ReadingNotes()

  private let window: InputWindow
  private let limits: ReadLimits
  /// The number of the line that comes next, from 1.
  private var line = 1
  private var layout: CSVLayout?
  private var columnLine: [UInt8] = []
  private var scanner = CSVRowScanner(separator: UInt8(ascii: ","), cellLimit: 0)
  private var tails = CSVTailCache()
  private var regionCells = CSVTailCache()

  public init(_ window: InputWindow, limits: ReadLimits = ReadLimits()) {
    self.window = window
    self.limits = limits
  }

  public func decode(into chunk: inout KeyChunk) throws -> Bool {
    let layout = try layout ?? readColumnLine()
    // Rejections count against the room too: they take memory as keys do.
    while chunk.keys.count + chunk.rejections.count < chunk.keys.capacity {
      if layout.shape != .other { readCanonicalRows(layout, into: &chunk.keys) }
      readPlainRows(layout, into: &chunk.keys)
      guard !chunk.keys.isFull, try readRow(layout, into: &chunk) else { break }
    }
    return !chunk.keys.isEmpty || !chunk.rejections.isEmpty
  }

  private func readCanonicalRows(_ layout: CSVLayout, into keys: inout KeyBuffer) {
    let unread = window.unread
    guard let start = unread.baseAddress else { return }
    keys.appendDirectly { free in
      let (rows, end) = CSVCanonicalRows.read(
        start, start + unread.count, withRegions: layout.shape == .full, tails: tails, into: free)
      window.skip(end - start)
      line += rows
      return rows
    }
  }

  private func readPlainRows(_ layout: CSVLayout, into keys: inout KeyBuffer) {
    let unread = window.unread
    guard let start = unread.baseAddress else { return }
    keys.appendDirectly { free in
      let (rows, end) = CSVPlainRows.read(
        start, start + unread.count, layout, rowLimit: limits.recordBytes, regions: regionCells, into: free)
      window.skip(end - start)
      line += rows
      return rows
    }
  }

  // MARK: - Lines

  private enum Line {
    case comment
    case row(UnsafeRawBufferPointer, lines: Int, hasStrayText: Bool)
    case end
  }

  /// Finds the line or the row that comes next. Its cells are in ``scanner`` then.
  ///
  /// A comment has been read; a row is for the caller to read and to pass by with ``pass(_:lines:)``.
  private func nextLine() throws -> Line {
    guard try window.require(1) else { return .end }
    if window.unread[0] == UInt8(ascii: "#") {
      try readComment()
      return .comment
    }
    let found: Line? = try window.scanRecord(limit: limits.recordBytes, place: "line \(line)") { unread, isAtEnd in
      switch scanner.scan(unread, isAtEnd: isAtEnd) {
      case .incomplete: return nil
      case .unterminatedQuote(let offset):
        throw FormatError(
          .truncated, place: "line \(line + offset)", byteOffset: window.documentOffset,
          "the document ends in a cell whose quote is not closed")
      case .row(let length, let lines, let hasStrayText):
        return .row(UnsafeRawBufferPointer(rebasing: unread[..<length]), lines: lines, hasStrayText: hasStrayText)
      }
    }
    guard case .row(let row, _, _)? = found else { return .end }
    try checkSize(row.count)
    return found ?? .end
  }

  private func pass(_ row: UnsafeRawBufferPointer, lines: Int) {
    window.skip(row.count)
    line += lines
  }

  private func readComment() throws {
    let found = try window.scanRecord(limit: limits.recordBytes, place: "line \(line)") { unread, isAtEnd in
      LineEnd.scan(unread, isAtEnd: isAtEnd)
    }
    guard let found else { return }
    try checkSize(found.whole)
    do {
      let text = UnsafeRawBufferPointer(rebasing: window.unread[1..<max(found.text, 1)])
      if try CSVMetadata.read(text, into: &header) {
        notes.count(
          ReadingNote(code: "metadata-restated", text: "a comment line restates metadata; the last one counts"))
      }
    } catch var error as FormatError {
      error.byteOffset = window.documentOffset
      throw error.within("line \(line)")
    }
    window.skip(found.whole)
    line += 1
  }

  private func checkSize(_ count: Int) throws {
    guard count <= limits.recordBytes else {
      throw FormatError(
        .limitExceeded, place: "line \(line)", byteOffset: window.documentOffset,
        "a row of \(count) bytes, allowed are at most \(limits.recordBytes)")
    }
  }

  // MARK: - The line of names

  private func readColumnLine() throws -> CSVLayout {
    try skipByteOrderMark()
    scanner = CSVRowScanner(separator: UInt8(ascii: ","), cellLimit: CSVLayout.columnLimit)
    while true {
      switch try nextLine() {
      case .comment: continue
      case .end:
        throw FormatError(
          .truncated, place: "line \(line)", byteOffset: window.documentOffset,
          "the document ends before the line that names the columns")
      case .row(let row, let lines, _):
        if isBlank {
          pass(row, lines: lines)
          continue
        }
        let layout = try readColumns(row)
        columnLine = Array(row)
        scanner = CSVRowScanner(separator: layout.separator, cellLimit: layout.columns.count)
        pass(row, lines: lines)
        self.layout = layout
        return layout
      }
    }
  }

  private func skipByteOrderMark() throws {
    guard try window.require(2) else { return }
    let mark = (window.unread[0], window.unread[1])
    if mark == (0xFF, 0xFE) || mark == (0xFE, 0xFF) {
      throw FormatError(.unsupported, byteOffset: 0, "the text is UTF-16, allowed is UTF-8")
    }
    if mark == (0xEF, 0xBB), try window.require(3), window.unread[2] == 0xBF { window.skip(3) }
  }

  /// Tries every separator, and takes the one by which most columns are known, then the one that makes most columns.
  private func readColumns(_ row: UnsafeRawBufferPointer) throws -> CSVLayout {
    var best: (known: Int, cells: [CSVCell], layout: CSVLayout)?
    for separator in CSVLayout.separators {
      var scanner = CSVRowScanner(separator: separator, cellLimit: CSVLayout.columnLimit)
      guard case .row = scanner.scan(row, isAtEnd: true) else { continue }
      guard scanner.cellCount <= CSVLayout.columnLimit else {
        throw FormatError(
          .limitExceeded, place: "line \(line)", byteOffset: window.documentOffset,
          "\(scanner.cellCount) columns, allowed are at most \(CSVLayout.columnLimit)")
      }
      let columns = scanner.cells.map { CSVColumn(heading: $0.text(in: row)) }
      let known = columns.count { $0 != nil }
      if let best, (best.known, best.cells.count) >= (known, columns.count) { continue }
      best = (known, scanner.cells, CSVLayout(separator: separator, columns: columns))
    }
    guard let best else {
      throw FormatError(
        .malformed, place: "line \(line)", byteOffset: window.documentOffset, "the column names cannot be told apart")
    }
    let names = best.cells.map { ReportedText.name($0.text(in: row)) }
    try check(best.layout, names)
    for (column, name) in zip(best.layout.columns, names) where column == nil {
      notes.count(
        ReadingNote(code: "unknown-column", subject: name, text: "column \"\(name)\" is not read"))
    }
    return best.layout
  }

  private func check(_ layout: CSVLayout, _ names: [String]) throws {
    for column in CSVColumn.allCases where layout.columns.count(where: { $0 == column }) > 1 {
      let both = zip(layout.columns, names).filter { $0.0 == column }.map(\.1)
      throw FormatError(
        .malformed, place: "line \(line)", byteOffset: window.documentOffset,
        "\(both.count) columns hold \(column.name): \(both.prefix(8).joined(separator: ", ")); allowed is one")
    }
    guard !layout.columns.contains(.keyData) else { return }
    let found = names.prefix(24).map { "\"\($0)\"" }.joined(separator: ", ") + (names.count > 24 ? ", …" : "")
    let digests = names.contains { $0.lowercased() == "h(tek)" } ? "; H(tek) holds digests, which are no keys" : ""
    throw FormatError(
      .malformed, place: "line \(line)", byteOffset: window.documentOffset,
      "no column holds key data: found \(found); accepted names are "
        + CSVColumn.keyData.names.joined(separator: ", ") + digests)
  }

  // MARK: - Rows

  /// Whether the scanned line has nothing on it.
  private var isBlank: Bool {
    scanner.cellCount == 1 && scanner.cells.first.map { $0.isEmpty && !$0.isQuoted } ?? true
  }

  /// Reads one line; `false` at the end of the document.
  private func readRow(_ layout: CSVLayout, into chunk: inout KeyChunk) throws -> Bool {
    switch try nextLine() {
    case .end: return false
    case .comment: return true
    case .row(let row, let lines, let hasStrayText):
      if isBlank {
        pass(row, lines: lines)
        return true
      }
      if row.elementsEqual(columnLine) {
        notes.count(
          ReadingNote(code: "column-line-repeated", text: "the line of column names stands in the file again"))
        pass(row, lines: lines)
        return true
      }
      do {
        let key = try read(row, hasStrayText, layout, &chunk.unknownFields)
        chunk.keys.append(key)
        keepRegions(of: row, key, layout)
      } catch let fault as EntryFault {
        chunk.rejections.append(
          Rejection(
            position: KeyPosition(index: chunk.nextIndex, byteOffset: window.documentOffset), reason: fault.reason,
            detail: "line \(line), \(fault.detail)"))
      }
      pass(row, lines: lines)
      return true
    }
  }

  /// Remembers what the row's region cells mean, for the rows that are read without cutting them.
  private func keepRegions(of row: UnsafeRawBufferPointer, _ key: ClaimedKey, _ layout: CSVLayout) {
    guard key.regions != .none else { return }
    if layout.shape == .full, key.unknownFields == 0 {
      tails.keep(row, from: scanner.cells[CSVColumn.origin.rawValue].rawStart, as: key.regions)
    }
    var cells = CSVRegionCells()
    for (column, cell) in zip(layout.columns, scanner.cells) where column == .origin || column == .visitedRegions {
      let found = CSVRegionCells.Cell(text: cell.text(in: row), isQuoted: cell.isQuoted)
      if column == .origin { cells.origin = found } else { cells.visited = found }
    }
    cells.keep(in: &regionCells, as: key.regions)
  }

  /// - Throws: ``EntryFault`` when the row is no key, ``FormatError`` when there are too many regions.
  private func read(
    _ row: UnsafeRawBufferPointer, _ hasStrayText: Bool, _ layout: CSVLayout, _ unknownFields: inout UnknownFieldTable
  ) throws -> ClaimedKey {
    guard scanner.cellCount == layout.columns.count else {
      let allowed = layout.columns.count
      throw EntryFault(
        reason: .malformedEntry, detail: "\(scanner.cellCount) cells, allowed are as many as columns: \(allowed)")
    }
    guard !hasStrayText else {
      throw EntryFault(reason: .malformedEntry, detail: "text behind the closing quote of a cell; quotes are doubled")
    }
    var key = ClaimedKey(key: TemporaryExposureKey(high: 0, low: 0))
    var claim = RegionClaim()
    var fields: UnsafeRawBufferPointer?
    for index in 0..<layout.columns.count {
      guard let column = layout.columns[index] else { continue }
      let cell = scanner.cells[index]
      let text = cell.text(in: row)
      switch column {
      case .keyData:
        key.key = try keyData(text, index)
        continue
      case .origin:
        if !cell.isEmpty || cell.isQuoted { claim.origin = plain(cell, row, CSVText.string, CSVText.string) }
        continue
      case .visitedRegions:
        if !cell.isEmpty || cell.isQuoted { claim.visited = plain(cell, row, CSVText.list, CSVText.list) }
        continue
      default: break
      }
      if text.isEmpty { continue }
      switch column {
      case .rollingStart:
        key.rollingStartWord = try number(text, column)
        key.fields.insert(.rollingStart)
      case .rollingPeriod:
        key.rollingPeriodWord = try number(text, column)
        key.fields.insert(.rollingPeriod)
      case .transmissionRisk:
        key.transmissionRiskWord = try number(text, column)
        key.fields.insert(.transmissionRisk)
      case .reportType:
        key.reportTypeWord = try reportType(text)
        key.fields.insert(.reportType)
      case .daysSinceOnset:
        key.daysSinceOnsetWord = try number(text, column)
        key.fields.insert(.daysSinceOnset)
      case .revised: key.isRevised = try isRevised(text)
      case .unknownFields: fields = text
      case .keyData, .origin, .visitedRegions: break
      }
    }
    if let fields {
      guard let bytes = Base64.decode(fields) else {
        throw fault(.malformedEntry, .unknownFields, fields, "base64")
      }
      key.unknownFields = unknownFields.append(bytes)
    }
    if claim.origin != nil || claim.visited != nil {
      guard let id = regions.intern(claim) else {
        throw FormatError(
          .limitExceeded, place: "line \(line)", byteOffset: window.documentOffset,
          "more than \(RegionTable.limit) distinct sets of regions")
      }
      key.regions = id
    }
    return key
  }

  /// The cell's text as `read` understands it, with doubled quotes made single.
  private func plain<Value>(
    _ cell: CSVCell, _ row: UnsafeRawBufferPointer, _ read: (UnsafeRawBufferPointer) -> Value,
    _ readCopy: ([UInt8]) -> Value
  ) -> Value {
    let text = cell.text(in: row)
    guard cell.hasDoubledQuotes else { return read(text) }
    var copy: [UInt8] = []
    var isSecond = false
    for byte in text {
      isSecond = byte == UInt8(ascii: "\"") && !isSecond
      if !isSecond { copy.append(byte) }
    }
    return readCopy(copy)
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

  private func number(_ text: UnsafeRawBufferPointer, _ column: CSVColumn) throws(EntryFault) -> Int32 {
    guard let number = DecimalCell.int32(text) else {
      throw fault(.fieldNotANumber, column, text, "a whole number \(Int32.min)...\(Int32.max)")
    }
    return number
  }

  private func reportType(_ text: UnsafeRawBufferPointer) throws(EntryFault) -> Int32 {
    if let number = DecimalCell.int32(text) { return number }
    if text.allSatisfy({ DecimalCell.isDigit($0) || $0 == UInt8(ascii: "-") }) {
      throw fault(.fieldNotANumber, .reportType, text, "a whole number \(Int32.min)...\(Int32.max)")
    }
    guard let type = ReportType(name: String(decoding: text, as: UTF8.self)) else {
      let names = ReportType.allCases.map(\.name).joined(separator: ", ")
      throw fault(.reportTypeUnknown, .reportType, text, "\(names), or a number")
    }
    return type.rawValue
  }

  private func isRevised(_ text: UnsafeRawBufferPointer) throws(EntryFault) -> Bool {
    switch text.count {
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

  private func fault(
    _ reason: RejectionReason, _ column: CSVColumn, _ text: UnsafeRawBufferPointer, _ allowed: String
  ) -> EntryFault {
    let index = layout?.columns.firstIndex(of: column).map { "\($0 + 1) " } ?? ""
    return EntryFault(
      reason: reason,
      detail: "column \(index)(\(column.name)): \(ReportedText.value(text)), allowed is \(allowed)")
  }
}
