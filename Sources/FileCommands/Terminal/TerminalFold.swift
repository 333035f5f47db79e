/// Lines that are wider than a terminal, broken between words. The terminal would break them within.
enum TerminalFold {
  /// Further lines of one stand two columns behind its first word. A word that is wider than the room stands alone.
  static func fold(_ text: String, width: Int) -> String {
    // Nearly every report keeps to the width by itself.
    guard text.utf8.count > width else { return text }
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.utf8.count > width && line.count > width ? folded(line, width) : String(line)
    }.joined(separator: "\n")
  }

  private static func folded(_ line: Substring, _ width: Int) -> String {
    let front = line.prefix { $0 == " " }
    let indent = String(repeating: " ", count: min(front.count + 2, width / 2))
    var lines: [String] = []
    var rest = line
    while rest.count > width {
      let words = rest.drop { $0 == " " }
      let least = rest.distance(from: rest.startIndex, to: words.startIndex)
      let limit = rest.index(rest.startIndex, offsetBy: width)
      // The last space at which what stands before it fits; of a word that is too wide the space behind it.
      let fitting = rest[..<rest.index(after: limit)].lastIndex(of: " ")
        .flatMap { rest.distance(from: rest.startIndex, to: $0) >= least + 1 ? $0 : nil }
      guard let place = fitting ?? words.firstIndex(of: " ") else { break }
      var head = rest[..<place]
      while head.last == " " { head = head.dropLast() }
      lines.append(String(head))
      rest = Substring(indent + rest[place...].drop { $0 == " " })
      if rest.count == indent.count { return lines.joined(separator: "\n") }
    }
    return (lines + [String(rest)]).joined(separator: "\n")
  }
}
