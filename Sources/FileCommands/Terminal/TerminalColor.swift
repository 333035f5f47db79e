internal import Glibc
package import Synchronization

/// Colour on a terminal: the words that say how serious a line is, and verdicts. What is not shown on a terminal has none.
package enum TerminalColor {
  /// What `--color` takes.
  package enum Choice: String, CaseIterable {
    case auto, always, never
  }

  /// Set once, before a command begins.
  package static let choice = Mutex(Choice.auto)

  /// Takes `--color WHEN` or `--color=WHEN` out of the arguments, wherever it stands before `--`.
  ///
  /// - Returns: the faulty value where it is none of the three, or is missing.
  package static func take(from arguments: inout [String]) -> String? {
    let end = arguments.firstIndex(of: "--") ?? arguments.count
    guard let place = arguments[..<end].firstIndex(where: { $0 == "--color" || $0.hasPrefix("--color=") }) else {
      return nil
    }
    let word = arguments.remove(at: place)
    let value: String
    if word == "--color" {
      guard place < end - 1 else { return "" }
      value = arguments.remove(at: place)
    } else {
      value = String(word.dropFirst("--color=".count))
    }
    guard let stated = Choice(rawValue: value) else { return value }
    choice.withLock { $0 = stated }
    // The last one counts.
    return take(from: &arguments)
  }

  /// Whether what goes to this descriptor is coloured. NO_COLOR: https://no-color.org.
  package static func isOn(_ descriptor: Int32) -> Bool {
    switch choice.withLock({ $0 }) {
    case .always: true
    case .never: false
    case .auto: isatty(descriptor) == 1 && variable("NO_COLOR").isEmpty && !["", "dumb"].contains(variable("TERM"))
    }
  }

  private static func variable(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }

  private static let words: [(word: String, code: String)] = [
    ("error:", "1;31"), ("rejected:", "31"), ("warning:", "33"), ("note:", "36"), ("hint:", "36"),
  ]
  private static let verdicts: [(ending: String, code: String)] = [(": not verified", "1;31"), (": verified", "32")]

  /// The text with colour; without it, the same text. Only where a line begins with such a word, or ends with a verdict, so
  /// that names of files are left alone.
  package static func paint(_ text: String, for descriptor: Int32) -> String {
    guard isOn(descriptor) else { return text }
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { painted($0) }.joined(separator: "\n")
  }

  private static func painted(_ line: Substring) -> String {
    var front = line.prefix { $0 == " " }
    var rest = line.dropFirst(front.count)
    if front.isEmpty, rest.hasPrefix("keyferry: ") {
      front = rest.prefix("keyferry: ".count)
      rest = rest.dropFirst(front.count)
    }
    for (word, code) in words where rest.hasPrefix(word) {
      return "\(front)\u{1B}[\(code)m\(word)\u{1B}[0m\(rest.dropFirst(word.count))"
    }
    for (ending, code) in verdicts where line.hasSuffix(ending) {
      return "\(line.dropLast(ending.count - 2))\u{1B}[\(code)m\(ending.dropFirst(2))\u{1B}[0m"
    }
    return String(line)
  }
}
