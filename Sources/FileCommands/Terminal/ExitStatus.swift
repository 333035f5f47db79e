package import ArgumentParser

/// What the program's exit code says. Also in `keyferry --help`.
package enum ExitStatus: Int32, Sendable, CaseIterable {
  /// Done.
  case done = 0
  /// Done, but keys were rejected, documents were left out, a verification or a check failed, or the key that was asked
  /// for is not known.
  case rejected = 1
  /// It could not be done.
  case failed = 2
  /// The command line is wrong.
  case usage = 64

  /// As the help and the reference page print it.
  package var meaning: String {
    switch self {
    case .done: "done"
    case .rejected:
      "done, but keys were rejected, documents were left out, a verification or a check failed, or a key is not known"
    case .failed: "it could not be done"
    case .usage: "the command line is wrong"
    }
  }
}

extension ParsableCommand {
  /// Ends the command with this exit code, its messages having been printed.
  package func exit(_ status: ExitStatus) throws {
    if status != .done { throw ExitCode(status.rawValue) }
  }
}
