internal import Glibc
internal import Logging

/// What systemd's journal calls a level: 2 for critical to 7 for debug.
///
/// Source: sd-daemon(3) and systemd.exec(5), `JOURNAL_STREAM`.
struct JournalPriority {
  private let number: Int

  init(_ level: Logger.Level) {
    number =
      switch level {
      case .trace, .debug: 7
      case .info: 6
      case .notice: 5
      case .warning: 4
      case .error: 3
      case .critical: 2
      }
  }

  /// With what a line begins that the journal reads.
  var prefix: String { "<\(number)>" }

  /// Whether standard error is the journal that the environment names.
  ///
  /// - Parameter stream: `JOURNAL_STREAM`: the numbers of device and file, with a colon between them. A process that was
  ///   started in turn has the variable, too, and another standard error.
  static func isStandardError(_ stream: String) -> Bool {
    var status = stat()
    guard fstat(STDERR_FILENO, &status) == 0 else { return false }
    return stream == "\(status.st_dev):\(status.st_ino)"
  }
}
