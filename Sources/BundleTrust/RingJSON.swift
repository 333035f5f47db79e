internal import ExposureKeys

/// A JSON value, as far as a key ring and a federation's trust must tell them apart. Members keep their order, so that faults are reported in
/// the order of the text.
enum RingJSON {
  typealias Members = [(name: String, value: RingJSON)]

  case null
  case bool(Bool)
  case number
  case string(String)
  case array([RingJSON])
  case object(Members)

  /// For messages: `a string`.
  var kind: String {
    switch self {
    case .null: "null"
    case .bool: "a truth value"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// Reads one document (RFC 8259, UTF-8, a byte order mark allowed). A fault says the line and the column in bytes.
  init(_ document: [UInt8]) throws(KeyFault) {
    guard String(validating: document, as: UTF8.self) != nil else { throw KeyFault(.notJSON, "is not UTF-8") }
    var reader = RingJSONReader(document)
    self = try reader.document()
  }
}

private struct RingJSONReader {
  private let bytes: [UInt8]
  private var position = 0
  private var depth = 0

  /// A ring nests three deep.
  private static let maximumDepth = 16

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
  }

  mutating func document() throws(KeyFault) -> RingJSON {
    let value = try value()
    skipSpace()
    guard position == bytes.count else { throw fault("text after the end of the document") }
    return value
  }

  private mutating func value() throws(KeyFault) -> RingJSON {
    skipSpace()
    switch peek {
    case UInt8(ascii: "{"): return .object(try members())
    case UInt8(ascii: "["): return .array(try elements())
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case let byte? where byte == UInt8(ascii: "-") || isDigit(byte):
      try number()
      return .number
    default: throw fault("expected a value")
    }
  }

  private mutating func members() throws(KeyFault) -> RingJSON.Members {
    var members: RingJSON.Members = []
    var names: Set<String> = []
    try enter()
    defer { depth -= 1 }
    if take("}") { return members }
    repeat {
      skipSpace()
      guard peek == UInt8(ascii: "\"") else { throw fault("expected the name of a member") }
      let start = position
      let name = try string()
      guard names.insert(name).inserted else {
        position = start
        throw fault("the member \(quoted(name)) stands twice in one object")
      }
      guard take(":") else { throw fault("expected a colon") }
      members.append((name, try value()))
    } while take(",")
    guard take("}") else { throw fault("expected a comma or a closing brace") }
    return members
  }

  private mutating func elements() throws(KeyFault) -> [RingJSON] {
    var elements: [RingJSON] = []
    try enter()
    defer { depth -= 1 }
    if take("]") { return elements }
    repeat { elements.append(try value()) } while take(",")
    guard take("]") else { throw fault("expected a comma or a closing bracket") }
    return elements
  }

  private mutating func enter() throws(KeyFault) {
    guard depth < Self.maximumDepth else { throw fault("nested deeper than \(Self.maximumDepth) levels") }
    depth += 1
    position += 1
  }

  private mutating func string() throws(KeyFault) -> String {
    position += 1
    var text: [UInt8] = []
    while let byte = peek {
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"): text.append(contentsOf: try escape().utf8)
      case 0..<0x20: throw fault("a control character in a string")
      default:
        text.append(byte)
        position += 1
      }
    }
    throw fault("the document ends in a string")
  }

  private mutating func escape() throws(KeyFault) -> String {
    position += 1
    guard let letter = peek else { throw fault("the document ends in a string") }
    position += 1
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return String(Unicode.Scalar(letter))
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      var units = [try codeUnit()]
      if UTF16.isLeadSurrogate(units[0]), bytes[position...].starts(with: Array("\\u".utf8)) {
        position += 2
        units.append(try codeUnit())
      }
      guard let text = String(validating: units, as: UTF16.self) else { throw fault("half of a surrogate pair") }
      return text
    default:
      position -= 1
      throw fault("an unknown escape in a string")
    }
  }

  private mutating func codeUnit() throws(KeyFault) -> UInt16 {
    guard let unit = Hexadecimal.decode(bytes[position...].prefix(4)), unit.count == 2 else {
      throw fault("expected four hexadecimal digits")
    }
    position += 4
    return UInt16(unit[0]) << 8 | UInt16(unit[1])
  }

  private mutating func number() throws(KeyFault) {
    if peek == UInt8(ascii: "-") { position += 1 }
    if peek == UInt8(ascii: "0") {
      position += 1
    } else {
      try digits()
    }
    if peek == UInt8(ascii: ".") {
      position += 1
      try digits()
    }
    if let letter = peek, letter | 0x20 == UInt8(ascii: "e") {
      position += 1
      if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { position += 1 }
      try digits()
    }
  }

  private mutating func digits() throws(KeyFault) {
    let start = position
    while let byte = peek, isDigit(byte) { position += 1 }
    guard position > start else { throw fault("expected a digit") }
  }

  private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private mutating func word(_ word: String, _ value: RingJSON) throws(KeyFault) -> RingJSON {
    guard bytes[position...].starts(with: Array(word.utf8)) else { throw fault("expected a value") }
    position += word.utf8.count
    return value
  }

  private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  private mutating func take(_ mark: Unicode.Scalar) -> Bool {
    skipSpace()
    guard peek == UInt8(ascii: mark) else { return false }
    position += 1
    return true
  }

  private func fault(_ reason: String) -> KeyFault {
    let before = bytes[..<position]
    let line = before.count { $0 == 0x0A } + 1
    let column = position - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
    return KeyFault(.notJSON, place: "line \(line), column \(column)", "not JSON: \(reason)")
  }
}
