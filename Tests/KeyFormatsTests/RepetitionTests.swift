import ExposureKeys
import KeyFormats
import Testing

/// What may be stated once and is stated again: the last one counts, as protobuf has it, and a note names field and place.
@Suite struct RepetitionTests {
  private static func notes(_ bytes: [UInt8], _ format: KeyFormat) throws -> [String] {
    let document = try KeyDocument(MemorySource(bytes), format: format)
    return try DecodedDocument(decoding: document.decoder).notes.sorted.compactMap { note, count in
      note.code == ReadingNote.fieldRepeated ? "\(note.text) x\(count)" : nil
    }
  }

  private static let key = #""key_data":"000102030405060708090a0b0c0d0e0f""#
  private static let plain = #"{"key_data":"101112131415161718191a1b1c1d1e1f","rolling_period":1}"#

  // swift-format-ignore: the documents stay in one piece
  @Test(arguments: [
    (
      "{\"keys\":[\(plain),{\(key),\"rolling_period\":144,\"rolling_period\":72}]}",
      #""rolling_period" is stated more than once, first in key 1; the last one counts x1"#
    ),
    (
      "[{\(key),\"rolling_period\":144,\"rolling_p\\u0065riod\":72},{\(key),\"rolling_period\":144,\"rolling_period\":72}]",
      #""rolling_period" is stated more than once, first in key 0; the last one counts x2"#
    ),
    (
      "[{\(key),\"validity\":{\"rollingPeriod\":144,\"rollingPeriod\":72}}]",
      #""rollingPeriod" is stated more than once, first in key 0; the last one counts x1"#
    ),
    (
      "{\"region\":\"DE\",\"keys\":[{\(key),\"rolling_period\":72}],\"region\":\"AT\"}",
      #""region" is stated more than once, first in the document; the last one counts x1"#
    ),
    (
      "{\"keys\":[],\"keys\":[{\(key),\"rolling_period\":72}]}",
      #""keys" is stated more than once, first in the document; every list is read x1"#
    ),
    (
      "{\"signature_infos\":[{\"app_bundle_id\":\"a\",\"app_bundle_id\":\"b\"}],\"keys\":[{\(key),\"rolling_period\":72}]}",
      #""app_bundle_id" of a signature info is stated more than once, first in the document; the last one counts x1"#
    ),
  ])
  func membersOfJSON(text: String, note: String) throws {
    let document = try readJSON(text)
    #expect(document.notes.sorted.map { "\($0.note.text) x\($0.count)" } == [note])
    #expect(document.notes.sorted.allSatisfy { $0.note.isLoss })
    #expect(document.keys.last?.rollingPeriod == 72)
    #expect(document.header.region == (text.contains("region") ? "AT" : nil))
  }

  @Test func oneStatementOfEachIsNoRepetition() throws {
    let text = #"{"keys":[{"key_data":"000102030405060708090a0b0c0d0e0f","key":null}],"revised_keys":[],"region":"DE"}"#
    #expect(try readJSON(text).notes.isEmpty)
  }

  // MARK: Protobuf

  private static func field(_ tag: UInt8, _ bytes: [UInt8]) -> [UInt8] { [tag, UInt8(bytes.count)] + bytes }
  private static func text(_ tag: UInt8, _ text: String) -> [UInt8] { field(tag, Array(text.utf8)) }
  private static let data = field(0x0a, Array(1...16))
  private static let start: [UInt8] = [0x09, 0, 0, 0, 0, 0, 0, 0, 0]

  private static func export(_ fields: [UInt8]...) -> [UInt8] { ExportDecoder.fileHeader + fields.flatMap { $0 } }

  @Test(arguments: [
    (
      export(field(0x3a, data + [0x10, 1, 0x10, 2])),
      "field 2 of a key (risk level) is stated more than once, first in key 0"
    ),
    (export(field(0x3a, data + data)), "field 1 of a key (key data) is stated more than once, first in key 0"),
    (
      export(field(0x3a, data), field(0x42, data + [0x28, 1, 0x30, 2, 0x28, 1])),
      "field 5 of a key (report type) is stated more than once, first in key 1"
    ),
    (export(start, start), "field 1 of the header is stated more than once, first in the header"),
    (
      export(text(0x1a, "DE"), field(0x3a, data), text(0x1a, "AT")),
      "field 3 of the header is stated more than once, first in the header"
    ),
    (export([0x20, 1], [0x20, 1]), "field 4 of the header is stated more than once, first in the header"),
    (
      export(field(0x32, text(0x22, "a")), field(0x32, text(0x22, "a") + text(0x22, "b"))),
      "field 4 of a signature info is stated more than once, first in signature info 1"
    ),
  ])
  func fieldsOfAnExport(bytes: [UInt8], words: String) throws {
    #expect(try Self.notes(bytes, .gaenExport) == ["\(words); the last one counts x1"])
  }

  @Test(arguments: [
    (
      KeyFormat.efgsProtobuf,
      field(0x0a, data + text(0x32, "DE") + text(0x2a, "AT") + text(0x2a, "IT") + text(0x32, "FR")),
      "field 6 of a key (origin) is stated more than once, first in key 0"
    ),
    (
      .gaenBeta, field(0x0a, [0x08, 1, 0x08, 2]) + field(0x12, data),
      "field 1 of the header is stated more than once, first in the header"
    ),
    (
      .gaenBeta, field(0x12, data + [0x10, 1, 0x10, 1]),
      "field 2 of a key (rolling start) is stated more than once, first in key 0"
    ),
    (
      .cwaSubmission, field(0x0a, data) + text(0x22, "DE") + text(0x22, "DE"),
      "field 4 of the submission (origin) is stated more than once, first in the submission"
    ),
  ])
  func fieldsOfOtherMessages(format: KeyFormat, bytes: [UInt8], words: String) throws {
    #expect(try Self.notes(bytes, format) == ["\(words); the last one counts x1"])
  }

  /// A field that goes on behind the bytes that are there is read again, and is one field.
  @Test(arguments: [1, 3, 1000]) func aFieldOfAHeaderCountsOnce(step: Int) throws {
    let bytes = Self.export(Self.text(0x1A, "DE"), Self.text(0x1A, "AT"), [0x20, 0x01], [0x20, 0x90, 0x01])
    let window = InputWindow(RowTricklingSource(bytes, step: step), capacity: 16)
    let notes = try DecodedDocument(decoding: ExportDecoder(window)).notes.sorted.filter {
      $0.note.code == ReadingNote.fieldRepeated
    }
    #expect(notes.map(\.count) == [1, 1], "\(notes)")
  }

  @Test func fieldsOfASignature() throws {
    let info = Self.text(0x22, "a")
    for message in [
      [0x10, 1, 0x10, 2], Self.field(0x0a, info) + Self.field(0x0a, info), Self.field(0x0a, info + info),
      Self.field(0x22, [1]) + Self.field(0x22, [2]),
    ] {
      let file = Self.field(0x0a, Self.field(0x12, [])) + Self.field(0x0a, message)
      #expect(try SignatureFile.decode(file).count == 2)
      #expect(try Self.signatureNotes(file) >= 1, "\(message)")
      #expect(try Self.signatureNotes(Self.field(0x0a, Self.field(0x0a, info) + [0x10, 1])) == 0)
    }
  }

  private static func signatureNotes(_ file: [UInt8]) throws -> Int {
    var notes = ReadingNotes()
    _ = try SignatureFile.decode(file, &notes)
    return notes.sorted.reduce(0) { $0 + $1.count }
  }

  /// Records of a layout that was seen before are read by another way; it leaves none out.
  @Test(arguments: [KeyFormat.gaenExport, .efgsProtobuf])
  func amongManyKeys(format: KeyFormat) throws {
    let isExport = format == .gaenExport
    let once = Self.data + (isExport ? [0x10, 1] : Self.text(0x32, "DE"))
    let twice = once + (isExport ? [0x10, 2] : Self.text(0x32, "DE"))
    var bytes = isExport ? ExportDecoder.fileHeader : []
    for index in 0..<3000 { bytes += Self.field(isExport ? 0x3a : 0x0a, index % 10 == 9 ? twice : once) }
    let notes = try Self.notes(bytes, format)
    #expect(notes.count == 1 && notes[0].contains("first in key 9;") && notes[0].hasSuffix(" x300"), "\(notes)")
  }

  @Test func manyKeysOfJSON() throws {
    let once = "{\(Self.key),\"rolling_period\":144}"
    let twice = "{\(Self.key),\"rolling_period\":144,\"rolling_period\":144}"
    let keys = (0..<3000).map { $0 % 10 == 9 ? twice : once }
    let document = try readJSON("[\(keys.joined(separator: ","))]")
    #expect(document.notes.sorted.map(\.count) == [300])
  }

  @Test func fieldsOfProtobufText() throws {
    let key = #"keys { key_data: "0123456789abcdef" rolling_period: 144 rolling_period: 72 }"#
    let info = #"signature_infos { android_package: "a" android_package: "b" }"#
    let text = "region: \"DE\"\n\(key)\nregion: \"AT\"\n\(info)\n"
    #expect(
      try Self.notes(Array(text.utf8), .protobufText) == [
        "keys.rolling_period is stated more than once, first in key 0; the last one counts x1",
        "region is stated more than once, first in line 3; the last one counts x1",
        "signature_infos.android_package is stated more than once, first in line 4; the last one counts x1",
      ])
  }
}
