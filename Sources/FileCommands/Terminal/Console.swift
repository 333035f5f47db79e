package import ExposureKeys
internal import Glibc
internal import KeyFormats
package import KeyIntake
package import Logging
internal import Synchronization

/// Results go to standard output; everything else goes to standard error, one line each, with the program's name. A service
/// has each of these lines in its log, so that whoever reads the log has one form to read.
package enum Console {
  /// Where a service says what commands say on standard error. The lock owns it.
  private struct Service {
    var logger: Logger
    /// A message of a program's log is always the same; that of people's is what is said.
    var isForPrograms: Bool
    var isEnding = false
  }

  private static let service = Mutex<Service?>(nil)

  /// From now on, what is said is a line of this log.
  package static func speaks(by logger: Logger, isForPrograms: Bool) {
    service.withLock { $0 = Service(logger: logger, isForPrograms: isForPrograms) }
  }

  /// What is said from now on is why the service ends.
  package static func ends() { service.withLock { $0?.isEnding = true } }

  /// - Returns: whether there is a log that has the line now.
  private static func log(_ text: String) -> Bool {
    guard let service = service.withLock({ $0 }) else { return false }
    let (logger, level): (Logger, Logger.Level) = (service.logger, service.isEnding ? .error : .notice)
    if service.isForPrograms {
      logger.log(level: level, "said by the program", metadata: ["text": .string(text)])
    } else {
      let message = Logger.Message(stringLiteral: text)
      logger.log(level: level, message)
    }
    return true
  }

  /// What people read: on a terminal no line is wider than it is, where it can be broken.
  package static func result(_ text: String) throws {
    let harmless = TerminalText.harmless(text)
    try write(outputWidth.map { TerminalFold.fold(harmless, width: $0) } ?? harmless)
  }

  package static func result(line: String) throws { try result(line + "\n") }

  /// What programs read, or somebody copies: JSON, YAML, a key. Its lines are left as they are.
  package static func document(_ text: String) throws { try write(TerminalText.harmless(text)) }

  package static func document(line: String) throws { try document(line + "\n") }

  private static func write(_ text: String) throws {
    try StandardOutput().write(Array(TerminalColor.paint(text, for: STDOUT_FILENO).utf8))
  }

  /// `keyferry: …`
  package static func note(_ text: String) {
    for line in TerminalText.harmless(text).split(separator: "\n", omittingEmptySubsequences: false) {
      if !log(String(line)) { say("\(line)") }
    }
  }

  /// `keyferry: …`: what was done, which nobody needs to know that it was.
  package static func remark(_ text: String) {
    if !Loudness.isQuiet { note(text) }
  }

  /// `keyferry: …`: what is used for it, for who asked with `--verbose`.
  package static func detail(_ text: @autoclosure () -> String) {
    if Loudness.isVerbose { note(text()) }
  }

  /// For who asked with `--verbose`.
  package static func reading(_ document: SourceDocument) {
    detail("reading \(document.name): \(counted(document.source.byteCount, "byte"))")
  }

  /// `keyferry: hint: …`: what to run or change next.
  package static func hint(_ text: String) {
    guard !Loudness.isQuiet else { return }
    let text = "hint: \(TerminalText.harmless(text))"
    if !log(text) { say(text) }
  }

  /// Why nothing is done, and how it is asked for; of several lines.
  package static func refusal(_ text: String) {
    let text = TerminalText.harmless(text)
    if !log(text) { say(text) }
  }

  package static var isErrorTerminal: Bool { isatty(STDERR_FILENO) == 1 }
  package static var isOutputTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  /// The columns of the terminal, 100 where there is none.
  package static var width: Int {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col >= 20 else { return 100 }
    return min(max(Int(size.ws_col), 40), 140)
  }

  /// The columns of the terminal that standard output is; `nil` where it is none.
  package static var outputWidth: Int? { columns(of: STDOUT_FILENO) }

  /// The columns of the terminal that standard error is; `nil` where it is none.
  package static var errorWidth: Int? { columns(of: STDERR_FILENO) }

  private static func columns(of descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col >= 20 else { return nil }
    return Int(size.ws_col)
  }

  /// A question on the terminal, whose answer stands behind it.
  package static func ask(_ question: String) {
    error(errorWidth.map { TerminalFold.fold(question, width: $0) } ?? question)
  }

  /// `keyferry: …` on standard error: of one line, or of several whose first has the name. On a terminal no line is wider than it
  /// is, where it can be broken.
  private static func say(_ text: String) {
    let text = "keyferry: \(text)\n"
    error(errorWidth.map { TerminalFold.fold(text, width: $0) } ?? text)
  }

  /// - Parameter text: of our own, which may steer the terminal.
  package static func error(_ text: String) {
    // Nothing can be said about a standard error that does not take anything.
    let text = TerminalColor.paint(text, for: STDERR_FILENO)
    _ = Array(text.utf8).withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Says what went wrong, and what can be done.
  ///
  /// - Parameter clean: takes secrets out of a message.
  package static func report(_ fault: any ProgramFault, cleaning clean: (String) -> String = { $0 }) -> ExitStatus {
    ends()
    // The reader of our output has seen enough: `keyferry … | head` is not a failure worth a line.
    if let file = fault as? FileFault, file.number == EPIPE { return .failed }
    note(clean("\(fault)"))
    if let hint = fault.hint { self.hint(hint) }
    // What was read and is not what it should be is a verification that failed.
    return fault.isRefutation ? .rejected : .failed
  }
}
