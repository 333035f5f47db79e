internal import Glibc
internal import KeyFormats
internal import KeyIntake

/// Results go to standard output; everything else goes to standard error, one line each, with the program's name.
enum Console {
  static func result(_ text: String) throws {
    let shown = TerminalColor.paint(TerminalText.harmless(text), for: STDOUT_FILENO)
    try StandardOutput().write(Array(shown.utf8))
  }

  static func result(line: String) throws { try result(line + "\n") }

  /// `keyferry: …`
  static func note(_ text: String) {
    for line in TerminalText.harmless(text).split(separator: "\n", omittingEmptySubsequences: false) {
      error("keyferry: \(line)\n")
    }
  }

  /// `keyferry: hint: …`: what to run or change next.
  static func hint(_ text: String) { error("keyferry: hint: \(TerminalText.harmless(text))\n") }

  static var isErrorTerminal: Bool { isatty(STDERR_FILENO) == 1 }
  static var isOutputTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  /// The columns of the terminal, 100 where there is none.
  static var width: Int {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col >= 40 else { return 100 }
    return min(Int(size.ws_col), 140)
  }

  /// The columns of the terminal that standard output is; `nil` where it is none.
  static var outputWidth: Int? {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col >= 20 else { return nil }
    return Int(size.ws_col)
  }

  /// - Parameter text: of our own, which may steer the terminal.
  static func error(_ text: String) {
    // Nothing can be said about a standard error that does not take anything.
    let text = TerminalColor.paint(text, for: STDERR_FILENO)
    _ = Array(text.utf8).withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
