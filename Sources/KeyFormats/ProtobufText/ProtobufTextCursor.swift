internal import ExposureKeys

/// Why reading protobuf's text format from memory stopped.
enum ProtobufTextFault: Error {
  /// The bytes end in the middle of something, and the document goes on.
  case incomplete
  /// The document ends in the middle of something.
  case ended
  case wrong(offset: Int, reason: String)
}

/// Reads the tokens of protobuf's text format from memory.
///
/// Source: the Protocol Buffers Text Format Language Specification.
struct ProtobufTextCursor {
  /// What stands behind a field's name.
  enum ValueKind {
    case message
    case list
    case string
    /// A number or a name.
    case word
  }

  private let bytes: UnsafeRawBufferPointer
  private let isAtEnd: Bool
  private(set) var offset = 0

  init(_ bytes: UnsafeRawBufferPointer, isAtEnd: Bool) {
    self.bytes = bytes
    self.isAtEnd = isAtEnd
  }

  /// The next byte; `nil` at the end of the document.
  private func peek() throws(ProtobufTextFault) -> UInt8? {
    if offset < bytes.count { return bytes[offset] }
    if isAtEnd { return nil }
    throw .incomplete
  }

  private mutating func take() throws(ProtobufTextFault) -> UInt8 {
    guard let byte = try peek() else { throw .ended }
    offset += 1
    return byte
  }

  func wrong(_ reason: String) -> ProtobufTextFault { .wrong(offset: offset, reason: reason) }

  /// Passes blanks and comments; returns what stands there then.
  mutating func next() throws(ProtobufTextFault) -> UInt8? {
    while let byte = try peek() {
      switch byte {
      case UInt8(ascii: " "), 0x09...0x0D: offset += 1
      case UInt8(ascii: "#"):
        while let other = try peek(), other != UInt8(ascii: "\n") { offset += 1 }
      default: return byte
      }
    }
    return nil
  }

  /// Passes `byte` if it stands there.
  mutating func pass(_ byte: UInt8) throws(ProtobufTextFault) -> Bool {
    guard try next() == byte else { return false }
    offset += 1
    return true
  }

  /// Passes the comma or semicolon that may follow a field.
  mutating func passSeparator() throws(ProtobufTextFault) {
    if let byte = try next(), byte == UInt8(ascii: ",") || byte == UInt8(ascii: ";") { offset += 1 }
  }

  /// A field's name, its number, or the bracketed name of an extension.
  mutating func name() throws(ProtobufTextFault) -> UnsafeRawBufferPointer {
    guard let first = try next() else { throw .ended }
    let start = offset
    if first == UInt8(ascii: "[") {
      while try take() != UInt8(ascii: "]") {}
      return UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
    }
    let name = try characters()
    guard !name.isEmpty else { throw wrong("\(shown(first)), allowed is the name of a field") }
    return name
  }

  /// Passes the colon behind a name and says what follows.
  mutating func valueKind() throws(ProtobufTextFault) -> ValueKind {
    let hasColon = try pass(UInt8(ascii: ":"))
    switch try next() {
    case UInt8(ascii: "{"), UInt8(ascii: "<"): return .message
    case nil: throw .ended
    case _ where !hasColon: throw wrong("no colon behind the name of a field")
    case UInt8(ascii: "["): return .list
    case UInt8(ascii: "\""), UInt8(ascii: "'"): return .string
    default: return .word
    }
  }

  /// Opens a message and returns the character that closes it.
  mutating func openMessage() throws(ProtobufTextFault) -> UInt8 {
    guard let opening = try next() else { throw .ended }
    guard opening == UInt8(ascii: "{") || opening == UInt8(ascii: "<") else {
      throw wrong("\(shown(opening)), allowed is a message in braces")
    }
    offset += 1
    return opening == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: ">")
  }

  /// A number, with its sign, or a name.
  mutating func word() throws(ProtobufTextFault) -> UnsafeRawBufferPointer {
    _ = try next()
    let start = offset
    if try pass(UInt8(ascii: "-")), let byte = try peek(), byte == UInt8(ascii: " ") {
      throw wrong("a blank behind a sign")
    }
    let rest = try characters()
    guard !rest.isEmpty else {
      guard let byte = try peek() else { throw .ended }
      throw wrong("\(shown(byte)), allowed is a value")
    }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
  }

  private mutating func characters() throws(ProtobufTextFault) -> UnsafeRawBufferPointer {
    let start = offset
    while let byte = try peek() {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "+"):
        offset += 1
      case UInt8(ascii: "-") where offset > start && bytes[offset - 1] | 0x20 == UInt8(ascii: "e"): offset += 1
      default: return UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
      }
    }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
  }

  /// Hands over the bytes of a string, which may be written in several parts.
  mutating func string(_ receive: (UInt8) -> Void) throws(ProtobufTextFault) {
    while let quote = try next(), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
      offset += 1
      while true {
        let byte = try take()
        if byte == quote { break }
        switch byte {
        case UInt8(ascii: "\n"): throw wrong("a string goes on in the next line")
        case UInt8(ascii: "\\"): try escape(receive)
        default: receive(byte)
        }
      }
    }
  }

  private mutating func escape(_ receive: (UInt8) -> Void) throws(ProtobufTextFault) {
    let kind = try take()
    switch kind {
    case UInt8(ascii: "n"): receive(0x0A)
    case UInt8(ascii: "r"): receive(0x0D)
    case UInt8(ascii: "t"): receive(0x09)
    case UInt8(ascii: "a"): receive(0x07)
    case UInt8(ascii: "b"): receive(0x08)
    case UInt8(ascii: "f"): receive(0x0C)
    case UInt8(ascii: "v"): receive(0x0B)
    case UInt8(ascii: "\\"), UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "?"): receive(kind)
    case UInt8(ascii: "0")...UInt8(ascii: "7"):
      offset -= 1
      let value = try digits(atMost: 3, base: 8)
      guard value <= 255 else { throw wrong("an octal escape above 377") }
      receive(UInt8(truncatingIfNeeded: value))
    case UInt8(ascii: "x"), UInt8(ascii: "X"):
      receive(UInt8(truncatingIfNeeded: try digits(atMost: 2, base: 16)))
    case UInt8(ascii: "u"): try scalar(digits: 4, receive)
    case UInt8(ascii: "U"): try scalar(digits: 8, receive)
    default: throw wrong("an escape that the text format does not have")
    }
  }

  private mutating func scalar(digits count: Int, _ receive: (UInt8) -> Void) throws(ProtobufTextFault) {
    guard let scalar = Unicode.Scalar(try digits(atMost: count, base: 16)) else {
      throw wrong("an escape for a character that does not exist")
    }
    for unit in UTF8.encode(scalar).map(Array.init) ?? [] { receive(unit) }
  }

  private mutating func digits(atMost limit: Int, base: UInt8) throws(ProtobufTextFault) -> UInt32 {
    var value: UInt32 = 0
    var count = 0
    while count < limit, let byte = try peek() {
      let digit = Hexadecimal.values[Int(byte)]
      guard digit < base else { break }
      value = value &* UInt32(base) &+ UInt32(digit)
      count += 1
      offset += 1
    }
    guard count > 0 else { throw wrong("an escape without digits") }
    return value
  }

  /// Passes a value of any kind, which ``valueKind()`` has announced.
  mutating func skipValue(_ kind: ValueKind, nesting: Int) throws(ProtobufTextFault) {
    guard nesting > 0 else { throw wrong("messages are nested too deeply") }
    switch kind {
    case .string: try string { _ in }
    case .word: _ = try word()
    case .list:
      offset += 1
      while try !pass(UInt8(ascii: "]")) {
        switch try next() {
        case UInt8(ascii: "{"), UInt8(ascii: "<"): try skipValue(.message, nesting: nesting - 1)
        case UInt8(ascii: "["): try skipValue(.list, nesting: nesting - 1)
        case UInt8(ascii: "\""), UInt8(ascii: "'"): try skipValue(.string, nesting: nesting - 1)
        default: try skipValue(.word, nesting: nesting - 1)
        }
        try passSeparator()
      }
    case .message:
      let closing = try openMessage()
      while try !pass(closing) {
        _ = try name()
        let kind = try valueKind()
        try skipValue(kind, nesting: nesting - 1)
        try passSeparator()
      }
    }
  }

  private func shown(_ byte: UInt8) -> String { ReportedText.value(CollectionOfOne(byte)) }
}
