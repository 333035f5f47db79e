/// The formats that Keyferry speaks. The raw value is the name on the command line.
public enum KeyFormat: String, Sendable, Hashable, CaseIterable {
  case gaenExport = "gaen-export"
  case gaenBeta = "gaen-beta"
  case codableJSON = "codable-json"
  case publishJSON = "publish-json"
  case efgsProtobuf = "efgs-protobuf"
  case efgsJSON = "efgs-json"
  case csv
  case json
  case cwaSubmission = "cwa-submission"
  case protobufText = "protobuf-text"
  case parserText = "parser-text"
  case parserJSON = "parser-json"
  case sampleDays = "sample-days"
}

/// One row of the catalogue: what a format is, and what it can carry.
public struct FormatDescription: Sendable {
  public let format: KeyFormat
  /// One line for people.
  public let summary: String
  public let fileExtension: String
  /// What it can carry, for the formats that are written; `nil` for those that are only read.
  public let capabilities: FormatCapabilities?

  public var isWritten: Bool { capabilities != nil }
}

/// What a format can carry, and what its readers require. Fitting compares keys with it before they are written.
public struct FormatCapabilities: Sendable {
  public let rollingStart: FieldRule
  public let rollingPeriod: FieldRule
  public let transmissionRisk: FieldRule
  public let reportType: FieldRule
  public let daysSinceOnset: FieldRule
  public let origin: RegionRule
  public let visitedRegions: RegionRule
  /// Whether revised keys are told apart from the others.
  public let carriesRevision: Bool
  public let carriesHeader: Bool
  public let carriesUnknownFields: Bool
  /// Whether keys are written in the order of their raw bytes, revised ones last.
  public let sortsKeys: Bool

  public enum RegionRule: Sendable { case notCarried, optional, required }

  /// What a format does with one number of a key.
  public struct FieldRule: Sendable {
    public enum Presence: Sendable { case notCarried, optional, required }
    public let presence: Presence
    /// The values that the format, and the devices that read it, accept.
    public let allowed: ClosedRange<Int64>
    /// What is written for a key that does not state the field, unless the operator chose otherwise.
    public let builtInDefault: Int32?
    /// Whether the format spells the word unsigned.
    public let isUnsigned: Bool

    static func optional(_ allowed: ClosedRange<Int64> = anyInt32) -> FieldRule {
      FieldRule(presence: .optional, allowed: allowed, builtInDefault: nil, isUnsigned: false)
    }
    static func required(
      _ allowed: ClosedRange<Int64> = anyInt32, default value: Int32? = nil, unsigned: Bool = false
    ) -> FieldRule {
      FieldRule(presence: .required, allowed: allowed, builtInDefault: value, isUnsigned: unsigned)
    }
    static let notCarried = FieldRule(
      presence: .notCarried, allowed: anyInt32, builtInDefault: nil, isUnsigned: false)

    /// Whether no word is outside what is allowed.
    var takesAnyWord: Bool { allowed == (isUnsigned ? anyUInt32 : anyInt32) }

    /// The field's value of this word, as the format would spell it.
    @inline(__always)
    func value(of word: Int32) -> Int64 { isUnsigned ? Int64(UInt32(bitPattern: word)) : Int64(word) }
  }
}

private let anyInt32 = Int64(Int32.min)...Int64(Int32.max)
private let anyUInt32 = Int64(0)...Int64(UInt32.max)

/// The table of formats. A new format is one row here, and its folder.
public enum FormatCatalog {
  public static let all: [FormatDescription] = KeyFormat.allCases.map(description(of:))

  public static func description(of format: KeyFormat) -> FormatDescription {
    switch format {
    case .gaenExport:
      FormatDescription(
        format: format,
        summary: "export.bin and export.sig of Apple and Google: zip, bare .bin, or .bin beside .sig",
        fileExtension: "zip",
        capabilities: FormatCapabilities(
          // What every device accepts; one key beyond it can make a phone refuse the whole file.
          rollingStart: .required(0...Int64(Int32.max)), rollingPeriod: .required(1...144, default: 144),
          transmissionRisk: .optional(0...8), reportType: .optional(0...5), daysSinceOnset: .optional(-14...14),
          origin: .notCarried, visitedRegions: .notCarried, carriesRevision: true, carriesHeader: true,
          carriesUnknownFields: true, sortsKeys: true))
    case .gaenBeta:
      FormatDescription(
        format: format, summary: "the key file of the iOS 13.5 beta, without header bytes and signature",
        fileExtension: "bin", capabilities: nil)
    case .codableJSON:
      FormatDescription(
        format: format, summary: "CodableDiagnosisKey of Apple's sample app: array, object, lines, or wrapped",
        fileExtension: "json",
        capabilities: FormatCapabilities(
          rollingStart: .required(anyUInt32, unsigned: true),
          rollingPeriod: .required(anyUInt32, default: 144, unsigned: true),
          transmissionRisk: .required(0...255, default: 0), reportType: .notCarried, daysSinceOnset: .notCarried,
          origin: .notCarried, visitedRegions: .notCarried, carriesRevision: false, carriesHeader: false,
          carriesUnknownFields: false, sortsKeys: false))
    case .publishJSON:
      FormatDescription(
        format: format, summary: "publish request of Google's key server and Exposure Notifications Express",
        fileExtension: "json",
        capabilities: FormatCapabilities(
          rollingStart: .required(0...Int64(Int32.max)), rollingPeriod: .required(1...144, default: 144),
          transmissionRisk: .optional(0...8), reportType: .notCarried, daysSinceOnset: .notCarried,
          origin: .notCarried, visitedRegions: .notCarried, carriesRevision: false, carriesHeader: false,
          carriesUnknownFields: false, sortsKeys: false))
    case .efgsProtobuf, .efgsJSON:
      FormatDescription(
        format: format,
        summary: format == .efgsJSON
          ? "DiagnosisKeyBatch of the EU federation gateway as JSON"
          : "DiagnosisKeyBatch of the EU federation gateway as protobuf",
        fileExtension: format == .efgsJSON ? "json" : "bin",
        capabilities: FormatCapabilities(
          rollingStart: .required(anyUInt32, unsigned: true),
          rollingPeriod: .required(anyUInt32, default: 144, unsigned: true),
          // The batch says 2147483647 for a risk level that is not given, so no key can state that number.
          transmissionRisk: .optional(Int64(Int32.min)...Int64(Int32.max) - 1), reportType: .required(default: 0),
          daysSinceOnset: .required(),
          origin: .required, visitedRegions: .optional, carriesRevision: false, carriesHeader: false,
          carriesUnknownFields: format == .efgsProtobuf, sortsKeys: false))
    case .csv:
      FormatDescription(
        format: format, summary: "one key a row, lossless; columns by name", fileExtension: "csv",
        capabilities: .everything)
    case .json:
      FormatDescription(
        format: format, summary: "the full document, lossless, in the shape of Google's export-analyzer",
        fileExtension: "json", capabilities: .everything)
    case .cwaSubmission:
      FormatDescription(
        format: format, summary: "the Corona-Warn-App's submission payload", fileExtension: "bin", capabilities: nil)
    case .protobufText:
      FormatDescription(
        format: format, summary: "protobuf text of an export, as libraries print it", fileExtension: "textproto",
        capabilities: nil)
    case .parserText:
      FormatDescription(
        format: format, summary: "printout of a diagnosis key parser: numbered TEK lines", fileExtension: "txt",
        capabilities: nil)
    case .parserJSON:
      FormatDescription(
        format: format, summary: "JSON of a diagnosis key parser: TemporaryExposureKey with its validity",
        fileExtension: "json", capabilities: nil)
    case .sampleDays:
      FormatDescription(
        format: format, summary: "daily dumps as JSON lines: sample_date and tek_list", fileExtension: "json",
        capabilities: nil)
    }
  }
}

extension FormatCatalog {
  /// What writes keys in this format, in its usual spelling. For `gaen-export` that is `export.bin` alone: signing and
  /// packing come after it.
  ///
  /// - Throws: ``FormatError`` with `cannotExpress` when the format is only read.
  public static func encoder(for format: KeyFormat, _ output: OutputBuffer) throws -> any KeyEncoder {
    switch format {
    case .gaenExport: ExportEncoder(output)
    case .codableJSON: CodableJSONEncoder(output)
    case .publishJSON: PublishJSONEncoder(output)
    case .efgsProtobuf: BatchEncoder(output)
    case .efgsJSON: EFGSJSONEncoder(output)
    case .csv: CSVKeyEncoder(output)
    case .json: ExportJSONEncoder(output)
    case .gaenBeta, .cwaSubmission, .protobufText, .parserText, .parserJSON, .sampleDays:
      throw FormatError(.cannotExpress, "\(format.rawValue) is only read")
    }
  }
}

extension FormatCapabilities {
  fileprivate static let everything = FormatCapabilities(
    rollingStart: .optional(), rollingPeriod: .optional(), transmissionRisk: .optional(), reportType: .optional(),
    daysSinceOnset: .optional(), origin: .optional, visitedRegions: .optional, carriesRevision: true,
    carriesHeader: true, carriesUnknownFields: true, sortsKeys: false)
}

extension FormatCapabilities {
  /// The beta generation of `codable-json` has no member for it.
  public var withoutRollingPeriod: FormatCapabilities {
    FormatCapabilities(
      rollingStart: rollingStart, rollingPeriod: .notCarried, transmissionRisk: transmissionRisk,
      reportType: reportType, daysSinceOnset: daysSinceOnset, origin: origin, visitedRegions: visitedRegions,
      carriesRevision: carriesRevision, carriesHeader: carriesHeader, carriesUnknownFields: carriesUnknownFields,
      sortsKeys: sortsKeys)
  }
}

extension JSONDialect {
  /// The row of the catalogue that this JSON belongs to.
  var format: KeyFormat {
    switch self {
    case .codable: .codableJSON
    case .publish: .publishJSON
    case .efgs: .efgsJSON
    case .export: .json
    case .parsedKeys: .parserJSON
    case .sampleDays: .sampleDays
    }
  }
}
