public import ExposureKeys

/// Reads the keys of one document, chunk by chunk.
public protocol KeyDecoder: AnyObject {
  /// What the document says about itself, as far as it has been read; complete after the last chunk. Where several
  /// documents stand in the same bytes, it is their `headers` as one.
  var header: ExportHeader { get }
  /// What each of the documents says that stand in these bytes; most often it is one.
  var headers: HeaderMerge { get }
  /// The regions that the keys read so far name.
  var regions: RegionTable { get }
  /// What was skipped or read leniently, each with its count.
  var notes: ReadingNotes { get }

  /// Appends keys to `chunk` until it is full or the document ends. The caller has emptied the chunk.
  ///
  /// - Returns: `false` when the document has ended and the chunk got nothing more.
  /// - Throws: ``FormatError`` when the document as a whole cannot be read on, or what its source throws.
  func decode(into chunk: inout KeyChunk) throws -> Bool
}

extension KeyDecoder {
  public var headers: HeaderMerge { HeaderMerge(header) }
}

/// Writes the keys of one document, chunk by chunk.
public protocol KeyEncoder: AnyObject {
  /// Writes what stands before the keys.
  func begin(_ header: ExportHeader) throws
  /// Writes keys. `regions` and `unknownFields` are the tables that the keys' numbers refer to.
  func encode(
    _ keys: UnsafeBufferPointer<ClaimedKey>, regions: RegionTable, unknownFields: UnknownFieldTable
  ) throws
  /// Writes what stands behind the keys. `header` is the complete one: some formats tell parts of it only at their end.
  func finish(_ header: ExportHeader) throws
}

/// What a decoder skipped or read leniently, by kind, with counts. Shown to the user, never silent.
public struct ReadingNotes: Sendable, Hashable {
  public private(set) var counts: [ReadingNote: Int] = [:]

  public init() {}

  public mutating func count(_ note: ReadingNote, _ times: Int = 1) {
    if times > 0 { counts[note, default: 0] += times }
  }

  /// The notes about fields that were repeated, by their subjects.
  private var repetitions: [String: ReadingNote] = [:]
  private static let mostRepetitions = 32

  /// Counts a field that may be stated once and is stated again.
  ///
  /// - Parameters:
  ///   - place: where it is the first time.
  ///   - outcome: what is read then.
  mutating func countRepeated(
    _ field: String, in place: @autoclosure () -> String, _ outcome: StaticString = "the last one counts"
  ) {
    let subject = repetitions.count < Self.mostRepetitions || repetitions[field] != nil ? field : "others"
    let note =
      repetitions[subject]
      ?? ReadingNote(
        code: ReadingNote.fieldRepeated, subject: subject,
        text: subject == field
          ? "\(field) is stated more than once, first in \(place()); \(outcome)"
          : "further fields are stated more than once")
    repetitions[subject] = note
    count(note)
  }

  mutating func add(_ other: ReadingNotes) {
    for (note, count) in other.counts { self.count(note, count) }
  }

  public var isEmpty: Bool { counts.isEmpty }

  /// In a stable order, for reports.
  public var sorted: [(note: ReadingNote, count: Int)] {
    counts.map { ($0.key, $0.value) }.sorted { ($0.0.code, $0.0.subject) < ($1.0.code, $1.0.subject) }
  }
}

/// One thing that a decoder did beside reading keys.
public struct ReadingNote: Sendable, Hashable {
  /// The stable code for programs: `private-data-skipped`.
  public var code: String
  /// What it concerns, such as a member's name; may be empty.
  public var subject: String
  /// One line for people.
  public var text: String

  public init(code: String, subject: String = "", text: String) {
    self.code = code
    self.subject = subject
    self.text = text
  }

  /// The code of a field or member that may be stated once and is stated again.
  public static let fieldRepeated = "field-repeated"

  /// Whether something that the document says is not in what was read of it.
  public var isLoss: Bool { Self.losses.contains(code) }

  private static let losses: Set<String> = [
    fieldRepeated, "keys-missing", "line-not-read", "member-skipped", "metadata-restated", "private-data-skipped",
    "region-not-looked-for",
    "request-member", "spellings-disagree", "submission-field-skipped", "table-skipped", "unknown-column",
    "unknown-field", "unknown-member-ignored", "value-skipped",
  ]
}
