internal import ArgumentParser
internal import GatewayDaemon
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", _superCommandName: KeyferryCommand.programName,
    abstract: "Serve what is published to apps, and do nothing else.",
    discussion: """
      For machines that have only the publication folder. It needs no store, and sees at once what a publisher writes
      into the folder. keyferry run pulls, publishes and serves.

      Examples:
        keyferry serve --config gateway.yaml
        keyferry serve --port 8081 --log-format json
      """)

  @OptionGroup var gateway: GatewayOptions

  @Option(
    help: ArgumentHelp("Listen here instead of the configured port; 0 lets the system choose.", valueName: "port"))
  var port: Int?

  @OptionGroup var log: LogOptions

  func run() async throws {
    let plan = try gateway.plan()
    log.bootstrap()
    let serving = try gateway.serving(plan, port: port)
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [serving.server], gracefulShutdownSignals: [.sigterm, .sigint],
        logger: Logger(label: "keyferry")))
    try await group.run()
  }
}
