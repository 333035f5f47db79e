internal import ExposureKeys

/// Why reading JSON between two places of a window stopped.
enum JSONFault: Error {
  /// The bytes that are there end in the middle of something.
  case runOut
  /// The byte at this place of the window is not what the grammar (RFC 8259) allows there.
  case unexpected(at: Int, expected: StaticString)
  /// The container that begins here is nested deeper than is read.
  case tooDeep(at: Int)
}

/// A string as it stands in the window, without its quotes.
struct JSONStringSpan {
  var start: Int
  var end: Int
  var hasEscapes: Bool

  var count: Int { end - start }
}

/// A number as it stands in the window.
struct JSONNumberSpan {
  var start: Int
  var end: Int
  /// Neither fraction nor exponent.
  var isPlain: Bool
}

/// Reads JSON tokens between two places of a window. It never looks behind ``end``.
struct JSONCursor {
  let base: UnsafeRawPointer
  var position: Int
  let end: Int

  @inline(__always)
  func byte(at place: Int) -> UInt8 { base.load(fromByteOffset: place, as: UInt8.self) }

  /// The next byte that is not white space; it stays unread.
  @inline(__always)
  mutating func peek() throws(JSONFault) -> UInt8 {
    while position < end {
      let byte = byte(at: position)
      if byte > 0x20 || !isJSONSpace(byte) { return byte }
      position += 1
    }
    throw .runOut
  }

  /// The same, read.
  @inline(__always)
  mutating func next() throws(JSONFault) -> UInt8 {
    let byte = try peek()
    position += 1
    return byte
  }

  mutating func expect(_ wanted: UInt8, _ expected: StaticString) throws(JSONFault) {
    guard try peek() == wanted else { throw .unexpected(at: position, expected: expected) }
    position += 1
  }

  /// A member's name and the colon behind it. The first byte of the value is the next one that is not white space.
  mutating func name() throws(JSONFault) -> JSONStringSpan {
    guard try peek() == UInt8(ascii: "\"") else {
      throw .unexpected(at: position, expected: "a member's name in quotes")
    }
    let name = try string()
    try expect(UInt8(ascii: ":"), "a colon behind the member's name")
    return name
  }

  /// A string, from its opening quote on.
  mutating func string() throws(JSONFault) -> JSONStringSpan {
    var span = JSONStringSpan(start: position + 1, end: 0, hasEscapes: false)
    position += 1
    while true {
      try skipPlainText()
      if byte(at: position) == UInt8(ascii: "\"") {
        span.end = position
        position += 1
        return span
      }
      span.hasEscapes = true
      try skipEscape()
    }
  }

  /// Text up to the next quote or backslash.
  mutating func skipPlainText() throws(JSONFault) {
    while end - position >= 8 {
      let word = base.loadUnaligned(fromByteOffset: position, as: UInt64.self)
      guard !holdsSpecialText(word) else { break }
      position += 8
    }
    while position < end {
      let byte = byte(at: position)
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return }
      guard byte >= 0x20 else {
        throw .unexpected(at: position, expected: "text, in which control characters are escaped")
      }
      position += 1
    }
    throw .runOut
  }

  /// One escape sequence, from its backslash on. The position stays at the backslash when the bytes run out.
  mutating func skipEscape() throws(JSONFault) {
    guard position + 1 < end else { throw .runOut }
    switch byte(at: position + 1) {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 2
    case UInt8(ascii: "u"):
      for place in position + 2..<position + 6 {
        guard place < end else { throw .runOut }
        guard Hexadecimal.values[Int(byte(at: place))] != 255 else {
          throw .unexpected(at: place, expected: "four hexadecimal digits behind \\u")
        }
      }
      position += 6
    default: throw .unexpected(at: position + 1, expected: "one of \" \\ / b f n r t u behind a backslash")
    }
  }

  /// A number, from its first byte on. The byte behind it must be there.
  mutating func number() throws(JSONFault) -> JSONNumberSpan {
    var span = JSONNumberSpan(start: position, end: 0, isPlain: true)
    var place = position
    if place < end, byte(at: place) == UInt8(ascii: "-") { place += 1 }
    let whole = try digits(from: place)
    if byte(at: place) == UInt8(ascii: "0"), whole > place + 1 {
      throw .unexpected(at: place + 1, expected: "no digit behind a leading zero")
    }
    place = whole
    if byte(at: place) == UInt8(ascii: ".") {
      span.isPlain = false
      place = try digits(from: place + 1)
    }
    if byte(at: place) | 0x20 == UInt8(ascii: "e") {
      span.isPlain = false
      place += 1
      if place < end, byte(at: place) == UInt8(ascii: "+") || byte(at: place) == UInt8(ascii: "-") { place += 1 }
      place = try digits(from: place)
    }
    span.end = place
    position = place
    return span
  }

  /// The place behind at least one digit.
  private func digits(from start: Int) throws(JSONFault) -> Int {
    var place = start
    while place < end, byte(at: place) &- UInt8(ascii: "0") < 10 { place += 1 }
    guard place < end else { throw .runOut }
    guard place > start else { throw .unexpected(at: place, expected: "a digit") }
    return place
  }

  /// One of `true`, `false` and `null`, from its first byte on.
  mutating func word(_ word: StaticString) throws(JSONFault) {
    for index in 0..<word.utf8CodeUnitCount {
      guard position + index < end else { throw .runOut }
      guard byte(at: position + index) == word.utf8Start[index] else {
        throw .unexpected(at: position + index, expected: "a value: object, array, string, number, true, false or null")
      }
    }
    position += word.utf8CodeUnitCount
  }

  func bytes(_ start: Int, _ end: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + start, count: end - start)
  }

  /// The text with its escapes resolved; `nil` when it is not valid UTF-8 or holds half a surrogate pair.
  func text(_ span: JSONStringSpan) -> String? {
    let raw = bytes(span.start, span.end)
    guard span.hasEscapes else { return String(validating: raw, as: UTF8.self) }
    guard let bytes = unescaped(raw) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  /// The whole number that this text spells, also as `144.0` or `1.44e2`; `nil` when it is none or is out of range.
  func integer(_ span: JSONNumberSpan) -> Int64? { integerValue(bytes(span.start, span.end)) }
}

/// Whether one of the eight bytes is a quote, a backslash or a control character.
@inline(__always)
private func holdsSpecialText(_ word: UInt64) -> Bool {
  let ones: UInt64 = 0x0101_0101_0101_0101
  let quotes = word ^ ones &* UInt64(UInt8(ascii: "\""))
  let backslashes = word ^ ones &* UInt64(UInt8(ascii: "\\"))
  let found =
    (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes | (word &- ones &* 0x20) & ~word
  return found & (ones &* 0x80) != 0
}

@inline(__always)
func isJSONSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

/// Resolves the escapes of a string whose syntax has been checked; `nil` for half a surrogate pair.
private func unescaped(_ raw: UnsafeRawBufferPointer) -> [UInt8]? {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(raw.count)
  var place = 0
  func unit(at place: Int) -> UInt32 {
    raw[place..<place + 4].reduce(0) { $0 << 4 | UInt32(Hexadecimal.values[Int($1)]) }
  }
  while place < raw.count {
    guard raw[place] == UInt8(ascii: "\\") else {
      bytes.append(raw[place])
      place += 1
      continue
    }
    let kind = raw[place + 1]
    place += 2
    switch kind {
    case UInt8(ascii: "b"): bytes.append(0x08)
    case UInt8(ascii: "f"): bytes.append(0x0C)
    case UInt8(ascii: "n"): bytes.append(0x0A)
    case UInt8(ascii: "r"): bytes.append(0x0D)
    case UInt8(ascii: "t"): bytes.append(0x09)
    case UInt8(ascii: "u"):
      var code = unit(at: place)
      place += 4
      if code & 0xFC00 == 0xD800 {
        guard place + 6 <= raw.count, raw[place] == UInt8(ascii: "\\"), raw[place + 1] == UInt8(ascii: "u") else {
          return nil
        }
        let second = unit(at: place + 2)
        guard second & 0xFC00 == 0xDC00 else { return nil }
        code = 0x10000 + (code & 0x3FF) << 10 + second & 0x3FF
        place += 6
      }
      guard let scalar = Unicode.Scalar(code) else { return nil }
      bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    default: bytes.append(kind)
    }
  }
  return bytes
}

/// The value of a JSON number that is a whole one within 64 bits. Exact: nothing goes through floating point.
func integerValue(_ text: UnsafeRawBufferPointer) -> Int64? {
  var place = 0
  let isNegative = text.first == UInt8(ascii: "-")
  if isNegative { place = 1 }
  var value: UInt64 = 0
  // Zeros that count only when a digit follows them, and the power of ten that is still to be applied.
  var zeros = 0
  var exponent = 0
  var isFraction = false
  func scaled(_ value: UInt64, _ tens: Int) -> UInt64? {
    guard value > 0 else { return 0 }
    guard tens <= 19 else { return nil }
    var result = value
    for _ in 0..<tens {
      let product = result.multipliedReportingOverflow(by: 10)
      if product.overflow { return nil }
      result = product.partialValue
    }
    return result
  }
  while place < text.count {
    let byte = text[place]
    if byte == UInt8(ascii: ".") {
      isFraction = true
    } else if byte | 0x20 == UInt8(ascii: "e") {
      break
    } else {
      if isFraction { exponent -= 1 }
      if byte == UInt8(ascii: "0") {
        zeros += 1
      } else {
        guard let shifted = scaled(value, zeros + 1) else { return nil }
        let sum = shifted.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
        if sum.overflow { return nil }
        value = sum.partialValue
        zeros = 0
      }
    }
    place += 1
  }
  if value == 0 { return 0 }
  if place < text.count {
    place += 1
    let isReduction = text[place] == UInt8(ascii: "-")
    if isReduction || text[place] == UInt8(ascii: "+") { place += 1 }
    var power = 0
    while place < text.count {
      power = min(power * 10 + Int(text[place] - UInt8(ascii: "0")), 1 << 40)
      place += 1
    }
    exponent += isReduction ? -power : power
  }
  exponent += zeros
  guard exponent >= 0, let magnitude = scaled(value, exponent) else { return nil }
  guard magnitude <= UInt64(Int64.max) else { return nil }
  return isNegative ? -Int64(magnitude) : Int64(magnitude)
}

/// Reads over one value of any kind and size, checking its syntax. It keeps its own stack, and when the bytes run
/// out it goes on where it was once there are more: nothing grows with the value but the stack, which is limited.
struct JSONSkipper {
  private enum Expectation { case value, valueOrEnd, nameOrEnd, name, colon, commaOrEnd, text, textOfName }

  private var expectation = Expectation.value
  /// Whether each open container is an object.
  private var isObject: [Bool] = []
  private var limit = 0

  /// Prepares for one value; `limit` is how many containers may be open in it at once.
  mutating func begin(limit: Int) {
    self.limit = limit
    expectation = .value
    isObject.removeAll(keepingCapacity: true)
  }

  /// Reads on to the end of the value. On `runOut` the cursor stands where reading goes on.
  mutating func skip(_ cursor: inout JSONCursor) throws(JSONFault) {
    repeat { try step(&cursor) } while !(isObject.isEmpty && expectation == .commaOrEnd)
  }

  private mutating func step(_ cursor: inout JSONCursor) throws(JSONFault) {
    switch expectation {
    case .text, .textOfName:
      try cursor.skipPlainText()
      if cursor.byte(at: cursor.position) == UInt8(ascii: "\"") {
        cursor.position += 1
        expectation = expectation == .text ? .commaOrEnd : .colon
      } else {
        try cursor.skipEscape()
      }
    case .colon:
      try cursor.expect(UInt8(ascii: ":"), "a colon behind the member's name")
      expectation = .value
    case .name, .nameOrEnd:
      let byte = try cursor.peek()
      if byte == UInt8(ascii: "}"), expectation == .nameOrEnd { return close(&cursor) }
      guard byte == UInt8(ascii: "\"") else {
        throw .unexpected(at: cursor.position, expected: "a member's name in quotes")
      }
      cursor.position += 1
      expectation = .textOfName
    case .commaOrEnd:
      let byte = try cursor.peek()
      let inObject = isObject.last ?? false
      if byte == UInt8(ascii: ",") {
        cursor.position += 1
        expectation = inObject ? .name : .value
      } else if byte == (inObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
        close(&cursor)
      } else {
        throw .unexpected(at: cursor.position, expected: inObject ? "a comma or }" : "a comma or ]")
      }
    case .value, .valueOrEnd:
      try value(&cursor)
    }
  }

  private mutating func close(_ cursor: inout JSONCursor) {
    cursor.position += 1
    isObject.removeLast()
    expectation = .commaOrEnd
  }

  private mutating func value(_ cursor: inout JSONCursor) throws(JSONFault) {
    let byte = try cursor.peek()
    switch byte {
    case UInt8(ascii: "]") where expectation == .valueOrEnd: return close(&cursor)
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      guard isObject.count < limit else { throw .tooDeep(at: cursor.position) }
      cursor.position += 1
      isObject.append(byte == UInt8(ascii: "{"))
      expectation = byte == UInt8(ascii: "{") ? .nameOrEnd : .valueOrEnd
      return
    case UInt8(ascii: "\""):
      cursor.position += 1
      expectation = .text
      return
    case UInt8(ascii: "t"): try cursor.word("true")
    case UInt8(ascii: "f"): try cursor.word("false")
    case UInt8(ascii: "n"): try cursor.word("null")
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): _ = try cursor.number()
    default:
      throw .unexpected(
        at: cursor.position, expected: "a value: object, array, string, number, true, false or null")
    }
    expectation = .commaOrEnd
  }
}
