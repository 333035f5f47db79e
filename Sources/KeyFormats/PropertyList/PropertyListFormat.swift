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
/// Beside it stand a person's test results and exposures, which are read over with a note. XML streams. A binary property
/// list has an index at its end, so the whole of it is held in memory, at most 128 MiB.
public final class PropertyListDecoder: KeyDecoder {
  private let window: InputWindow
  private let limits: ReadLimits
  private var json: JSONKeyDecoder?
  private var ownNotes = ReadingNotes()
  /// The list behind the keys that are read; `nil` where it has been read to its end.
  private var rest: XMLPropertyList?
  private var isInData = false

  private static let binaryLimit = 128 << 20
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
      if try json.decode(into: &chunk) { return true }
    } catch let error as FormatError {
      throw error.within(Self.keysName)
    }
    try readRest()
    return false
  }

  private func open() throws -> JSONKeyDecoder {
    let isBinary = try window.require(BinaryPropertyList.magic.count)
    guard isBinary, window.unread.starts(with: BinaryPropertyList.magic) else { return try openXML() }
    return decoder(MemorySource(try binaryKeys()))
  }

  private func decoder(_ source: any ByteSource) -> JSONKeyDecoder {
    JSONKeyDecoder(InputWindow(source, limits: limits), limits: limits, dialect: .codable)
  }

  private func openXML() throws -> JSONKeyDecoder {
    let list = XMLPropertyList(window, limits: limits)
    try list.begin()
    var names: [String] = []
    while let name = try list.nextName() {
      let value = try list.value()
      guard name == Self.keysName else {
        if case .data = value { try list.endData() }
        note(name)
        if names.count < 8 { names.append(name) }
        continue
      }
      rest = list
      switch value {
      case .data:
        isInData = true
        return decoder(list.dataContent())
      case .emptyData: return decoder(MemorySource([]))
      case .other(let kind): throw noData(kind)
      }
    }
    throw withoutKeys(names)
  }

  /// What stands behind the keys.
  private func readRest() throws {
    guard let list = rest else { return }
    rest = nil
    if isInData { try list.endData() }
    while let name = try list.nextName() {
      if case .data = try list.value() { try list.endData() }
      guard name != Self.keysName else { throw twice() }
      note(name)
    }
  }

  private func binaryKeys() throws -> [UInt8] {
    let limit = min(limits.documentBytes, Self.binaryLimit)
    var bytes: [UInt8] = []
    while try window.require(1) {
      guard bytes.count + window.unread.count <= limit else {
        throw FormatError(
          .limitExceeded, byteOffset: limit,
          "a binary property list of more than \(limit) bytes, the most that is read, since its index stands at its end; "
            + "as XML it may have any size: plutil -convert xml1 FILE")
      }
      bytes.append(contentsOf: window.unread)
      window.skip(window.unread.count)
    }
    let entries = try BinaryPropertyList(bytes).dictionary(limits)
    var keys: [UInt8]?
    for (name, value) in entries {
      guard name == Self.keysName else {
        note(name)
        continue
      }
      guard case .data(let data) = value else {
        guard case .other(let kind) = value else { continue }
        throw noData(kind)
      }
      guard keys == nil else { throw twice() }
      keys = data
    }
    guard let keys else { throw withoutKeys(entries.prefix(8).map(\.name)) }
    return keys
  }

  private func noData(_ kind: String) -> FormatError {
    FormatError(.malformed, place: Self.keysName, "the value is \(kind), allowed is data that holds JSON")
  }

  private func twice() -> FormatError {
    FormatError(.malformed, place: Self.keysName, "the property list has this name twice, allowed is once")
  }

  private func withoutKeys(_ names: [String]) -> FormatError {
    FormatError(
      .unrecognizedFormat,
      "the property list has no diagnosisKeys, as the sample app's user defaults have; its names are "
        + names.map { printable($0) }.joined(separator: ", "))
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
