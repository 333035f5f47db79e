internal import ArgumentParser
internal import Synchronization

/// How much is said beside results, on standard error. What was lost, what goes wrong, warnings and verdicts are always said.
enum Loudness {
  case quiet, usual, verbose

  /// Set once, before a command begins.
  static let choice = Mutex(Loudness.usual)

  static var isQuiet: Bool { choice.withLock { $0 == .quiet } }
  static var isVerbose: Bool { choice.withLock { $0 == .verbose } }
}

/// `-q` and `-v`, of every command.
struct LoudnessOptions: ParsableArguments {
  @Flag(
    name: [.short, .long],
    help: "Say only what went wrong or was lost: no progress, no hints, no word about what was done.")
  var quiet = false

  @Flag(name: [.short, .long], help: "Say which files, rings, policies, keys and limits are used.")
  var verbose = false

  func validate() throws {
    guard !(quiet && verbose) else { throw ValidationError("--quiet and --verbose exclude each other") }
    Loudness.choice.withLock { $0 = quiet ? .quiet : verbose ? .verbose : .usual }
  }
}
