public import ExposureKeys

extension KeyFormat {
  /// A whole export as text, as mails, tickets and databases hold it.
  public static let encodedExport = KeyFormat(
    KeyFormatDefinition(
      name: "encoded-export", summary: "base64 or hexadecimal text of a whole export: zip or export.bin",
      fileExtension: "txt", readers: .apps,
      detection: .front { front in
        TextEncoding.found(in: front.bytes).map { $0.first.starts(with: "EK Export v".utf8) || $0.isArchive } == true
      },
      schema: .export, decoder: { EncodedExportDecoder($0, limits: $1) }))
}

/// How bytes are written as text.
private enum TextEncoding {
  case base64, hexadecimal

  /// The bytes that text begins with, by the encoding that it looks like.
  struct Found {
    let encoding: TextEncoding
    let first: [UInt8]

    var isArchive: Bool { ZipArchive.begins(first) }
  }

  /// - Parameter front: the beginning of a document, which is cut anywhere.
  static func found(in front: some Collection<UInt8>) -> Found? {
    let digits = EncodedText.withoutSign(front.prefix(256)).filter { !EncodedText.isSpace($0) }.prefix(48)
    guard digits.count >= 16 else { return nil }
    let whole = digits.prefix(digits.count & ~3)
    if let bytes = Hexadecimal.decode(whole) { return Found(encoding: .hexadecimal, first: bytes) }
    if let bytes = Base64.decode(Array(whole)) { return Found(encoding: .base64, first: bytes) }
    return nil
  }
}

/// Bytes that are written as text, with white space anywhere.
private final class EncodedText: ByteSource {
  private let window: InputWindow
  private let encoding: TextEncoding
  private var digits: [UInt8] = []
  private var bytes: [UInt8] = []
  private var taken = 0
  private var isPadded = false

  init(_ window: InputWindow, _ encoding: TextEncoding) {
    self.window = window
    self.encoding = encoding
  }

  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

  /// Without a byte order mark, and what databases and tools write in front of the digits: `\x`, `0x`, `data:…;base64,`.
  static func withoutSign(_ text: some Collection<UInt8>) -> ArraySlice<UInt8> {
    var text = Array(text)[...]
    if text.starts(with: [0xef, 0xbb, 0xbf]) { text = text.dropFirst(3) }
    text = text.drop { isSpace($0) }
    for sign in ["\\x", "0x"] where text.starts(with: sign.utf8) { return text.dropFirst(2) }
    if text.starts(with: "data:".utf8), let comma = text.firstIndex(of: UInt8(ascii: ",")) {
      return text[(comma + 1)...]
    }
    return text
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    while taken == bytes.count {
      guard try decode() else { return 0 }
    }
    let count = min(buffer.count, bytes.count - taken)
    buffer.copyBytes(from: bytes[taken..<taken + count])
    taken += count
    return count
  }

  /// Decodes what the window holds; `false` at the end.
  private func decode() throws -> Bool {
    bytes.removeAll(keepingCapacity: true)
    taken = 0
    guard try window.require(1) else { return try finish() }
    var used = 0
    let unread = window.unread
    while used < unread.count, digits.count < 1 << 15 {
      let byte = unread[used]
      if !Self.isSpace(byte) {
        guard isDigit(byte) else {
          // What stands before it is handed on first, wherever the text was cut.
          if used > 0 { break }
          throw FormatError(
            .malformed, byteOffset: window.documentOffset + used,
            "the text of an export holds something that is no digit of "
              + (encoding == .base64 ? "base64" : "hexadecimal numbers"))
        }
        digits.append(byte)
      }
      used += 1
    }
    window.skip(used)
    let whole = digits.count & ~3
    try decode(whole)
    digits.removeFirst(whole)
    return true
  }

  private func isDigit(_ byte: UInt8) -> Bool {
    switch encoding {
    case .hexadecimal: return Hexadecimal.values[Int(byte)] != 255
    case .base64:
      if byte == UInt8(ascii: "=") {
        isPadded = true
        return true
      }
      if isPadded { return false }
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "-"),
        UInt8(ascii: "_"):
        return true
      default: return false
      }
    }
  }

  private func decode(_ count: Int) throws {
    let part = Array(digits[..<count])
    guard let decoded = encoding == .base64 ? Base64.decode(part) : Hexadecimal.decode(part) else {
      throw FormatError(.malformed, byteOffset: window.documentOffset, "the text of an export is not valid base64")
    }
    bytes += decoded
  }

  private func finish() throws -> Bool {
    guard !digits.isEmpty else { return false }
    if encoding == .hexadecimal, !digits.count.isMultiple(of: 2) {
      throw FormatError(
        .truncated, byteOffset: window.documentOffset, "the text of an export ends in the middle of a byte")
    }
    if encoding == .base64, digits.count == 1 {
      throw FormatError(
        .truncated, byteOffset: window.documentOffset, "the text of an export ends in the middle of a byte")
    }
    try decode(digits.count)
    digits = []
    return true
  }
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
    _ = try window.require(min(256, limits.recordBytes))
    guard let found = TextEncoding.found(in: window.unread) else {
      throw FormatError(
        .unrecognizedFormat, byteOffset: 0, "the text is neither base64 nor hexadecimal digits of an export")
    }
    let rest = EncodedText.withoutSign(window.unread.prefix(256))
    window.skip(min(256, window.unread.count) - rest.count)
    let text = EncodedText(window, found.encoding)
    guard found.isArchive else { return ExportDecoder(InputWindow(text, limits: limits), limits: limits) }
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
