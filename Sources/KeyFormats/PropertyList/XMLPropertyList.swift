/// A property list as XML, read from its front: the part of XML that Apple's tools write, and no more.
///
/// No entity is declared or fetched: the five of XML and numbers of characters are known, and a document type with
/// declarations of its own is refused.
final class XMLPropertyList {
  private let window: InputWindow
  private let limits: ReadLimits

  init(_ window: InputWindow, limits: ReadLimits) {
    self.window = window
    self.limits = limits
  }

  /// A value of the dictionary at the top.
  enum Value {
    /// Data: the text of its bytes comes next, up to ``endData()``.
    case data
    case emptyData
    /// Anything else, by its kind, which has been read over.
    case other(String)
  }

  static func begins(_ front: [UInt8]) -> Bool {
    var text = front[...]
    if text.starts(with: [0xef, 0xbb, 0xbf]) { text = text.dropFirst(3) }
    text = text.drop { isSpace($0) }
    guard text.first == UInt8(ascii: "<") else { return false }
    return String(decoding: text.prefix(1024), as: UTF8.self).contains("<plist")
  }

  /// Reads what stands in front of the dictionary's entries.
  func begin() throws {
    if try window.require(3), window.unread.starts(with: [0xef, 0xbb, 0xbf]) { window.skip(3) }
    try expect("plist")
    try expect("dict")
  }

  /// The name of the next entry; `nil` at the end of the list.
  func nextName() throws -> String? {
    let tag = try nextTag()
    if tag.name == "dict", tag.isEnd {
      let end = try nextTag()
      guard end.name == "plist", end.isEnd else { throw malformed(end, "the end of the property list") }
      try skip { Self.isSpace($0) }
      guard try !window.require(1) else {
        throw FormatError(
          .unsupported, byteOffset: window.documentOffset,
          "something else stands behind the property list; lists that lie behind each other are read one by one")
      }
      return nil
    }
    guard tag.name == "key", !tag.isEnd, !tag.isEmpty else {
      throw malformed(tag, "a key, or the end of the dictionary")
    }
    return try text(until: "key")
  }

  /// The bytes that the text of data stands for.
  func dataContent() -> EncodedText { EncodedText(window, .base64, of: "data", until: UInt8(ascii: "<")) }

  /// Reads over the rest of data.
  func endData() throws { try skipText(until: "data") }

  /// The value that belongs to the name that was read last.
  func value() throws -> Value {
    let tag = try nextTag()
    guard !tag.isEnd else { throw malformed(tag, "a value") }
    switch tag.name {
    case "true", "false": return .other("a truth value")
    case "data": return tag.isEmpty ? .emptyData : .data
    case "string", "integer", "real", "date":
      if !tag.isEmpty { try skipText(until: tag.name) }
      return .other(tag.name == "date" ? "a date" : tag.name == "string" ? "text" : "a number")
    case "array", "dict":
      if !tag.isEmpty { try skip(tag) }
      return .other(tag.name == "array" ? "a list" : "a dictionary")
    default: throw malformed(tag, "data, string, integer, real, date, true, false, array or dict")
    }
  }

  /// Reads over a list or a dictionary.
  private func skip(_ first: Tag) throws {
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
        if tag.name == "array" || tag.name == "dict" { open.append(tag.name) } else { try skipText(until: tag.name) }
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

  private func expect(_ name: String) throws {
    let tag = try nextTag()
    guard tag.name == name, !tag.isEnd, !tag.isEmpty else { throw malformed(tag, name) }
  }

  private func malformed(_ tag: Tag, _ expected: String) -> FormatError {
    let shown = ReportedText.name(tag.name.utf8)
    return FormatError(
      .malformed, byteOffset: tag.place, "found \(tag.isEnd ? "the end of " : "")\(shown), expected \(expected)")
  }

  /// The next tag; declarations and comments in front of it are passed over.
  private func nextTag() throws -> Tag {
    while true {
      try skip { Self.isSpace($0) }
      guard try window.require(1) else { throw truncated() }
      guard window.unread[0] == UInt8(ascii: "<") else {
        throw FormatError(.malformed, byteOffset: window.documentOffset, "text between the values of a property list")
      }
      _ = try window.require(4)
      if window.unread.starts(with: "<!--".utf8) {
        try pass(to: "-->")
      } else if window.unread.starts(with: "<?".utf8) {
        try pass(to: "?>")
      } else if window.unread.starts(with: "<!".utf8) {
        let start = window.documentOffset
        let declaration = try bytes(through: UInt8(ascii: ">"))
        guard !declaration.contains(UInt8(ascii: "[")) else {
          throw FormatError(
            .unsupported, byteOffset: start, "a document type with declarations of its own, which is not read")
        }
      } else {
        return try tag()
      }
    }
  }

  private func tag() throws -> Tag {
    let start = window.documentOffset
    var content = try bytes(through: UInt8(ascii: ">")).dropFirst().dropLast()
    let isEnd = content.first == UInt8(ascii: "/")
    if isEnd { content = content.dropFirst() }
    let isEmpty = content.last == UInt8(ascii: "/")
    if isEmpty { content = content.dropLast() }
    let name = content.prefix { !Self.isSpace($0) }
    return Tag(name: String(decoding: name, as: UTF8.self), isEnd: isEnd, isEmpty: isEmpty, place: start)
  }

  /// Reads over what stands here, of any length, to behind this mark.
  private func pass(to end: String) throws {
    let mark = Array(end.utf8)
    while try window.require(mark.count) {
      let unread = window.unread
      var place = 0
      while place + mark.count <= unread.count {
        if unread[place] == mark[0], unread[place..<place + mark.count].elementsEqual(mark) {
          return window.skip(place + mark.count)
        }
        place += 1
      }
      window.skip(place)
    }
    throw truncated()
  }

  private func skip(while isSkipped: (UInt8) -> Bool) throws {
    while try window.require(1) {
      let unread = window.unread
      let end = unread.firstIndex { !isSkipped($0) } ?? unread.count
      window.skip(end)
      if end < unread.count { return }
    }
  }

  /// The bytes up to and with this one, which are no more than a record.
  private func bytes(through last: UInt8) throws -> [UInt8] {
    let found = try window.scanRecord(limit: limits.recordBytes, place: "") { unread, _ in
      unread.firstIndex(of: last).map { Array(unread[...$0]) }
    }
    guard let found else { throw truncated() }
    window.skip(found.count)
    return found
  }

  /// The text up to the end tag of this name, which is read, too.
  private func text(until name: String) throws -> String {
    let start = window.documentOffset
    let raw = try window.scanRecord(limit: limits.recordBytes, place: "") { unread, _ in
      unread.firstIndex(of: UInt8(ascii: "<")).map { Array(unread[..<$0]) }
    }
    guard let raw else { throw truncated() }
    window.skip(raw.count)
    try end(name)
    guard raw.contains(UInt8(ascii: "&")) else { return String(decoding: raw, as: UTF8.self) }
    return try resolved(raw[...], at: start)
  }

  /// Reads over text of any length, and the end tag of this name.
  private func skipText(until name: String) throws {
    try skip { $0 != UInt8(ascii: "<") }
    try end(name)
  }

  private func end(_ name: String) throws {
    guard try window.require(1) else { throw truncated() }
    let tag = try tag()
    guard tag.isEnd, tag.name == name else { throw malformed(tag, "the end of \(name)") }
  }

  /// - Parameter start: where the text begins in the document.
  private func resolved(_ raw: ArraySlice<UInt8>, at start: Int) throws -> String {
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
      else { throw FormatError(.malformed, byteOffset: start + index, "an entity that XML does not have by itself") }
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
    FormatError(.truncated, byteOffset: window.documentOffset, "the property list ends in the middle of something")
  }
}
