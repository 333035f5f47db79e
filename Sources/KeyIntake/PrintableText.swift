/// Text from a file, without the characters that steer a terminal, and cut off behind 200 characters.
package func printableText(_ text: String) -> String { printableText(text, limit: 200) }

/// Text from a file, without the characters that steer a terminal, and not longer than a line can take.
///
/// - Parameter limit: how many characters that is; more are cut off.
package func printableText(_ text: String, limit: Int) -> String {
  var result = ""
  for scalar in text.unicodeScalars.prefix(limit) {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
      result.append("?")
    default: result.unicodeScalars.append(scalar)
    }
  }
  return text.unicodeScalars.count > limit ? result + "..." : result
}
