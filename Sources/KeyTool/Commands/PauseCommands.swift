internal import ArgumentParser
internal import ExposureKeys
internal import GatewaySettings
internal import KeyPeers
internal import KeyPublishing
internal import KeyStorage

/// `pause` and `resume`: a source of the configuration, or an origin.
struct PauseTarget: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      "A source or destination of the configuration, or an origin such as DE; source:NAME and origin:NAME say which.",
      valueName: "subject"), completion: .pauseSubject)
  var subject: String

  @OptionGroup var gateway: GatewayOptions

  func resolved(_ plan: OperatorsPlan) throws -> Pause.Subject {
    if subject.hasPrefix("source:") { return try source(String(subject.dropFirst(7)), plan) }
    if subject.hasPrefix("origin:") { return .origin(subject.dropFirst(7).uppercased()) }
    if names(of: plan).contains(subject) { return .source(subject) }
    guard subject.count == 2 || subject.count == 3, subject.allSatisfy({ $0.isASCII && $0.isLetter }) else {
      return try source(subject, plan)
    }
    return .origin(subject.uppercased())
  }

  private func source(_ name: String, _ plan: OperatorsPlan) throws -> Pause.Subject {
    let names = names(of: plan)
    guard names.contains(name) else {
      let known = names.isEmpty ? "none" : names.joined(separator: ", ")
      throw ValidationError("the configuration has no source or destination called \(name); it has \(known)")
    }
    return .source(name)
  }

  /// What people call it: a destination is none of the sources, though no source has its name.
  func words(for subject: Pause.Subject, _ plan: OperatorsPlan) -> String {
    guard case .source(let name) = subject, plan.destinations.contains(where: { $0.name == name }) else {
      return subject.text
    }
    return "destination \(name)"
  }

  /// No destination has the name of a source.
  private func names(of plan: OperatorsPlan) -> [String] { plan.sourceNames + plan.destinations.map(\.name) }
}

struct PauseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause", _superCommandName: KeyferryCommand.programName,
    abstract: "Stop a source, a destination or an origin at once: it is not asked, and nothing of it is released.",
    discussion: """
      A paused source is not asked, and nothing is handed to a paused destination. Claims of a paused origin are still recorded, so that nothing is lost, but keys that \
      only paused sources and origins stand behind are not released. What was released stays as it is; keyferry recall \
      withdraws.

      Examples:
        keyferry pause germany --reason "signing key leaked"
        keyferry pause origin:DE
      """)

  @OptionGroup var target: PauseTarget

  @OptionGroup var said: OperatorOptions

  func run() async throws {
    let plan = try target.gateway.operatorsPlan()
    let subject = try target.resolved(plan)
    let ledger = try target.gateway.ledger(plan, as: .operator)
    let name = target.words(for: subject, plan)
    try await ledger.paused(subject, called: name, by: said.word, at: target.gateway.clock())
    Console.note("\(name) is paused")
  }
}

struct ResumeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume", _superCommandName: KeyferryCommand.programName,
    abstract: "Let a paused source, destination or origin go on.",
    discussion: """
      The exit code is 1 when it was not paused.

      Example:
        keyferry resume germany
      """)

  @OptionGroup var target: PauseTarget

  @OptionGroup var said: OperatorOptions

  func run() async throws {
    let plan = try target.gateway.operatorsPlan()
    let subject = try target.resolved(plan)
    let ledger = try target.gateway.ledger(plan, as: .operator)
    let name = target.words(for: subject, plan)
    let wasPaused = try await ledger.resumed(subject, called: name, by: said.word, at: target.gateway.clock())
    Console.note(wasPaused ? "\(name) goes on" : "\(name) was not paused")
    try exit(wasPaused ? .done : .rejected)
  }
}
