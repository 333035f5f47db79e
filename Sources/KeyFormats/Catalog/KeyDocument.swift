public import ExposureKeys

/// One document on its way in: found out what it is, ready to be decoded.
///
/// Formats see bytes only; where they come from (a file, standard input, a server) is the caller's business.
public final class KeyDocument {
  private let foundFormat: KeyFormat
  public let decoder: any KeyDecoder
  /// How the export was packed; `nil` for the formats that have no container.
  public let container: Container?
  /// The bytes of `export.sig`: from the archive, or given beside a bare `.bin`.
  public let signatureFile: [UInt8]?

  /// The format that was forced or found. Which JSON it is shows only while it is decoded.
  public var format: KeyFormat { (decoder as? JSONKeyDecoder)?.dialect?.format ?? foundFormat }

  public enum Container {
    case zip(ZipArchive, binEntry: ZipEntry, signatureEntry: ZipEntry?)
    case bare
  }

  /// Finds out what `source` holds and prepares to read it.
  ///
  /// - Parameters:
  ///   - source: the whole file, an archive too.
  ///   - forced: a format to take for granted instead of detecting one.
  ///   - signatureFile: the `.sig` that stands beside a bare `.bin`.
  ///   - limits: what the document may make this program hold.
  ///   - observeExport: is shown every byte of an export (header bytes included) while it is decoded, for a digest.
  /// - Throws: ``FormatError`` when no format fits, or the archive is not sound, or what the source throws.
  public init(
    _ source: any SeekableSource, format forced: KeyFormat? = nil, signatureFile: [UInt8]? = nil,
    limits: ReadLimits = ReadLimits(), observeExport: ((UnsafeRawBufferPointer) -> Void)? = nil
  ) throws {
    let front = try SequentialSource(source, range: 0..<min(FormatDetection.reach, source.byteCount))
      .readAll(limit: FormatDetection.reach)
    let guess = FormatDetection.guess(front)

    func window(_ bytes: any ByteSource, observed: Bool) -> InputWindow {
      guard observed, let observeExport else { return InputWindow(bytes, limits: limits) }
      return InputWindow(ObservedSource(bytes, observe: observeExport), limits: limits)
    }

    if guess == .zip {
      guard forced == nil || forced == .gaenExport else {
        throw FormatError(.unrecognizedFormat, "the file is a ZIP archive, not \(forced?.rawValue ?? "")")
      }
      let archive = try ZipArchive(source, limits: limits)
      let pair = try ExportEntries(archive)
      foundFormat = .gaenExport
      container = .zip(archive, binEntry: pair.bin, signatureEntry: pair.signature)
      self.signatureFile = try pair.signature.map { entry in
        try Self.within(entry.name) { try archive.open(entry).readAll(limit: limits.signatureBytes) }
      }
      decoder = ExportDecoder(
        window(try archive.openReadingAhead(pair.bin), observed: true), limits: limits, place: pair.bin.name)
      return
    }

    let bytes = SequentialSource(source)
    self.signatureFile = signatureFile
    if forced == nil {
      if guess == .json {
        decoder = JSONKeyDecoder(window(bytes, observed: false), limits: limits)
        foundFormat = .codableJSON
        container = nil
        return
      }
      if case .unrecognized(let reason) = guess { throw FormatError(.unrecognizedFormat, reason) }
      if guess == .signatureFile {
        throw FormatError(
          .unrecognizedFormat, "this is a signature file (export.sig) and holds no keys; give the .bin or the zip")
      }
    }
    guard let format = forced ?? guess.format else {
      throw FormatError(.unrecognizedFormat, "no known format begins like this")
    }
    foundFormat = format
    container = format == .gaenExport ? .bare : nil
    decoder = Self.decoder(for: format, window(bytes, observed: format == .gaenExport), limits)
  }

  /// The entries of `export.sig`; none when there is no such file.
  public func signatures() throws -> [ExportSignature] {
    do {
      return try SignatureFile.decode(signatureFile ?? [])
    } catch let error as FormatError {
      throw error.within("export.sig")
    }
  }

  private static func decoder(for format: KeyFormat, _ window: InputWindow, _ limits: ReadLimits) -> any KeyDecoder {
    switch format {
    case .gaenExport: ExportDecoder(window, limits: limits)
    case .gaenBeta: BetaFileDecoder(window, limits: limits)
    case .cwaSubmission: SubmissionDecoder(window, limits: limits)
    case .efgsProtobuf: BatchDecoder(window, limits: limits)
    case .csv: CSVKeyDecoder(window, limits: limits)
    case .protobufText: ProtobufTextKeyDecoder(window, limits: limits)
    case .parserText: ParserTextKeyDecoder(window, limits: limits)
    case .codableJSON: JSONKeyDecoder(window, limits: limits, dialect: .codable)
    case .publishJSON: JSONKeyDecoder(window, limits: limits, dialect: .publish)
    case .efgsJSON: JSONKeyDecoder(window, limits: limits, dialect: .efgs)
    case .json: JSONKeyDecoder(window, limits: limits, dialect: .export)
    case .parserJSON: JSONKeyDecoder(window, limits: limits, dialect: .parsedKeys)
    case .sampleDays: JSONKeyDecoder(window, limits: limits, dialect: .sampleDays)
    }
  }

  private static func within<Result>(_ place: String, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as FormatError where error.place.isEmpty {
      throw error.within(place)
    }
  }
}

extension FormatDetection.Guess {
  fileprivate var format: KeyFormat? {
    if case .format(let format) = self { format } else { nil }
  }
}

/// The two entries of a bundle. Their names are fixed for Google's devices; Apple's pair a `.bin` with a `.sig` by base
/// name, and tools put them into folders. What is not `export.bin` and `export.sig` at the root is a finding.
private struct ExportEntries {
  let bin: ZipEntry
  let signature: ZipEntry?

  init(_ archive: ZipArchive) throws {
    let files = archive.entries.filter { !$0.isFolder }
    for name in ["export.bin", "export.sig"] where files.count(where: { $0.name == name }) > 1 {
      throw FormatError(.duplicateEntry, "the archive names \(name) twice")
    }
    if let bin = archive["export.bin"] {
      self.bin = bin
      signature = archive["export.sig"]
      return
    }
    let names = files.prefix(8).map(\.name).joined(separator: ", ")
    let bins = files.filter { $0.name.hasSuffix(".bin") && $0.baseName != "content.bin" }
    guard let bin = bins.first, bins.count == 1 else {
      throw FormatError(
        .missingEntry,
        bins.isEmpty
          ? "the archive has no export.bin; it holds \(names.isEmpty ? "nothing" : names)"
          : "the archive holds several .bin entries (\(names)); unpack it and give one")
    }
    self.bin = bin
    signature = archive[String(bin.name.dropLast(3)) + "sig"]
  }
}
