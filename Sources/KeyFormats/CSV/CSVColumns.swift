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
    case .keyData: ["key_data", "key_hex", "key", "tek", "temporary_exposure_key"]
    case .rollingStart: ["rolling_start_interval_number", "rolling_start", "rolling_start_number", "epoch"]
    case .rollingPeriod: ["rolling_period", "rolling_duration", "period"]
    case .transmissionRisk: ["transmission_risk_level", "transmission_risk", "risklevel"]
    case .reportType: ["report_type"]
    case .daysSinceOnset: ["days_since_onset_of_symptoms", "days_since_onset"]
    case .revised: ["revised"]
    case .origin: ["origin"]
    case .visitedRegions: ["visited_regions"]
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

  private static func folded(_ name: some Sequence<UInt8>) -> [UInt8] {
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

/// What the line of names says about the rows.
struct CSVLayout {
  /// How rows can be read at once; see ``CSVCanonicalRows``.
  enum Shape {
    /// The ten columns in canonical order, separated by commas.
    case full
    /// The first seven of them.
    case keysOnly
    /// Anything else: each row is cut into cells first.
    case other
  }

  let separator: UInt8
  /// One entry a cell; `nil` for a column that is not read.
  let columns: [CSVColumn?]
  let shape: Shape

  static let separators = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]
  /// The most columns that a file may have.
  static let columnLimit = 4096

  init(separator: UInt8, columns: [CSVColumn?]) {
    self.separator = separator
    self.columns = columns
    let isComma = separator == UInt8(ascii: ",")
    if isComma, columns.elementsEqual(CSVColumn.allCases, by: ==) {
      shape = .full
    } else if isComma, columns.elementsEqual(CSVColumn.allCases.prefix(7), by: ==) {
      shape = .keysOnly
    } else {
      shape = .other
    }
  }
}

extension CSVLayout {
  /// Reads the line that names the columns, and says what each name is for people. Tries every separator, and takes the
  /// one by which most columns are known, then the one that makes most columns.
  static func read(_ row: UnsafeRawBufferPointer) throws(FormatError) -> (layout: CSVLayout, names: [String]) {
    var best: (known: Int, cells: [CSVCell], layout: CSVLayout)?
    for separator in separators {
      var scanner = CSVRowScanner(separator: separator, cellLimit: columnLimit)
      guard case .row = scanner.scan(row, isAtEnd: true) else { continue }
      guard scanner.cellCount <= columnLimit else {
        throw FormatError(.limitExceeded, "\(scanner.cellCount) columns, allowed are at most \(columnLimit)")
      }
      let columns = scanner.cells.map { CSVColumn(heading: $0.text(in: row)) }
      let known = columns.count { $0 != nil }
      if let best, (best.known, best.cells.count) >= (known, columns.count) { continue }
      best = (known, scanner.cells, CSVLayout(separator: separator, columns: columns))
    }
    guard let best else { throw FormatError(.malformed, "the column names cannot be told apart") }
    let names = best.cells.map { ReportedText.name($0.text(in: row)) }
    try best.layout.check(names)
    return (best.layout, names)
  }

  private func check(_ names: [String]) throws(FormatError) {
    for column in CSVColumn.allCases where columns.count(where: { $0 == column }) > 1 {
      let both = zip(columns, names).filter { $0.0 == column }.map(\.1)
      throw FormatError(
        .malformed,
        "\(both.count) columns hold \(column.name): \(both.prefix(8).joined(separator: ", ")); allowed is one")
    }
    guard !columns.contains(.keyData) else { return }
    let found = names.prefix(24).map { "\"\($0)\"" }.joined(separator: ", ") + (names.count > 24 ? ", …" : "")
    let digests = names.contains { $0.lowercased() == "h(tek)" } ? "; H(tek) holds digests, which are no keys" : ""
    throw FormatError(
      .malformed,
      "no column holds key data: found \(found); accepted names are "
        + CSVColumn.keyData.names.map { "\($0)" }.joined(separator: ", ") + digests)
  }
}
