internal import ExposureKeys
internal import FoundationEssentials
internal import KeyIntake

/// JSON for `--json`: indented, members sorted, so that two runs can be compared.
package enum JSONText {
  package static func render(_ value: some Encodable) throws -> String { try text(value, [.prettyPrinted]) }

  /// One line, for JSON lines.
  package static func line(_ value: some Encodable) throws -> String { try text(value, []) }

  private static func text(_ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = formatting.union([.sortedKeys, .withoutEscapingSlashes])
    encoder.keyEncodingStrategy = .convertToSnakeCase
    return harmless(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  /// What would steer a terminal stands in strings alone, where it can be escaped.
  private static func harmless(_ text: String) -> String {
    TerminalText.harmless(text) { scalar in
      "\\u" + Hexadecimal.encode(number: UInt64(scalar.value), width: 4)
    } spellByte: { byte in
      // A line feed is a character of its own in JSON; only what is no UTF-8 has none.
      byte < 0x80 ? "\\u00" + Hexadecimal.encode([byte]) : "\\" + PathText.spelled(byte)
    }
  }
}
