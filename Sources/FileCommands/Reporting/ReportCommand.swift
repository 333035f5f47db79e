package import ArgumentParser
internal import BundleTrust
internal import Containers
internal import ExposureKeys
internal import KeyConversion
internal import KeyFormats
internal import KeyInspection
internal import KeyIntake

package struct ReportCommand: AsyncParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "report", _superCommandName: Program.name,
    abstract:
      "Show what many key files say over time: figures, gaps, what looks wrong, estimates; as a page to look at.",
    discussion: """
      One bundle, a folder of years, the folder of a keyferry archive, or a live index at an address with all files that it \
      lists. The page is one file with plots and a table behind each; it needs no scripts and no network. Windows of exports give the days of publication, and their regions the regions; keys are compared by \
      their key data, each once however often it was published. No key data is in it.

      What looks wrong (unsigned files, changed contents, keys of the future, keys that are not random and more) is listed \
      with its reason and does not change the exit code. Estimates say how they are made and what they cannot know.

      --cases takes a CSV file with the columns day, region and cases, and compares them with the estimated persons.

      Exit codes: 0 done, 1 keys were rejected or documents left out, 2 it could not be done.

      Examples:
        keyferry report archive/ -o report.html
        keyferry report 2020/*.zip 2021.tar.xz -o report.html --cases cases.csv
        keyferry report https://example.org/US/index.txt -o report.html
        keyferry report archive/ --json > report.json
        keyferry report archive/ --csv \\
          | sqlite3 -csv figures.sqlite '.import /dev/stdin figures'
      """)

  @Argument(
    help: ArgumentHelp("Key files, folders, archives, http and https addresses; - is standard input.", valueName: "in"),
    completion: .file())
  var inputs: [String]

  @Option(
    name: [.short, .long], help: ArgumentHelp("The report; - is standard output.", valueName: "out"),
    completion: .file())
  var output: String?

  @Flag(help: "Print the figures as JSON (schemas/report.schema.json) instead of the page.")
  var json = false

  @Flag(help: "Print the figures as CSV instead of the page: figure, name, value.")
  var csv = false

  @Option(
    help: ArgumentHelp("Positive tests: CSV with the columns day, region and cases.", valueName: "cases.csv"),
    completion: .file())
  var cases: String?

  @Flag(help: "Write over a report that is there already.")
  var replace = false

  @OptionGroup var input: InputOptions
  @OptionGroup(title: "Addresses") var addresses: AddressOptions
  @OptionGroup(title: "Folders and archives") var containers: ContainerOptions

  @OptionGroup var loudness: LoudnessOptions

  package func validate() throws {
    try InputOptions.checkPaths(inputs)
    guard !(json && csv) else { throw ValidationError("--json and --csv exclude each other") }
    guard json || csv || output != nil else {
      throw ValidationError("give -o FILE for the page (-o - prints it), or --json or --csv")
    }
  }

  package func run() async throws {
    let counts = try cases.map { try CaseFile.read($0) }
    let place = output ?? "-"
    for input in inputs + [cases].compactMap(\.self) { try Self.check(place, isNot: input) }
    // Before what may take long.
    let file = place == "-" ? nil : try OutputFile(path: place, replacing: replace)
    try write(try await input.walk(inputs, containers, asking: addresses.asking), counts, to: file, place)
  }

  /// Of its own, as the optimizer wants it: see `explain`.
  @inline(never)
  private func write(_ walk: InputWalk, _ counts: CaseCounts?, to file: OutputFile?, _ place: String) throws {
    var sum = DocumentSum(walk, isAlways: true)
    var collector = HistoryCollector()
    var hasRejections = false
    let progress = Progress()
    let output = place
    try sum.visitAhead(
      keepsGoing: containers.keepGoing ?? true, watch: progress.watching
    ) { source, observe in
      try Self.check(output, isNot: source.file)
      return try Self.read(source, observe)
    } observe: {
      collector.observe($0)
    } observeAhead: { (source, document: HistoryCollector.ObservedDocument) in
      progress.pass(source)
      collector.observe(document)
    } report: { source, report, _ in
      if report.keys.rejected > 0 { hasRejections = true }
      collector.add(report, byteCount: source.source.byteCount)
    } leftOut: { _ in
      collector.leaveOut()
    }
    progress.clear()
    let status = sum.status(hasRejections: hasRejections)
    if status == .failed {
      sum.tell()
      try exit(status)
    }
    let report = collector.report(cases: counts, changedNames: walk.changedNames)
    let text =
      json ? try JSONText.render(report) + "\n" : csv ? ReportFigures(report).csv : ReportPage(report, sum.leftOut).html
    if let file {
      try Array(text.utf8).withUnsafeBytes { try file.write($0) }
      try file.commit()
    } else {
      try Console.document(text)
    }
    sum.tell()
    if !Loudness.isQuiet, file != nil {
      Console.note(
        "\(counted(report.documents - report.unreadable, "document")), \(counted(report.distinct, "key")), "
          + "\(counted(report.anomalies.count, "anomaly", "anomalies")): \(place)")
    }
    if let cases, case let unknown? = counts?.unknownRegions(of: report), !unknown.isEmpty {
      Console.note(
        "\(cases): no document is of \(unknown.prefix(10).joined(separator: ", "))\(unknown.count > 10 ? " and others" : "")"
      )
    }
    try exit(status)
  }

  /// - Throws: `ValidationError` where the report would be written over an input.
  private static func check(_ output: String, isNot input: String) throws {
    guard output != "-", let target = FileIdentity(path: output), FileIdentity(path: input) == target else { return }
    throw ValidationError("the output \(output) is the input \(input); it would be overwritten")
  }

  private static func read(
    _ source: SourceDocument, _ observe: (borrowing KeyChunk) -> Void
  ) throws -> InspectionReport {
    let digest = DigestCollector(includingBody: false)
    let document = try source.open(observeExport: digest.update)
    var report = try source.located {
      // Keys are compared over all documents, so not in each.
      try Inspector(InspectionOptions(comparedKeys: 0)).examine(
        document, name: source.name, fileSize: source.source.byteCount
      ) { chunk, _ in
        observe(chunk)
      }.report
    }
    if document.format == .gaenExport { report.sha256 = digest.finish().hexadecimal }
    return report
  }

  package init() {}
}

/// Positive tests in a CSV file.
private enum CaseFile {
  private static let byteLimit = 64 << 20

  /// - Throws: ``FileFault`` with the line.
  static func read(_ path: String) throws -> CaseCounts {
    let text = String(decoding: try FileSource.contents(of: path, limit: byteLimit), as: UTF8.self)
    var counts = CaseCounts()
    var columns: (day: Int, region: Int, cases: Int)?
    for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let line = line.drop { $0 == "\u{FEFF}" }
      if line.isEmpty || line.hasPrefix("#") { continue }
      func fault(_ reason: String) -> FileFault { FileFault("read", path, reason: "line \(number + 1): \(reason)") }
      let cells: [String]
      switch Self.cells(of: line) {
      case .success(let found): cells = found
      case .failure(let wrong): throw fault(wrong.reason)
      }
      guard let places = columns else {
        guard let day = cells.firstIndex(of: "day"), let region = cells.firstIndex(of: "region"),
          let cases = cells.firstIndex(of: "cases")
        else { throw fault("the first line names the columns; needed are day, region and cases") }
        columns = (day, region, cases)
        continue
      }
      guard cells.count > max(places.day, places.region, places.cases) else { throw fault("it has too few cells") }
      guard let day = Day(cells[places.day]) else {
        throw fault("day \(TerminalText.harmless(cells[places.day])): needed is a day such as 2020-06-27")
      }
      guard let cases = Int(cells[places.cases]), (0...1_000_000_000).contains(cases) else {
        throw fault("cases \(TerminalText.harmless(cells[places.cases])): allowed are 0...1000000000")
      }
      counts.add(cases, region: cells[places.region], day: day)
    }
    guard columns != nil else { throw FileFault("read", path, reason: "it is empty; needed are day, region and cases") }
    return counts
  }

  private struct WrongQuote: Error { let reason: String }

  /// The cells of a line, without spaces around them. In quotation marks a cell has commas, and two marks for one.
  private static func cells(of line: Substring) -> Result<[String], WrongQuote> {
    var cells: [String] = []
    var rest = line[...]
    while true {
      rest = rest.drop { $0 == " " || $0 == "\t" }
      var cell = ""
      if rest.first == "\"" {
        rest = rest.dropFirst()
        while true {
          let part = rest.prefix { $0 != "\"" }
          cell += part
          rest = rest.dropFirst(part.count)
          guard !rest.isEmpty else {
            return .failure(WrongQuote(reason: "the quotation mark of cell \(cells.count + 1) is not closed"))
          }
          rest = rest.dropFirst()
          guard rest.first == "\"" else { break }
          cell += "\""
          rest = rest.dropFirst()
        }
        rest = rest.drop { $0 == " " || $0 == "\t" }
        guard rest.isEmpty || rest.first == "," else {
          return .failure(WrongQuote(reason: "something stands behind the quotation marks of cell \(cells.count + 1)"))
        }
      } else {
        cell = String(rest.prefix { $0 != "," })
        rest = rest.dropFirst(cell.count)
        while cell.last == " " || cell.last == "\t" { cell.removeLast() }
      }
      cells.append(cell)
      guard !rest.isEmpty else { return .success(cells) }
      rest = rest.dropFirst()
    }
  }
}

/// The figures as rows: figure, name, value.
struct ReportFigures {
  private var rows = "figure,name,value\n"

  init(_ report: HistoryReport) {
    add("total", "documents", report.documents)
    add("total", "unreadable", report.unreadable)
    add("total", "keys", report.keys)
    add("total", "distinct", report.distinct)
    add("total", "revised", report.revised)
    add("total", "rejected", report.rejected)
    add("total", "bytes", report.byteCount)
    for day in report.publicationDays {
      add("publication_day_documents", day.day, day.documents)
      add("publication_day_keys", day.day, day.keys)
      add("publication_day_new", day.day, day.new)
    }
    for day in report.keyDays { add("key_day", day.day, day.keys) }
    for (figure, counts) in [
      ("transmission_risk", report.risks), ("report_type", report.reportTypes), ("days_since_onset", report.onsets),
      ("rolling_period", report.periods), ("latency_days", report.latencies), ("times_published", report.occurrences),
    ] {
      for count in counts { add(figure, count.value.map { "\($0)" } ?? "", count.keys) }
    }
    for region in report.regions { add("region_distinct", region.region, region.distinct) }
    for (index, region) in report.regions.enumerated() {
      for (other, count) in zip(report.regions, report.overlaps[index]) where other.region != region.region {
        add("region_overlap", "\(region.region) \(other.region)", count)
      }
    }
    for region in report.regions {
      add("region_documents", region.region, region.documents)
      add("region_keys", region.region, region.keys)
    }
    for span in report.padding {
      add("padding", "\(span.region) \(span.first ?? "") \(span.last ?? "")", span.multiplier)
    }
    for part in report.shortfall {
      add("shortfall_cases", part.region, part.cases)
      add("shortfall_persons", part.region, part.persons)
    }
    for signer in report.signers { add("signer_documents", signer.key, signer.documents) }
    for series in report.series {
      add("windows_missing", "\(series.region) \(series.seconds)", series.missingCount)
      add("windows_overlapping", "\(series.region) \(series.seconds)", series.overlappingCount)
    }
    for anomaly in report.anomalies { add("anomaly", anomaly.code, anomaly.count) }
    for persons in report.persons { add("persons", "\(persons.region) \(persons.day)", persons.persons) }
  }

  private mutating func add(_ figure: String, _ name: String, _ value: Int) {
    let name = Self.isFormula(name) ? "'\(name)" : name
    let quoted =
      name.contains { ",\"\r\n".contains($0) }
      ? "\"\(name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\"" : name
    rows += "\(figure),\(quoted),\(value)\n"
  }

  /// Names come out of files, and a spreadsheet would run one that begins like this; behind `'` it is text. Numbers are none.
  private static func isFormula(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first,
      "=+-@\t\r\n\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}".unicodeScalars.contains(first)
    else { return false }
    return Int(name) == nil
  }

  var csv: String { rows }
}
