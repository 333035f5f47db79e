public import ExposureKeys

extension KeyFormat {
  /// The user defaults of apps made from Apple's sample, as a file of the phone or converted to XML.
  public static let propertyList = KeyFormat(
    KeyFormatDefinition(
      name: "property-list", summary: "user defaults of Apple's sample app: a property list, binary or XML",
      fileExtension: "plist", isBinary: true, readers: .apps,
      detection: .front { front in
        if front.bytes.starts(with: BinaryPropertyList.magic) { return true }
        return XMLPropertyList.begins(front.bytes)
      },
      decoder: { PropertyListDecoder($0, limits: $1) }))
}

/// A value of a property list's dictionary, as far as it is looked at.
enum PropertyListValue: Equatable {
  case data([UInt8])
  /// Anything else, by its kind.
  case other(String)
}

/// Reads the keys that the sample app keeps in its user defaults: the value `diagnosisKeys`, data that holds JSON.
///
/// Beside it stand a person's test results and exposures, which are read over with a note. A property list has an index
/// at its end, so the whole of it is held in memory, at most 64 MiB.
public final class PropertyListDecoder: KeyDecoder {
  private let window: InputWindow
  private let limits: ReadLimits
  private var json: JSONKeyDecoder?
  private var ownNotes = ReadingNotes()

  private static let sizeLimit = 64 << 20
  private static let keysName = "diagnosisKeys"
  private static let privateNames: Set<String> = [
    "testResults", "exposures", "dateLastPerformedExposureDetection", "exposureDetectionErrorLocalizedDescription",
    "nextDiagnosisKeyFileIndex",
  ]
  private static let mostNotedNames = 32

  public init(_ window: InputWindow, limits: ReadLimits = ReadLimits()) {
    self.window = window
    self.limits = limits
  }

  public var header: ExportHeader { json?.header ?? ExportHeader() }
  public var regions: RegionTable { json?.regions ?? RegionTable() }

  public var notes: ReadingNotes {
    var notes = ownNotes
    for (note, count) in json?.notes.sorted ?? [] { notes.count(note, count) }
    return notes
  }

  public func decode(into chunk: inout KeyChunk) throws -> Bool {
    let json = try json ?? open()
    self.json = json
    do {
      return try json.decode(into: &chunk)
    } catch let error as FormatError {
      throw error.within(Self.keysName)
    }
  }

  private func open() throws -> JSONKeyDecoder {
    let bytes = try WindowSource(window).readAll(limit: min(limits.documentBytes, Self.sizeLimit))
    let entries =
      bytes.starts(with: BinaryPropertyList.magic)
      ? try BinaryPropertyList(bytes).dictionary(limits)
      : try XMLPropertyList(bytes).dictionary(limits)
    var keys: [UInt8]?
    for (name, value) in entries {
      guard name == Self.keysName else {
        note(name)
        continue
      }
      guard case .data(let data) = value else {
        guard case .other(let kind) = value else { continue }
        throw FormatError(.malformed, place: Self.keysName, "the value is \(kind), allowed is data that holds JSON")
      }
      guard keys == nil else {
        throw FormatError(.malformed, place: Self.keysName, "the property list has this name twice, allowed is once")
      }
      keys = data
    }
    guard let keys else {
      let names = entries.prefix(8).map { printable($0.name) }.joined(separator: ", ")
      throw FormatError(
        .unrecognizedFormat,
        "the property list has no diagnosisKeys, as the sample app's user defaults have; its names are \(names)")
    }
    return JSONKeyDecoder(InputWindow(MemorySource(keys), limits: limits), limits: limits, dialect: .codable)
  }

  private func note(_ name: String) {
    if Self.privateNames.contains(name) {
      return ownNotes.count(
        ReadingNote(
          code: "private-data-skipped", subject: name, text: "personal data or a secret beside the keys was not read"))
    }
    let subject = ownNotes.counts.count < Self.mostNotedNames ? printable(name) : "others"
    ownNotes.count(ReadingNote(code: "value-skipped", subject: subject, text: "a value beside the keys was not read"))
  }
}

/// What a window still has, as a source.
private final class WindowSource: ByteSource {
  private let window: InputWindow

  init(_ window: InputWindow) { self.window = window }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard try window.require(1) else { return 0 }
    let count = min(buffer.count, window.unread.count)
    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: window.unread[..<count]))
    window.skip(count)
    return count
  }
}
