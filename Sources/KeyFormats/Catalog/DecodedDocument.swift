public import ExposureKeys

/// A whole document in memory: the short way to read, change and write one that is known to be small.
///
/// A key takes 48 bytes. For documents of any size read a ``KeyDocument`` chunk by chunk; both see the same keys.
public struct DecodedDocument: Sendable {
  public var header: ExportHeader
  /// In reading order; revised ones are marked.
  public var keys: [ClaimedKey]
  /// The regions that the keys' numbers refer to.
  public var regions: RegionTable
  /// The fields of later versions that the keys' numbers refer to.
  public var unknownFields: UnknownFieldTable
  /// The keys that could not be taken in, each with its place and reason.
  public var rejections: [Rejection]
  /// What was skipped or read leniently.
  public var notes: ReadingNotes

  public init(
    header: ExportHeader = ExportHeader(), keys: [ClaimedKey] = [], regions: RegionTable = RegionTable(),
    unknownFields: UnknownFieldTable = UnknownFieldTable(), rejections: [Rejection] = [],
    notes: ReadingNotes = ReadingNotes()
  ) {
    self.header = header
    self.keys = keys
    self.regions = regions
    self.unknownFields = unknownFields
    self.rejections = rejections
    self.notes = notes
  }

  /// Reads a document in any format of the catalogue.
  ///
  /// - Parameters:
  ///   - bytes: the whole file, an archive too.
  ///   - format: forces a format instead of finding it out from the content.
  ///   - limits: what the document may make this program hold; lower `documentBytes` for bytes of strangers.
  /// - Throws: ``FormatError`` when no format fits, or the document as a whole cannot be read.
  public init(_ bytes: [UInt8], format: KeyFormat? = nil, limits: ReadLimits = ReadLimits()) throws {
    try self.init(decoding: KeyDocument(MemorySource(bytes), format: format, limits: limits).decoder)
  }

  /// Reads everything that `decoder` gives, in chunks of `chunkCapacity` keys. A small one tests the seams.
  public init(decoding decoder: any KeyDecoder, chunkCapacity: Int = 2048) throws {
    self.init()
    var chunk = KeyChunk(capacity: chunkCapacity)
    while try decoder.decode(into: &chunk) {
      take(chunk)
      chunk.advance()
    }
    header = decoder.header
    regions = decoder.regions
    notes = decoder.notes
  }

  private mutating func take(_ chunk: borrowing KeyChunk) {
    let unknown = chunk.unknownFields
    chunk.keys.withKeys { claims in
      for var claim in claims {
        if claim.unknownFields != 0 { claim.unknownFields = unknownFields.append(unknown[claim.unknownFields]) }
        keys.append(claim)
      }
    }
    rejections += chunk.rejections
  }

  /// Makes header and keys fit what `format` carries: fills what it requires, drops what it has no place for, and moves
  /// the keys that it refuses to ``rejections``. Keys are sorted for a format that wants them so.
  ///
  /// - Returns: what was filled in and what was lost, in keys.
  /// - Throws: ``FormatError`` with `cannotExpress` when the format is only read.
  public mutating func fit(
    to format: KeyFormat, defaults: FieldDefaults = FieldDefaults()
  ) throws -> FittingReport {
    guard let target = format.definition.capabilities else {
      throw FormatError(.cannotExpress, "\(format.rawValue) is only read")
    }
    var fitting = Fitting(to: format, target: target, defaults: defaults)
    var chunk = KeyChunk(capacity: keys.count)
    keys.withUnsafeBufferPointer { chunk.keys.append(contentsOf: $0) }
    chunk.unknownFields = unknownFields
    chunk.rejections = rejections
    fitting.fit(&chunk, regions: &regions)
    keys = chunk.keys.withKeys { Array($0) }
    rejections = chunk.rejections
    header = fitting.fit(header)
    if target.sortsKeys {
      keys.sort { $0.isRevised != $1.isRevised ? $1.isRevised : $0.key < $1.key }
    }
    return fitting.report
  }

  /// The document in this format, as it stands: ``fit(to:defaults:)`` it first where the format may not carry everything.
  ///
  /// For `gaen-export` these are the bytes of `export.bin`.
  ///
  /// - Throws: ``FormatError`` with `cannotExpress` when the format is only read, or cannot spell a key.
  public func bytes(as format: KeyFormat) throws -> [UInt8] {
    let sink = MemorySink()
    try encode(with: FormatCatalog.encoder(for: format, OutputBuffer(sink)))
    return sink.bytes
  }

  /// Writes everything through `encoder`, `keysAtOnce` at a time.
  public func encode(with encoder: any KeyEncoder, keysAtOnce: Int = 2048) throws {
    try encoder.begin(header)
    try keys.withUnsafeBufferPointer { all in
      for start in stride(from: 0, to: all.count, by: keysAtOnce) {
        let run = UnsafeBufferPointer(rebasing: all[start..<min(start + keysAtOnce, all.count)])
        try encoder.encode(run, regions: regions, unknownFields: unknownFields)
      }
    }
    try encoder.finish(header)
  }
}
