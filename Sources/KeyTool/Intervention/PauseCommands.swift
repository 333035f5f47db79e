internal import ArgumentParser
internal import ExposureKeys
internal import Federation
internal import FileCommands
internal import GatewaySettings
internal import KeyPeers
internal import KeyPublishing
internal import KeyStorage

/// `pause` and `resume`: a source of the configuration, or an origin.
struct PauseTarget: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      "A source, a destination, or an origin such as DE. source:NAME and origin:NAME say which; an origin that nothing names needs it.",
      valueName: "subject"), completion: .pauseSubject)
  var subject: String

  @OptionGroup var gateway: GatewayOptions

  /// What is meant. An origin that nothing knows has to be said to be one: most likely it is a source's name, mistyped.
  func resolved(_ plan: OperatorsPlan, _ ledger: Ledger) async throws -> Pause.Subject {
    if subject.hasPrefix("origin:") { return .origin(subject.dropFirst(7).uppercased()) }
    let known = try await ledger.read { state in
      let paused = try state.pauses().map(\.subject)
      return (sources: try state.sources().map(\.name), paused: Set(paused))
    }
    let isMarked = subject.hasPrefix("source:")
    let name = isMarked ? String(subject.dropFirst(7)) : subject
    let names = names(of: plan)
    // A source that was taken out of the configuration still stands behind its claims.
    if names.contains(name) || known.sources.contains(name) || known.paused.contains(.source(name)) {
      return .source(name)
    }
    let list = names.isEmpty ? "none" : names.joined(separator: ", ")
    let reason =
      "the configuration has no source or destination called \(name), and the store knows none; it has \(list)"
    guard !isMarked, name.count == 2 || name.count == 3, name.allSatisfy({ $0.isASCII && $0.isLetter }) else {
      throw ValidationError(reason)
    }
    let origin = name.uppercased()
    if plan.namedCodes.contains(origin) || known.paused.contains(.origin(origin)) { return .origin(origin) }
    let arrived = try await ledger.read {
      try $0.arrivals(since: Instant(secondsSince1970: .min)).contains { $0.origin == origin }
    }
    guard arrived else {
      throw ValidationError(
        "\(reason). Nothing knows an origin \(origin) either; where it is meant all the same, write origin:\(origin)")
    }
    return .origin(origin)
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
    commandName: "pause", _superCommandName: Program.name,
    abstract: "Stop a source, a destination or an origin at once: it is not asked, and nothing of it is released.",
    discussion: """
      A paused source is not asked, and nothing is handed to a paused destination. Claims of a paused origin are still recorded, so that nothing is lost, but keys that \
      only paused sources and origins stand behind are not released. What was released stays as it is; keyferry recall \
      withdraws. A source that was taken out of the configuration is paused by its name as long as the store knows it.

      Examples:
        keyferry pause germany --reason "signing key leaked"
        keyferry pause origin:DE
      """)

  @OptionGroup var target: PauseTarget

  @OptionGroup var said: OperatorOptions

  @Flag(help: "Print what was done as JSON (schemas/pause.schema.json).")
  var json = false

  @OptionGroup var loudness: LoudnessOptions

  func run() async throws {
    let plan = try target.gateway.operatorsPlan()
    let ledger = try await target.gateway.ledger(plan, as: .operator)
    let subject = try await target.resolved(plan, ledger)
    let name = target.words(for: subject, plan)
    let (word, now) = (said.word, target.gateway.clock())
    let wasPaused = try await ledger.read { state in try state.pauses().contains { $0.subject == subject } }
    try await ledger.paused(subject, called: name, by: word, at: now)
    guard json else { return Console.remark("\(name) is paused") }
    let done = PauseDocument(subject: name, isPaused: true, isChanged: !wasPaused, word, at: now)
    try Console.document(line: try JSONText.render(done))
  }
}

struct ResumeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume", _superCommandName: Program.name,
    abstract: "Let a paused source, destination or origin go on.",
    discussion: """
      The exit code is 1 when it was not paused.

      Example:
        keyferry resume germany
      """)

  @OptionGroup var target: PauseTarget

  @OptionGroup var said: OperatorOptions

  @Flag(help: "Print what was done as JSON (schemas/pause.schema.json).")
  var json = false

  @OptionGroup var loudness: LoudnessOptions

  func run() async throws {
    let plan = try target.gateway.operatorsPlan()
    let ledger = try await target.gateway.ledger(plan, as: .operator)
    let subject = try await target.resolved(plan, ledger)
    let name = target.words(for: subject, plan)
    let (word, now) = (said.word, target.gateway.clock())
    let wasPaused = try await ledger.resumed(subject, called: name, by: word, at: now)
    if json {
      let done = PauseDocument(subject: name, isPaused: false, isChanged: wasPaused, word, at: now)
      try Console.document(line: try JSONText.render(done))
    } else {
      if wasPaused { Console.remark("\(name) goes on") } else { Console.note("\(name) was not paused") }
    }
    try exit(wasPaused ? .done : .rejected)
  }
}

/// What `--json` prints.
private struct PauseDocument: Encodable {
  let subject: String
  let isPaused: Bool
  /// Whether it was otherwise before.
  let isChanged: Bool
  let time: String
  let by: String?
  let reason: String?

  private enum CodingKeys: String, CodingKey {
    case reportVersion, subject, time, by, reason
    case isPaused = "paused"
    case isChanged = "changed"
  }

  init(subject: String, isPaused: Bool, isChanged: Bool, _ word: Attribution, at now: Instant) {
    (self.subject, self.isPaused, self.isChanged, time) = (subject, isPaused, isChanged, now.description)
    (by, reason) = (word.by, word.reason)
  }

  func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(1, forKey: .reportVersion)
    try members.encode(subject, forKey: .subject)
    try members.encode(isPaused, forKey: .isPaused)
    try members.encode(isChanged, forKey: .isChanged)
    try members.encode(time, forKey: .time)
    try members.encodeIfPresent(by, forKey: .by)
    try members.encodeIfPresent(reason, forKey: .reason)
  }
}
