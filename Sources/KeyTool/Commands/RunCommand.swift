internal import ArgumentParser
internal import ExposureKeys
internal import GatewayServer
internal import GatewaySettings
internal import KeyStorage
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", _superCommandName: KeyferryCommand.programName,
    abstract: "Run the gateway as a service: pull, publish and serve.",
    discussion: """
      Each source is pulled by its schedule, each series is published when a window is over, and what is published is
      served, until SIGTERM or SIGINT; then what has begun is ended first. SIGHUP reads the configuration again: sources,
      series and policies change at once, and where it has a fault, the old one stays. The address, the folders and the
      own origins take a restart. /health, /ready and /metrics tell how it goes.

      Examples:
        keyferry run --config /etc/keyferry/gateway.yaml --log-format json
        kill -HUP $(pidof keyferry)
      """)

  @OptionGroup var gateway: GatewayOptions

  @Option(
    help: ArgumentHelp("Listen here instead of the configured port; 0 lets the system choose.", valueName: "port"))
  var port: Int?

  @OptionGroup var log: LogOptions

  func run() async throws {
    // Before anything else: without a handler SIGHUP ends the process.
    let hangups = await UnixSignalsSequence(trapping: .sighup)
    let plan = try gateway.plan()
    log.bootstrap()
    let logger = Logger(label: "keyferry")
    let ledger = try gateway.ledger(plan, as: .owner)
    let serving = try plan.server.map { _ in
      try Serving(plan, of: gateway.config, clock: gateway.clock, port: port)
    }
    let metrics = serving?.metrics ?? GatewayMetrics()
    let current = CurrentPlan(plan)
    let receiving = try Receiving(plan, ledger: ledger, clock: gateway.clock) { _ in }

    var services: [any Service] = [
      PullService(plan: current, receiving: receiving, ledger: ledger, clock: gateway.clock, metrics: metrics),
      ReloadService(plan: current, config: gateway.config, clock: gateway.clock, hangups: hangups),
    ]
    if let folder = plan.publicationFolder {
      services.append(
        PublishService(
          plan: current, ledger: ledger, folder: folder, clock: gateway.clock, metrics: metrics,
          publications: serving?.publications))
    }
    if let serving { services.append(serving.server) }
    var configuration = ServiceGroupConfiguration(
      services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    // A supervisor kills after a minute and a half, as a rule.
    configuration.maximumGracefulShutdownDuration = .seconds(60)
    let group = ServiceGroup(configuration: configuration)
    do {
      try await group.run()
    } catch {
      await receiving.close()
      throw error
    }
    await receiving.close()
  }
}
