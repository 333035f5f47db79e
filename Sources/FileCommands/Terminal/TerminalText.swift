internal import KeyIntake

/// Text that a terminal shows as it is, whoever wrote parts of it.
enum TerminalText {
  /// Characters that steer a terminal (C0, DEL and C1), or the direction of what stands around them, are spelled out as
  /// `\u{9B}`, and so are bytes of names that are no UTF-8, as `\xE4`. Lines and tabs stay. Numbers and letters of any
  /// language are left alone.
  ///
  /// - Parameters:
  ///   - spell: writes one of them, of which none has more than four hexadecimal digits.
  ///   - spellByte: writes a byte of a name.
  static func harmless(
    _ text: String, spell: (Unicode.Scalar) -> String = { "\\u{\(String($0.value, radix: 16, uppercase: true))}" },
    spellByte: (UInt8) -> String = PathText.spelled
  ) -> String {
    // Nearly every text has none.
    guard text.unicodeScalars.contains(where: { isHarmful($0) || PathText.byte($0) != nil }) else { return text }
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if let byte = PathText.byte(scalar) {
        shown.append(contentsOf: spellByte(byte).unicodeScalars)
      } else if isHarmful(scalar) {
        shown.append(contentsOf: spell(scalar).unicodeScalars)
      } else {
        shown.append(scalar)
      }
    }
    return String(shown)
  }

  static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x0A: false
    case 0x00...0x1F, 0x7F...0x9F: true
    // Arabic letter mark, marks, embeddings, overrides and isolates (Unicode, UAX #9), and separators of lines.
    case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
