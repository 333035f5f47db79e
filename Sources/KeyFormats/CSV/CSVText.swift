internal import ExposureKeys

/// How text stands in a cell or in a metadata line, so that any string survives and no row spans lines.
///
/// `\\` is a backslash, `\n` and `\r` the ends of lines, `\xHH` the byte with this hexadecimal value, and `\e` nothing,
/// which makes an empty element of a list visible. A backslash before anything else stands for itself.
enum CSVText {
  static func string(_ text: some Collection<UInt8>) -> String {
    guard text.contains(UInt8(ascii: "\\")) else { return String(decoding: text, as: UTF8.self) }
    var bytes: [UInt8] = []
    var rest = text[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\"), let kind = rest.first else {
        bytes.append(byte)
        continue
      }
      switch kind {
      case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
      case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
      case UInt8(ascii: "r"): bytes.append(UInt8(ascii: "\r"))
      case UInt8(ascii: "e"): break
      case UInt8(ascii: "x"):
        let digits = rest.dropFirst().prefix(2)
        guard digits.count == 2, let value = Hexadecimal.decode(digits) else {
          bytes.append(byte)
          continue
        }
        bytes += value
        rest = rest.dropFirst(2)
      default:
        bytes.append(byte)
        continue
      }
      rest = rest.dropFirst()
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Spells out everything that would not survive: control characters, blanks at either end, and `reserved`.
  ///
  /// - Parameter isLine: whether the line ends with it.
  static func write(_ string: String, reserving reserved: [UInt8] = [], isLine: Bool = false, to text: inout [UInt8]) {
    let utf8 = string.utf8
    for (offset, byte) in utf8.enumerated() {
      switch byte {
      case UInt8(ascii: "\\"): text += [byte, byte]
      case UInt8(ascii: "\n"): text += "\\n".utf8
      case UInt8(ascii: "\r"): text += "\\r".utf8
      case UInt8(ascii: " ") where offset == 0 || offset == utf8.count - 1: text += "\\x20".utf8
      // A spreadsheet fills a line up with separators.
      case UInt8(ascii: ",") where offset == utf8.count - 1 && isLine: text += "\\x2c".utf8
      case UInt8(ascii: ";") where offset == utf8.count - 1 && isLine: text += "\\x3b".utf8
      case _ where byte < 0x20 || byte == 0x7F || reserved.contains(byte):
        text += "\\x\(Hexadecimal.encode([byte]))".utf8
      default: text.append(byte)
      }
    }
  }

  /// The elements of a list, which are separated by blanks, `|`, commas or semicolons; or an array as databases and
  /// notebooks print it, `{DE,IT}` or `['DE', 'IT']`.
  static func list(_ text: some Collection<UInt8>) -> [String] {
    let isArray =
      text.first == UInt8(ascii: "{") && text.reversed().first == UInt8(ascii: "}")
      || text.first == UInt8(ascii: "[") && text.reversed().first == UInt8(ascii: "]")
    if isArray, text.count >= 2 {
      return array(Array(text.dropFirst().dropLast()))
    }
    return text.split { listSeparators.contains($0) }.map { string($0) }
  }

  /// The elements between the braces, separated by commas; each may stand in quotes, in which a backslash or a quote
  /// makes the next character stand for itself. An element `NULL` without quotes is none.
  private static func array(_ text: [UInt8]) -> [String] {
    var elements: [String] = []
    var element: [UInt8] = []
    var wasQuoted = false
    func take() {
      let bare = wasQuoted ? element : trimmed(element)
      if wasQuoted || (!bare.isEmpty && !bare.elementsEqual("NULL".utf8)) {
        elements.append(String(decoding: bare, as: UTF8.self))
      }
    }
    var index = 0
    while index < text.count {
      let byte = text[index]
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        if !wasQuoted { element = trimmed(element) }
        wasQuoted = true
        index += 1
        while index < text.count, text[index] != byte {
          if text[index] == UInt8(ascii: "\\"), index + 1 < text.count { index += 1 }
          element.append(text[index])
          index += 1
        }
      case UInt8(ascii: ","):
        take()
        element = []
        wasQuoted = false
      case UInt8(ascii: " ") where wasQuoted: break
      default: element.append(byte)
      }
      index += 1
    }
    take()
    return elements
  }

  private static func trimmed(_ text: [UInt8]) -> [UInt8] {
    let front = text.drop { $0 == UInt8(ascii: " ") }
    return Array(front.reversed().drop { $0 == UInt8(ascii: " ") }.reversed())
  }

  /// Whether a cell says that nothing is there, as databases and notebooks write it.
  static func isAbsent(_ text: UnsafeRawBufferPointer) -> Bool {
    switch text.count {
    case 0: return true
    case 2...5: return absences.contains { $0.matches(text) }
    default: return false
    }
  }

  private static let absences: [StaticString] = [
    "NULL", "\\N", "NaN", "nan", "None", "null", "NAN", "<NA>", "#N/A",
  ]

  static func write(_ list: [String], to text: inout [UInt8]) {
    for (offset, element) in list.enumerated() {
      if offset > 0 { text.append(UInt8(ascii: " ")) }
      if element.isEmpty { text += "\\e".utf8 }
      write(element, reserving: listSeparators + [UInt8(ascii: "{"), UInt8(ascii: "[")], to: &text)
    }
  }

  private static let listSeparators = [UInt8(ascii: " "), UInt8(ascii: "|"), UInt8(ascii: ","), UInt8(ascii: ";")]

  /// The cells of origin and visited regions with a comma behind each. A quoted empty cell is stated, but empty.
  static func writeCells(_ claim: RegionClaim, to row: inout [UInt8]) {
    var text: [UInt8] = []
    if let origin = claim.origin {
      write(origin, to: &text)
      writeCell(text, to: &row)
    }
    row.append(UInt8(ascii: ","))
    if let visited = claim.visited {
      text.removeAll()
      write(visited, to: &text)
      writeCell(text, to: &row)
    }
    row.append(UInt8(ascii: ","))
  }

  private static func writeCell(_ text: [UInt8], to row: inout [UInt8]) {
    let isPlain =
      !text.isEmpty && !text.contains { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") }
      && !text.withUnsafeBytes { isAbsent($0) }
    if isPlain {
      row += text
      return
    }
    row.append(UInt8(ascii: "\""))
    for byte in text {
      if byte == UInt8(ascii: "\"") { row.append(byte) }
      row.append(byte)
    }
    row.append(UInt8(ascii: "\""))
  }
}
