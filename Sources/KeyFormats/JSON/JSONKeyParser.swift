import ExposureKeys

/// Reads one key object that lies in the window as a whole.
///
/// It changes nothing but itself, so an object that the window cuts off is read again from its start. What it found is
/// in its properties until the next one.
struct JSONKeyParser {
  /// The spelling of every key; `nil` when each key shows its own.
  let given: JSONDialect?

  private(set) var key = ClaimedKey(key: TemporaryExposureKey(high: 0, low: 0))
  private(set) var origin: String?
  private(set) var visited: [String]?
  private(set) var unknownFields: [UInt8] = []
  /// Why the key cannot be taken in.
  private(set) var refusal: (reason: RejectionReason, detail: String)?
  /// Names of members that no known system uses, for the notes.
  private(set) var ignoredNames: [String] = []
  /// Names of members that say something else than another name of the same thing did.
  private(set) var disagreements: [String] = []
  /// Names of known members that the object has more than once, each time but the first.
  private(set) var repeatedNames: [String] = []
  /// Names of the object's members that some dialect knows.
  private(set) var names = JSONNames()
  /// Whether the start was stated in milliseconds.
  private(set) var startsInMilliseconds = false
  /// The values that may change while the object keeps its shape.
  private(set) var values: [JSONObjectTemplate.Value] = []
  /// Whether ``values`` say everything that may change in an object of this shape.
  private(set) var isRepeatable = true

  private var seen: UInt32 = 0
  /// The name that each member was first seen by in this object, where ``seen`` has its bit.
  private var firstNames = [StaticString](repeating: "", count: 16)
  /// The dialect of the names that came last: most objects have the same.
  private var lastSpelling: (names: JSONNames, dialect: JSONDialect?)?
  /// What an object that holds start and period, among others, is called.
  private static let validityName: StaticString = "validity"
  private var isFake = false
  private var numberAsText: String?
  private var skipper = JSONSkipper()

  init(dialect: JSONDialect?) { given = dialect }

  /// Whether any member of a key was there.
  var foundKeyMembers: Bool { seen != 0 }

  private mutating func reset() {
    key = ClaimedKey(key: TemporaryExposureKey(high: 0, low: 0))
    origin = nil
    visited = nil
    unknownFields.removeAll(keepingCapacity: true)
    refusal = nil
    ignoredNames.removeAll(keepingCapacity: true)
    disagreements.removeAll(keepingCapacity: true)
    repeatedNames.removeAll(keepingCapacity: true)
    startsInMilliseconds = false
    values.removeAll(keepingCapacity: true)
    isRepeatable = true
    seen = 0
    names = JSONNames()
    isFake = false
    numberAsText = nil
  }

  /// Reads from the opening brace to behind the closing one.
  ///
  /// - Parameters:
  ///   - isDocument: whether the object may also be one that holds a list of keys.
  ///   - limit: how many containers may be open inside the object.
  /// - Returns: `false` when it is one that holds a list of keys.
  mutating func parse(_ cursor: inout JSONCursor, isDocument: Bool, limit: Int) throws(JSONFault) -> Bool {
    reset()
    cursor.position += 1
    if try cursor.peek() == UInt8(ascii: "}") {
      cursor.position += 1
    } else {
      repeat {
        let name = try cursor.name()
        guard try readMember(name, &cursor, isDocument: isDocument, limit: limit) else { return false }
      } while try separator(&cursor)
    }
    conclude()
    return true
  }

  /// Whether another member follows.
  private func separator(_ cursor: inout JSONCursor) throws(JSONFault) -> Bool {
    switch try cursor.next() {
    case UInt8(ascii: ","): return true
    case UInt8(ascii: "}"): return false
    default: throw .unexpected(at: cursor.position - 1, expected: "a comma or }")
    }
  }

  private mutating func readMember(
    _ name: JSONStringSpan, _ cursor: inout JSONCursor, isDocument: Bool, limit: Int
  ) throws(JSONFault) -> Bool {
    let raw = cursor.bytes(name.start, name.end)
    var known = name.hasEscapes ? nil : KeyMemberName.find(raw)
    if known == nil {
      guard var text = cursor.text(name) else {
        throw .unexpected(at: name.start, expected: "a member's name in valid UTF-8")
      }
      if name.hasEscapes { known = text.withUTF8 { KeyMemberName.find(UnsafeRawBufferPointer($0)) } }
      guard known != nil else {
        let firstByte = try cursor.peek()
        if isDocument, firstByte == UInt8(ascii: "[") {
          switch text.withUTF8({ DocumentMemberName.find(UnsafeRawBufferPointer($0)) })?.member {
          case .list, .listOrPrivateData: return false
          default: break
          }
        }
        ignoredNames.append(text)
        try skip(&cursor, limit: limit)
        return true
      }
    }
    guard let known else { return true }
    names.insert(known)
    try readMember(known, as: known.text, &cursor, limit: limit)
    return true
  }

  /// - Parameter name: what the member is called in the object.
  private mutating func readMember(
    _ known: KeyMemberName, as name: StaticString, _ cursor: inout JSONCursor, limit: Int
  ) throws(JSONFault) {
    let isFirst = seen & known.member.bit == 0
    seen |= known.member.bit
    guard isFirst else { return try readAgain(known, as: name, &cursor, limit: limit) }
    firstNames[Int(known.member.rawValue)] = name
    try readMember(known, &cursor, limit: limit)
  }

  /// A member that the object has already. Of the same name the last one counts, as everywhere in JSON; under another
  /// name it must say the same, or say nothing.
  private mutating func readAgain(
    _ known: KeyMemberName, as name: StaticString, _ cursor: inout JSONCursor, limit: Int
  ) throws(JSONFault) {
    isRepeatable = false
    guard !firstNames[Int(known.member.rawValue)].matches(name) else {
      repeatedNames.append("\(known.text)")
      return try readMember(known, &cursor, limit: limit)
    }
    let (before, origin, visited, hadKey) = (key, origin, visited, seen & 1 << 31 != 0)
    try readMember(known, &cursor, limit: limit)
    switch known.member {
    case .keyData where !hadKey: break
    case .keyData where seen & 1 << 31 == 0:
      key.key = before.key
      seen |= 1 << 31
    case .keyData where key.key != before.key:
      refuse(.malformedEntry, "\(firstNames[0]) and \(known.text) hold different key data")
    case .origin:
      if self.origin == nil {
        self.origin = origin
      } else if origin != nil, self.origin != origin {
        disagree(known, name)
      }
    case .visited:
      if self.visited == nil {
        self.visited = visited
      } else if visited != nil, self.visited != visited {
        disagree(known, name)
      }
    case .rollingStart, .rollingPeriod, .transmissionRisk, .reportType, .daysSinceOnset:
      let field = known.member.field
      if !key.fields.contains(field) {
        if before.fields.contains(field) { key = before }
      } else if before.fields.contains(field), key != before {
        disagree(known, name)
      }
    default: break
    }
  }

  private mutating func disagree(_ known: KeyMemberName, _ name: StaticString) {
    disagreements.append("\(firstNames[Int(known.member.rawValue)]) and \(name)")
  }

  private mutating func readMember(
    _ known: KeyMemberName, _ cursor: inout JSONCursor, limit: Int
  ) throws(JSONFault) {
    switch known.member {
    case .keyData: try readKeyData(&cursor, limit: limit)
    case .rollingStart, .rollingPeriod, .transmissionRisk, .reportType, .daysSinceOnset:
      try readNumber(known, &cursor, limit: limit)
    case .fake: try readFake(&cursor, limit: limit)
    case .origin: try readOrigin(&cursor, limit: limit)
    case .visited: try readVisited(known, &cursor, limit: limit)
    case .revised: try readRevised(known, &cursor, limit: limit)
    case .validity: try readValidity(&cursor, limit: limit)
    case .unknownFields: try readUnknownFields(&cursor, limit: limit)
    }
  }

  private mutating func skip(_ cursor: inout JSONCursor, limit: Int) throws(JSONFault) {
    skipper.begin(limit: limit)
    try skipper.skip(&cursor)
  }

  private mutating func refuse(_ reason: RejectionReason, _ detail: String) {
    if refusal == nil { refusal = (reason, detail) }
  }

  /// `true` when the value was `null` and has been read.
  private func readNull(_ cursor: inout JSONCursor) throws(JSONFault) -> Bool {
    guard try cursor.peek() == UInt8(ascii: "n") else { return false }
    try cursor.word("null")
    return true
  }

  /// The text that comes next; `nil` when the next value is none, which has then been read over.
  private mutating func readText(_ cursor: inout JSONCursor, limit: Int) throws(JSONFault) -> JSONStringSpan? {
    if try cursor.peek() == UInt8(ascii: "\"") { return try cursor.string() }
    try skip(&cursor, limit: limit)
    return nil
  }

  // MARK: Members

  private mutating func readKeyData(_ cursor: inout JSONCursor, limit: Int) throws(JSONFault) {
    seen &= ~UInt32(1 << 31)
    if try readNull(&cursor) { return }
    let text: JSONStringSpan?
    if try cursor.peek() == UInt8(ascii: "{") {
      let start = cursor.position
      text = try cursor.extendedBinary()
      if text == nil {
        cursor.position = start
        try skip(&cursor, limit: limit)
      }
    } else {
      text = try readText(&cursor, limit: limit)
    }
    guard let span = text else {
      return refuse(.keyDataSpelling, "key data is not text; expected base64, 32 hexadecimal digits or a UUID")
    }
    let reading: KeyText.Reading
    if span.hasEscapes {
      guard var text = cursor.text(span) else {
        return refuse(.keyDataSpelling, "key data is not valid UTF-8; expected base64, 32 hexadecimal digits or a UUID")
      }
      reading = text.withUTF8 { KeyText.read(UnsafeRawBufferPointer($0)) }
      if text.utf8.count == 24 { values.append(.init(fieldOffset: 0, start: span.start, end: span.end)) }
    } else {
      reading = KeyText.read(cursor.bytes(span.start, span.end))
      if span.count == 24 { values.append(.init(fieldOffset: 0, start: span.start, end: span.end)) }
    }
    switch reading {
    case .key(let data):
      key.key = data
      seen |= 1 << 31
    case .wrongLength(let count):
      refuse(.keyDataLength, "key data of \(count) bytes, allowed are exactly 16")
    case .notKeyData:
      refuse(.keyDataSpelling, "key data is neither base64 nor 32 hexadecimal digits nor a UUID")
    }
  }

  private mutating func readNumber(_ name: KeyMemberName, _ cursor: inout JSONCursor, limit: Int) throws(JSONFault) {
    let byte = try cursor.peek()
    switch byte {
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      readNumber(name, try cursor.number(), cursor)
    case UInt8(ascii: "{"):
      let start = cursor.position
      if let span = try cursor.extendedNumber() { return readNumber(name, span, cursor) }
      cursor.position = start
      try skip(&cursor, limit: limit)
      refuse(.fieldNotANumber, notANumber(name, "an object"))
    case UInt8(ascii: "n"):
      try cursor.word("null")
      set(name.member, nil)
    case UInt8(ascii: "\""):
      let span = try cursor.string()
      if name.member == .reportType, let text = cursor.text(span),
        let type = ReportType(name: text) ?? ReportType(ofKeyServer: text)
      {
        return set(.reportType, type.rawValue)
      }
      let raw = cursor.bytes(span.start, span.end)
      let isSpelled = !raw.isEmpty && raw.allSatisfy { $0 &- UInt8(ascii: "0") < 10 || $0 == UInt8(ascii: "-") }
      if isSpelled, let text = cursor.text(span), let value = Int64(text), let word = word(value, of: name) {
        set(name.member, word)
        numberAsText = notANumber(name, shown(raw))
      } else if name.member == .reportType {
        let allowed = ReportType.allCases.map(\.name).joined(separator: ", ")
        refuse(.reportTypeUnknown, "\(name.text) \(shown(raw)), allowed are \(allowed) and their numbers")
      } else {
        refuse(.fieldNotANumber, notANumber(name, shown(raw)))
      }
    default:
      try skip(&cursor, limit: limit)
      refuse(.fieldNotANumber, notANumber(name, byte == UInt8(ascii: "[") ? "a list" : "true or false"))
    }
  }

  /// A number whose text has been read.
  private mutating func readNumber(_ name: KeyMemberName, _ span: JSONNumberSpan, _ cursor: JSONCursor) {
    guard let value = cursor.integer(span), let word = word(value, of: name) else {
      return refuse(.fieldNotANumber, notANumber(name, shown(cursor.bytes(span.start, span.end))))
    }
    let digits = span.end - span.start - (cursor.byte(at: span.start) == UInt8(ascii: "-") ? 1 : 0)
    if span.isPlain, digits <= JSONObjectTemplate.mostDigits, !startsInMilliseconds {
      values.append(.init(fieldOffset: name.member.fieldOffset, start: span.start, end: span.end))
    }
    set(name.member, word)
  }

  private mutating func word(_ value: Int64, of name: KeyMemberName) -> Int32? {
    guard name.member == .rollingStart, value > Int64(UInt32.max) else { return word(value) }
    isRepeatable = false
    switch StartsInSeconds.interval(milliseconds: value) {
    case .interval(let start):
      startsInMilliseconds = true
      return start
    case .unaligned: refuse(.valueNotAllowed, StartsInSeconds.unaligned(milliseconds: value))
    case .noTime: break
    }
    return nil
  }

  private func word(_ value: Int64) -> Int32? {
    guard value >= Int64(Int32.min), value <= Int64(UInt32.max) else { return nil }
    return Int32(truncatingIfNeeded: value)
  }

  private func notANumber(_ name: KeyMemberName, _ value: String) -> String {
    "\(name.text) is \(value), allowed are whole numbers from \(Int32.min) to \(UInt32.max)"
  }

  /// A wrong value for people. Longer texts are not shown: a column out of place may hold key data.
  private func shown(_ raw: UnsafeRawBufferPointer) -> String {
    guard raw.count <= 20 else { return "a value of \(raw.count) characters" }
    return "\"\(printable(String(decoding: raw, as: UTF8.self)))\""
  }

  private mutating func set(_ member: KeyMember, _ value: Int32?) {
    let word = value ?? 0
    let field: KeyFields
    switch member {
    case .rollingPeriod:
      key.rollingPeriodWord = word
      field = .rollingPeriod
    case .transmissionRisk:
      key.transmissionRiskWord = word
      field = .transmissionRisk
    case .reportType:
      key.reportTypeWord = word
      field = .reportType
    case .daysSinceOnset:
      key.daysSinceOnsetWord = word
      field = .daysSinceOnset
    default:
      key.rollingStartWord = word
      field = .rollingStart
    }
    if value == nil { key.fields.remove(field) } else { key.fields.insert(field) }
  }

  private mutating func readFake(_ cursor: inout JSONCursor, limit: Int) throws(JSONFault) {
    switch try cursor.peek() {
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      isFake = try cursor.integer(cursor.number()) != 0
    case UInt8(ascii: "t"):
      try cursor.word("true")
      isFake = true
    default: try skip(&cursor, limit: limit)
    }
  }

  private mutating func readRevised(_ name: KeyMemberName, _ cursor: inout JSONCursor, limit: Int) throws(JSONFault) {
    switch try cursor.peek() {
    case UInt8(ascii: "t"):
      try cursor.word("true")
      key.isRevised = true
    case UInt8(ascii: "f"):
      try cursor.word("false")
      key.isRevised = false
    case UInt8(ascii: "n"): try cursor.word("null")
    case UInt8(ascii: "0"), UInt8(ascii: "1"):
      let span = try cursor.number()
      guard let value = cursor.integer(span), value == 0 || value == 1 else {
        return refuse(.malformedEntry, "\(name.text) is neither true nor false, nor 1 or 0")
      }
      key.isRevised = value == 1
    default:
      try skip(&cursor, limit: limit)
      refuse(.malformedEntry, "\(name.text) is neither true nor false, nor 1 or 0")
    }
  }

  private mutating func readOrigin(_ cursor: inout JSONCursor, limit: Int) throws(JSONFault) {
    origin = nil
    if try readNull(&cursor) { return }
    guard let span = try readText(&cursor, limit: limit), let text = cursor.text(span) else {
      return refuse(.malformedEntry, "origin is not text in valid UTF-8")
    }
    origin = text
  }

  private mutating func readVisited(_ name: KeyMemberName, _ cursor: inout JSONCursor, limit: Int) throws(JSONFault) {
    visited = nil
    if try readNull(&cursor) { return }
    guard try cursor.peek() == UInt8(ascii: "[") else {
      try skip(&cursor, limit: limit)
      return refuse(.malformedEntry, "\(name.text) is no list of texts")
    }
    guard limit > 0 else { throw .tooDeep(at: cursor.position) }
    cursor.position += 1
    var countries: [String] = []
    if try cursor.peek() == UInt8(ascii: "]") {
      cursor.position += 1
    } else {
      while true {
        if let span = try readText(&cursor, limit: limit - 1), let text = cursor.text(span) {
          countries.append(text)
        } else {
          refuse(.malformedEntry, "\(name.text) holds something that is not text in valid UTF-8")
        }
        let byte = try cursor.next()
        if byte == UInt8(ascii: "]") { break }
        guard byte == UInt8(ascii: ",") else {
          throw .unexpected(at: cursor.position - 1, expected: "a comma or ]")
        }
      }
    }
    visited = countries
  }

  /// The validity of a key in a parser's print: start and end as text, and the two numbers, which are read.
  private mutating func readValidity(_ cursor: inout JSONCursor, limit: Int) throws(JSONFault) {
    guard try cursor.peek() == UInt8(ascii: "{") else { return try skip(&cursor, limit: limit) }
    guard limit > 0 else { throw .tooDeep(at: cursor.position) }
    cursor.position += 1
    if try cursor.peek() == UInt8(ascii: "}") {
      cursor.position += 1
      return
    }
    repeat {
      let name = try cursor.name()
      let raw = cursor.bytes(name.start, name.end)
      if let known = KeyMemberName.find(raw), known.member == .rollingStart || known.member == .rollingPeriod {
        try readMember(known, as: Self.validityName, &cursor, limit: limit - 1)
      } else {
        guard let text = cursor.text(name) else {
          throw .unexpected(at: name.start, expected: "a member's name in valid UTF-8")
        }
        // Both follow from the numbers.
        if text != "start", text != "end" { ignoredNames.append("validity.\(text)") }
        isRepeatable = false
        try skip(&cursor, limit: limit - 1)
      }
    } while try separator(&cursor)
  }

  private mutating func readUnknownFields(_ cursor: inout JSONCursor, limit: Int) throws(JSONFault) {
    unknownFields.removeAll(keepingCapacity: true)
    if try readNull(&cursor) { return }
    guard let span = try readText(&cursor, limit: limit), let text = cursor.text(span),
      let fields = Base64.decode(text.utf8)
    else { return refuse(.malformedEntry, "unknown_fields is not base64") }
    unknownFields = fields
  }

  // MARK: The whole object

  /// The spelling of the object that has been read.
  private mutating func spelling() -> JSONDialect? {
    if let given { return given }
    guard foundKeyMembers else { return nil }
    if let lastSpelling, lastSpelling.names == names { return lastSpelling.dialect }
    let dialect = JSONDialect.spelled(with: names)
    lastSpelling = (names, dialect)
    return dialect
  }

  /// Whether libraries of protobuf spell a key so, which may write its numbers in quotes.
  private var hasProtobufNames: Bool { given == nil && names.contain("rollingStartIntervalNumber") }

  private mutating func conclude() {
    let dialect = spelling()
    if dialect?.absenceIsZero == true {
      key.fields.formUnion(.numbers)
      if key.transmissionRiskWord == .max { key.transmissionRisk = nil }
      visited = visited ?? []
    }
    if let numberAsText, dialect?.quotesNumbers != true, !hasProtobufNames { refuse(.fieldNotANumber, numberAsText) }
    if seen & 1 << 31 == 0 { refuse(.keyDataAbsent, "no key data, which is required") }
    if isFake { refusal = (.markedFake, "fake is not 0: padding of the upload") }
    isRepeatable =
      isRepeatable && refusal == nil && unknownFields.isEmpty
      && values.contains { $0.fieldOffset == 0 }
  }
}

/// A name out of a document, for a message: bounded, and without what could steer a terminal.
func printable(_ text: String) -> String {
  var shown = ""
  for scalar in text.unicodeScalars.prefix(64) {
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
      shown.append("?")
    default: shown.unicodeScalars.append(scalar)
    }
  }
  return text.unicodeScalars.count > 64 ? shown + "…" : shown
}
