internal import ExposureKeys

/// Names of files as text. For the system a name is any bytes; those that are no UTF-8 stand in the text as one character
/// each of U+10FF80...U+10FFFF, for private use, so that the file is found again under its text. What is shown spells them
/// as `\xE4`.
///
/// In messages a line feed of a name stands as U+10FF0A, so that nobody's name begins a line of ours.
package enum PathText {
  private static let escapes: ClosedRange<UInt32> = 0x10FF80...0x10FFFF
  static let lineFeed: Unicode.Scalar = "\u{10FF0A}"

  /// The text of a name. ``bytes(_:)`` gives back exactly these bytes.
  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    let bytes = Array(bytes)
    if let text = String(validating: bytes, as: UTF8.self), !text.unicodeScalars.contains(where: isEscape) {
      return text
    }
    var text = String.UnicodeScalarView()
    var rest = bytes[...]
    while let first = rest.first {
      let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
      if let one = String(validating: rest.prefix(length), as: UTF8.self)?.unicodeScalars, one.count == 1,
        let scalar = one.first, !isEscape(scalar)
      {
        text.append(scalar)
        rest = rest.dropFirst(length)
      } else {
        // Never below 0x80, since that alone is UTF-8.
        if let escape = Unicode.Scalar(0x10FF00 | UInt32(first)) { text.append(escape) }
        rest = rest.dropFirst()
      }
    }
    return String(text)
  }

  /// The name's bytes.
  package static func bytes(_ text: String) -> [UInt8] {
    guard text.unicodeScalars.contains(where: isEscape) else { return Array(text.utf8) }
    return text.unicodeScalars.flatMap { scalar in
      byte(scalar).map { [$0] } ?? Array(String(scalar).utf8)
    }
  }

  /// A name without its line feeds, for messages; ``bytes(_:)`` still gives the name.
  package static func onOneLine(_ text: String) -> String {
    guard text.utf8.contains(0x0A) else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == "\n" ? lineFeed : $0 }))
  }

  /// The name with its line feeds, for what is kept.
  package static func withLines(_ text: String) -> String {
    guard text.unicodeScalars.contains(lineFeed) else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == lineFeed ? "\n" : $0 }))
  }

  /// The name as the system's functions take it.
  package static func system(_ text: String) -> [CChar] { bytes(text).map { CChar(bitPattern: $0) } + [0] }

  /// The name as people are shown it, with what is no UTF-8 and what steers a terminal as `\xE4`.
  package static func shown(_ text: String) -> String {
    text.unicodeScalars.map { scalar in
      byte(scalar).map(spelled) ?? (scalar.value < 0x20 ? spelled(UInt8(scalar.value)) : String(scalar))
    }.joined()
  }

  /// `\xE4`.
  package static func spelled(_ byte: UInt8) -> String {
    "\\x" + Hexadecimal.encode([byte], digits: Hexadecimal.uppercase)
  }

  /// The byte that a character stands for; `nil` for one that stands for itself.
  package static func byte(_ scalar: Unicode.Scalar) -> UInt8? {
    isEscape(scalar) ? UInt8(truncatingIfNeeded: scalar.value) : nil
  }

  private static func isEscape(_ scalar: Unicode.Scalar) -> Bool {
    escapes.contains(scalar.value) || scalar == lineFeed
  }
}
