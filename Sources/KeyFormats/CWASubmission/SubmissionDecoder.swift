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
      schema: .export, decoder: { SubmissionDecoder($0, limits: $1) }))
}

/// Reads the submission payload of the Corona-Warn-App: export key messages in field 1, then padding, the visited
/// countries (3), the origin (4), the consent to share the keys, and more.
///
/// Origin and countries are said once for all keys, and behind them: so the whole payload has to fit into one record,
/// ``ReadLimits/recordBytes``; phones send a few kilobytes.
public final class SubmissionDecoder: KeyDecoder {
  public let header = ExportHeader()
  public private(set) var regions = RegionTable()
  public private(set) var notes = ReadingNotes()

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
    var notes = notes
    defer { self.notes = notes }
    let hasMore = try keys.decode(into: &chunk) { tag, reader, _ throws(ProtobufFault) in
      try reader.skip(tag)
      switch (tag.number, tag.wire) {
      case (Self.visitedTag, .length), (Self.originTag, .length), (Self.paddingTag, .length): break
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

  private static let paddingTag: UInt32 = 2
  private static let visitedTag: UInt32 = 3
  private static let originTag: UInt32 = 4

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
        case (Self.visitedTag, .length):
          let region = try reader.readString()
          if named.insert(region).inserted { visited.append(region) }
        case (Self.originTag, .length):
          let origin = try reader.readString()
          if let first = claim.origin, first != origin { origins.insert(origin) }
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
