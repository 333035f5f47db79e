/// Scans the small documents that S3 answers with: elements, text, the five entities and numeric ones. Whatever else XML
/// can be is refused: a document type, whose entities could be anything, before all.
///
/// No library of the system is asked: the answers are flat, and what is not parsed cannot be attacked.
package struct XMLElement: Hashable, Sendable {
  package var name: String
  package var text = ""
  package var children: [XMLElement] = []

  /// What the first element of this name says, that lies directly in this one.
  package subscript(name: String) -> String? { children.first { $0.name == name }?.text }
  package func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }

  package struct Malformed: Error, Hashable { package let reason: String }

  private static let mostDepth = 16

  /// The root of a document.
  package init(document: [UInt8]) throws(Malformed) {
    guard let text = String(validating: document, as: UTF8.self) else { throw Malformed(reason: "it is not UTF-8") }
    var scanner = Scanner(text: Array(text.unicodeScalars))
    try scanner.skipProlog()
    self = try scanner.element(depth: 0)
    scanner.skipSpace()
    guard scanner.isAtEnd else { throw Malformed(reason: "something stands behind the root") }
  }

  private init(name: String) { self.name = name }

  private struct Scanner {
    let text: [Unicode.Scalar]
    var place = 0

    var isAtEnd: Bool { place == text.count }

    func starts(_ word: String) -> Bool {
      var index = place
      for scalar in word.unicodeScalars {
        guard index < text.count, text[index] == scalar else { return false }
        index += 1
      }
      return true
    }

    mutating func skipSpace() {
      while place < text.count, [" ", "\t", "\r", "\n"].contains(text[place]) { place += 1 }
    }

    mutating func skip(past word: String) throws(Malformed) {
      while !isAtEnd {
        if starts(word) {
          place += word.unicodeScalars.count
          return
        }
        place += 1
      }
      throw Malformed(reason: "\(word) is missing")
    }

    mutating func skipProlog() throws(Malformed) {
      if starts("\u{FEFF}") { place += 1 }
      skipSpace()
      while starts("<?") || starts("<!--") {
        try skip(past: starts("<?") ? "?>" : "-->")
        skipSpace()
      }
    }

    mutating func name() throws(Malformed) -> String {
      var name = ""
      while place < text.count, text[place].isASCII,
        text[place].properties.isAlphabetic || ("0"..."9").contains(text[place])
          || [":", "-", "_", "."].contains(text[place])
      {
        name.unicodeScalars.append(text[place])
        place += 1
      }
      guard !name.isEmpty else { throw Malformed(reason: "an element has no name") }
      // Of a name with a prefix the second part counts.
      return name.split(separator: ":").last.map(String.init) ?? name
    }

    mutating func element(depth: Int) throws(Malformed) -> XMLElement {
      guard depth < XMLElement.mostDepth else { throw Malformed(reason: "elements lie too deep in each other") }
      guard starts("<"), !starts("<!"), !starts("</") else { throw Malformed(reason: "an element is missing") }
      place += 1
      var element = XMLElement(name: try name())
      // Attributes say nothing that is asked.
      while true {
        skipSpace()
        if starts("/>") {
          place += 2
          return element
        }
        if starts(">") {
          place += 1
          break
        }
        _ = try name()
        skipSpace()
        guard starts("=") else { throw Malformed(reason: "an attribute has no value") }
        place += 1
        skipSpace()
        guard starts("\"") || starts("'") else { throw Malformed(reason: "an attribute has no value") }
        let quote = String(text[place])
        place += 1
        try skip(past: quote)
      }
      while !isAtEnd {
        if starts("</") {
          place += 2
          guard try name() == element.name else { throw Malformed(reason: "\(element.name) does not end") }
          skipSpace()
          guard starts(">") else { throw Malformed(reason: "\(element.name) does not end") }
          place += 1
          return element
        } else if starts("<!--") {
          try skip(past: "-->")
        } else if starts("<") {
          element.children.append(try self.element(depth: depth + 1))
        } else if starts("&") {
          element.text.unicodeScalars.append(try entity())
        } else {
          element.text.unicodeScalars.append(text[place])
          place += 1
        }
      }
      throw Malformed(reason: "\(element.name) does not end")
    }

    mutating func entity() throws(Malformed) -> Unicode.Scalar {
      place += 1
      var name = ""
      while place < text.count, text[place] != ";", name.utf8.count < 10 {
        name.unicodeScalars.append(text[place])
        place += 1
      }
      guard starts(";") else { throw Malformed(reason: "an entity does not end") }
      place += 1
      switch name {
      case "amp": return "&"
      case "lt": return "<"
      case "gt": return ">"
      case "quot": return "\""
      case "apos": return "'"
      default:
        let digits = name.hasPrefix("#x") ? name.dropFirst(2) : name.hasPrefix("#") ? name.dropFirst() : ""
        guard let number = UInt32(digits, radix: name.hasPrefix("#x") ? 16 : 10), let scalar = Unicode.Scalar(number)
        else { throw Malformed(reason: "an entity nobody has defined") }
        return scalar
      }
    }
  }
}
