public import ExposureKeys

/// Reads `export.bin`: the sixteen header bytes and a `TemporaryExposureKeyExport` (proto2), its fields in any order.
///
/// Also reads the same message without the header bytes, which some tools leave behind, and several exports one behind
/// the other. Presence is kept, and so are fields that this version does not know.
public final class ExportDecoder: KeyDecoder {
  /// `EK Export v1`, padded with spaces to sixteen bytes.
  public static let fileHeader = Array("EK Export v1    ".utf8)

  public var header: ExportHeader { documents.merged }
  public var headers: HeaderMerge { documents.all }
  public var regions: RegionTable { keys.regions }
  public var notes: ReadingNotes {
    var notes = ownNotes
    notes.add(keys.notes)
    return notes
  }
  /// Whether the sixteen bytes stood at the front, and were right to the last space.
  public private(set) var fileHeaderState: FileHeaderState?

  public enum FileHeaderState: Sendable, Equatable {
    case exact
    /// The text is right and the padding is not: some devices accept it.
    case wrongPadding
    case absent
  }

  /// About everything but keys.
  private var ownNotes = ReadingNotes()
  private var documents = DocumentHeaders()
  private var keys: ProtobufKeyStream
  private let window: InputWindow
  private let limits: ReadLimits
  private let place: String

  /// - Parameters:
  ///   - window: the bytes of the file, its header included.
  ///   - limits: how much is read at most.
  ///   - place: what the file is called in errors, such as `export.bin` in an archive; empty to leave that to the
  ///     caller.
  public init(_ window: InputWindow, limits: ReadLimits = ReadLimits(), place: String = "") {
    self.window = window
    self.limits = limits
    self.place = place
    keys = ProtobufKeyStream(
      window, limits: limits, layout: .export, keyTag: 0x3a, revisedTag: 0x42, end: Self.fileHeader.prefix(11))
  }

  public func decode(into chunk: inout KeyChunk) throws -> Bool {
    try placed {
      if fileHeaderState == nil { try readFileHeader() }
      while true {
        var header = documents.current
        var notes = ownNotes
        let foundKeys: Bool
        do {
          defer { (documents.current, ownNotes) = (header, notes) }
          foundKeys = try keys.decode(into: &chunk) { tag, reader, start throws(ProtobufFault) in
            try header.read(tag, &reader, from: start, limits, &notes)
          }
        }
        if foundKeys { return true }
        guard try keys.isAtEndOfMessage() else { return false }
        try beginNext()
      }
    }
  }

  /// Another export begins here.
  private func beginNext() throws {
    ownNotes.count(
      ReadingNote(
        code: "further-document", text: "a further export stands behind the first; devices read such a file wrongly"))
    try documents.beginNext(limits)
    try readFileHeader()
  }

  /// Goes over the whole file for its header, and passes over the keys.
  ///
  /// - Returns: how many key messages there are.
  func survey() throws -> Int {
    try placed {
      if fileHeaderState == nil { try readFileHeader() }
      var count = 0
      while true {
        var header = documents.current
        var notes = ownNotes
        count += try keys.skipAll { tag, reader, start throws(ProtobufFault) in
          try header.read(tag, &reader, from: start, limits, &notes)
        }
        (documents.current, ownNotes) = (header, notes)
        guard try keys.isAtEndOfMessage() else { return count }
        try beginNext()
      }
    }
  }

  private func placed<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as FormatError where error.place.isEmpty && !place.isEmpty {
      throw error.within(place)
    }
  }

  private func readFileHeader() throws {
    let length = Self.fileHeader.count
    _ = try window.require(length)
    let front = Array(window.unread.prefix(length))
    let text = Array("EK Export v".utf8)
    guard front.starts(with: text) || (!front.isEmpty && text.starts(with: front)) else {
      fileHeaderState = .absent
      ownNotes.count(
        ReadingNote(code: "file-header-absent", text: "the 16 header bytes are missing; the message was read without"))
      return
    }
    guard front.count == length else {
      throw FormatError(
        .truncated, byteOffset: front.count, "the file header: \(front.count) bytes, required are \(length)")
    }
    guard front[11] == UInt8(ascii: "1") else {
      let version = String(decoding: front[11...].prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
      throw FormatError(
        .unsupported, byteOffset: 11, "the file header says version \(version.debugDescription), supported is \"1\"")
    }
    if front == Self.fileHeader {
      if fileHeaderState == nil { fileHeaderState = .exact }
    } else {
      guard front[12...].allSatisfy({ $0 == 0 || $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) else {
        throw FormatError(
          .malformed, byteOffset: 12, "the file header: \"EK Export v1\" is not followed by four spaces")
      }
      fileHeaderState = .wrongPadding
      ownNotes.count(
        ReadingNote(
          code: "file-header-padding", text: "the file header is not padded with spaces; most devices refuse the file"))
    }
    window.skip(length)
  }
}

extension ExportHeader {
  /// Reads one field of an export that is not a key.
  fileprivate mutating func read(
    _ tag: ProtobufTag, _ reader: inout ProtobufReader, from start: UnsafeRawPointer, _ limits: ReadLimits,
    _ notes: inout ReadingNotes
  ) throws(ProtobufFault) {
    let isRepeated = isStated(tag)
    switch (tag.number, tag.wire) {
    case (1, .fixed64): startTimestamp = try reader.readFixed64()
    case (2, .fixed64): endTimestamp = try reader.readFixed64()
    case (3, .length): region = try reader.readString()
    case (4, .varint): batchNum = Int32(truncatingIfNeeded: try reader.readVarint())
    case (5, .varint): batchSize = Int32(truncatingIfNeeded: try reader.readVarint())
    case (6, .length):
      guard signatureInfos.count < Self.maximumSignatureInfos else {
        throw .tooManySignatureInfos(limit: Self.maximumSignatureInfos)
      }
      var info = SignatureInfo()
      try info.merge(protobuf: try reader.readBytes(), in: "signature info \(signatureInfos.count)", &notes)
      signatureInfos.append(info)
    default:
      try reader.skip(tag)
      try keep(unknown: UnsafeRawBufferPointer(start: start, count: reader.position - start), limits)
    }
    // A field that goes on behind the window is read again.
    if isRepeated { notes.countRepeated("field \(tag.number) of the header", in: "the header") }
  }

  /// Whether the header has the value of this field, which it may have once.
  private func isStated(_ tag: ProtobufTag) -> Bool {
    switch (tag.number, tag.wire) {
    case (1, .fixed64): startTimestamp != nil
    case (2, .fixed64): endTimestamp != nil
    case (3, .length): region != nil
    case (4, .varint): batchNum != nil
    case (5, .varint): batchSize != nil
    default: false
    }
  }
}

extension SignatureInfo {
  /// A message field that occurs twice is one message with the fields of both.
  ///
  /// - Parameter place: where the message stands, for the notes.
  mutating func merge(
    protobuf bytes: UnsafeRawBufferPointer, in place: @autoclosure () -> String, _ notes: inout ReadingNotes
  ) throws(ProtobufFault) {
    var reader = ProtobufReader(bytes, isWhole: true)
    while !reader.isAtEnd {
      let start = reader.position
      let tag = try reader.readTag()
      if isStated(tag) { notes.countRepeated("field \(tag.number) of a signature info", in: place()) }
      switch (tag.number, tag.wire) {
      case (1, .length): appBundleID = try reader.readString()
      case (2, .length): androidPackage = try reader.readString()
      case (3, .length): verificationKeyVersion = try reader.readString()
      case (4, .length): verificationKeyID = try reader.readString()
      case (5, .length): signatureAlgorithm = try reader.readString()
      default:
        try reader.skip(tag)
        unknownFields.append(contentsOf: UnsafeRawBufferPointer(start: start, count: reader.position - start))
      }
    }
  }

  /// Whether the info has the value of this field already.
  private func isStated(_ tag: ProtobufTag) -> Bool {
    switch (tag.number, tag.wire) {
    case (1, .length): appBundleID != nil
    case (2, .length): androidPackage != nil
    case (3, .length): verificationKeyVersion != nil
    case (4, .length): verificationKeyID != nil
    case (5, .length): signatureAlgorithm != nil
    default: false
    }
  }

  func encode(into writer: inout ProtobufWriter, number: UInt32) {
    var message = ProtobufWriter()
    message.string(1, appBundleID)
    message.string(2, androidPackage)
    message.string(3, verificationKeyVersion)
    message.string(4, verificationKeyID)
    message.string(5, signatureAlgorithm)
    message.raw(unknownFields)
    writer.data(number, message.bytes)
  }
}
