internal import ArgumentParser
package import Synchronization

/// How much is said beside results, on standard error. What was lost, what goes wrong, warnings and verdicts are always said.
package enum Loudness {
  case quiet, usual, verbose

  /// Set once, before a command begins.
  package static let choice = Mutex(Loudness.usual)

  package static var isQuiet: Bool { choice.withLock { $0 == .quiet } }
  package static var isVerbose: Bool { choice.withLock { $0 == .verbose } }
}

/// `-q` and `-v`, of every command.
package struct LoudnessOptions: ParsableArguments {
  @Flag(
    name: [.short, .long],
    help: "Say only what went wrong or was lost: no progress, no hints, no word about what was done.")
  package var quiet = false

  @Flag(name: [.short, .long], help: "Say which files, rings, policies, keys and limits are used.")
  package var verbose = false

  package func validate() throws {
    guard !(quiet && verbose) else { throw ValidationError("--quiet and --verbose exclude each other") }
    Loudness.choice.withLock { $0 = quiet ? .quiet : verbose ? .verbose : .usual }
  }

  package init() {}
}
