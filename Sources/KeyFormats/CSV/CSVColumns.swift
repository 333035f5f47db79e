/// The columns that carry something. `schemas/csv.md` describes them for users.
enum CSVColumn: Int, CaseIterable {
  case keyData
  case rollingStart
  case rollingPeriod
  case transmissionRisk
  case reportType
  case daysSinceOnset
  case revised
  case origin
  case visitedRegions
  case unknownFields

  /// The canonical name, followed by the other names under which the column is known; to them come the names that the
  /// dialects of JSON have for the same thing, and JSON knows these.
  var names: [StaticString] {
    switch self {
    case .keyData: ["key_data", "key_hex", "key", "tek", "temporary_exposure_key", "exposure_key"]
    case .rollingStart:
      ["rolling_start_interval_number", "rolling_start", "rolling_start_number", "epoch", "interval_number"]
    case .rollingPeriod: ["rolling_period", "rolling_duration", "period", "interval_count"]
    case .transmissionRisk: ["transmission_risk_level", "transmission_risk", "risklevel"]
    case .reportType: ["report_type"]
    case .daysSinceOnset: ["days_since_onset_of_symptoms", "days_since_onset", "days_since_symptom_onset"]
    case .revised: ["revised"]
    case .origin: ["origin", "origin_country", "country_origin"]
    case .visitedRegions: ["visited_regions", "visited_countries"]
    case .unknownFields: ["unknown_fields"]
    }
  }

  var name: String { "\(names[0])" }

  /// What a member of JSON is called that says the same.
  var member: KeyMember {
    switch self {
    case .keyData: .keyData
    case .rollingStart: .rollingStart
    case .rollingPeriod: .rollingPeriod
    case .transmissionRisk: .transmissionRisk
    case .reportType: .reportType
    case .daysSinceOnset: .daysSinceOnset
    case .revised: .revised
    case .origin: .origin
    case .visitedRegions: .visited
    case .unknownFields: .unknownFields
    }
  }

  /// `nil` for a column of another name. Case, `_`, `-` and spaces do not matter: `rollingStartNumber` is
  /// `rolling_start_number`.
  init?(heading: some Sequence<UInt8>) {
    guard let column = Self.columns[Self.folded(heading)] else { return nil }
    self = column
  }

  /// A column that names a region means the keys' origin where no other column does.
  static func isRegion(heading: some Sequence<UInt8>) -> Bool {
    let heading = folded(heading)
    return heading.elementsEqual("region".utf8) || heading.elementsEqual("country".utf8)
  }

  private static let columns: [[UInt8]: CSVColumn] = {
    var columns: [[UInt8]: CSVColumn] = [:]
    for name in KeyMemberName.all {
      guard let column = allCases.first(where: { $0.member == name.member }) else { continue }
      let heading = folded(UnsafeBufferPointer(start: name.text.utf8Start, count: name.text.utf8CodeUnitCount))
      assert(columns[heading] == nil || columns[heading] == column, "\(name.text) has two meanings")
      columns[heading] = column
    }
    return columns
  }()

  static func folded(_ name: some Sequence<UInt8>) -> [UInt8] {
    name.compactMap { byte in
      switch byte {
      case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: " "): nil
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
      default: byte
      }
    }
  }

  /// The one line of names that the encoder writes, without its end.
  static let canonicalLine = allCases.map(\.name).joined(separator: ",")
}

/// The columns in which a table of ours says where each key comes from, behind those of the key.
package enum SourceColumns {
  package static let names: [StaticString] = [
    "source_file", "source_entry", "source_start", "source_end", "source_batch", "source_region", "source_signer",
    "source_sha256",
  ]

  private static let texts = Set(names.map { "\($0)" })

  static func contain(_ name: String) -> Bool { texts.contains(name) }

  static let note = ReadingNote(
    code: "source-columns", text: "columns that say where each key came from (source_...) are known and not carried on")
}

/// What the line of names says about the rows.
struct CSVLayout {
  let separator: UInt8
  /// One entry a cell; `nil` for a column that is not read.
  let columns: [CSVColumn?]
  /// Where a row states how its key was revised, if any column does.
  let revision: Revision?
  /// Whether quotes around a cell are none of it.
  let quotes: Bool

  /// Columns of Google's key server that tell what a later upload said about the key: each the number of a cell.
  struct Revision {
    var reportType: Int
    var daysSinceOnset: Int?
    var transmissionRisk: Int?
  }

  static let separators = [",", ";", "\t", "|"].map { UInt8(ascii: $0) }
  /// The most columns that a file may have.
  static let columnLimit = 4096

  init(separator: UInt8, columns: [CSVColumn?], revision: Revision? = nil, quotes: Bool = true) {
    self.separator = separator
    self.columns = columns
    self.revision = revision
    self.quotes = quotes
  }
}

extension CSVLayout {
  /// The rows of `teks2csv.py`, which writes no line of names.
  static let ofTranscripts = CSVLayout(
    separator: UInt8(ascii: ","),
    columns: [
      nil, .origin, nil, nil, nil, nil, nil, nil, .keyData, .rollingStart, .rollingPeriod, .transmissionRisk,
    ])

  /// The layout of a file without a line of names, by its first row; `nil` where it is none that is known.
  static func withoutNames(_ row: UnsafeRawBufferPointer) -> CSVLayout? {
    var scanner = CSVRowScanner(separator: UInt8(ascii: ","), cellLimit: columnLimit)
    guard case .row(_, _, hasStrayText: false) = scanner.scan(row, isAtEnd: true), scanner.cellCount == 12,
      case .key = KeyText.read(scanner.cells[8].text(in: row)),
      scanner.cells[9...].allSatisfy({ DecimalCell.int32($0.text(in: row)) != nil })
    else { return nil }
    return ofTranscripts
  }

  /// What the columns of these names hold.
  init(separator: UInt8, names: [[UInt8]], quotes: Bool = true) {
    var columns = names.map { CSVColumn(heading: $0) }
    if !columns.contains(.origin), let region = names.firstIndex(where: { CSVColumn.isRegion(heading: $0) }) {
      columns[region] = .origin
    }
    let folded = names.map { CSVColumn.folded($0) }
    func place(_ name: String) -> Int? { folded.firstIndex(of: CSVColumn.folded(name.utf8)) }
    let revision = place("revised_report_type").map {
      Revision(
        reportType: $0, daysSinceOnset: place("revised_days_since_symptom_onset"),
        transmissionRisk: place("revised_transmission_risk"))
    }
    self.init(separator: separator, columns: columns, revision: revision, quotes: quotes)
  }

  /// Whether the cell with this number is read.
  func reads(_ index: Int) -> Bool {
    if columns[index] != nil { return true }
    guard let revision else { return false }
    return [revision.reportType, revision.daysSinceOnset, revision.transmissionRisk].contains(index)
  }

  /// Reads the line that names the columns, and says what each name is for people. Tries every separator, and takes the
  /// one by which most columns are known, then the one that makes most columns.
  ///
  /// - Parameter fixed: the separator, where the file says which it is.
  static func read(
    _ row: UnsafeRawBufferPointer, separatedBy fixed: UInt8? = nil
  ) throws(FormatError) -> (layout: CSVLayout, names: [String]) {
    var best: (known: Int, cells: [CSVCell], layout: CSVLayout)?
    for separator in fixed.map({ [$0] }) ?? separators {
      var scanner = CSVRowScanner(separator: separator, cellLimit: columnLimit)
      guard case .row = scanner.scan(row, isAtEnd: true) else { continue }
      guard scanner.cellCount <= columnLimit else {
        throw FormatError(.limitExceeded, "\(scanner.cellCount) columns, allowed are at most \(columnLimit)")
      }
      let layout = CSVLayout(separator: separator, names: scanner.cells.map { Array($0.text(in: row)) })
      let known = layout.columns.count { $0 != nil }
      if let best, (best.known, best.cells.count) >= (known, layout.columns.count) { continue }
      best = (known, scanner.cells, layout)
    }
    guard let best else { throw FormatError(.malformed, "the column names cannot be told apart") }
    let names = best.cells.map { ReportedText.name($0.text(in: row)) }
    let hasKey = best.cells.contains {
      if case .key = KeyText.read($0.text(in: row)) { true } else { false }
    }
    try best.layout.check(names, hasKey: hasKey)
    return (best.layout, names)
  }

  func check(_ names: [String], hasKey: Bool = false) throws(FormatError) {
    for column in CSVColumn.allCases where columns.count(where: { $0 == column }) > 1 {
      let both = zip(columns, names).filter { $0.0 == column }.map(\.1)
      throw FormatError(
        .malformed,
        "\(both.count) columns hold \(column.name): \(both.prefix(8).joined(separator: ", ")); allowed is one")
    }
    guard !columns.contains(.keyData) else { return }
    let found = names.prefix(24).map { "\"\($0)\"" }.joined(separator: ", ") + (names.count > 24 ? ", …" : "")
    if hasKey {
      throw FormatError(
        .malformed,
        "the first line holds a key, so no line names the columns: found \(found); write a line above it, such as key_data,"
          + "rolling_start_interval_number,rolling_period")
    }
    let digests = names.contains { $0.lowercased() == "h(tek)" } ? "; H(tek) holds digests, which are no keys" : ""
    throw FormatError(
      .malformed,
      "no column holds key data: found \(found); accepted names are "
        + CSVColumn.keyData.names.map { "\($0)" }.joined(separator: ", ") + digests)
  }
}
