import BundleTrust
import ExposureKeys
import GatewayTesting
import KeyConversion
import KeyFormats
import KeyIntake

typealias Document = DecodedDocument

extension KeyFormat {
  /// But for a submission, which says origin and countries once for all keys: the formats' own contract has it.
  static let written = FormatCatalog.all.filter { $0.isWritten && $0.format != .cwaSubmission }.map(\.format)

  var capabilities: FormatCapabilities {
    definition.capabilities ?? .none
  }
}

extension FormatCapabilities {
  fileprivate static var none: FormatCapabilities { preconditionFailure("the format is only read") }
}

/// Converts in memory.
struct Converted {
  let bytes: [UInt8]
  let receipt: ConversionReceipt
  /// The second bundle, the third and so on.
  let further: [[UInt8]]

  init(
    _ plan: ConversionPlan, _ inputs: [SourceDocument], vouching: Vouching = .operator, mayWriteSeveral: Bool = false
  ) throws {
    let sink = MemorySink()
    var sinks: [MemorySink] = []
    var output = ConversionOutput(document: sink)
    if mayWriteSeveral {
      output.further = { _ in
        sinks.append(MemorySink())
        return ConversionOutput(document: sinks[sinks.count - 1])
      }
    }
    receipt = try Conversion.run(
      plan, from: inputs.map { Arrival($0, vouching: vouching, at: Instant(secondsSince1970: 1_600_000_000)) },
      to: output)
    bytes = sink.bytes
    further = sinks.map(\.bytes)
  }

  init(
    to format: KeyFormat, defaults: FieldDefaults = FieldDefaults(), _ inputs: SourceDocument...
  ) throws {
    var plan = ConversionPlan(to: format)
    plan.defaults = defaults
    try self.init(plan, inputs)
  }

  var source: SourceDocument { source(format: nil) }
  func source(format: KeyFormat?) -> SourceDocument { memory(bytes, format: format) }

  /// `export.bin` in the archive that was written.
  func exportBin() throws -> [UInt8] { try entry("export.bin", of: bytes) ?? [] }
}

func entry(_ name: String, of archive: [UInt8]) throws -> [UInt8]? {
  let archive = try ZipArchive(MemorySource(archive))
  return try archive[name].map { try archive.open($0).readAll(limit: 1 << 30) }
}

func memory(_ bytes: [UInt8], name: String = "memory", format: KeyFormat? = nil) -> SourceDocument {
  SourceDocument(name: name, source: MemorySource(bytes), format: format)
}

func read(_ source: SourceDocument, chunk: Int = 100) throws -> Document {
  try Document(decoding: try source.open().decoder, chunkCapacity: chunk)
}

extension Document {
  /// As CSV, which loses nothing.
  func csv() throws -> [UInt8] {
    let sink = MemorySink()
    try encode(with: CSVKeyEncoder(OutputBuffer(sink)))
    return sink.bytes
  }
}

extension Document.Content {
  /// Without the order of the keys.
  var unordered: [Key: Int] {
    var counts: [Key: Int] = [:]
    for key in keys + revised { counts[key, default: 0] += 1 }
    return counts
  }
}
