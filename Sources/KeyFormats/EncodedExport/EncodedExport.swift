public import ExposureKeys

extension KeyFormat {
  /// A whole export as text, as mails, tickets and databases hold it.
  public static let encodedExport = KeyFormat(
    KeyFormatDefinition(
      name: "encoded-export", summary: "text of a whole export, zip or export.bin: base64, hexadecimal, xxd, hexdump",
      fileExtension: "txt", readers: .apps,
      detection: .front { front in
        let first = HexDumpText.first(in: front.bytes) ?? TextEncoding.found(in: front.bytes)?.first
        return first.map { $0.starts(with: "EK Export v".utf8) || ZipArchive.begins($0) } == true
      },
      schema: .export, decoder: { EncodedExportDecoder($0, limits: $1) }))
}

/// Reads an export out of its text. An archive is held in memory, at most 256 MiB of it; an `export.bin` streams.
///
/// Places in errors count the bytes of the export. Signatures are not looked at: decode the text to a file for that.
public final class EncodedExportDecoder: KeyDecoder {
  private let window: InputWindow
  private let limits: ReadLimits
  private var decoder: ExportDecoder?

  private static let archiveLimit = 256 << 20

  public init(_ window: InputWindow, limits: ReadLimits = ReadLimits()) {
    self.window = window
    self.limits = limits
  }

  public var header: ExportHeader { decoder?.header ?? ExportHeader() }
  public var headers: HeaderMerge { decoder?.headers ?? HeaderMerge(header) }
  public var regions: RegionTable { decoder?.regions ?? RegionTable() }
  public var notes: ReadingNotes { decoder?.notes ?? ReadingNotes() }

  public func decode(into chunk: inout KeyChunk) throws -> Bool {
    let decoder = try decoder ?? open()
    self.decoder = decoder
    return try decoder.decode(into: &chunk)
  }

  private func open() throws -> ExportDecoder {
    let (text, isArchive) = try source()
    guard isArchive else { return ExportDecoder(InputWindow(text, limits: limits), limits: limits) }
    let bytes = try text.readAll(limit: min(limits.documentBytes, Self.archiveLimit))
    let archive = try ZipArchive(MemorySource(bytes), limits: limits)
    guard archive.prefixLength == 0, Self.endsOnce(bytes) else {
      throw FormatError(
        .unsupported, byteOffset: 0,
        "the text holds more than one archive, or other bytes in front of it; decode them one by one")
    }
    let entry = try ExportEntries(archive).bin
    return ExportDecoder(
      InputWindow(try archive.open(entry), limits: limits), limits: limits, place: entry.name)
  }

  /// The bytes that the text stands for.
  private func source() throws -> (any ByteSource, isArchive: Bool) {
    let most = min(HexDumpText.mostLine, limits.recordBytes)
    _ = try window.require(most)
    if let first = HexDumpText.first(in: window.unread.prefix(most)) {
      return (HexDumpText(window, limits: limits), ZipArchive.begins(first))
    }
    guard let found = TextEncoding.found(in: window.unread) else {
      throw FormatError(
        .unrecognizedFormat, byteOffset: 0, "the text is neither base64 nor hexadecimal digits of an export")
    }
    let rest = EncodedText.withoutSign(window.unread.prefix(256))
    window.skip(min(256, window.unread.count) - rest.count)
    return (EncodedText(window, found.encoding, of: "the text of an export"), found.isArchive)
  }

  /// Whether the mark of an archive's end stands in the bytes once, as it does unless archives lie behind each other.
  private static func endsOnce(_ bytes: [UInt8]) -> Bool {
    let mark: [UInt8] = [0x50, 0x4b, 0x05, 0x06]
    var count = 0
    var place = 0
    while let next = bytes[place...].firstIndex(of: mark[0]) {
      if bytes[next...].starts(with: mark) { count += 1 }
      place = next + 1
    }
    return count == 1
  }
}
