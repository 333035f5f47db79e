internal import ArgumentParser
internal import ExposureKeys
internal import FileCommands
internal import FoundationEssentials
internal import GatewayDaemon
internal import GatewayServer
internal import GatewaySettings
internal import Glibc
internal import KeyStorage
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", _superCommandName: Program.name,
    abstract: "Run the gateway as a service: pull, publish and serve.",
    discussion: """
      Each source is pulled by its schedule, each series is published when a window is over, and what is published is \
      served, until SIGTERM or SIGINT; then what has begun is ended first. SIGHUP reads the configuration again: sources, \
      series and policies change at once, and where it has a fault, the old one stays. The address, the folders and the \
      own origins take a restart. It does not start, with exit code 2, where the store is new and series are published already: \
      keyferry store begin says what to do. /health, /ready and /metrics tell how it goes, and so does the page for operators, where \
      operators have an address of their own in the configuration.

      Examples:
        keyferry run --config /etc/keyferry/gateway.yaml --log-format json
        kill -HUP $(pidof keyferry)
      """)

  @OptionGroup var gateway: GatewayOptions

  @Option(
    help: ArgumentHelp("Listen here instead of the configured port; 0 lets the system choose.", valueName: "port"))
  var port: Int?

  @Option(
    help: ArgumentHelp(
      "Answer operators here instead of at the configured port; 0 lets the system choose.", valueName: "port"))
  var operatorsPort: Int?

  @OptionGroup var log: LogOptions

  @OptionGroup var loudness: LoudnessOptions

  func run() async throws {
    log.bootstrap()
    try Descriptors.require()
    // Before anything else: without a handler SIGHUP ends the process.
    let hangups = await UnixSignalsSequence(trapping: .sighup)
    let plan = try gateway.plan()
    let ledger = try await gateway.ledger(plan, as: .replica)
    let clock = try await gateway.gatewayClock(plan, ledger, isCompared: false)
    var serving: Serving?
    if plan.server != nil {
      serving = try await gateway.serving(plan, port: port, clock: clock, publishing: Readiness()) { ledger }
    }
    let daemon = Daemon(
      plan, ledger: ledger, serving: serving,
      operators: try gateway.operators(plan, port: operatorsPort, beside: serving, isRunning: true, clock: clock),
      version: Program.version, clock: clock, replica: plan.replica,
      manager: ServiceManager(environment: ProcessInfo.processInfo.environment), overdue: { _exit(2) }
    ) { [gateway] in try gateway.read() }
    do {
      try await daemon.run(hangups: hangups)
    } catch {
      await ledger.settle()
      throw error
    }
    await ledger.settle()
  }
}
