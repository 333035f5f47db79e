internal import ExposureKeys

/// Values as MongoDB exports them: objects with one or two members whose names begin with `$` (MongoDB Extended JSON,
/// version 2, canonical and relaxed, and the older spelling of binary values).
extension JSONCursor {
  /// `{"$numberInt":"144"}`, `{"$numberLong":"2649024"}` or `{"$numberDouble":"3.0"}`: the digits within the quotes.
  ///
  /// The position is at the opening brace. `nil` for any other object; the position is anywhere in it then.
  mutating func extendedNumber() throws(JSONFault) -> JSONNumberSpan? {
    guard let text = try extendedText(named: "$numberInt", "$numberLong", "$numberDouble"), !text.hasEscapes else {
      return nil
    }
    var isPlain = true
    var hasDigit = false
    var place = text.start
    if place < text.end, byte(at: place) == UInt8(ascii: "-") { place += 1 }
    let first = place
    while place < text.end {
      let byte = byte(at: place)
      if byte &- UInt8(ascii: "0") < 10 {
        hasDigit = true
      } else if byte == UInt8(ascii: "."), isPlain, place > first, place + 1 < text.end {
        isPlain = false
      } else {
        return nil
      }
      place += 1
    }
    return hasDigit ? JSONNumberSpan(start: text.start, end: text.end, isPlain: isPlain) : nil
  }

  /// `{"$binary":{"base64":"…","subType":"00"}}`, or `{"$binary":"…","$type":"00"}` in either order: the base64 within the quotes.
  ///
  /// The position is at the opening brace. `nil` for any other object; the position is anywhere in it then.
  mutating func extendedBinary() throws(JSONFault) -> JSONStringSpan? {
    try texts(named: "$binary", beside: "$type") { cursor throws(JSONFault) in
      try cursor.texts(named: "base64", beside: "subType") { _ in nil }
    }
  }

  /// The text of the member of this name. The object may have another one, whose text says nothing here.
  ///
  /// - Parameter inner: reads a member that is an object.
  private mutating func texts(
    named wanted: StaticString, beside other: StaticString,
    inner: (inout JSONCursor) throws(JSONFault) -> JSONStringSpan?
  ) throws(JSONFault) -> JSONStringSpan? {
    var found: JSONStringSpan?
    repeat {
      position += 1
      guard try peek() == UInt8(ascii: "\"") else { return nil }
      let name = try name()
      let isWanted = wanted.matches(bytes(name.start, name.end))
      guard isWanted ? found == nil : other.matches(bytes(name.start, name.end)) else { return nil }
      let isText = try peek() == UInt8(ascii: "\"")
      guard isText || isWanted, let text = try isText ? string() : inner(&self) else { return nil }
      if isWanted { found = text }
    } while try peek() == UInt8(ascii: ",")
    return try close() ? found : nil
  }

  /// `{"$date":"2020-06-01T00:00:00Z"}`, `{"$date":{"$numberLong":"1590969600000"}}` or `{"$date":1590969600000}`, as
  /// seconds since 1970; and a number as it is spelled.
  ///
  /// The position is at the opening brace. `nil` for any other object; the position is anywhere in it then.
  mutating func extendedScalar() throws(JSONFault) -> String? {
    let start = position
    if let number = try extendedNumber() {
      return integer(number).map { "\($0)" }
    }
    position = start + 1
    guard try isName("$date") else { return nil }
    var milliseconds: Int64?
    switch try peek() {
    case UInt8(ascii: "\""):
      let span = try string()
      guard let text = text(span), let instant = Instant(text), try close() else { return nil }
      return "\(instant.secondsSince1970)"
    case UInt8(ascii: "{"): milliseconds = try extendedNumber().flatMap { integer($0) }
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): milliseconds = integer(try number())
    default: return nil
    }
    guard let milliseconds, try close() else { return nil }
    return "\(milliseconds / 1000)"
  }

  /// The text of an object with one member of one of these names.
  private mutating func extendedText(named names: StaticString...) throws(JSONFault) -> JSONStringSpan? {
    position += 1
    guard try peek() == UInt8(ascii: "\"") else { return nil }
    let name = try name()
    let known = bytes(name.start, name.end)
    guard names.contains(where: { $0.matches(known) }), try peek() == UInt8(ascii: "\"") else { return nil }
    let text = try string()
    return try close() ? text : nil
  }

  /// Reads a member's name and says whether it is this one.
  private mutating func isName(_ wanted: StaticString) throws(JSONFault) -> Bool {
    guard try peek() == UInt8(ascii: "\"") else { return false }
    let name = try name()
    return wanted.matches(bytes(name.start, name.end))
  }

  /// Whether the object ends here; moves behind its brace.
  private mutating func close() throws(JSONFault) -> Bool {
    guard try peek() == UInt8(ascii: "}") else { return false }
    position += 1
    return true
  }
}
