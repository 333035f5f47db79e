public import ExposureKeys

/// Reads keys from CSV: our own layout, described in `schemas/csv.md`, and the key lists of other tools.
///
/// Columns are found by name in any order. What a row states wrongly is a rejection; the other rows go on. What a row
/// means is said by `CSVRowScanner` and `CSVRowReader`; most rows are read by a shortcut that says the same.
public final class CSVKeyDecoder: KeyDecoder {
  public var header: ExportHeader { documents.merged }
  public var headers: HeaderMerge { documents.all }
  public private(set) var regions = RegionTable()
  public private(set) var notes = ReadingNotes()

  private let window: InputWindow
  private let limits: ReadLimits
  /// The number of the line that comes next, from 1.
  private var line = 1
  /// What the line of names says, once it has been read.
  private var layout: CSVLayout?
  private var columnLine: [UInt8] = []
  /// The separator, where the file says which it is.
  private var separator: UInt8?
  private var documents = DocumentHeaders()
  /// What comment lines state since the last row. It is of the document that has been read so far, unless another one's
  /// line of names follows.
  private var stated: ExportHeader?
  private var scanner = CSVRowScanner(separator: UInt8(ascii: ","), cellLimit: 0)
  private let readsPlainRows: Bool
  private var regionCells = CSVRegionCache()

  public convenience init(_ window: InputWindow, limits: ReadLimits = ReadLimits()) {
    self.init(window, limits: limits, readsPlainRows: true)
  }

  /// - Parameter readsPlainRows: many plain rows at once (``CSVPlainRows``); otherwise each by itself, which says what they mean.
  package init(_ window: InputWindow, limits: ReadLimits = ReadLimits(), readsPlainRows: Bool) {
    self.window = window
    self.limits = limits
    self.readsPlainRows = readsPlainRows
  }

  public func decode(into chunk: inout KeyChunk) throws -> Bool {
    if layout == nil { try readColumnLine() }
    // Rejections count against the room too: they take memory as keys do.
    while let layout, chunk.keys.count + chunk.rejections.count < chunk.keys.capacity {
      if readsPlainRows { try readPlainRows(layout, into: &chunk.keys) }
      guard !chunk.keys.isFull, try readRow(layout, into: &chunk) else { break }
    }
    return !chunk.keys.isEmpty || !chunk.rejections.isEmpty
  }

  private func readPlainRows(_ layout: CSVLayout, into keys: inout KeyBuffer) throws {
    let unread = window.unread
    guard let start = unread.baseAddress else { return }
    let before = keys.count
    keys.appendDirectly { free in
      let (rows, end) = CSVPlainRows.read(
        start, start + unread.count, layout, rowLimit: limits.recordBytes, regions: regionCells, into: free)
      window.skip(end - start)
      line += rows
      return rows
    }
    if keys.count > before { try takeStated() }
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
    if window.unread[0] == UInt8(ascii: "\""), try window.require(2), window.unread[1] == UInt8(ascii: "#") {
      try readQuotedComment()
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
    try take(comment: Array(window.unread[1..<max(found.text, 1)]))
    window.skip(found.whole)
    line += 1
  }

  /// A comment that a spreadsheet has put into quotes, since it holds a separator.
  private func readQuotedComment() throws {
    var cells = CSVRowScanner(separator: separator ?? layout?.separator ?? UInt8(ascii: ","), cellLimit: 1)
    let found = try window.scanRecord(limit: limits.recordBytes, place: "line \(line)") { unread, isAtEnd in
      switch cells.scan(unread, isAtEnd: isAtEnd) {
      case .incomplete: return nil as (length: Int, lines: Int)?
      case .unterminatedQuote:
        throw FormatError(
          .truncated, place: "line \(line)", byteOffset: window.documentOffset,
          "the document ends in a comment whose quote is not closed")
      case .row(let length, let lines, _): return (length, lines)
      }
    }
    guard let found else { return }
    try checkSize(found.length)
    let row = UnsafeRawBufferPointer(rebasing: window.unread[..<found.length])
    try take(comment: Array(cells.cells[0].content(in: row).dropFirst()))
    window.skip(found.length)
    line += found.lines
  }

  private func take(comment text: [UInt8]) throws {
    do {
      if layout == nil {
        if try CSVMetadata.read(text, into: &documents.current) { noteRestated() }
      } else {
        var stated = stated ?? ExportHeader()
        if try CSVMetadata.read(text, into: &stated) {
          // What stood there before was said behind the rows, and this in front of others.
          try takeStated()
          stated = ExportHeader()
          _ = try CSVMetadata.read(text, into: &stated)
        }
        self.stated = stated
      }
    } catch var error as FormatError {
      error.byteOffset = window.documentOffset
      throw error.within("line \(line)")
    }
  }

  private func noteRestated() {
    notes.count(ReadingNote(code: "metadata-restated", text: "a comment line restates metadata; the last one counts"))
  }

  /// What comment lines stated is said of the document whose rows are being read.
  private func takeStated() throws {
    guard let stated = stated.take() else { return }
    if try CSVMetadata.restate(&documents.current, with: stated) { noteRestated() }
  }

  /// Another document begins with this line of names.
  private func beginNext() throws {
    try documents.beginNext(limits, saying: stated.take() ?? ExportHeader())
  }

  private func checkSize(_ count: Int) throws {
    guard count <= limits.recordBytes else {
      throw FormatError(
        .limitExceeded, place: "line \(line)", byteOffset: window.documentOffset,
        "a row of \(count) bytes, allowed are at most \(limits.recordBytes)")
    }
  }

  // MARK: - The line of names

  private func readColumnLine() throws {
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
        if isBlank || isRuler(row) || takesSeparator(row) {
          pass(row, lines: lines)
          continue
        }
        if let layout = CSVLayout.withoutNames(row) {
          notes.count(
            ReadingNote(
              code: "columns-assumed", text: "no line names the columns; they are read as those of teks2csv.py"))
          self.layout = layout
          scanner = CSVRowScanner(separator: layout.separator, cellLimit: layout.columns.count)
          return
        }
        return take(try readLayout(row), of: row, lines: lines)
      }
    }
  }

  /// `sep=;`, by which spreadsheets tell each other the separator.
  private func takesSeparator(_ row: UnsafeRawBufferPointer) -> Bool {
    let text = row.filter { ![0x0a, 0x0d, UInt8(ascii: "\"")].contains($0) }
    guard text.count == 5, text.starts(with: "sep=".utf8) || text.starts(with: "SEP=".utf8) else { return false }
    separator = text[4]
    return true
  }

  /// A line that only divides a table that was printed for people: `----+----`, `|---|---|`.
  private func isRuler(_ row: UnsafeRawBufferPointer) -> Bool {
    guard let first = row.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") || first == UInt8(ascii: "|")
    else { return false }
    return row.contains(UInt8(ascii: "-")) && row.allSatisfy { Self.ruling.contains($0) }
  }

  private static let ruling = Array("-+|: \r\n".utf8)

  /// What clients of databases print below a table: `(2 rows)`, `2 rows in set (0.00 sec)`.
  private func isFooter(_ row: UnsafeRawBufferPointer) -> Bool {
    guard scanner.cellCount == 1, layout?.separator == UInt8(ascii: "|"), row.count <= 64 else { return false }
    let text = row.drop { $0 == UInt8(ascii: "(") }
    let digits = text.prefix { DecimalCell.isDigit($0) }
    return !digits.isEmpty && text.dropFirst(digits.count).starts(with: " row".utf8)
  }

  private func take(_ layout: CSVLayout, of row: UnsafeRawBufferPointer, lines: Int) {
    self.layout = layout
    columnLine = Array(row)
    scanner = CSVRowScanner(separator: layout.separator, cellLimit: layout.columns.count)
    pass(row, lines: lines)
  }

  private func skipByteOrderMark() throws {
    guard try window.require(2) else { return }
    let mark = (window.unread[0], window.unread[1])
    if mark == (0xFF, 0xFE) || mark == (0xFE, 0xFF) {
      throw FormatError(.unsupported, byteOffset: 0, "the text is UTF-16, allowed is UTF-8")
    }
    if mark == (0xEF, 0xBB), try window.require(3), window.unread[2] == 0xBF { window.skip(3) }
  }

  private func readLayout(_ row: UnsafeRawBufferPointer) throws -> CSVLayout {
    do {
      let (layout, names) = try CSVLayout.read(row, separatedBy: separator)
      for (index, name) in names.enumerated() where !layout.reads(index) && !name.isEmpty {
        guard !SourceColumns.contain(name) else { continue }
        notes.count(ReadingNote(code: "unknown-column", subject: name, text: "column \"\(name)\" is not read"))
      }
      if names.contains(where: SourceColumns.contain) { notes.count(SourceColumns.note) }
      return layout
    } catch var error {
      error.byteOffset = window.documentOffset
      throw error.within("line \(line)")
    }
  }

  // MARK: - Rows

  /// Whether the scanned line has nothing on it.
  private var isBlank: Bool {
    scanner.cellCount == 1 && scanner.cells.first.map { $0.isEmpty && !$0.isQuoted } ?? true
  }

  /// Reads one line; `false` at the end of the document.
  private func readRow(_ layout: CSVLayout, into chunk: inout KeyChunk) throws -> Bool {
    switch try nextLine() {
    case .end:
      try takeStated()
      return false
    case .comment: return true
    case .row(let row, let lines, _) where isBlank || isRuler(row) || isFooter(row): pass(row, lines: lines)
    case .row(let row, let lines, _) where row.elementsEqual(columnLine):
      notes.count(
        ReadingNote(code: "column-line-repeated", text: "the line of column names stands in the file again"))
      try beginNext()
      pass(row, lines: lines)
    case .row(let row, let lines, let hasStrayText):
      do {
        let read = try CSVRowReader(layout).read(row, scanner, hasStrayText: hasStrayText)
        var key = read.key
        key.regions = try regionNumber(read.regions)
        try takeStated()
        if let fields = read.unknownFields { key.unknownFields = chunk.unknownFields.append(fields) }
        chunk.keys.append(key)
        if read.startsInMilliseconds { notes.count(StartsInSeconds.millisecondsNote) }
        if var revision = read.revision {
          revision.regions = key.regions
          revision.unknownFields = key.unknownFields
          chunk.keys.append(revision)
        }
        keepRegions(of: row, key, layout)
      } catch let fault as EntryFault {
        // No row has a cell that is called like a column of key data.
        if (try? CSVLayout.read(row, separatedBy: separator)) != nil {
          notes.count(ReadingNote(code: "further-document", text: "a table of other columns stands behind the first"))
          try beginNext()
          take(try readLayout(row), of: row, lines: lines)
          return true
        }
        chunk.rejections.append(
          Rejection(
            position: KeyPosition(index: chunk.nextIndex, byteOffset: window.documentOffset), reason: fault.reason,
            detail: "line \(line), \(fault.detail)"))
      }
      pass(row, lines: lines)
    }
    return true
  }

  /// Remembers what the row's region cells mean, for the rows that are read without cutting them.
  private func keepRegions(of row: UnsafeRawBufferPointer, _ key: ClaimedKey, _ layout: CSVLayout) {
    guard key.regions != .none else { return }
    CSVRegionCells(row, scanner.cells, layout).keep(in: &regionCells, as: key.regions)
  }

  private func regionNumber(_ claim: RegionClaim) throws(EntryFault) -> RegionClaim.ID {
    if claim.origin == nil, claim.visited == nil { return .none }
    guard let id = regions.intern(claim) else {
      throw EntryFault(reason: .tooManyRegionSets, detail: RegionTable.refusal(of: claim))
    }
    return id
  }
}
