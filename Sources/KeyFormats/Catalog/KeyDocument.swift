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
    var front = try Self.front(of: source, from: 0)
    // Blanks in front of a document say nothing about it, however many they are.
    var start = front.count
    while start < source.byteCount, front.allSatisfy(isJSONSpace) {
      front = try Self.front(of: source, from: start)
      guard !front.isEmpty else { break }
      start += front.count
    }
    let isUTF16 = UTF16Source.begins(front) && forced?.definition.isBinary != true
    if isUTF16 { front = try UTF16Source(MemorySource(front), isFront: true).readAll(limit: 2 * DocumentFront.reach) }
    let guess = FormatDetection.guess(DocumentFront(front))

    func sequential() -> any ByteSource {
      isUTF16 ? UTF16Source(SequentialSource(source)) : SequentialSource(source)
    }
    func window(_ bytes: any ByteSource, observed: Bool) -> InputWindow {
      guard observed, let observeExport else { return InputWindow(bytes, limits: limits) }
      return InputWindow(ObservedSource(bytes, observe: observeExport), limits: limits)
    }

    switch (guess, forced) {
    case (.zip, let forced):
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
      let bytes = window(try archive.openReadingAhead(pair.bin), observed: true)
      if forced == nil { try Self.checkHoldsKeys(bytes, pair.bin) }
      decoder = ExportDecoder(bytes, limits: limits, place: pair.bin.name)
    case (_, let format?), (.format(let format), nil):
      foundFormat = format
      container = format == .gaenExport ? .bare : nil
      self.signatureFile = signatureFile
      let found = FormatCatalog.decoder(
        for: format, window(sequential(), observed: format == .gaenExport), limits: limits)
      if forced == nil, case .otherText = format.definition.detection {
        decoder = GuessedDecoder(found, format)
      } else {
        decoder = found
      }
    case (.json, nil):
      // An empty list is Apple's structure as well as any other's.
      foundFormat = .codableJSON
      container = nil
      self.signatureFile = signatureFile
      decoder = JSONKeyDecoder(window(sequential(), observed: false), limits: limits)
    case (.unrecognized(let reason), nil): throw FormatError(.unrecognizedFormat, reason)
    }
  }

  private static func front(of source: any SeekableSource, from start: Int) throws -> [UInt8] {
    try SequentialSource(source, range: start..<min(start + DocumentFront.reach, source.byteCount))
      .readAll(limit: DocumentFront.reach)
  }

  /// Whether an archive is one document: `export.bin` stands at its top and beside it nothing that is called like a key file
  /// or an archive, or it has one `.bin` and beside it nothing that could hold keys. Any other archive holds documents.
  package static func isBundle(_ archive: ZipArchive) -> Bool {
    let files = archive.entries.filter { !$0.isFolder }
    if files.contains(where: { $0.name == "export.bin" }) {
      return !files.contains { file in
        let ending = file.baseName.split(separator: ".").last.map { $0.lowercased() } ?? ""
        return file.name != "export.bin" && !file.name.hasPrefix("__MACOSX/") && !file.baseName.hasPrefix("._")
          && keyFileEndings.contains(ending)
      }
    }
    let bins = files.filter { $0.name.hasSuffix(".bin") && $0.baseName != "content.bin" }
    return bins.count == 1
      && files.allSatisfy { file in
        file.name.hasSuffix(".bin") || file.name.hasSuffix(".sig") || file.baseName.hasPrefix("._")
          || file.baseName == ".DS_Store" || file.name.hasPrefix("__MACOSX/")
      }
  }

  /// What key files and archives of them are called.
  private static let keyFileEndings: Set<String> = [
    "bin", "zip", "json", "jsonl", "ndjson", "csv", "tsv", "sql", "plist", "pb", "tar", "tgz", "gz", "xz", "bz2", "zst",
  ]

  /// An entry must look like an export as a bare file must: apps ship value sets, statistics and configurations as
  /// `export.bin` in an archive, too.
  private static func checkHoldsKeys(_ entry: InputWindow, _ named: ZipEntry) throws {
    _ = try within(named.name) { try entry.require(DocumentFront.reach) }
    let front = DocumentFront(Array(entry.unread.prefix(DocumentFront.reach)))
    let guess = FormatDetection.guess(front)
    guard guess != .format(.gaenExport) else { return }
    let found =
      switch guess {
      case .format(let format): "it looks like \(format.rawValue)"
      case .json: "it is JSON"
      case .zip: "it is a ZIP archive itself"
      case .unrecognized(let reason): front.bytes.isEmpty ? reason : "its bytes are those of something else"
      }
    throw FormatError(
      .unrecognizedFormat, place: named.name,
      "this entry of the archive is no export of keys: \(found); some apps ship their settings or statistics under this"
        + " name. --from gaen-export reads it all the same")
  }

  /// The entries of `export.sig`; none when there is no such file.
  public func signatures() throws -> [ExportSignature] {
    do {
      return try SignatureFile.decode(signatureFile ?? [])
    } catch let error as FormatError {
      throw error.within("export.sig")
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
