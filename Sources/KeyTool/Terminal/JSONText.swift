internal import FoundationEssentials
internal import KeyIntake

/// JSON for `--json`: indented, members sorted, so that two runs can be compared.
enum JSONText {
  static func render(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return harmless(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  /// One line, for JSON lines.
  static func line(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return harmless(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  /// What would steer a terminal stands in strings alone, where it can be escaped.
  private static func harmless(_ text: String) -> String {
    TerminalText.harmless(text) { scalar in
      let digits = String(scalar.value, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    } spellByte: { byte in
      // A line feed is a character of its own in JSON; only what is no UTF-8 has none.
      byte < 0x80 ? "\\u00" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16) : "\\" + PathText.spelled(byte)
    }
  }
}
