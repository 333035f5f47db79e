/// Any JSON, for documents whose members are checked one by one.
package enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// How many arrays and objects may be open at once.
  static let maximumDepth = 32

  /// `nil` where the bytes are not one JSON value (RFC 8259) in UTF-8, or one that is nested too deep. Strangers write it,
  /// and are not known before it is read: each byte is looked at once, whatever it is.
  ///
  /// - Parameter allowingRepeats: whether an object may have two members of one name, of which the first counts;
  ///   otherwise such a document is none.
  static func parse(_ bytes: [UInt8], allowingRepeats: Bool = true) -> JSONValue? {
    var reader = JSONReader(bytes, allowingRepeats: allowingRepeats)
    return try? reader.document()
  }

  var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
  var array: [JSONValue]? { if case .array(let values) = self { values } else { nil } }
  var string: String? { if case .string(let text) = self { text } else { nil } }
  var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  var number: Double? { if case .number(let value) = self { value } else { nil } }
  /// `nil` for a fraction.
  var integer: Int64? { number.flatMap { Int64(exactly: $0) } }
}

extension JSONValue: Encodable {
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .number(let value):
      if let whole = Int64(exactly: value) { try container.encode(whole) } else { try container.encode(value) }
    case .string(let value): try container.encode(value)
    case .array(let values): try container.encode(values)
    case .object(let members): try container.encode(members)
    }
  }
}

/// Goes through a document once, from the front to the back.
private struct JSONReader {
  struct Malformed: Error {}

  private let bytes: [UInt8]
  private let allowsRepeats: Bool
  private var position = 0

  init(_ bytes: [UInt8], allowingRepeats: Bool) {
    self.bytes = bytes
    allowsRepeats = allowingRepeats
    // Some editors mark UTF-8.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
  }

  mutating func document() throws(Malformed) -> JSONValue {
    let value = try value(depth: 0)
    skipSpace()
    guard position == bytes.count else { throw Malformed() }
    return value
  }

  private mutating func value(depth: Int) throws(Malformed) -> JSONValue {
    switch try peek() {
    case UInt8(ascii: "{"): return .object(try members(depth: depth + 1))
    case UInt8(ascii: "["): return .array(try elements(depth: depth + 1))
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return .number(try number())
    }
  }

  private mutating func elements(depth: Int) throws(Malformed) -> [JSONValue] {
    var values: [JSONValue] = []
    try list(to: UInt8(ascii: "]"), depth: depth) { reader throws(Malformed) in
      values.append(try reader.value(depth: depth))
    }
    return values
  }

  /// Of members with one name the first counts, where there may be several.
  private mutating func members(depth: Int) throws(Malformed) -> [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    try list(to: UInt8(ascii: "}"), depth: depth) { reader throws(Malformed) in
      guard try reader.peek() == UInt8(ascii: "\"") else { throw Malformed() }
      let name = try reader.string()
      guard try reader.peek() == UInt8(ascii: ":") else { throw Malformed() }
      reader.position += 1
      let value = try reader.value(depth: depth)
      if members[name] == nil {
        members[name] = value
      } else if !reader.allowsRepeats {
        throw Malformed()
      }
    }
    return members
  }

  /// What stands between brackets, with commas between.
  private mutating func list(
    to end: UInt8, depth: Int, _ item: (inout JSONReader) throws(Malformed) -> Void
  ) throws(Malformed) {
    guard depth <= JSONValue.maximumDepth else { throw Malformed() }
    position += 1
    if try peek() == end {
      position += 1
      return
    }
    while true {
      try item(&self)
      let byte = try peek()
      position += 1
      if byte == end { return }
      guard byte == UInt8(ascii: ",") else { throw Malformed() }
    }
  }

  // MARK: Texts and numbers

  /// From the quote on.
  private mutating func string() throws(Malformed) -> String {
    position += 1
    var text: [UInt8] = []
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else { throw Malformed() }
        return string
      case UInt8(ascii: "\\"): try escape(&text)
      case 0x20...: text.append(byte)
      default: throw Malformed()
      }
    }
    throw Malformed()
  }

  /// From behind the backslash on.
  private mutating func escape(_ text: inout [UInt8]) throws(Malformed) {
    guard position < bytes.count else { throw Malformed() }
    let kind = bytes[position]
    position += 1
    switch kind {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(kind)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"): text.append(contentsOf: try scalar().utf8)
    default: throw Malformed()
    }
  }

  /// From behind `\u` on: four digits, or twice four for the two halves of a surrogate pair.
  private mutating func scalar() throws(Malformed) -> Character {
    var code = try codeUnit()
    if code & 0xFC00 == 0xD800 {
      guard bytes[position...].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) else { throw Malformed() }
      position += 2
      let second = try codeUnit()
      guard second & 0xFC00 == 0xDC00 else { throw Malformed() }
      code = 0x10000 + (code & 0x3FF) << 10 + second & 0x3FF
    }
    guard let scalar = Unicode.Scalar(code) else { throw Malformed() }
    return Character(scalar)
  }

  private mutating func codeUnit() throws(Malformed) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard position < bytes.count, let digit = Character(Unicode.Scalar(bytes[position])).hexDigitValue else {
        throw Malformed()
      }
      code = code << 4 | UInt32(digit)
      position += 1
    }
    return code
  }

  /// `-12.5e3`: no plus, no leading zero, digits on both sides of the point.
  private mutating func number() throws(Malformed) -> Double {
    let start = position
    skip("-")
    if !skip("0") { try digits() }
    if skip(".") { try digits() }
    if skip("e") || skip("E") {
      if !skip("-") { skip("+") }
      try digits()
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    guard let number = Double(text), number.isFinite else { throw Malformed() }
    return number
  }

  private mutating func digits() throws(Malformed) {
    let start = position
    while position < bytes.count, (0x30...0x39).contains(bytes[position]) { position += 1 }
    guard position > start else { throw Malformed() }
  }

  // MARK: Bytes

  @discardableResult
  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func word(_ word: String, _ value: JSONValue) throws(Malformed) -> JSONValue {
    guard bytes[position...].starts(with: word.utf8) else { throw Malformed() }
    position += word.utf8.count
    return value
  }

  /// The next byte that is not white space; it stays unread.
  private mutating func peek() throws(Malformed) -> UInt8 {
    skipSpace()
    guard position < bytes.count else { throw Malformed() }
    return bytes[position]
  }

  private mutating func skipSpace() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: return
      }
    }
  }
}
