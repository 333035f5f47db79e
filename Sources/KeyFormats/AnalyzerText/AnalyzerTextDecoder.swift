public import ExposureKeys

extension KeyFormat {
  /// What Google's export-analyzer prints, one file or many.
  public static let analyzerText = KeyFormat(
    KeyFormatDefinition(
      name: "analyzer-text", summary: "output of Google's export-analyzer: a path, its signature and export as JSON",
      fileExtension: "txt", readers: .apps,
      detection: .front { front in
        front.lines.contains { line in
          line.hasPrefix("export: {") || line.hasPrefix("signature: {")
        }
      },
      decoder: { AnalyzerTextDecoder($0, limits: $1) }))
}

/// Reads the output of Google's `export-analyzer`: for each file its path and a colon, `signature: {…}`, and `export: {…}`,
/// both indented JSON. Each export is a document; signatures are not keys, and are read over with a note.
public final class AnalyzerTextDecoder: KeyDecoder {
  private let json: JSONKeyDecoder
  private let text: ExportLines

  public init(_ window: InputWindow, limits: ReadLimits = ReadLimits()) {
    text = ExportLines(window, limits: limits)
    json = JSONKeyDecoder(InputWindow(text, limits: limits), limits: limits, dialect: .export)
  }

  public var header: ExportHeader { json.header }
  public var headers: HeaderMerge { json.headers }
  public var regions: RegionTable { json.regions }

  public var notes: ReadingNotes {
    var notes = json.notes
    notes.count(
      ReadingNote(code: "value-skipped", subject: "signature", text: "a signature beside an export was not read"),
      text.signatures)
    return notes
  }

  public func decode(into chunk: inout KeyChunk) throws -> Bool { try json.decode(into: &chunk) }
}

/// The text with spaces in place of everything that is no export, so that places stay what they are.
private final class ExportLines: ByteSource {
  private(set) var signatures = 0

  private let window: InputWindow
  private let limits: ReadLimits
  private var place = Place.between
  private var line: [UInt8] = []
  private var taken = 0

  private enum Place { case between, inSignature, inExport }

  init(_ window: InputWindow, limits: ReadLimits) {
    self.window = window
    self.limits = limits
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    if taken == line.count {
      guard try nextLine() else { return 0 }
    }
    let count = min(buffer.count, line.count - taken)
    buffer.copyBytes(from: line[taken..<taken + count])
    taken += count
    return count
  }

  private func nextLine() throws -> Bool {
    guard try window.require(1) else { return false }
    let found = try window.scanRecord(limit: limits.recordBytes, place: "") { unread, isAtEnd in
      LineEnd.scan(unread, isAtEnd: isAtEnd)
    }
    guard let found else { return false }
    line = Array(window.unread[..<found.whole])
    taken = 0
    let text = line[..<found.text]
    window.skip(found.whole)
    switch place {
    case .between:
      if text.starts(with: "export: {".utf8) {
        hide(8)
        place = text.elementsEqual("export: {}".utf8) ? .between : .inExport
      } else {
        if text.starts(with: "signature: {".utf8) {
          signatures += 1
          place = text.elementsEqual("signature: {}".utf8) ? .between : .inSignature
        }
        hide(found.text)
      }
    case .inSignature:
      if text.elementsEqual("}".utf8) { place = .between }
      hide(found.text)
    case .inExport:
      if text.elementsEqual("}".utf8) { place = .between }
    }
    return true
  }

  private func hide(_ count: Int) {
    for index in 0..<count { line[index] = 0x20 }
  }
}
