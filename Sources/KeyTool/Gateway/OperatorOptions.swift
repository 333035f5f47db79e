internal import ArgumentParser
internal import FoundationEssentials
internal import KeyStorage

/// Who of the operators says so, and why. It stands in the store with what was done.
struct OperatorOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Why, for those who look later; it is public where the gateway has a log.", valueName: "text"))
  var reason: String?

  @Option(help: ArgumentHelp("Who says so, instead of the name that the system has for this user.", valueName: "name"))
  var by: String?

  var word: Attribution { Attribution(by: by ?? Self.userName, reason: reason) }

  private static var userName: String {
    let process = ProcessInfo.processInfo
    return process.environment["SUDO_USER"] ?? process.userName
  }
}
