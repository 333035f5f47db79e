/// Tells formats apart by their content, never by a file's name.
enum FormatDetection {
  enum Guess: Equatable {
    case zip
    case format(KeyFormat)
    /// Some JSON; its decoder finds out which.
    case json
    /// An `export.sig`, which holds no keys.
    case signatureFile
    case unrecognized(String)
  }

  /// How many bytes at the front are looked at.
  static let reach = 4096

  static func guess(_ front: [UInt8]) -> Guess {
    if front.isEmpty { return .unrecognized("the file is empty") }
    if ZipArchive.begins(front) { return .zip }
    if front.starts(with: "EK Export v".utf8) { return .format(.gaenExport) }
    if let text = textual(front) { return guessText(text) }
    return guessProtobuf(front)
  }

  // MARK: Text

  /// The front as text without a byte order mark and leading white space, or `nil` for binary.
  private static func textual(_ front: [UInt8]) -> ArraySlice<UInt8>? {
    var text = front[...]
    if text.starts(with: [0xef, 0xbb, 0xbf]) { text = text.dropFirst(3) }
    let control = text.contains { $0 < 0x20 && ![0x09, 0x0a, 0x0d, 0x0c].contains($0) || $0 == 0x7f }
    return control ? nil : text.drop { [0x20, 0x09, 0x0a, 0x0d].contains($0) }
  }

  private static func guessText(_ text: ArraySlice<UInt8>) -> Guess {
    guard let first = text.first else { return .unrecognized("the file holds nothing but white space") }
    if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return .json }
    if first == UInt8(ascii: "<") {
      return .unrecognized("the file looks like a web page; a server may have answered with an error")
    }
    let lines = text.split(whereSeparator: { $0 == 0x0a || $0 == 0x0d })
      .map { String(decoding: $0.drop { $0 == 0x20 || $0 == 0x09 }, as: UTF8.self) }
    if lines.contains(where: { $0.hasPrefix("Exposure Notification Diagnosis Key Parser") || isNumberedTEK($0) }) {
      return .format(.parserText)
    }
    if let line = lines.first(where: { !$0.hasPrefix("#") }), isProtobufText(line) { return .format(.protobufText) }
    return .format(.csv)
  }

  /// `1: TEK: 014f…`
  private static func isNumberedTEK(_ line: String) -> Bool {
    let rest = line.drop { $0.isNumber }
    return rest.count < line.count && rest.hasPrefix(": TEK:")
  }

  /// `keys {` or `start_timestamp: 1593248400`
  private static func isProtobufText(_ line: String) -> Bool {
    let name = line.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
    let rest = line.dropFirst(name.count).drop { $0 == " " }
    return !name.isEmpty && (rest.first == ":" || rest.first == "{" || rest.first == "<")
  }

  // MARK: Protobuf without a mark of its own

  private static func guessProtobuf(_ front: [UInt8]) -> Guess {
    front.withUnsafeBytes { bytes in
      var reader = ProtobufReader(bytes)
      guard let tag = try? reader.readTag() else { return notProtobuf }
      switch (tag.number, tag.wire) {
      case (1, .fixed64), (2, .fixed64), (3, .length), (4, .varint), (5, .varint), (6, .length), (7, .length),
        (8, .length):
        return .format(.gaenExport)
      case (2, .length): return .format(.gaenBeta)
      case (1, .length):
        // The message may be longer than what is looked at, or the file cut off inside it.
        guard let length = try? reader.readVarint() else { return notProtobuf }
        let there = min(Int(clamping: length), reader.remaining)
        return guessFirstMessage(UnsafeRawBufferPointer(start: reader.position, count: there))
      default: return notProtobuf
      }
    }
  }

  private static let notProtobuf = Guess.unrecognized(
    "the bytes are neither a ZIP archive, nor an export, nor a federation batch, nor JSON, CSV or protobuf text")

  /// Several formats begin with a message in field 1: a federation key, an export key, a beta header, a signature.
  private static func guessFirstMessage(_ message: UnsafeRawBufferPointer) -> Guess {
    var numbers: [UInt32: (wire: WireType, value: UInt64)] = [:]
    var keyLength: Int?
    var reader = ProtobufReader(message)
    do {
      while !reader.isAtEnd {
        let tag = try reader.readTag()
        var value: UInt64 = 0
        switch tag.wire {
        case .varint: value = try reader.readVarint()
        case .length:
          let length = try reader.readVarint()
          if tag.number == 1 { keyLength = Int(clamping: length) }
          try reader.advance(Int(clamping: length))
        default: try reader.skip(tag)
        }
        numbers[tag.number] = (tag.wire, value)
      }
    } catch {
      // What was seen up to the cut decides.
      guard error == .truncated else { return notProtobuf }
    }
    if numbers[4]?.wire == .length { return .signatureFile }
    guard keyLength != nil else { return numbers[1]?.wire == .varint ? .format(.gaenBeta) : notProtobuf }
    // In an export key field 3 is the rolling start and field 2 a small risk; in a federation key field 2 is the
    // rolling start and field 3 the rolling period. A rolling start is beyond two million since 2008.
    let second = numbers[2]?.value ?? 0
    let third = numbers[3]?.value ?? 0
    return .format(third > 1_000_000 && third > second ? .cwaSubmission : .efgsProtobuf)
  }
}
