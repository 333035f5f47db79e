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
      decoder: { SubmissionDecoder($0, limits: $1) }))
}

/// Reads the submission payload of the Corona-Warn-App: export key messages in field 1, padding and consent behind.
public final class SubmissionDecoder: KeyDecoder {
  public let header = ExportHeader()
  public var regions: RegionTable { keys.regions }
  public private(set) var notes = ReadingNotes()

  private var keys: ProtobufKeyStream

  public init(_ window: InputWindow, limits: ReadLimits = ReadLimits()) {
    keys = ProtobufKeyStream(window, limits: limits, layout: .export, keyTag: 0x0a)
  }

  public func decode(into chunk: inout KeyChunk) throws -> Bool {
    var notes = notes
    defer { self.notes = notes }
    return try keys.decode(into: &chunk) { tag, reader, _ throws(ProtobufFault) in
      try reader.skip(tag)
      // The app's fields have small numbers; a hostile file may hold any number of others.
      notes.count(
        tag.number < 16
          ? ReadingNote(
            code: "submission-field-skipped", subject: "\(tag.number)",
            text: "field \(tag.number) of the submission (padding, consent, countries) is skipped")
          : ReadingNote(code: "submission-field-skipped", text: "further fields of the submission are skipped"))
    }
  }
}
