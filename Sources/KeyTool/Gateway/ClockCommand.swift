internal import ArgumentParser
internal import ExposureKeys
internal import FileCommands
internal import GatewaySettings
internal import KeyPublishing
internal import KeyStorage

struct ClockCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clock", _superCommandName: Program.name,
    abstract: "Show whether the gateway believes this machine's clock, or say that it is right.",
    discussion: """
      A clock that is far ahead would remove keys that are still wanted, and publish what is still held. So a step of more \
      than clock.back or clock.ahead is not believed at once: nothing is removed or unlisted, and pulling and publishing go \
      on by the time that has passed. The step is believed when the clock is right again, after a day when the clocks of \
      two peers of different operators agree with it (over TLS alone), or when an operator says so.

      The exit code is 1 while the clock is in doubt.

      Examples:
        keyferry clock --config gateway.yaml
        keyferry clock accept --reason "the machine was off for a week"
      """,
    subcommands: [Show.self, Accept.self], defaultSubcommand: Show.self)

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", _superCommandName: "keyferry clock",
      abstract: "Show the system's clock, what the gateway believes, and why.")

    @OptionGroup var gateway: GatewayOptions

    @Flag(help: "Print it as JSON (schemas/clock.schema.json).")
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let plan = try gateway.operatorsPlan()
      let ledger = try await gateway.ledger(plan, as: .reader)
      let system = ClockReading.system
      let shown = await plan.shownTimes
      let look = try await ledger.read { try $0.look(atClock: system, of: plan, shown) }
      let report = ClockReport(system: system.wall, gateway: look.now, doubt: look.doubt)
      if json {
        try Console.document(line: try JSONText.render(report))
      } else {
        for line in report.lines { try Console.result(line: line) }
      }
      try exit(look.doubt == nil ? .done : .rejected)
    }
  }

  struct Accept: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "accept", _superCommandName: "keyferry clock",
      abstract: "Say that this machine's clock is right now, although it stepped.",
      discussion: """
        Compare it with another clock first: what is removed afterwards does not come back. A gateway that runs heeds it \
        within seconds, another at its next start; a clock that steps again meanwhile is doubted again.
        """)

    @OptionGroup var gateway: GatewayOptions

    @OptionGroup var said: OperatorOptions

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let plan = try gateway.operatorsPlan()
      let ledger = try await gateway.ledger(plan, as: .operator)
      let system = ClockReading.system
      try await ledger.clockAccepted(ClockWord(system), by: said.word, at: system.wall)
      Console.remark("the clock is accepted: \(system.wall)")
    }
  }
}

extension OperatorsPlan {
  /// What the folder of this machine says of time; `nil` where nothing is published.
  var shownTimes: ShownTimes? {
    get async {
      guard let folder = publicationFolder else { return nil }
      return await ShownTimes(in: LocalFolder(folder), of: series.map(\.name))
    }
  }
}

extension StoredState {
  /// What a gateway that starts now would think of the system's clock.
  ///
  /// - Parameter shown: by what is published.
  func look(atClock system: ClockReading, of plan: OperatorsPlan, _ shown: ShownTimes?) throws -> ClockLook {
    var judge = ClockJudge(try clockRecord(of: plan.clockOwner), bounds: plan.clock)
    if let shown = try shown?.latest(beside: self) { judge.take(shownByFolder: shown) }
    let look = judge.look(system)
    guard let word = try clockWord(), judge.heed(word, at: system) else { return look }
    return judge.look(system)
  }
}

/// What `--json` prints.
struct ClockReport: Encodable {
  let reportVersion = 1
  let system: Instant
  let gateway: Instant
  let doubt: ClockDoubt?

  enum CodingKeys: String, CodingKey {
    case system, gateway, step, since, lasting, reason, reportVersion
    case isInDoubt = "in_doubt"
  }

  func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(reportVersion, forKey: .reportVersion)
    try members.encode(system.description, forKey: .system)
    try members.encode(gateway.description, forKey: .gateway)
    try members.encode(doubt != nil, forKey: .isInDoubt)
    try members.encodeIfPresent(doubt?.step, forKey: .step)
    try members.encodeIfPresent(doubt?.since.description, forKey: .since)
    try members.encodeIfPresent(doubt?.lasting, forKey: .lasting)
    try members.encodeIfPresent(doubt?.reason, forKey: .reason)
  }

  var lines: [String] {
    ["system   \(system)", "gateway  \(gateway)", doubt.map { "in doubt: \($0.reason)" } ?? "the clock is believed"]
  }
}
