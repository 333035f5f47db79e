public import ExposureKeys

extension KeyFormat {
  /// What `pg_dump`, `mysqldump` and SQLite's shell write of a back end's database.
  public static let sqlDump = KeyFormat(
    KeyFormatDefinition(
      name: "sql-dump", summary: "dump of a back end's database: COPY or INSERT of pg_dump, mysqldump or sqlite3",
      fileExtension: "sql", readers: .gateways,
      detection: .front { SQLStatement.begin($0.bytes) },
      decoder: { SQLDumpDecoder($0, limits: $1) }))
}

/// Reads the tables of a dump that have a column of key data: rows of `COPY … FROM stdin`, and `INSERT` statements.
///
/// Columns are found by the names that ``CSVKeyDecoder`` knows: in the statement, or in the `CREATE TABLE` before it.
/// Tables without key data are read over with a note. A row that is no key is a rejection; a dump that ends in the middle
/// of a table is refused.
public final class SQLDumpDecoder: KeyDecoder {
  public let header = ExportHeader()
  public private(set) var regions = RegionTable()
  public private(set) var notes = ReadingNotes()

  private let window: InputWindow
  private let limits: ReadLimits
  private var place = Place.statements
  /// Whether a backslash within quotes makes the next character stand for itself, as MySQL has it.
  private var usesBackslashes = false
  /// The columns of tables that have been created, by the tables' names.
  private var columns: [String: [[UInt8]]] = [:]
  private var table = Table()
  private var scanner = CSVRowScanner(separator: UInt8(ascii: "\t"), cellLimit: 0, quotes: false)
  private var tuple = SQLTuple()
  private let plainTuples: SQLPlainTuples?
  private var regionCells = CSVRegionCache()
  private var foundKeys = false
  private var skippedTables: Set<String> = []
  /// The head of the last `INSERT`: dumps repeat it for each row.
  private var lastHead: [UInt8] = []

  private enum Place { case statements, rows, tuples, ended }

  /// The table whose rows are being read; without a layout it has none that are keys.
  private struct Table {
    var name = ""
    var layout: CSVLayout?
    /// The same of rows whose values stand in quotes.
    var plainLayout: CSVLayout?
    var keyColumn = -1
    var rows = 0
  }

  /// At most so many tables are remembered, and noted one by one.
  private static let mostTables = 1000
  private static let mostNotedTables = 32

  public convenience init(_ window: InputWindow, limits: ReadLimits = ReadLimits()) {
    self.init(window, limits: limits, readsPlainTuples: true)
  }

  /// - Parameter readsPlainTuples: many rows of `INSERT` at once; otherwise each by itself, which says what they mean.
  package init(_ window: InputWindow, limits: ReadLimits = ReadLimits(), readsPlainTuples: Bool) {
    self.window = window
    self.limits = limits
    plainTuples = readsPlainTuples ? SQLPlainTuples() : nil
  }

  public func decode(into chunk: inout KeyChunk) throws -> Bool {
    while place != .ended, chunk.keys.count + chunk.rejections.count < chunk.keys.capacity {
      switch place {
      case .statements: try readStatement()
      case .rows: try readRows(&chunk)
      case .tuples: try readTuple(&chunk)
      case .ended: break
      }
    }
    return !chunk.keys.isEmpty || !chunk.rejections.isEmpty
  }

  // MARK: Statements

  private func readStatement() throws {
    if window.documentOffset == 0, try window.require(3), window.unread.starts(with: [0xef, 0xbb, 0xbf]) {
      window.skip(3)
    }
    if try skipRepeatedHead() {
      place = .tuples
      return
    }
    let backslashes = usesBackslashes
    let found = try window.scanRecord(limit: limits.recordBytes, place: "") { unread, isAtEnd in
      SQLStatement.next(unread, isAtEnd: isAtEnd, backslashes: backslashes)
    }
    guard let found else {
      guard try !window.require(1) else { throw truncated("a statement") }
      return try end()
    }
    let statement = window.unread[found.start..<found.end]
    // What only MySQL runs stands in comments of its own, before a statement or as one.
    if !usesBackslashes, SQLStatement.isOfMySQL(window.unread[..<found.start]) { usesBackslashes = true }
    switch found.kind {
    case .copy:
      lastHead = []
      try beginRows(SQLStatement.Head(statement), named: "COPY")
    case .insert where statement.elementsEqual(lastHead): place = .tuples
    case .insert:
      try beginTuples(SQLStatement.Head(statement))
      lastHead = Array(statement)
    case .create:
      lastHead = []
      let head = SQLStatement.Head(statement)
      if columns.count < Self.mostTables { columns[head.table] = head.createdColumns }
    case .other:
      // The head of a dump says whose it is.
      if SQLStatement.namesLikeMySQL(statement) || SQLStatement.isOfMySQL(statement) { usesBackslashes = true }
    }
    window.skip(found.end)
    if place == .rows { try skipLineEnd() }
  }

  /// Moves over the head of the last `INSERT` where it stands here once more, behind blanks alone.
  private func skipRepeatedHead() throws -> Bool {
    guard !lastHead.isEmpty, try window.require(lastHead.count + 16) else { return false }
    let unread = window.unread
    var start = 0
    while start < 15, SQLStatement.isBlank(unread[start]) { start += 1 }
    let end = start + lastHead.count
    guard unread[start..<end].elementsEqual(lastHead), !SQLReader.isOfWord(unread[end]) else { return false }
    window.skip(end)
    return true
  }

  private func end() throws {
    place = .ended
    guard !foundKeys else { return }
    let names = skippedTables.sorted().prefix(8).joined(separator: ", ")
    throw FormatError(
      .unrecognizedFormat,
      "no table of this dump has a column of key data" + (names.isEmpty ? "" : "; its tables are \(names)")
        + "; accepted names are " + CSVColumn.keyData.names.map { "\($0)" }.joined(separator: ", "))
  }

  private func truncated(_ what: String) -> FormatError {
    FormatError(
      .truncated, place: table.name.isEmpty ? "" : "table \(table.name)", byteOffset: window.documentOffset,
      "the dump ends in the middle of \(what)")
  }

  /// The rest of the line of a `COPY`.
  private func skipLineEnd() throws {
    while try window.require(1), window.unread[0] != UInt8(ascii: "\n") { window.skip(1) }
    if try window.require(1) { window.skip(1) }
  }

  private func beginRows(_ head: SQLStatement.Head, named statement: String) throws {
    guard head.readsStandardInput else { return }
    try begin(head, separator: UInt8(ascii: "\t"))
    place = .rows
  }

  private func beginTuples(_ head: SQLStatement.Head) throws {
    if head.isOfMySQL { usesBackslashes = true }
    try begin(head, separator: UInt8(ascii: ","))
    place = .tuples
  }

  private func begin(_ head: SQLStatement.Head, separator: UInt8) throws {
    let names = head.columns ?? columns[head.table] ?? []
    let shown = ReportedText.name(head.table.utf8)
    if table.name != shown { table = Table(name: shown) }
    let layout = CSVLayout(separator: separator, names: names, quotes: false)
    guard let key = layout.columns.firstIndex(of: .keyData) else {
      (table.layout, table.plainLayout) = (nil, nil)
      return noteSkipped(shown, hasColumns: !names.isEmpty)
    }
    let shownNames = names.map { ReportedText.name($0) }
    do { try layout.check(shownNames) } catch { throw error.within("table \(shown)") }
    if table.layout == nil {
      for (index, name) in shownNames.enumerated() where !layout.reads(index) {
        notes.count(ReadingNote(code: "unknown-column", subject: name, text: "column \"\(name)\" is not read"))
      }
    }
    table.layout = layout
    table.plainLayout = CSVLayout(separator: UInt8(ascii: ","), columns: layout.columns, revision: layout.revision)
    table.keyColumn = key
    foundKeys = true
    scanner = CSVRowScanner(separator: separator, cellLimit: names.count, quotes: false)
  }

  private func noteSkipped(_ name: String, hasColumns: Bool) {
    guard !skippedTables.contains(name) else { return }
    let isNoted = skippedTables.count < Self.mostNotedTables
    if isNoted { skippedTables.insert(name) }
    notes.count(
      ReadingNote(
        code: hasColumns ? "table-without-keys" : "table-skipped", subject: isNoted ? name : "others",
        text: hasColumns
          ? "table \(isNoted ? name : "(others)") has no column of key data and was not read"
          : "table \(isNoted ? name : "(others)") was not read, since nothing names its columns"))
  }

  // MARK: Rows

  private func readRows(_ chunk: inout KeyChunk) throws {
    if let layout = table.layout {
      try readPlainRows(layout, into: &chunk.keys)
      if chunk.keys.isFull { return }
    }
    let found = try window.scanRecord(limit: limits.recordBytes, place: "table \(table.name)") { unread, isAtEnd in
      if table.layout == nil { return LineEnd.scan(unread, isAtEnd: false).map(\.whole) }
      guard !unread.isEmpty, case .row(let length, _, _) = scanner.scan(unread, isAtEnd: false) else {
        return nil as Int?
      }
      return length
    }
    // Each row has an end, and a row without one may lack more.
    guard let found else { throw truncated("the table's rows") }
    let row = UnsafeRawBufferPointer(rebasing: window.unread[..<found])
    if row.starts(with: "\\.".utf8), row.count <= 4 {
      place = .statements
    } else if let layout = table.layout {
      table.rows += 1
      take(row, scanner.cells, scanner.cellCount, layout, into: &chunk)
    }
    window.skip(found)
  }

  private func readPlainRows(_ layout: CSVLayout, into keys: inout KeyBuffer) throws {
    let unread = window.unread
    guard let start = unread.baseAddress else { return }
    keys.appendDirectly { free in
      let (rows, end) = CSVPlainRows.read(
        start, start + unread.count, layout, rowLimit: limits.recordBytes, regions: regionCells, into: free)
      window.skip(end - start)
      table.rows += rows
      return rows
    }
  }

  // MARK: Tuples

  private func readPlainTuples(into keys: inout KeyBuffer) {
    guard let plainTuples, let layout = table.plainLayout else { return }
    keys.appendDirectly { free in
      let (rows, end) = plainTuples.read(
        window.unread, head: lastHead, backslashes: usesBackslashes, layout, regions: regionCells, into: free)
      window.skip(end)
      table.rows += rows
      return rows
    }
  }

  private func readTuple(_ chunk: inout KeyChunk) throws {
    readPlainTuples(into: &chunk.keys)
    if chunk.keys.count + chunk.rejections.count >= chunk.keys.capacity { return }
    let backslashes = usesBackslashes
    let found = try window.scanRecord(limit: limits.recordBytes, place: "table \(table.name)") { unread, isAtEnd in
      tuple.read(unread, isAtEnd: isAtEnd, backslashes: backslashes, keyCell: table.keyColumn)
    }
    guard let found else { throw truncated("an INSERT") }
    switch found {
    case .end(let length):
      window.skip(length)
      place = .statements
    case .malformed(let offset):
      throw FormatError(
        .malformed, place: "table \(table.name)", byteOffset: window.documentOffset + offset,
        "an INSERT has something else than a row in parentheses, a comma or a semicolon here")
    case .row(let length):
      if let layout = table.layout {
        table.rows += 1
        tuple.withText { take($0, tuple.cells, tuple.cells.count, layout, into: &chunk) }
      }
      window.skip(length)
    }
  }

  private func take(
    _ row: UnsafeRawBufferPointer, _ cells: [CSVCell], _ cellCount: Int, _ layout: CSVLayout, into chunk: inout KeyChunk
  ) {
    do throws(EntryFault) {
      let read = try CSVRowReader(layout).read(row, cells, cellCount: cellCount)
      var key = read.key
      if read.regions.origin != nil || read.regions.visited != nil {
        guard let id = regions.intern(read.regions) else {
          throw EntryFault(reason: .tooManyRegionSets, detail: RegionTable.refusal(of: read.regions))
        }
        key.regions = id
        CSVRegionCells(row, cells, layout).keep(in: &regionCells, as: id)
      }
      if let fields = read.unknownFields { key.unknownFields = chunk.unknownFields.append(fields) }
      chunk.keys.append(key)
      if read.startsInMilliseconds { notes.count(StartsInSeconds.millisecondsNote) }
      if var revision = read.revision {
        revision.regions = key.regions
        revision.unknownFields = key.unknownFields
        chunk.keys.append(revision)
      }
    } catch {
      chunk.rejections.append(
        Rejection(
          position: KeyPosition(index: chunk.nextIndex, byteOffset: window.documentOffset), reason: error.reason,
          detail: "table \(table.name), row \(table.rows), \(error.detail)"))
    }
  }
}
