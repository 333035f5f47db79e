internal import ArgumentParser
internal import ExposureKeys
internal import GatewaySettings
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", _superCommandName: KeyferryCommand.programName,
    abstract: "Show what the gateway's store knows about each source.",
    discussion: """
      For each source: its state, its cursor, the last success and the lag, keys by outcome, and what is in quarantine.
      It works beside a gateway that runs. The exit code is 1 when a source is failing or has
      a quarantine, or the clock is in doubt.

      Examples:
        keyferry status --config gateway.yaml
        keyferry status --json
      """)

  @OptionGroup var gateway: GatewayOptions

  @Flag(help: "Print the report as JSON (schemas/status.schema.json).")
  var json = false

  func run() async throws {
    let plan = try gateway.plan()
    let ledger = try gateway.ledger(plan, as: .reader)
    let now = gateway.clock()
    let report = try await ledger.read { state in
      var report = try StatusReport(state, settings: plan.sources, uploads: plan.uploads, now: now)
      report.mirrors = try plan.mirrors.map {
        .init(name: $0.name, source: $0.source, archives: try $0.listedArchives(in: state))
      }
      return report
    }
    if json {
      try Console.result(line: try JSONText.render(report))
    } else {
      for line in report.lines { try Console.result(line: line) }
    }
    var judge = ClockJudge(try await ledger.read { try $0.clockRecord() }, bounds: plan.clock)
    let doubt = gateway.now == nil ? judge.look(.system).doubt : nil
    if let doubt { Console.note(doubt.reason) }
    let isWrong = report.sources.contains { !$0.quarantine.isEmpty || $0.record.lastFault != nil } || doubt != nil
    try exit(isWrong ? .rejected : .done)
  }
}
