/// The text with spaces behind it, or before it, up to a width; a longer one as it is.
package func pad(_ text: String, _ width: Int, right: Bool = false) -> String {
  let spaces = String(repeating: " ", count: max(0, width - text.count))
  return right ? spaces + text : text + spaces
}
