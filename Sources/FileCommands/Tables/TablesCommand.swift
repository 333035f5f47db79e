package import ArgumentParser
internal import BundleTrust
internal import Containers
internal import ExposureKeys
internal import Glibc
internal import KeyConversion
internal import KeyFormats
internal import KeyInspection
internal import KeyIntake
internal import SQLiteTables

package struct TablesCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "tables", _superCommandName: Program.name,
    abstract: "Write what is in key files into the tables of an SQLite database, for analysis.",
    discussion: """
      Four tables: files (also those that could not be read, with why), keys, signatures, and findings with notes and \
      rejections. The column file of the last three is the column id of the first. Keys stand as they were sent, each \
      as often as it was: nothing is merged or completed.

      The database has an index for keys and files; sqlite3, pandas, R and DuckDB read it. Key data are 16 bytes (BLOB), \
      or 32 of SHA-256 with --hash-keys.

      Examples:
        keyferry tables archive/ -o keys.sqlite
        keyferry tables dumps.tar.xz --dates --hash-keys -o keys.db
        sqlite3 keys.sqlite "select region, count(distinct key) from keys join files on file = id group by region"
        duckdb -c "attach 'keys.sqlite'; copy keys.keys to 'keys.parquet'"
      """)

  @Argument(
    help: ArgumentHelp("Key files, folders and archives; - is standard input.", valueName: "in"), completion: .file())
  var inputs: [String]

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("A file ending in .sqlite, .sqlite3 or .db.", valueName: "out"),
    completion: .file())
  var output: String

  @Flag(help: "Write SHA-256 digests of the keys instead of the keys.")
  var hashKeys = false

  @Flag(help: "Write beside a key's interval numbers when it was in use: used_from, used_until.")
  var dates = false

  @Flag(help: "Write over tables that are there already.")
  var replace = false

  @Flag(help: "Print what was written as JSON (schemas/tables.schema.json).")
  var json = false

  @OptionGroup var input: InputOptions
  @OptionGroup(title: "Folders and archives") var containers: ContainerOptions

  @OptionGroup var loudness: LoudnessOptions

  package func validate() throws {
    try InputOptions.checkPaths(inputs)
    guard TableOutput.isDatabase(output) else {
      throw ValidationError(
        "\(PathText.shownAsMissing(output)): the output must end in .sqlite, .sqlite3 or .db")
    }
  }

  package func run() throws {
    do {
      try write()
    } catch let error as SQLiteTablesError {
      throw FileFault("write", output, reason: error.description)
    }
  }

  private func write() throws {
    let walk = input.walk(inputs, containers)
    let place = try TableOutput(output, replacing: replace)
    let tables = try KeyTableRows(place.store, hashesKeys: hashKeys, hasDates: dates)
    var sum = DocumentSum(walk, isAlways: false)
    var hasRejections = false
    try sum.visit(keepsGoing: containers.keepGoing ?? true) { source, _, observe in
      try place.check(isNot: source.file)
      let report = try tables.add(source, observe)
      if report.keys.rejected > 0 { hasRejections = true }
      return (report, nil)
    } leftOut: {
      try tables.add($0)
    }
    let status = sum.status(hasRejections: hasRejections)
    guard status != .failed else {
      sum.tell()
      return try exit(status)
    }
    try place.commit()
    sum.tell()
    if json {
      let done = TablesDocument(
        output: output, keys: tables.keyCount, documents: tables.fileCount - sum.leftOut.count,
        unreadable: sum.leftOut.count)
      try Console.document(line: try JSONText.render(done))
    } else if !Loudness.isQuiet {
      Console.note(
        "\(counted(tables.keyCount, "key")) of \(counted(tables.fileCount - sum.leftOut.count, "document")) written to \(output)"
      )
    }
    try exit(status)
  }

  package init() {}
}

/// What `--json` prints.
private struct TablesDocument: Encodable {
  let reportVersion = 1
  let output: String
  let keys: Int
  let documents: Int
  /// Documents that stand in the table of files with why they could not be read.
  let unreadable: Int
}

/// Where tables go: a database that is there whole or not at all.
private final class TableOutput {
  let store: SQLiteTables
  private let path: String
  /// The database while it is written.
  private let partialPath: String
  private var isCommitted = false
  private let noted: PartialFile

  static func isDatabase(_ path: String) -> Bool {
    [".sqlite", ".sqlite3", ".db"].contains { path.lowercased().hasSuffix($0) }
  }

  /// Whether it is the database of a gateway: SQLite keeps the mark of a program at byte 68.
  private static func isStore(_ path: String) -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var mark: [UInt8] = [0, 0, 0, 0]
    return pread(descriptor, &mark, mark.count, 68) == mark.count && mark == Array("KFRY".utf8)
  }

  /// - Parameter replacing: whether what is there already may be written over.
  init(_ path: String, replacing: Bool) throws {
    var status = stat()
    if lstat(path, &status) == 0 {
      guard replacing else { throw FileFault("write", path, reason: "it is there already; --replace writes over it") }
      guard !Self.isStore(path) else {
        throw FileFault("write", path, reason: "it is the store of a gateway, which tables never overwrites")
      }
    }
    self.path = path
    partialPath = path + OutputFile.partialEnding
    unlink(partialPath)
    noted = PartialFile(partialPath)
    store = try SQLiteTables(path: partialPath)
  }

  deinit { if !isCommitted { unlink(partialPath) } }

  /// - Throws: `ValidationError` where the database would be written over an input.
  func check(isNot input: String) throws {
    guard let identity = FileIdentity(path: input), identity == FileIdentity(path: path) else { return }
    throw ValidationError("the output \(path) is the input \(input); it would be overwritten")
  }

  func commit() throws {
    try store.finish()
    let descriptor = open(partialPath, O_RDONLY | O_CLOEXEC)
    let isSynced = descriptor >= 0 && fsync(descriptor) == 0
    let number = errno
    if descriptor >= 0 { close(descriptor) }
    guard isSynced else { throw FileFault("write", path, number: number) }
    // What another program has left of an earlier database would be taken for changes of this one.
    for ending in ["-wal", "-shm", "-journal"] { unlink(path + ending) }
    guard rename(partialPath, path) == 0 else { throw FileFault("write", path, number: errno) }
    isCommitted = true
  }
}

/// The rows of the tables, document by document.
private final class KeyTableRows {
  private let store: SQLiteTables
  private let files: SQLiteRows
  private let keys: SQLiteRows
  private let signatures: SQLiteRows
  private let findings: SQLiteRows
  private let hashesKeys: Bool
  private let hasDates: Bool
  private(set) var fileCount = 0
  private(set) var keyCount = 0

  private typealias Column = TableDescription.Column

  init(_ store: SQLiteTables, hashesKeys: Bool, hasDates: Bool) throws {
    self.store = store
    self.hashesKeys = hashesKeys
    self.hasDates = hasDates
    let file = Column("file", .int64, isIndexed: true)
    func text(_ name: String) -> Column { Column(name, .text, isOptional: true) }
    func number(_ name: String) -> Column { Column(name, .int64, isOptional: true) }
    files = try store.table(
      TableDescription(
        "files",
        [
          Column("id", .int64, isIndexed: true), Column("name", .text), text("format"), number("bytes"),
          text("export_sha256"), Column("starts", .timestamp, isOptional: true),
          Column("ends", .timestamp, isOptional: true), text("region"), number("batch"), number("batches"),
          number("keys"), number("revised"), number("rejected"), text("fault_code"), text("fault"),
        ]))
    keys = try store.table(
      TableDescription(
        "keys",
        [
          file, Column("position", .int64), Column("key", .bytes, isIndexed: true),
          Column("rolling_start", .int32, isOptional: true), Column("rolling_period", .int32, isOptional: true),
          Column("transmission_risk", .int32, isOptional: true), Column("report_type", .int32, isOptional: true),
          Column("days_since_onset", .int32, isOptional: true), Column("revised", .boolean), text("origin"),
          text("visited_regions"),
        ]
          + (hasDates
            ? [
              Column("used_from", .timestamp, isOptional: true), Column("used_until", .timestamp, isOptional: true),
            ] : [])))
    signatures = try store.table(
      TableDescription(
        "signatures",
        [
          file, Column("position", .int64), text("key_id"), text("key_version"), text("algorithm"),
          text("app_bundle_id"), text("android_package"), number("batch"), number("batches"), Column("bytes", .int64),
        ]))
    findings = try store.table(
      TableDescription(
        "findings",
        [
          file, Column("kind", .text), Column("code", .text), text("severity"), Column("count", .int64),
          number("first_position"), text("text"),
        ]))
  }

  /// Writes the rows of one document.
  func add(_ source: SourceDocument, _ observe: (borrowing KeyChunk) -> Void) throws -> InspectionReport {
    let digest = DigestCollector(includingBody: false)
    let document = try source.open(observeExport: digest.update)
    let id = Int64(fileCount + 1)
    var report = try source.located {
      try Inspector().examine(document, name: source.name, fileSize: source.source.byteCount) { chunk, regions in
        observe(chunk)
        try add(chunk, regions, of: id)
      }.report
    }
    if document.container != nil { report.sha256 = digest.finish().hexadecimal }
    fileCount += 1
    try add(report, as: id)
    return report
  }

  /// Writes the row of a document that could not be read. Keys that came before it broke stay: they are what it has.
  func add(_ document: LeftOutDocument) throws {
    fileCount += 1
    let columns = files.columns
    columns[0].append(Int64(fileCount))
    columns[1].append(PathText.shown(document.name))
    for column in columns[2..<13] { column.appendNothing() }
    columns[13].append(document.code)
    columns[14].append(document.reason)
    try files.endRow()
  }

  private func add(_ report: InspectionReport, as id: Int64) throws {
    let columns = files.columns
    columns[0].append(id)
    columns[1].append(PathText.shown(report.name))
    columns[2].append(report.format)
    columns[3].append(optional: report.size)
    columns[4].append(optional: report.sha256)
    columns[5].append(optional: Self.milliseconds(report.window.start))
    columns[6].append(optional: Self.milliseconds(report.window.end))
    columns[7].append(optional: report.region)
    columns[8].append(optional: report.batch.number)
    columns[9].append(optional: report.batch.size)
    columns[10].append(Int64(report.keys.total))
    columns[11].append(Int64(report.keys.revised))
    columns[12].append(Int64(report.keys.rejected))
    columns[13].appendNothing()
    columns[14].appendNothing()
    try files.endRow()

    for (position, signature) in report.signatures.enumerated() {
      try add(signature.info, signature.batch, bytes: signature.size, position, of: id)
    }
    for finding in report.findings {
      try add(
        "finding", finding.code.rawValue, finding.severity.rawValue, finding.count, finding.text, id,
        finding.firstPosition)
    }
    for note in report.notes { try add("note", note.code, nil, note.count, note.text, id) }
    for reason in report.rejections.byReason { try add("rejection", reason.reason, nil, reason.count, nil, id) }
  }

  private func add(
    _ info: InspectionReport.Info, _ batch: InspectionReport.Batch, bytes: Int, _ position: Int, of id: Int64
  ) throws {
    let columns = signatures.columns
    columns[0].append(id)
    columns[1].append(Int64(position))
    columns[2].append(optional: info.verificationKeyID)
    columns[3].append(optional: info.verificationKeyVersion)
    columns[4].append(optional: info.signatureAlgorithm)
    columns[5].append(optional: info.appBundleID)
    columns[6].append(optional: info.androidPackage)
    columns[7].append(optional: batch.number)
    columns[8].append(optional: batch.size)
    columns[9].append(Int64(bytes))
    try signatures.endRow()
  }

  private func add(
    _ kind: String, _ code: String, _ severity: String?, _ count: Int, _ text: String?, _ id: Int64,
    _ firstPosition: Int? = nil
  ) throws {
    let columns = findings.columns
    columns[0].append(id)
    columns[1].append(kind)
    columns[2].append(code)
    columns[3].append(optional: severity)
    columns[4].append(Int64(count))
    columns[5].append(optional: firstPosition)
    columns[6].append(optional: text)
    try findings.endRow()
  }

  private func add(_ chunk: borrowing KeyChunk, _ regions: RegionTable, of id: Int64) throws {
    let columns = keys.columns
    var index = chunk.firstIndex
    var rejections = chunk.rejections[...]
    for offset in 0..<chunk.keys.count {
      while let rejection = rejections.first, rejection.position.index <= index {
        rejections.removeFirst()
        index += 1
      }
      let key = chunk.keys[offset]
      columns[0].append(id)
      columns[1].append(Int64(index))
      columns[2].append(bytes: hashesKeys ? KeyDigest.bytes(of: key.key) : key.key.bytes)
      columns[3].append(optional: key.rollingStart)
      columns[4].append(optional: key.rollingPeriod)
      columns[5].append(optional: key.transmissionRisk)
      columns[6].append(optional: key.reportType)
      columns[7].append(optional: key.daysSinceOnset)
      columns[8].append(key.isRevised)
      let claim = key.regions == .none ? nil : regions[key.regions]
      columns[9].append(optional: claim?.origin)
      columns[10].append(optional: claim?.visited.map { $0.joined(separator: ",") })
      if hasDates {
        let start = key.rollingStart.map { Int64($0) * 600_000 }
        columns[11].append(optional: start)
        columns[12].append(optional: start.flatMap { start in key.rollingPeriod.map { start + Int64($0) * 600_000 } })
      }
      try keys.endRow()
      index += 1
      keyCount += 1
    }
  }

  /// `nil` where no calendar has it.
  private static func milliseconds(_ seconds: UInt64?) -> Int64? {
    seconds.flatMap { $0 < 253_402_300_800 ? Int64($0) * 1000 : nil }
  }
}
