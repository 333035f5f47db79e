public import ExposureKeys

/// Reads the keys of a JSON document, whatever system wrote it: an array, one object, lines of objects, or an object
/// around a list of keys.
///
/// The dialect is found from the content unless it is given. Lists, members that are read over, and white space
/// stream through the window; only one key object has to fit into it, up to ``ReadLimits/recordBytes``.
///
/// A key that cannot be taken in becomes a `Rejection`; what breaks the grammar of JSON (RFC 8259) ends
/// the reading with a ``FormatError``.
public final class JSONKeyDecoder: KeyDecoder {
  public var header: ExportHeader { documents.merged }
  public var headers: HeaderMerge { documents.all }
  public private(set) var regions = RegionTable()
  public private(set) var notes = ReadingNotes()
  /// The members of a request beside the keys, by their dialect's names. Secrets among them are for its own checks.
  private(set) var requestMembers: [String: String] = [:]
  /// What stood around the keys, once they have been reached.
  public private(set) var wrapper: JSONWrapper?
  /// The dialect that was given, or the one that everything read so far tells; `nil` while nothing does.
  public var dialect: JSONDialect? {
    parser.given ?? memberDialect ?? (keyNames.isEmpty ? nil : .spelled(with: keyNames))
  }

  private enum Place {
    case start, betweenDocuments
    case firstMember, member, afterMember
    case firstElement, element, afterElement
    case ended
  }

  private let window: InputWindow
  private let limits: ReadLimits
  private var parser: JSONKeyParser
  /// The names of the members of all keys so far.
  private var keyNames = JSONNames()
  /// What the members around the keys give away.
  private var memberDialect: JSONDialect?
  private var skipper = JSONSkipper()
  private var place = Place.start
  private var documentCount = 0
  private var documents = DocumentHeaders()

  /// Whether the documents stand in a list, and how many of it were begun.
  private var isInArray = false
  private var arrayCount = 0

  // The list that is being read.
  private var listIsDocument = false
  /// Whether anything in a list that is the document has a key's members, and what else the first entry has.
  private var foundKeyMembers = false
  private var namesWithoutKey: [String] = []
  /// Whether an entry of a list is something else than a key.
  private var foundStrangers = false
  private var listEntries = JSONEntries.keys

  // The object around the lists that is being read.
  private var foundList = false
  private var foundHeader = false
  private var memberNames: [String] = []
  /// The known members that it has, as far as they have been read.
  private var seenMembers: Set<String> = []
  private var sampleDay: Day?
  /// Whose keys its lists of key data hold, and since when they are valid; `nil` until the first such list.
  private var dataContext: DataContext?
  private var documentStart = 0

  /// What an object states about all its lists of key data.
  private struct DataContext {
    var origin: String?
    var day: Day?
  }

  private var templates: [JSONObjectTemplate] = []
  /// Of each template, the members that belong to no key.
  private var templateNames: [[String]] = []
  private var nextTemplate = 0
  private var keysSinceLearning = 0
  private var lastRegions: (claim: RegionClaim, id: RegionClaim.ID)?
  private var notedNames: Set<String> = []

  /// At most so many names of members are noted one by one.
  private static let mostNotedNames = 32
  private static let mostTemplates = 8

  /// - Parameters:
  ///   - window: the document.
  ///   - limits: what it may make this program hold.
  ///   - dialect: read as this one, whatever the content looks like.
  public init(_ window: InputWindow, limits: ReadLimits = ReadLimits(), dialect: JSONDialect? = nil) {
    self.window = window
    self.limits = limits
    parser = JSONKeyParser(dialect: dialect)
  }

  deinit {
    for template in templates { template.deallocate() }
  }

  public func decode(into chunk: inout KeyChunk) throws -> Bool {
    while place != .ended, !chunk.keys.isFull, chunk.rejections.count < chunk.keys.capacity {
      try step(&chunk)
    }
    return !chunk.keys.isEmpty || !chunk.rejections.isEmpty
  }

  private func step(_ chunk: inout KeyChunk) throws {
    switch place {
    case .start: try readByteOrderMark()
    case .betweenDocuments: try readDocument(&chunk)
    case .firstMember:
      if try requiredByte() == UInt8(ascii: "}") { try endObject(&chunk) } else { place = .member }
    case .member: try readMember()
    case .afterMember:
      switch try requiredByte() {
      case UInt8(ascii: ","):
        window.position += 1
        place = .member
      case UInt8(ascii: "}"): try endObject(&chunk)
      default: throw error(.unexpected(at: window.position, expected: "a comma or }"))
      }
    case .firstElement:
      if try requiredByte() == UInt8(ascii: "]") {
        try endList()
      } else if listIsDocument, try holdsDocuments() {
        (isInArray, arrayCount) = (true, 0)
        place = .betweenDocuments
      } else {
        place = .element
      }
    case .element: try readElement(&chunk)
    case .afterElement:
      switch try requiredByte() {
      case UInt8(ascii: ","):
        window.position += 1
        place = .element
      case UInt8(ascii: "]"): try endList()
      default: throw error(.unexpected(at: window.position, expected: "a comma or ]"))
      }
    case .ended: break
    }
  }

  // MARK: The window

  private var cursor: JSONCursor { JSONCursor(base: window.base, position: window.position, end: window.end) }

  /// The next byte that is not white space; it stays unread. `nil` at the end.
  private func nextByte() throws -> UInt8? {
    while true {
      var cursor = cursor
      let byte = try? cursor.peek()
      window.position = cursor.position
      if let byte { return byte }
      if try !window.fill() { return nil }
    }
  }

  private func requiredByte() throws -> UInt8 {
    guard let byte = try nextByte() else { throw error(.runOut) }
    return byte
  }

  /// Lets `body` read something that has to fit into the window, again from its start when it does not yet.
  private func record<Value>(_ body: (inout JSONCursor) throws(JSONFault) -> Value) throws -> Value {
    while true {
      var cursor = cursor
      do throws(JSONFault) {
        let value = try body(&cursor)
        window.position = cursor.position
        return value
      } catch .runOut {
        guard try window.fill() else { throw error(.runOut) }
      } catch { throw self.error(error) }
    }
  }

  /// Reads over a value of any size.
  private func skipValue(depth: Int) throws {
    skipper.begin(limit: limits.nesting - depth)
    while true {
      var cursor = cursor
      do throws(JSONFault) {
        try skipper.skip(&cursor)
        window.position = cursor.position
        return
      } catch .runOut {
        window.position = cursor.position
        guard try window.fill() else { throw error(.runOut) }
      } catch { throw self.error(error) }
    }
  }

  private func error(_ fault: JSONFault) -> FormatError {
    switch fault {
    case .runOut:
      return FormatError(
        .truncated, byteOffset: window.documentOffset(of: window.end), "the document ends in the middle of a value")
    case .unexpected(let place, let expected):
      let byte = window.base.load(fromByteOffset: place, as: UInt8.self)
      let found = (0x21...0x7E).contains(byte) ? "\(Unicode.Scalar(byte))" : "byte \(byte)"
      return FormatError(
        .malformed, byteOffset: window.documentOffset(of: place), "found \(found), expected \(expected)")
    case .tooDeep(let place):
      return FormatError(
        .limitExceeded, byteOffset: window.documentOffset(of: place),
        "nested deeper than \(limits.nesting) levels, the most that is read")
    }
  }

  // MARK: Documents

  private func readByteOrderMark() throws {
    if try window.require(2) {
      let first = (window.unread[0], window.unread[1])
      if first == (0xFE, 0xFF) || first == (0xFF, 0xFE) {
        throw FormatError(.unsupported, byteOffset: 0, "JSON in UTF-16; only UTF-8 is read")
      }
    }
    if try window.require(3), window.unread.starts(with: [0xEF, 0xBB, 0xBF]) { window.skip(3) }
    place = .betweenDocuments
  }

  private func readDocument(_ chunk: inout KeyChunk) throws {
    if isInArray { return try readArrayedDocument(&chunk) }
    if wrapper == .object || wrapper == .lines, try nextByte() != nil {
      readRepeats(&chunk.keys, inList: false)
      if chunk.keys.isFull { return }
    }
    switch try nextByte() {
    case nil:
      guard documentCount > 0 else {
        throw FormatError(
          .truncated, byteOffset: window.documentOffset, "nothing but white space; expected an object or an array")
      }
      if documentCount == 1, wrapper == .array { try refuseStrangers() }
      place = .ended
    case UInt8(ascii: "["):
      try beginDocument(.array)
      window.position += 1
      listIsDocument = true
      (foundKeyMembers, namesWithoutKey, foundStrangers) = (false, [], false)
      listEntries = .keys
      place = .firstElement
    case UInt8(ascii: "{"): try readObject(&chunk)
    default: throw error(.unexpected(at: window.position, expected: "an object or an array"))
    }
  }

  /// The next one of a list of documents, as databases export them.
  private func readArrayedDocument(_ chunk: inout KeyChunk) throws {
    var byte = try requiredByte()
    if byte == UInt8(ascii: "]") {
      window.position += 1
      isInArray = false
      return
    }
    if arrayCount > 0 {
      guard byte == UInt8(ascii: ",") else {
        throw error(.unexpected(at: window.position, expected: "a comma or ]"))
      }
      window.position += 1
      byte = try requiredByte()
    }
    arrayCount += 1
    guard byte == UInt8(ascii: "{") else {
      let position = KeyPosition(index: chunk.nextIndex, byteOffset: window.documentOffset)
      try skipValue(depth: 1)
      return chunk.rejections.append(
        Rejection(position: position, reason: .malformedEntry, detail: "the entry is no object, as a document is"))
    }
    try readObject(&chunk)
  }

  /// Whether the first entry of a list is an object around a list of keys, and no key.
  private func holdsDocuments() throws -> Bool {
    guard try requiredByte() == UInt8(ascii: "{") else { return false }
    while true {
      var cursor = cursor
      do throws(JSONFault) {
        return try !parser.parse(&cursor, isDocument: true, limit: limits.nesting - 2)
      } catch .runOut {
        if window.unread.count >= limits.recordBytes { return false }
        if try !window.fill() { return false }
      } catch { return false }
    }
  }

  private func beginDocument(_ kind: JSONWrapper?) throws {
    documentCount += 1
    documentStart = window.documentOffset
    // A key by itself says nothing about a document.
    if documentCount > 1, kind != .object { try documents.beginNext(limits) }
    guard let kind else { return }
    if wrapper == nil { wrapper = kind } else if wrapper == .object { wrapper = .lines }
  }

  /// One key by itself, or an object around lists of them.
  private func readObject(_ chunk: inout KeyChunk) throws {
    let mayLearn = window.unread.count > 4 * JSONObjectTemplate.mostText
    if let length = try keyLength() {
      try beginDocument(.object)
      let start = window.position
      window.position += length
      return try take(&chunk, start: start, end: window.position, mayLearn: mayLearn)
    }
    try beginDocument(nil)
    window.position += 1
    foundList = false
    foundHeader = false
    memberNames.removeAll()
    seenMembers.removeAll()
    (sampleDay, dataContext) = (nil, nil)
    place = .firstMember
  }

  /// Reads the object at the position as a key. `nil` when it holds lists of keys or nothing that a key has.
  private func keyLength() throws -> Int? {
    while true {
      var cursor = cursor
      do throws(JSONFault) {
        let isKey = try parser.parse(&cursor, isDocument: true, limit: limits.nesting - 1)
        return isKey && parser.foundKeyMembers ? cursor.position - window.position : nil
      } catch .runOut {
        // What does not fit into a record is no key.
        if window.unread.count >= limits.recordBytes { return nil }
        guard try window.fill() else { throw error(.runOut) }
      } catch { throw self.error(error) }
    }
  }

  private func endObject(_ chunk: inout KeyChunk) throws {
    window.position += 1
    place = .betweenDocuments
    if documentCount == 1 { try refuseStrangers() }
    // The federation prints a batch without keys as an empty object.
    guard !foundList, !foundHeader, !memberNames.isEmpty else { return }
    let names = memberNames.prefix(8).joined(separator: ", ")
    let detail = "an object without keys; its members are \(names)"
    guard documentCount == 1 else {
      let position = KeyPosition(index: chunk.nextIndex, byteOffset: documentStart)
      chunk.rejections.append(Rejection(position: position, reason: .malformedEntry, detail: detail))
      return
    }
    throw FormatError(
      .unrecognizedFormat, byteOffset: documentStart,
      "\(detail); expected keys, temporaryExposureKeys, gaenKeys, diagnosisKeys or the members of a key")
  }

  // MARK: Members around the keys

  private func readMember() throws {
    let (name, known) = try record { (cursor) throws(JSONFault) -> (String, DocumentMemberName?) in
      let span = try cursor.name()
      guard var text = cursor.text(span) else {
        throw .unexpected(at: span.start, expected: "a member's name in valid UTF-8")
      }
      return (text, text.withUTF8 { DocumentMemberName.find(UnsafeRawBufferPointer($0)) })
    }
    if memberNames.count < 8 { memberNames.append(printable(name)) }
    place = .afterMember
    guard let known else {
      note("member-skipped", printable(name), "a member beside the keys was not read")
      return try skipValue(depth: 1)
    }
    let isRepeated = !seenMembers.insert(name).inserted
    if isRepeated { noteRepeated(name, known.member) }
    switch known.member {
    case .list(let entries): try beginList(name, of: entries, known.dialect)
    case .startTimestamp, .endTimestamp, .region, .batchNum, .batchSize, .signatureInfos, .unknownFields:
      try readHeader(name, known, isRepeated: isRepeated)
    case .sampleDate: sampleDay = try readTextValue().flatMap { Day($0) }
    case .request(let kept): try readRequest(name, keptAs: kept)
    case .redundant: try skipValue(depth: 1)
    case .listOrPrivateData(let entries) where try isListOfKeys(): try beginList(name, of: entries, known.dialect)
    case .listOrPrivateData, .privateData:
      note("private-data-skipped", printable(name), "personal data or a secret beside the keys was not read")
      try skipValue(depth: 1)
    }
  }

  /// Whether the first entry of the list that begins here has key data, or there is none.
  private func isListOfKeys() throws -> Bool {
    guard try requiredByte() == UInt8(ascii: "[") else { return false }
    while true {
      var cursor = cursor
      cursor.position += 1
      do throws(JSONFault) {
        let byte = try cursor.peek()
        guard byte == UInt8(ascii: "{") else { return byte == UInt8(ascii: "]") }
        _ = try parser.parse(&cursor, isDocument: false, limit: limits.nesting - 3)
        return parser.names.contain("keyData")
      } catch .runOut {
        if window.unread.count >= limits.recordBytes { return false }
        if try !window.fill() { return false }
      } catch { return false }
    }
  }

  private func noteRepeated(_ name: String, _ member: DocumentMember) {
    let outcome: StaticString =
      switch member {
      case .list, .listOrPrivateData: "every list is read"
      case .privateData, .redundant: "none of them is read"
      default: "the last one counts"
      }
    notes.countRepeated("\"\(name)\"", in: documentPlace, outcome)
  }

  private func noteDisagreement(_ name: String) {
    note("spellings-disagree", name, "\(name) and another name of it say different things; the last one counts")
  }

  private var documentPlace: String { documentCount > 1 ? "document \(documentCount)" : "the document" }

  /// Counts notes of one kind; a hostile document cannot make more than a bounded number of different ones.
  private func note(_ code: String, _ subject: String, _ text: String, times count: Int = 1) {
    var subject = subject
    if !notedNames.contains(subject) {
      if notedNames.count < Self.mostNotedNames { notedNames.insert(subject) } else { subject = "others" }
    }
    notes.count(ReadingNote(code: code, subject: subject, text: text), count)
  }

  /// Of several dialects that members give away, it is the one that stands last in the catalogue.
  private func giveAway(_ dialect: JSONDialect?) {
    guard let dialect else { return }
    memberDialect = JSONDialect.all.last { $0.dialect == dialect || $0.dialect == memberDialect }?.dialect
  }

  private func beginList(_ name: String, of entries: JSONEntries, _ dialect: JSONDialect?) throws {
    switch try requiredByte() {
    case UInt8(ascii: "["):
      window.position += 1
      foundList = true
      if wrapper == nil { wrapper = .member(name) }
      giveAway(dialect)
      listIsDocument = false
      listEntries = entries
      if entries == .keyData, dataContext == nil { dataContext = try contextOfData() }
      place = .firstElement
    case UInt8(ascii: "n"):
      try record { (cursor) throws(JSONFault) in try cursor.word("null") }
      foundList = true
    default: throw error(.unexpected(at: window.position, expected: "a list of keys"))
    }
  }

  private func endList() throws {
    if listIsDocument, !namesWithoutKey.isEmpty { try refuseStrangers() }
    window.position += 1
    place = listIsDocument ? .betweenDocuments : .afterMember
  }

  /// Refuses a document of lists in which nothing is a key: it is of something else.
  private func refuseStrangers() throws {
    guard foundStrangers, !foundKeyMembers else { return }
    let names = namesWithoutKey.prefix(8).map(printable).joined(separator: ", ")
    throw FormatError(
      .unrecognizedFormat, byteOffset: documentStart,
      names.isEmpty
        ? "a list in which nothing is a key"
        : "a list of objects none of which is a key; the members of the first are \(names)")
  }

  /// The text that comes next, or the number as it is spelled; `nil` for `null` and for anything else.
  private func readTextValue() throws -> String? {
    _ = try requiredByte()
    if let text = try record({ (cursor) throws(JSONFault) in try cursor.scalarText() }) { return text }
    try skipValue(depth: 1)
    return nil
  }

  private func readHeader(_ name: String, _ known: DocumentMemberName, isRepeated: Bool) throws {
    let offset = window.documentOffset
    /// Under another name a member must say the same, or say nothing.
    func state<Value: Equatable>(_ field: WritableKeyPath<ExportHeader, Value?>, _ value: Value?) {
      guard let value else { return }
      if let before = documents.current[keyPath: field], before != value, !isRepeated {
        noteDisagreement(name)
      }
      documents.current[keyPath: field] = value
    }
    func number<Number: FixedWidthInteger>(_: Number.Type) throws -> Number? {
      let isNull = try requiredByte() == UInt8(ascii: "n")
      guard let text = try readTextValue() else {
        if isNull { return nil }
        throw FormatError(.malformed, byteOffset: offset, "\(name) is not a number")
      }
      if let value = Number(text) { return value }
      if Number.self == UInt64.self, let instant = Instant(printed: text[...]) {
        if let value = Number(exactly: instant.secondsSince1970) { return value }
      }
      throw FormatError(
        .malformed, byteOffset: offset,
        "\(name) is \"\(printable(text))\", allowed are whole numbers from \(Number.min) to \(Number.max)")
    }
    switch known.member {
    case .startTimestamp: state(\.startTimestamp, try number(UInt64.self))
    case .endTimestamp: state(\.endTimestamp, try number(UInt64.self))
    case .batchNum: state(\.batchNum, try number(Int32.self))
    case .batchSize: state(\.batchSize, try number(Int32.self))
    case .region: return state(\.region, try readTextValue())
    case .signatureInfos:
      let (infos, repeated) = try record { [limits] (cursor) throws(JSONFault) in
        var repeated: [String] = []
        return (try readSignatureInfos(&cursor, limit: limits.nesting - 1, &repeated), repeated)
      }
      let before = documents.current.signatureInfos
      if !isRepeated, !before.isEmpty, before != infos { noteDisagreement(name) }
      documents.current.signatureInfos = infos
      for member in repeated { notes.countRepeated("\"\(member)\" of a signature info", in: documentPlace) }
    default:
      guard let fields = try readTextValue().flatMap({ Base64.decode($0.utf8) }) else {
        throw FormatError(.malformed, byteOffset: offset, "unknown_fields is not base64")
      }
      documents.current.unknownFields = fields
    }
    if documentCount > 1, !foundHeader {
      note("further-document", "", "a further document stands behind the first, with a header of its own")
    }
    foundHeader = true
    giveAway(known.dialect)
  }

  /// Region and sample date of the object whose list of key data begins at the position; they may stand behind the list.
  private func contextOfData() throws -> DataContext {
    let stated = DataContext(origin: documents.current.region, day: sampleDay)
    if stated.origin != nil, stated.day != nil { return stated }
    while true {
      var ahead = stated
      var cursor = cursor
      do throws(JSONFault) {
        try readAhead(&cursor, &ahead)
        return ahead
      } catch .runOut {
        // More of it may come.
      } catch {
        // The reading itself reports what is wrong there.
        return ahead
      }
      let count = window.unread.count
      guard count < limits.recordBytes else {
        note("region-not-looked-for", "", "a list of keys is too long to see whether region or date stand behind it")
        return stated
      }
      _ = try window.require(min(2 * count + 1, limits.recordBytes))
      if window.unread.count == count { return stated }
    }
  }

  /// Reads from inside a list of key data to the end of the object around it.
  private func readAhead(_ cursor: inout JSONCursor, _ context: inout DataContext) throws(JSONFault) {
    var skipper = JSONSkipper()
    if try cursor.peek() == UInt8(ascii: "]") {
      cursor.position += 1
    } else {
      repeat {
        skipper.begin(limit: limits.nesting - 2)
        try skipper.skip(&cursor)
      } while try cursor.next() == UInt8(ascii: ",")
    }
    while try cursor.next() == UInt8(ascii: ",") {
      let name = try cursor.name()
      switch DocumentMemberName.find(cursor.bytes(name.start, name.end))?.member {
      case .region:
        if let text = try cursor.scalarText() {
          context.origin = text
          continue
        }
      case .sampleDate:
        if let text = try cursor.scalarText() {
          context.day = Day(text)
          continue
        }
      default: break
      }
      skipper.begin(limit: limits.nesting - 1)
      try skipper.skip(&cursor)
    }
  }

  private func readRequest(_ name: String, keptAs kept: String) throws {
    switch try requiredByte() {
    case UInt8(ascii: "t"):
      try record { (cursor) throws(JSONFault) in try cursor.word("true") }
      requestMembers[kept] = "true"
    case UInt8(ascii: "f"):
      try record { (cursor) throws(JSONFault) in try cursor.word("false") }
      requestMembers[kept] = "false"
    default: requestMembers[kept] = try readTextValue()
    }
    note("request-member", printable(name), "a member of the request that belongs to no key")
  }

  // MARK: Elements of a list

  private func readElement(_ chunk: inout KeyChunk) throws {
    if listEntries == .keyData { return try readListedText(&chunk) }
    var byte = try requiredByte()
    if byte == UInt8(ascii: "{"), !templates.isEmpty {
      readRepeats(&chunk.keys, inList: true)
      // What a template reads is a key.
      foundKeyMembers = true
      if chunk.keys.isFull || place == .afterElement { return }
      byte = try requiredByte()
    }
    let start = window.documentOffset
    guard byte == UInt8(ascii: "{") else {
      try skipValue(depth: listIsDocument ? 1 : 2)
      place = .afterElement
      foundStrangers = true
      let position = KeyPosition(index: chunk.nextIndex, byteOffset: start)
      chunk.rejections.append(
        Rejection(position: position, reason: .malformedEntry, detail: "the entry is no object, as a key is"))
      return
    }
    let mayLearn = window.unread.count > 4 * JSONObjectTemplate.mostText
    let limit = limits.nesting - (listIsDocument ? 2 : 3)
    let length = try record { (cursor) throws(JSONFault) in
      let start = cursor.position
      guard limit >= 0 else { throw .tooDeep(at: start) }
      _ = try parser.parse(&cursor, isDocument: false, limit: limit)
      return cursor.position - start
    }
    place = .afterElement
    if parser.foundKeyMembers {
      foundKeyMembers = true
    } else if !parser.ignoredNames.isEmpty {
      foundStrangers = true
      if namesWithoutKey.isEmpty { namesWithoutKey = parser.ignoredNames }
    }
    try take(&chunk, start: window.position - length, end: window.position, mayLearn: mayLearn)
  }

  /// Key data alone, with the start of its validity in the object around it.
  private func readListedText(_ chunk: inout KeyChunk) throws {
    let byte = try requiredByte()
    let position = KeyPosition(index: chunk.nextIndex, byteOffset: window.documentOffset)
    place = .afterElement
    var reading = KeyText.Reading.notKeyData
    if byte == UInt8(ascii: "\"") {
      reading = try record { (cursor) throws(JSONFault) in
        let span = try cursor.string()
        guard span.hasEscapes else { return KeyText.read(cursor.bytes(span.start, span.end)) }
        guard var text = cursor.text(span) else { return .notKeyData }
        return text.withUTF8 { KeyText.read(UnsafeRawBufferPointer($0)) }
      }
    } else {
      try skipValue(depth: 2)
    }
    switch reading {
    case .key(let data):
      var key = ClaimedKey(key: data)
      if let start = dataContext?.day.flatMap({ Int32(exactly: $0.firstInterval.rawValue) }) {
        key.rollingStart = start
        notes.count(
          ReadingNote(
            code: "rolling-start-from-sample-date", subject: "sample_date",
            text: "the rolling start is the midnight of the sample date; the document states no other"))
      }
      if let origin = dataContext?.origin {
        let claim = RegionClaim(origin: origin)
        guard let regions = regionNumber(claim) else {
          return chunk.rejections.append(
            Rejection(position: position, reason: .tooManyRegionSets, detail: RegionTable.refusal(of: claim)))
        }
        key.regions = regions
      }
      chunk.keys.append(key)
    case .wrongLength(let count):
      chunk.rejections.append(
        Rejection(
          position: position, reason: .keyDataLength, detail: "key data of \(count) bytes, allowed are exactly 16"))
    case .notKeyData:
      chunk.rejections.append(
        Rejection(
          position: position, reason: .keyDataSpelling,
          detail: "key data is neither base64 nor 32 hexadecimal digits nor a UUID"))
    }
  }

  /// Puts what the parser has read into the chunk. The object stands between two places of the window.
  private func take(_ chunk: inout KeyChunk, start: Int, end: Int, mayLearn: Bool) throws {
    guard end - start <= limits.recordBytes else {
      throw FormatError(
        .limitExceeded, byteOffset: window.documentOffset(of: start),
        "a key of \(end - start) bytes; at most \(limits.recordBytes) are read")
    }
    for name in parser.ignoredNames { noteIgnored(name) }
    keyNames.formUnion(parser.names)
    for name in parser.repeatedNames { notes.countRepeated("\"\(name)\"", in: "key \(chunk.nextIndex)") }
    for names in parser.disagreements {
      note("spellings-disagree", names, "\(names) say different things; the last one counts")
    }
    if parser.startsInMilliseconds, parser.refusal == nil { notes.count(StartsInSeconds.millisecondsNote) }
    if let refusal = parser.refusal {
      let position = KeyPosition(index: chunk.nextIndex, byteOffset: window.documentOffset(of: start))
      chunk.rejections.append(Rejection(position: position, reason: refusal.reason, detail: refusal.detail))
      return
    }
    var key = parser.key
    if parser.origin != nil || parser.visited != nil {
      let claim = RegionClaim(origin: parser.origin, visited: parser.visited)
      guard let regions = regionNumber(claim) else {
        let position = KeyPosition(index: chunk.nextIndex, byteOffset: window.documentOffset(of: start))
        return chunk.rejections.append(
          Rejection(position: position, reason: .tooManyRegionSets, detail: RegionTable.refusal(of: claim)))
      }
      key.regions = regions
    }
    if mayLearn, parser.isRepeatable { learn(start: start, end: end, key) }
    if !parser.unknownFields.isEmpty { key.unknownFields = chunk.unknownFields.append(parser.unknownFields) }
    if place == .afterElement, listEntries == .revisedKeys { key.isRevised = true }
    chunk.keys.append(key)
  }

  /// `nil` where there is no room for it.
  private func regionNumber(_ claim: RegionClaim) -> RegionClaim.ID? {
    if let lastRegions, lastRegions.claim == claim { return lastRegions.id }
    guard let id = regions.intern(claim) else { return nil }
    lastRegions = (claim, id)
    return id
  }

  // MARK: Repeated shapes

  /// Remembers the shape of an object; among many shapes, seldom, so that a document of them costs no more.
  private func learn(start: Int, end: Int, _ key: ClaimedKey) {
    guard templates.count < Self.mostTemplates || keysSinceLearning > 256 else { return }
    let object = UnsafeRawBufferPointer(start: window.base + start, count: end - start)
    let values = parser.values.map {
      JSONObjectTemplate.Value(fieldOffset: $0.fieldOffset, start: $0.start - start, end: $0.end - start)
    }
    let place = templates.count < Self.mostTemplates ? templates.count : nextTemplate
    guard let template = JSONObjectTemplate(object: object, values: values, prototype: key, place: place) else {
      return
    }
    keysSinceLearning = 0
    if templates.count < Self.mostTemplates {
      templates.append(template)
      templateNames.append(parser.ignoredNames)
    } else {
      templates[nextTemplate].deallocate()
      templates[nextTemplate] = template
      templateNames[nextTemplate] = parser.ignoredNames
      nextTemplate = (nextTemplate + 1) % Self.mostTemplates
    }
  }

  /// Reads objects for as long as they have a remembered shape. In a list the position is at an entry's start, and is
  /// so again afterwards unless the list ends or the bytes run out (``Place/afterElement``).
  private func readRepeats(_ keys: inout KeyBuffer, inList: Bool) {
    guard var template = templates.last else { return }
    let start = UnsafeRawPointer(window.base) + window.position
    let end = UnsafeRawPointer(window.base) + window.end
    var stop = start
    var count = 0
    keys.appendDirectly { room in
      guard let first = room.baseAddress else { return 0 }
      var run = JSONObjectRun(
        here: start, end: end, key: first, lastKey: first + room.count, inList: inList,
        fields: inList && listEntries == .revisedKeys ? .revised : [])
      var shapeStart = run.key
      while run.read(template) == .otherShape {
        noteIgnored(by: template, run.key - shapeStart)
        shapeStart = run.key
        guard let (other, length) = matchingTemplate(run.here, end, run.key) else { break }
        template = other
        guard run.pass(length) else { break }
      }
      noteIgnored(by: template, run.key - shapeStart)
      if run.isBehindEntry { place = .afterElement }
      stop = run.here
      count = run.key - first
      return count
    }
    window.position += stop - start
    keysSinceLearning += count
    if !inList, count > 0 {
      documentCount += count
      wrapper = .lines
    }
  }

  /// Counts what so many objects of a shape have beside their keys.
  private func noteIgnored(by template: JSONObjectTemplate, _ count: Int) {
    guard count > 0 else { return }
    for name in templateNames[template.place] { noteIgnored(name, count) }
  }

  private func noteIgnored(_ name: String, _ count: Int = 1) {
    note(
      "unknown-member-ignored", printable(name), "a key's member that no known system uses was not read",
      times: count)
  }

  /// The remembered shape of the object at this place, which it has read, and the object's length.
  @inline(never)
  private func matchingTemplate(
    _ here: UnsafeRawPointer, _ end: UnsafeRawPointer, _ key: UnsafeMutablePointer<ClaimedKey>
  ) -> (JSONObjectTemplate, Int)? {
    for template in templates where end - here >= template.reach {
      let length = template.match(here, key)
      if length > 0 { return (template, length) }
    }
    return nil
  }
}

extension JSONCursor {
  /// The text that comes next, or the number as it is spelled. `nil` for anything else; the position stays then.
  fileprivate mutating func scalarText() throws(JSONFault) -> String? {
    let byte = try peek()
    let start = position
    var text: String?
    switch byte {
    case UInt8(ascii: "\""): text = try self.text(string())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      let span = try number()
      text =
        integer(span).map { String($0) } ?? String(decoding: bytes(span.start, span.end), as: UTF8.self)
    case UInt8(ascii: "{"): text = try extendedScalar()
    default: break
    }
    if text == nil { position = start }
    return text
  }
}

/// A list of signature infos, or one by itself.
///
/// - Parameter repeated: gets the names of members that an info has more than once.
private func readSignatureInfos(
  _ cursor: inout JSONCursor, limit: Int, _ repeated: inout [String]
) throws(JSONFault) -> [SignatureInfo] {
  var infos: [SignatureInfo] = []
  switch try cursor.peek() {
  case UInt8(ascii: "{"): infos.append(try readSignatureInfo(&cursor, limit: limit, &repeated))
  case UInt8(ascii: "["):
    cursor.position += 1
    if try cursor.peek() == UInt8(ascii: "]") {
      cursor.position += 1
      return infos
    }
    while true {
      guard try cursor.peek() == UInt8(ascii: "{") else {
        throw .unexpected(at: cursor.position, expected: "a signature info, which is an object")
      }
      infos.append(try readSignatureInfo(&cursor, limit: limit - 1, &repeated))
      let byte = try cursor.next()
      if byte == UInt8(ascii: "]") { break }
      guard byte == UInt8(ascii: ",") else { throw .unexpected(at: cursor.position - 1, expected: "a comma or ]") }
    }
  default: try cursor.word("null")
  }
  return infos
}

private func readSignatureInfo(
  _ cursor: inout JSONCursor, limit: Int, _ repeated: inout [String]
) throws(JSONFault) -> SignatureInfo {
  var info = SignatureInfo()
  var seen: Set<SignatureInfoMember> = []
  var skipper = JSONSkipper()
  guard limit > 0 else { throw .tooDeep(at: cursor.position) }
  cursor.position += 1
  if try cursor.peek() == UInt8(ascii: "}") {
    cursor.position += 1
    return info
  }
  while true {
    let name = try cursor.name()
    let member = SignatureInfoMember.find(cursor.bytes(name.start, name.end))
    if member != nil, try cursor.peek() == UInt8(ascii: "\"") {
      let start = cursor.position
      guard let text = try cursor.text(cursor.string()) else {
        throw .unexpected(at: start, expected: "text in valid UTF-8")
      }
      if let member, !seen.insert(member).inserted {
        repeated.append(String(decoding: cursor.bytes(name.start, name.end), as: UTF8.self))
      }
      switch member {
      case .appBundleID: info.appBundleID = text
      case .androidPackage: info.androidPackage = text
      case .verificationKeyVersion: info.verificationKeyVersion = text
      case .verificationKeyID: info.verificationKeyID = text
      case .signatureAlgorithm: info.signatureAlgorithm = text
      case .unknownFields:
        guard let fields = Base64.decode(text.utf8) else { throw .unexpected(at: start, expected: "base64") }
        info.unknownFields = fields
      case nil: break
      }
    } else {
      skipper.begin(limit: limit - 1)
      try skipper.skip(&cursor)
    }
    switch try cursor.next() {
    case UInt8(ascii: ","): continue
    case UInt8(ascii: "}"): return info
    default: throw .unexpected(at: cursor.position - 1, expected: "a comma or }")
    }
  }
}
