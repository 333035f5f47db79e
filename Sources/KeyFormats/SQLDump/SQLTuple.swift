internal import ExposureKeys

/// One row of an `INSERT`: `(0x0011…, 2649024, NULL, 'DE')`, with what its values spell.
///
/// The values stand in ``text`` one behind the other as the cells of a table would, so that one reader says what they
/// mean. Both are used again for the next row.
struct SQLTuple {
  private(set) var cells: [CSVCell] = []
  private var text: [UInt8] = []

  enum Outcome {
    /// As many bytes, to behind the closing parenthesis.
    case row(length: Int)
    /// The statement ends with as many bytes.
    case end(length: Int)
    case malformed(at: Int)
  }

  func withText(_ body: (UnsafeRawBufferPointer) -> Void) { text.withUnsafeBytes(body) }

  /// Reads the next row, or the end of the statement; `nil` when more bytes are needed.
  ///
  /// - Parameter keyCell: the number of the value that may be sixteen bytes as they are; less than 0 where there is none.
  mutating func read(_ bytes: UnsafeRawBufferPointer, isAtEnd: Bool, backslashes: Bool, keyCell: Int) -> Outcome? {
    cells.removeAll(keepingCapacity: true)
    text.removeAll(keepingCapacity: true)
    var place = 0
    while place < bytes.count, SQLStatement.isBlank(bytes[place]) || bytes[place] == UInt8(ascii: ",") { place += 1 }
    guard place < bytes.count else { return nil }
    switch bytes[place] {
    case UInt8(ascii: ";"): return .end(length: place + 1)
    case UInt8(ascii: "("): place += 1
    default:
      // ON CONFLICT, ON DUPLICATE KEY UPDATE and the like, up to the end of the statement.
      guard SQLReader.isOfWord(bytes[place]) else { return .malformed(at: place) }
      var reader = SQLReader(UnsafeRawBufferPointer(rebasing: bytes[place...]), backslashes: backslashes)
      while reader.place < reader.bytes.count {
        if reader.bytes[reader.place] == UInt8(ascii: ";") { return .end(length: place + reader.place + 1) }
        guard reader.advance() else { return nil }
      }
      return nil
    }
    while true {
      while place < bytes.count, SQLStatement.isBlank(bytes[place]) { place += 1 }
      guard let end = readValue(bytes, place, backslashes, isKey: cells.count == keyCell) else { return nil }
      place = end
      while place < bytes.count, SQLStatement.isBlank(bytes[place]) { place += 1 }
      guard place < bytes.count else { return nil }
      if bytes[place] == UInt8(ascii: ")") { return .row(length: place + 1) }
      guard bytes[place] == UInt8(ascii: ","), cells.count <= CSVLayout.columnLimit else {
        return .malformed(at: place)
      }
      place += 1
    }
  }

  /// Reads a value, and returns the place behind it; `nil` when more bytes are needed.
  private mutating func readValue(
    _ bytes: UnsafeRawBufferPointer, _ start: Int, _ backslashes: Bool, isKey: Bool
  ) -> Int? {
    var place = start
    // A word, a number, or what stands before a text in quotes: _binary, X, E, N.
    while place < bytes.count,
      SQLReader.isOfWord(bytes[place]) || bytes[place] == UInt8(ascii: "-")
        || bytes[place] == UInt8(ascii: "+") || bytes[place] == UInt8(ascii: ".")
    {
      place += 1
    }
    guard place < bytes.count else { return nil }
    let wordEnd = place
    var afterBlank = place
    while afterBlank < bytes.count, bytes[afterBlank] == 0x20 { afterBlank += 1 }
    guard afterBlank < bytes.count else { return nil }
    let cellStart = text.count
    if bytes[afterBlank] == UInt8(ascii: "'") {
      let prefix = wordEnd > start ? bytes[start] | 0x20 : 0
      let isHexadecimal = wordEnd - start == 1 && prefix == UInt8(ascii: "x")
      let escapes = backslashes || (wordEnd - start == 1 && prefix == UInt8(ascii: "e"))
      guard let end = readQuoted(bytes, afterBlank, escapes) else { return nil }
      place = end
      if isKey, !isHexadecimal, text.count - cellStart == 16 { spell(from: cellStart) }
      cells.append(cell(cellStart, isQuoted: !isHexadecimal))
    } else if bytes[place] == UInt8(ascii: "[") || bytes[place] == UInt8(ascii: "(") {
      // ARRAY['DE','IT'], or a function of something.
      guard let end = enclosed(bytes, place, backslashes) else { return nil }
      text += bytes[place..<end]
      place = end
      cells.append(cell(cellStart, isQuoted: true))
    } else {
      text += bytes[start..<wordEnd]
      if isNull(cellStart) { text.removeLast(text.count - cellStart) }
      cells.append(cell(cellStart, isQuoted: false))
    }
    // ::bytea, and other casts.
    while place < bytes.count, bytes[place] == UInt8(ascii: ":") {
      guard place + 1 < bytes.count else { return nil }
      guard bytes[place + 1] == UInt8(ascii: ":") else { break }
      place += 2
      while place < bytes.count, ![UInt8(ascii: ","), UInt8(ascii: ")")].contains(bytes[place]) {
        if bytes[place] == UInt8(ascii: "(") {
          guard let end = enclosed(bytes, place, backslashes) else { return nil }
          place = end
        } else {
          place += 1
        }
      }
    }
    return place < bytes.count ? place : nil
  }

  private func cell(_ start: Int, isQuoted: Bool) -> CSVCell {
    CSVCell(start: start, end: text.count, isQuoted: isQuoted)
  }

  private func isNull(_ start: Int) -> Bool {
    text.count - start == 4 && zip(text[start...], "NULL".utf8).allSatisfy { $0 & 0xdf == $1 }
  }

  /// The text behind the quote, with doubled quotes made single and escapes resolved.
  private mutating func readQuoted(_ bytes: UnsafeRawBufferPointer, _ quote: Int, _ escapes: Bool) -> Int? {
    var place = quote + 1
    while place < bytes.count {
      let byte = bytes[place]
      if byte == UInt8(ascii: "'") {
        guard place + 1 < bytes.count else { return nil }
        guard bytes[place + 1] == byte else { return place + 1 }
        place += 1
      } else if byte == UInt8(ascii: "\\"), escapes {
        guard place + 1 < bytes.count else { return nil }
        place += 1
        text.append(Self.meaning(bytes[place]))
        place += 1
        continue
      }
      text.append(byte)
      place += 1
    }
    return nil
  }

  /// What a character behind a backslash stands for, in MySQL.
  private static func meaning(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "0"): 0
    case UInt8(ascii: "b"): 8
    case UInt8(ascii: "t"): 9
    case UInt8(ascii: "n"): 10
    case UInt8(ascii: "r"): 13
    case UInt8(ascii: "Z"): 26
    default: byte
    }
  }

  /// Writes sixteen bytes as hexadecimal digits: no spelling of a key has sixteen characters.
  private mutating func spell(from start: Int) {
    let raw = Array(text[start...])
    text.removeLast(16)
    Hexadecimal.append(raw, to: &text)
  }

  /// The place behind the bracket that closes the one here.
  private func enclosed(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ backslashes: Bool) -> Int? {
    var depth = 0
    var reader = SQLReader(UnsafeRawBufferPointer(rebasing: bytes[start...]), backslashes: backslashes)
    while reader.place < reader.bytes.count {
      switch reader.bytes[reader.place] {
      case UInt8(ascii: "["), UInt8(ascii: "("): depth += 1
      case UInt8(ascii: "]"), UInt8(ascii: ")"): depth -= 1
      default: break
      }
      guard reader.advance() else { return nil }
      if depth == 0 { return start + reader.place }
    }
    return nil
  }
}
