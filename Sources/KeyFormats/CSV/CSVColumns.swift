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

  /// The canonical name, followed by the other names under which the column is known.
  var names: [String] {
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

  var name: String { names[0] }

  /// `nil` for a column of another name. Case, `_`, `-` and spaces do not matter: `rollingStartNumber` is
  /// `rolling_start_number`.
  init?(heading: some Sequence<UInt8>) {
    guard let column = Self.columns[Self.folded(heading)] else { return nil }
    self = column
  }

  private static let columns: [[UInt8]: CSVColumn] = Dictionary(
    uniqueKeysWithValues: allCases.flatMap { column in column.names.map { (folded($0.utf8), column) } })

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
