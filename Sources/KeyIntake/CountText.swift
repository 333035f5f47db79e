// Counts for people.

/// `1,204 keys`, `1 key`.
package func counted(_ count: Int, _ noun: String, _ plural: String? = nil) -> String {
  "\(grouped(count)) \(count == 1 ? noun : plural ?? noun + "s")"
}

/// With commas between groups of three digits: `1,204`.
package func grouped(_ number: Int) -> String {
  var text = String(number.magnitude)
  var position = text.count - 3
  while position > 0 {
    text.insert(",", at: text.index(text.startIndex, offsetBy: position))
    position -= 3
  }
  return (number < 0 ? "-" : "") + text
}
