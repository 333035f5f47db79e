/// Text from a file, without the characters that steer a terminal, and cut off behind 200 characters.
package func printableText(_ text: String) -> String { printableText(text, limit: 200) }

/// Text from a file, without the characters that steer a terminal, and not longer than a line can take.
///
/// - Parameter limit: how many characters that is; more are cut off.
package func printableText(_ text: String, limit: Int) -> String {
  var result = ""
  for scalar in text.unicodeScalars.prefix(limit) {
    // Names that differ in a byte that is no UTF-8 stay different.
    if let byte = PathText.byte(scalar) {
      result += PathText.spelled(byte)
      continue
    }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
      result.append("?")
    default: result.unicodeScalars.append(scalar)
    }
  }
  return text.unicodeScalars.count > limit ? result + "..." : result
}
