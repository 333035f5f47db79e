/// A property list as XML: the part of XML that Apple's tools write, and no more.
///
/// No entity is declared or fetched: the five of XML and numbers of characters are known, and a document type with
/// declarations of its own is refused.
struct XMLPropertyList {
  private let bytes: [UInt8]
  private var place = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  static func begins(_ front: [UInt8]) -> Bool {
    var text = front[...]
    if text.starts(with: [0xef, 0xbb, 0xbf]) { text = text.dropFirst(3) }
    text = text.drop { isSpace($0) }
    guard text.first == UInt8(ascii: "<") else { return false }
    return String(decoding: text.prefix(1024), as: UTF8.self).contains("<plist")
  }

  /// The entries of the dictionary at the top.
  func dictionary(_ limits: ReadLimits) throws -> [(name: String, value: PropertyListValue)] {
    var reader = self
    return try reader.readDocument(limits)
  }

  private mutating func readDocument(_ limits: ReadLimits) throws -> [(name: String, value: PropertyListValue)] {
    if bytes.starts(with: [0xef, 0xbb, 0xbf]) { place = 3 }
    try expect("plist")
    try expect("dict")
    var entries: [(name: String, value: PropertyListValue)] = []
    while true {
      let tag = try nextTag()
      if tag.name == "dict", tag.isEnd { break }
      guard tag.name == "key", !tag.isEnd, !tag.isEmpty else {
        throw malformed(tag, "a key, or the end of the dictionary")
      }
      guard entries.count < limits.recordBytes / 16 else {
        throw FormatError(
          .limitExceeded, byteOffset: tag.place,
          "a dictionary of more than \(limits.recordBytes / 16) entries, which are the most that is read")
      }
      let name = try text(until: "key")
      entries.append((name, try value(limits)))
    }
    let end = try nextTag()
    guard end.name == "plist", end.isEnd else { throw malformed(end, "the end of the property list") }
    return entries
  }

  private mutating func value(_ limits: ReadLimits) throws -> PropertyListValue {
    let tag = try nextTag()
    guard !tag.isEnd else { throw malformed(tag, "a value") }
    switch tag.name {
    case "true", "false": return .other("a truth value")
    case "data":
      if tag.isEmpty { return .data([]) }
      let start = place
      let text = try text(until: "data").utf8.filter { !Self.isSpace($0) }
      guard let data = Base64.decode(text) else {
        throw FormatError(.malformed, byteOffset: start, "data is not base64")
      }
      return .data(data)
    case "string", "integer", "real", "date":
      if !tag.isEmpty { _ = try text(until: tag.name) }
      return .other(tag.name == "date" ? "a date" : tag.name == "string" ? "text" : "a number")
    case "array", "dict":
      if !tag.isEmpty { try skip(tag, limits) }
      return .other(tag.name == "array" ? "a list" : "a dictionary")
    default: throw malformed(tag, "data, string, integer, real, date, true, false, array or dict")
    }
  }

  /// Reads over a list or a dictionary.
  private mutating func skip(_ first: Tag, _ limits: ReadLimits) throws {
    var open = [first.name]
    while let name = open.last {
      let tag = try nextTag()
      if tag.isEnd {
        guard tag.name == name else { throw malformed(tag, "the end of \(name)") }
        open.removeLast()
      } else if !tag.isEmpty {
        guard open.count < limits.nesting else {
          throw FormatError(
            .limitExceeded, byteOffset: tag.place, "nested deeper than \(limits.nesting) levels, the most that is read")
        }
        if tag.name == "array" || tag.name == "dict" { open.append(tag.name) } else { _ = try text(until: tag.name) }
      }
    }
  }

  // MARK: Tags

  private struct Tag {
    let name: String
    let isEnd: Bool
    /// `<true/>`: begin and end in one.
    let isEmpty: Bool
    let place: Int
  }

  private mutating func expect(_ name: String) throws {
    let tag = try nextTag()
    guard tag.name == name, !tag.isEnd, !tag.isEmpty else { throw malformed(tag, name) }
  }

  private func malformed(_ tag: Tag, _ expected: String) -> FormatError {
    let shown = ReportedText.name(tag.name.utf8)
    return FormatError(
      .malformed, byteOffset: tag.place, "found \(tag.isEnd ? "the end of " : "")\(shown), expected \(expected)")
  }

  /// The next tag; declarations and comments in front of it are passed over.
  private mutating func nextTag() throws -> Tag {
    while true {
      while place < bytes.count, Self.isSpace(bytes[place]) { place += 1 }
      guard place < bytes.count else { throw truncated() }
      guard bytes[place] == UInt8(ascii: "<") else {
        throw FormatError(.malformed, byteOffset: place, "text between the values of a property list")
      }
      let rest = bytes[place...]
      if rest.starts(with: "<!--".utf8) {
        try pass(to: "-->")
      } else if rest.starts(with: "<?".utf8) {
        try pass(to: "?>")
      } else if rest.starts(with: "<!".utf8) {
        let start = place
        try pass(to: ">")
        guard !bytes[start..<place].contains(UInt8(ascii: "[")) else {
          throw FormatError(
            .unsupported, byteOffset: start, "a document type with declarations of its own, which is not read")
        }
      } else {
        return try tag()
      }
    }
  }

  private mutating func tag() throws -> Tag {
    let start = place
    guard let end = bytes[place...].firstIndex(of: UInt8(ascii: ">")) else { throw truncated() }
    var content = bytes[(place + 1)..<end]
    place = end + 1
    let isEnd = content.first == UInt8(ascii: "/")
    if isEnd { content = content.dropFirst() }
    let isEmpty = content.last == UInt8(ascii: "/")
    if isEmpty { content = content.dropLast() }
    let name = content.prefix { !Self.isSpace($0) }
    return Tag(name: String(decoding: name, as: UTF8.self), isEnd: isEnd, isEmpty: isEmpty, place: start)
  }

  private mutating func pass(to end: String) throws {
    let mark = Array(end.utf8)
    while place + mark.count <= bytes.count {
      if bytes[place] == mark[0], bytes[place..<place + mark.count].elementsEqual(mark) {
        place += mark.count
        return
      }
      place += 1
    }
    throw truncated()
  }

  /// The text up to the end tag of this name, which is read, too.
  private mutating func text(until name: String) throws -> String {
    let start = place
    guard let end = bytes[place...].firstIndex(of: UInt8(ascii: "<")) else { throw truncated() }
    let raw = bytes[start..<end]
    place = end
    let tag = try tag()
    guard tag.isEnd, tag.name == name else { throw malformed(tag, "the end of \(name)") }
    guard raw.contains(UInt8(ascii: "&")) else { return String(decoding: raw, as: UTF8.self) }
    return try resolved(raw)
  }

  private func resolved(_ raw: ArraySlice<UInt8>) throws -> String {
    var text = String.UnicodeScalarView()
    var plain: [UInt8] = []
    func flush() {
      text.append(contentsOf: String(decoding: plain, as: UTF8.self).unicodeScalars)
      plain = []
    }
    var index = raw.startIndex
    while index < raw.endIndex {
      guard raw[index] == UInt8(ascii: "&") else {
        plain.append(raw[index])
        index += 1
        continue
      }
      guard let end = raw[index...].prefix(12).firstIndex(of: UInt8(ascii: ";")),
        let scalar = Self.scalar(String(decoding: raw[(index + 1)..<end], as: UTF8.self))
      else { throw FormatError(.malformed, byteOffset: index, "an entity that XML does not have by itself") }
      flush()
      text.append(scalar)
      index = end + 1
    }
    flush()
    return String(text)
  }

  private static func scalar(_ name: String) -> Unicode.Scalar? {
    switch name {
    case "amp": "&"
    case "lt": "<"
    case "gt": ">"
    case "quot": "\""
    case "apos": "'"
    default:
      if name.hasPrefix("#x") {
        UInt32(name.dropFirst(2), radix: 16).flatMap { Unicode.Scalar($0) }
      } else if name.hasPrefix("#") {
        UInt32(name.dropFirst()).flatMap { Unicode.Scalar($0) }
      } else {
        nil
      }
    }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

  private func truncated() -> FormatError {
    FormatError(.truncated, byteOffset: bytes.count, "the property list ends in the middle of something")
  }
}
