import ExposureKeys

extension ExportHeader {
  /// The most signature infos that are read: more than a hundred times what any device looks at.
  static let maximumSignatureInfos = SignatureFile.maximumSignatures

  /// Keeps a field that this version does not know, as long as all of them together are no larger than a record.
  mutating func keep(unknown field: UnsafeRawBufferPointer, _ limits: ReadLimits) throws(ProtobufFault) {
    guard unknownFields.count + field.count <= limits.recordBytes else {
      throw .unknownFieldsTooLarge(limit: limits.recordBytes)
    }
    unknownFields.append(contentsOf: field)
  }
}

/// The part that all protobuf key files share: a stream of top-level fields, some of which are keys.
///
/// Owns the templates and the reader of key messages; the format says what its other fields mean.
struct ProtobufKeyStream {
  let window: InputWindow
  let limits: ReadLimits
  /// Tags of the key fields, one byte each; `revisedTag` is 0 where the format has none.
  let keyTag: UInt8
  let revisedTag: UInt8
  /// Where a field could begin and these bytes stand, the message has ended; empty where it goes on to the end.
  private let end: [UInt8]

  /// What was read leniently in keys.
  private(set) var notes = ReadingNotes()
  private var templates: KeyRecordTemplates
  private var messages: KeyMessageReader

  init(
    _ window: InputWindow, limits: ReadLimits, layout: KeyMessageLayout, keyTag: UInt8, revisedTag: UInt8 = 0,
    end: ArraySlice<UInt8> = []
  ) {
    self.window = window
    self.limits = limits
    self.keyTag = keyTag
    self.revisedTag = revisedTag
    self.end = Array(end)
    templates = KeyRecordTemplates(layout)
    messages = KeyMessageReader(layout)
  }

  var regions: RegionTable { messages.regions }

  /// Whether another message begins at the window's front.
  func isAtEndOfMessage() throws -> Bool {
    guard let first = end.first, try window.require(1), window.unread[0] == first else { return false }
    // Where the bytes run out in the middle of them, the other message is cut off.
    _ = try window.require(end.count)
    return window.unread.prefix(end.count).elementsEqual(end.prefix(window.unread.count))
  }

  /// Reads fields until the chunk is full or the document ends. `other` gets every field that is not a key: its
  /// tag, a reader at its value, and where the field begins; it moves the reader behind the value.
  mutating func decode(
    into chunk: inout KeyChunk,
    other: (ProtobufTag, inout ProtobufReader, _ fieldStart: UnsafeRawPointer) throws(ProtobufFault) -> Void
  ) throws -> Bool {
    let before = chunk.nextIndex
    while !chunk.keys.isFull {
      window.skip(
        templates.read(
          window.unread, tag: keyTag, revisedTag: revisedTag, into: &chunk.keys,
          unknownFields: &chunk.unknownFields, unknownBytes: limits.recordBytes))
      // Keys with megabytes of unknown fields make short chunks.
      if chunk.keys.isFull || chunk.rejections.count >= chunk.keys.capacity
        || chunk.unknownFields.byteCount > limits.recordBytes
      {
        break
      }
      guard try window.require(1), try !isAtEndOfMessage() else { break }
      try Self.readField(in: window, keyTag, revisedTag, other: other) { message, isRevised, offset in
        try decodeKey(message, revised: isRevised, at: offset, into: &chunk)
      }
    }
    return chunk.nextIndex > before
  }

  /// Passes over all keys; `other` gets every other field.
  ///
  /// - Returns: how many keys were passed over.
  func skipAll(
    other: (ProtobufTag, inout ProtobufReader, _ fieldStart: UnsafeRawPointer) throws(ProtobufFault) -> Void
  ) throws -> Int {
    var count = 0
    while try window.require(1) {
      count += skipShortKeys()
      guard try window.require(1), try !isAtEndOfMessage() else { break }
      try Self.readField(in: window, keyTag, revisedTag, other: other) { _, _, _ in count += 1 }
    }
    return count
  }

  /// Passes over the keys that are in the window and have a length of one byte.
  private func skipShortKeys() -> Int {
    let bytes = window.unread
    var (position, count) = (0, 0)
    while position + 1 < bytes.count, bytes[position] == keyTag || (revisedTag != 0 && bytes[position] == revisedTag),
      bytes[position + 1] < 0x80, position + 2 + Int(bytes[position + 1]) <= bytes.count
    {
      position += 2 + Int(bytes[position + 1])
      count += 1
    }
    window.skip(position)
    return count
  }

  /// Reads the field at the window's front, and moves behind it.
  private static func readField(
    in window: InputWindow, _ keyTag: UInt8, _ revisedTag: UInt8,
    other: (ProtobufTag, inout ProtobufReader, _ fieldStart: UnsafeRawPointer) throws(ProtobufFault) -> Void,
    key: (_ message: UnsafeRawBufferPointer, _ isRevised: Bool, _ offset: Int) throws -> Void
  ) throws {
    while true {
      let bytes = window.unread
      var reader = ProtobufReader(bytes)
      let start = reader.position
      do {
        // Not the first byte alone: a tag may be spelled in more bytes than it needs.
        let tag = try reader.readTag()
        let isRevised = revisedTag != 0 && tag == ProtobufTag(number: UInt32(revisedTag >> 3), wire: .length)
        if isRevised || tag == ProtobufTag(number: UInt32(keyTag >> 3), wire: .length) {
          let message = try reader.readBytes()
          try key(message, isRevised, reader.position - start - message.count)
        } else {
          try other(tag, &reader, start)
        }
        window.skip(reader.position - start)
        return
      } catch ProtobufFault.truncated {
        // The field may go on behind the window: get more and read it again.
        if try window.fill() { continue }
        throw ProtobufFault.truncated.error(at: window.documentOffset, in: "the last field")
      } catch let fault as ProtobufFault {
        throw fault.error(at: window.documentOffset + (reader.position - start), in: "the file")
      }
    }
  }

  private mutating func decodeKey(
    _ message: UnsafeRawBufferPointer, revised: Bool, at offset: Int, into chunk: inout KeyChunk
  ) throws {
    let place = window.documentOffset + offset
    let outcome: KeyMessageReader.Outcome
    do {
      outcome = try messages.read(message, unknownFields: &chunk.unknownFields)
    } catch {
      throw error.error(messageOffset: place, what: "key \(chunk.nextIndex)")
    }
    if messages.repeated != 0 { noteRepetitions(in: chunk.nextIndex) }
    switch outcome {
    case .key(var claim):
      templates.learn(message, as: claim)
      claim.isRevised = revised
      chunk.keys.append(claim)
    case .rejected(let reason, let detail):
      chunk.rejections.append(
        Rejection(position: KeyPosition(index: chunk.nextIndex, byteOffset: place), reason: reason, detail: detail))
    }
  }

  private mutating func noteRepetitions(in key: Int) {
    for meaning in KeyMessageLayout.Meaning.allCases where messages.repeated & meaning.bit != 0 {
      guard let name = meaning.name, let number = messages.layout.number(of: meaning) else { continue }
      notes.countRepeated("field \(number) of a key (\(name))", in: "key \(key)")
    }
  }
}
