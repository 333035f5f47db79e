/// One statement of a dump, as far as it is looked at.
struct SQLStatement {
  enum Kind { case copy, insert, create, other }

  let kind: Kind
  /// Where it begins, behind blanks and comments.
  let start: Int
  /// Behind its semicolon; of an `INSERT`, behind the word `VALUES`.
  let end: Int

  /// Whether a document that begins like this is a dump.
  static func begin(_ front: [UInt8]) -> Bool {
    var text = front[...]
    if text.starts(with: [0xef, 0xbb, 0xbf]) { text = text.dropFirst(3) }
    text = text.drop { isBlank($0) }
    let words = [
      "COPY ", "INSERT INTO ", "CREATE TABLE ", "PRAGMA ", "BEGIN TRANSACTION;", "BEGIN;", "DROP TABLE ",
      "LOCK TABLES ",
      "SET ",
    ]
    if words.contains(where: { text.starts(with: $0.utf8, by: { $0 & 0xdf == $1 & 0xdf }) }) { return true }
    guard text.starts(with: "--".utf8) || text.starts(with: "/*".utf8) else { return false }
    let whole = String(decoding: text, as: UTF8.self)
    return ["dump", "COPY ", "INSERT INTO ", "CREATE TABLE "].contains { whole.contains($0) }
  }

  /// The statement at the front of `bytes`; `nil` when more bytes are needed, or there are none but blanks and comments.
  static func next(_ bytes: UnsafeRawBufferPointer, isAtEnd: Bool, backslashes: Bool) -> SQLStatement? {
    var reader = SQLReader(bytes, backslashes: backslashes)
    guard reader.skipBlanks(isAtEnd: isAtEnd) else {
      return isAtEnd && reader.place == bytes.count && !bytes.isEmpty
        ? SQLStatement(kind: .other, start: 0, end: bytes.count) : nil
    }
    let start = reader.place
    // Commands to a client end with their line.
    let isCommand = bytes[start] == UInt8(ascii: "\\") || reader.isWord("DELIMITER")
    if isCommand {
      guard let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) else {
        return isAtEnd ? SQLStatement(kind: .other, start: start, end: bytes.count) : nil
      }
      return SQLStatement(kind: .other, start: start, end: end + 1)
    }
    let isInsert = reader.isWord("INSERT") || reader.isWord("REPLACE")
    let kind: Kind = reader.isWord("COPY") ? .copy : reader.isWord("CREATE") ? .create : .other
    while reader.place < bytes.count {
      let byte = bytes[reader.place]
      if byte == UInt8(ascii: ";") {
        return SQLStatement(kind: isInsert ? .other : kind, start: start, end: reader.place + 1)
      }
      if isInsert, reader.depth == 0, reader.isWord("VALUES") {
        return SQLStatement(kind: .insert, start: start, end: reader.place + 6)
      }
      guard reader.advance() else { return nil }
    }
    return nil
  }

  /// Whether a statement about a table quotes its name as MySQL does. Elsewhere, as in a comment, such marks are text.
  static func namesLikeMySQL(_ statement: Slice<UnsafeRawBufferPointer>) -> Bool {
    let words = ["LOCK", "UNLOCK", "DROP", "ALTER", "USE", "INSERT", "REPLACE", "CREATE", "DELETE", "TRUNCATE"]
    let isOfTable = words.contains { statement.starts(with: $0.utf8, by: { $0 & 0xdf == $1 & 0xdf }) }
    return isOfTable && statement.contains(UInt8(ascii: "`"))
  }

  static func isOfMySQL(_ statement: Slice<UnsafeRawBufferPointer>) -> Bool {
    String(decoding: statement.prefix(256), as: UTF8.self).contains("/*!")
  }

  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

  /// What stands before the rows.
  struct Head {
    let table: String
    /// The names in parentheses behind the table's; `nil` when there are none.
    let columns: [[UInt8]]?
    let isOfMySQL: Bool
    let readsStandardInput: Bool
    /// Of a `CREATE TABLE`: the first word of each entry that is a column.
    let createdColumns: [[UInt8]]

    init(_ statement: Slice<UnsafeRawBufferPointer>) {
      let bytes = UnsafeRawBufferPointer(rebasing: statement)
      isOfMySQL = bytes.contains(UInt8(ascii: "`"))
      let words = SQLReader.words(bytes)
      // COPY name, INSERT INTO name, INSERT IGNORE INTO name, CREATE TABLE IF NOT EXISTS name.
      let skipped = ["COPY", "INSERT", "REPLACE", "IGNORE", "INTO", "CREATE", "TABLE", "IF", "NOT", "EXISTS", "ONLY"]
      let rest = words.drop { $0.isBare && skipped.contains($0.text.uppercased()) }
      table = rest.first?.text.split(separator: ".").last.map { String($0.drop { $0 == "\"" }) } ?? ""
      readsStandardInput = words.reversed().contains { $0.isBare && $0.text.lowercased() == "stdin" }
      let constraints = [
        "PRIMARY", "KEY", "UNIQUE", "CONSTRAINT", "INDEX", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK", "EXCLUDE", "LIKE",
      ]
      let names = SQLReader.firstWords(bytes)
      columns = names?.map { Array($0.text.utf8) }
      createdColumns = (names ?? []).filter { name in
        guard name.isBare, constraints.contains(name.text.uppercased()) else { return true }
        // A column may be called key; an index has a name in quotes, or its columns in parentheses.
        return ["KEY", "INDEX"].contains(name.text.uppercased()) && name.isBeforeWord
      }.map { Array($0.text.utf8) }
    }
  }
}

/// Moves over SQL, by what quotes, comments and parentheses enclose.
struct SQLReader {
  let bytes: UnsafeRawBufferPointer
  let backslashes: Bool
  private(set) var place = 0
  /// How many parentheses are open.
  private(set) var depth = 0

  init(_ bytes: UnsafeRawBufferPointer, backslashes: Bool) {
    self.bytes = bytes
    self.backslashes = backslashes
  }

  /// Moves over blanks and comments; `false` when nothing else is there.
  mutating func skipBlanks(isAtEnd: Bool) -> Bool {
    while place < bytes.count {
      if SQLStatement.isBlank(bytes[place]) {
        place += 1
      } else if isComment {
        // A comment that the end of the document cuts off says nothing.
        guard skipComment() else {
          if isAtEnd { place = bytes.count }
          return false
        }
      } else {
        return true
      }
    }
    return false
  }

  private var isComment: Bool {
    guard place + 1 < bytes.count else { return false }
    return (bytes[place] == UInt8(ascii: "-") && bytes[place + 1] == UInt8(ascii: "-"))
      || (bytes[place] == UInt8(ascii: "/") && bytes[place + 1] == UInt8(ascii: "*"))
  }

  private mutating func skipComment() -> Bool {
    if bytes[place] == UInt8(ascii: "-") {
      guard let end = bytes[place...].firstIndex(of: UInt8(ascii: "\n")) else { return false }
      place = end + 1
      return true
    }
    var end = place + 2
    while end + 1 < bytes.count {
      if bytes[end] == UInt8(ascii: "*"), bytes[end + 1] == UInt8(ascii: "/") {
        place = end + 2
        return true
      }
      end += 1
    }
    return false
  }

  /// Whether this word stands here, in any case, and no longer one.
  func isWord(_ word: StaticString) -> Bool {
    let length = word.utf8CodeUnitCount
    guard place + length < bytes.count else { return false }
    if place > 0, Self.isOfWord(bytes[place - 1]) { return false }
    for index in 0..<length where bytes[place + index] & 0xdf != word.utf8Start[index] { return false }
    return !Self.isOfWord(bytes[place + length])
  }

  static func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }

  /// Moves over one character, or a whole text in quotes or comment; `false` when more bytes are needed.
  mutating func advance() -> Bool {
    switch bytes[place] {
    case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"): return skipQuoted()
    case UInt8(ascii: "$"): return skipDollars()
    case UInt8(ascii: "-"), UInt8(ascii: "/"):
      guard place + 1 < bytes.count else { return false }
      if isComment { return skipComment() }
    case UInt8(ascii: "("): depth += 1
    case UInt8(ascii: ")"): depth = max(depth - 1, 0)
    default: break
    }
    place += 1
    return true
  }

  private mutating func skipQuoted() -> Bool {
    let quote = bytes[place]
    var end = place + 1
    while end < bytes.count {
      if bytes[end] == UInt8(ascii: "\\"), backslashes {
        end += 2
        continue
      }
      if bytes[end] == quote {
        place = end + 1
        return true
      }
      end += 1
    }
    return false
  }

  /// `$$ … $$` or `$tag$ … $tag$`, in which PostgreSQL writes the text of functions.
  private mutating func skipDollars() -> Bool {
    var end = place + 1
    while end < bytes.count, Self.isOfWord(bytes[end]) { end += 1 }
    guard end < bytes.count else { return false }
    guard bytes[end] == UInt8(ascii: "$") else {
      place += 1
      return true
    }
    let tag = bytes[place...end]
    var search = end + 1
    while search + tag.count <= bytes.count {
      if bytes[search] == UInt8(ascii: "$"), bytes[search..<search + tag.count].elementsEqual(tag) {
        place = search + tag.count
        return true
      }
      search += 1
    }
    return false
  }

  struct Word {
    var text: String
    /// Whether it stands without quotes.
    var isBare: Bool
    /// Whether a word without quotes follows.
    var isBeforeWord = false
  }

  /// The words of a statement outside its parentheses, at most a few; a name with its schema is one word.
  static func words(_ bytes: UnsafeRawBufferPointer) -> [Word] {
    var reader = SQLReader(bytes, backslashes: false)
    var words: [Word] = []
    while reader.place < bytes.count, words.count < 64 {
      let start = reader.place
      guard reader.depth == 0, let word = reader.word() else {
        guard reader.place > start || reader.advance() else { break }
        continue
      }
      words.append(word)
    }
    return words
  }

  /// The first word of each entry of the first parentheses.
  static func firstWords(_ bytes: UnsafeRawBufferPointer) -> [Word]? {
    var reader = SQLReader(bytes, backslashes: false)
    var words: [Word] = []
    while reader.place < bytes.count, reader.depth == 0 {
      guard reader.advance() else { return nil }
    }
    guard reader.depth == 1 else { return nil }
    var isAtEntry = true
    while reader.place < bytes.count, reader.depth > 0, words.count < CSVLayout.columnLimit {
      if isAtEntry {
        guard reader.skipBlanks(isAtEnd: true) else { break }
        if var word = reader.word() {
          word.isBeforeWord = bytes[reader.place...].first { !SQLStatement.isBlank($0) }.map(isOfWord) ?? false
          words.append(word)
          isAtEntry = false
          continue
        }
      }
      if reader.depth == 1, bytes[reader.place] == UInt8(ascii: ",") { isAtEntry = true }
      guard reader.advance() else { break }
    }
    return words
  }

  /// The word here, with or without quotes, and what follows behind a dot; `nil` where there is none.
  private mutating func word() -> Word? {
    var text: [UInt8] = []
    var isBare = true
    while place < bytes.count {
      let byte = bytes[place]
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "`") {
        guard let end = bytes[(place + 1)...].firstIndex(of: byte) else { return nil }
        text += bytes[place + 1..<end]
        isBare = false
        place = end + 1
      } else if Self.isOfWord(byte) || (byte == UInt8(ascii: ".") && !text.isEmpty) {
        text.append(byte)
        place += 1
      } else {
        break
      }
    }
    return text.isEmpty ? nil : Word(text: String(decoding: text, as: UTF8.self), isBare: isBare)
  }
}
