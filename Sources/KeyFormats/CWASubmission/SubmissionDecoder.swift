public import ExposureKeys

extension KeyFormat {
  /// What phones with the Corona-Warn-App send.
  public static let cwaSubmission = KeyFormat(
    KeyFormatDefinition(
      name: "cwa-submission", summary: "the Corona-Warn-App's submission payload", fileExtension: "bin", isBinary: true,
      readers: .apps,
      detection: .front { front in
        guard let key = front.protobuf?.message, key.isKey else { return false }
        // In an export's key field 3 is the rolling start and field 2 a small risk; in a federation key field 2 is the
        // rolling start and field 3 the rolling period. A rolling start is beyond one million since 1989.
        let (second, third) = (key.numbers[2] ?? 0, key.numbers[3] ?? 0)
        return third > 1_000_000 && third > second
      },
      decoder: { SubmissionDecoder($0, limits: $1) },
      capabilities: FormatCapabilities(
        rollingStart: .optional(), rollingPeriod: .optional(), transmissionRisk: .optional(), reportType: .optional(),
        daysSinceOnset: .optional(), origin: .optional, visitedRegions: .optional, statesRegionsOnce: true),
      schema: .export, encoder: { SubmissionEncoder($0) }))
}

/// The fields of `SubmissionPayload` (proto2, package `app.coronawarn.server.common.protocols.internal`).
enum SubmissionFields {
  static let padding: UInt32 = 2
  static let visited: UInt32 = 3
  static let origin: UInt32 = 4
}

/// Reads the submission payload of the Corona-Warn-App: export key messages in field 1, then padding, the visited
/// countries (3), the origin (4), the consent to share the keys, and more.
///
/// Origin and countries are said once for all keys, and behind them: so the whole payload has to fit into one record,
/// ``ReadLimits/recordBytes``; phones send a few kilobytes.
public final class SubmissionDecoder: KeyDecoder {
  public let header = ExportHeader()
  public private(set) var regions = RegionTable()
  public var notes: ReadingNotes {
    var notes = ownNotes
    notes.add(keys.notes)
    return notes
  }

  /// About everything but keys.
  private var ownNotes = ReadingNotes()
  private let window: InputWindow
  private let limits: ReadLimits
  private var keys: ProtobufKeyStream
  /// What the payload says of all its keys; `nil` until it has been looked for.
  private var claim: RegionClaim.ID?

  public init(_ window: InputWindow, limits: ReadLimits = ReadLimits()) {
    self.window = window
    self.limits = limits
    keys = ProtobufKeyStream(window, limits: limits, layout: .export, keyTag: 0x0a)
  }

  public func decode(into chunk: inout KeyChunk) throws -> Bool {
    let claim = try claim ?? statedRegions()
    self.claim = claim
    let before = chunk.keys.count
    var notes = ownNotes
    defer { ownNotes = notes }
    let hasMore = try keys.decode(into: &chunk) { tag, reader, _ throws(ProtobufFault) in
      try reader.skip(tag)
      switch (tag.number, tag.wire) {
      case (SubmissionFields.visited, .length), (SubmissionFields.origin, .length), (SubmissionFields.padding, .length):
        break
      default:
        // The app's fields have small numbers; a hostile file may hold any number of others.
        notes.count(
          tag.number < 16
            ? ReadingNote(
              code: "submission-field-skipped", subject: "\(tag.number)",
              text: "field \(tag.number) of the submission (consent, kind of test) is skipped")
            : ReadingNote(code: "submission-field-skipped", text: "further fields of the submission are skipped"))
      }
    }
    if claim != .none {
      chunk.keys.withMutableKeys { keys in
        for index in before..<keys.count { keys[index].regions = claim }
      }
    }
    return hasMore
  }

  /// The regions that the whole payload names, each once.
  private func statedRegions() throws -> RegionClaim.ID {
    do {
      while try window.fill() {}
    } catch let error as FormatError where error.code == .limitExceeded {
      throw FormatError(
        .limitExceeded, byteOffset: error.byteOffset,
        "a submission of more than \(limits.recordBytes) bytes, the most that is read: origin and visited countries "
          + "stand behind the keys")
    }
    var claim = RegionClaim()
    var visited: [String] = []
    var named: Set<String> = []
    var origins: Set<String> = []
    var reader = ProtobufReader(window.unread, isWhole: true)
    do throws(ProtobufFault) {
      while !reader.isAtEnd {
        let tag = try reader.readTag()
        switch (tag.number, tag.wire) {
        case (SubmissionFields.visited, .length):
          let region = try reader.readString()
          if named.insert(region).inserted { visited.append(region) }
        case (SubmissionFields.origin, .length):
          let origin = try reader.readString()
          if let first = claim.origin {
            ownNotes.countRepeated("field \(tag.number) of the submission (origin)", in: "the submission")
            if first != origin { origins.insert(origin) }
          }
          claim.origin = claim.origin ?? origin
        default: try reader.skip(tag)
        }
      }
    } catch {
      // What is no protobuf is told when its keys are read.
    }
    if !visited.isEmpty { claim.visited = visited }
    guard origins.isEmpty else {
      throw FormatError(
        .unsupported, byteOffset: window.documentOffset,
        "the submission names several origins; submissions that lie behind each other are read one by one")
    }
    if claim.origin == nil, claim.visited == nil { return .none }
    guard let id = regions.intern(claim) else {
      throw FormatError(.limitExceeded, RegionTable.refusal(of: claim))
    }
    return id
  }
}

/// Writes a submission payload: the keys, then the countries that the persons visited, each once, and the origin.
///
/// Padding, consent and the kind of test are not written: nobody has said them. A server of the Corona-Warn-App takes
/// fourteen keys at most; here there may be more, up to what is read again.
public final class SubmissionEncoder: KeyEncoder {
  private let output: OutputBuffer
  /// Of the keys written so far.
  private var regions: RegionClaim?
  private var byteCount = 0
  /// Tag, length, key data, and five numbers of at most eleven bytes.
  private static let mostBytesOfKey = 75

  public init(_ output: OutputBuffer) { self.output = output }

  public func begin(_ header: ExportHeader) throws {}

  /// - Throws: ``FormatError`` with `cannotExpress` for keys of different regions, or more than are read again.
  public func encode(
    _ keys: UnsafeBufferPointer<ClaimedKey>, regions table: RegionTable, unknownFields: UnknownFieldTable
  ) throws {
    for key in keys {
      var claim = table[key.regions]
      if claim.visited?.isEmpty == true { claim.visited = nil }
      guard regions == nil || regions == claim else {
        throw FormatError(.cannotExpress, "keys of different regions; a submission says them once for all keys")
      }
      regions = claim
    }
    byteCount += keys.count * Self.mostBytesOfKey
    guard byteCount <= ReadLimits().recordBytes else {
      throw FormatError(
        .cannotExpress,
        "a submission of more than \(ReadLimits().recordBytes / Self.mostBytesOfKey) keys, the most that is read again; phones send fourteen"
      )
    }
    try ExportEncoder.encode(keys, unknownFields, tag: 0x0a, revisedTag: 0x0a, to: output)
  }

  public func finish(_ header: ExportHeader) throws {
    var writer = ProtobufWriter()
    var named: Set<String> = []
    for region in regions?.visited ?? [] where named.insert(region).inserted {
      writer.string(SubmissionFields.visited, region)
    }
    writer.string(SubmissionFields.origin, regions?.origin)
    try output.append(writer.bytes)
    try output.flush()
  }
}
