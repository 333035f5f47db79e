internal import ArgumentParser
internal import FileCommands
internal import FoundationEssentials
internal import GatewayDaemon
internal import GatewaySettings
internal import KeyStorage
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", _superCommandName: Program.name,
    abstract: "Serve what is published to apps, and do nothing else.",
    discussion: """
      For machines that have only the publication folder. It sees at once what a publisher writes into the folder, and \
      needs no store, unless the configuration has a door for uploads or a federation: what comes in is recorded in the store \
      of the gateway that publishes, beside whatever else runs. keyferry run pulls, publishes and serves.

      Examples:
        keyferry serve --config gateway.yaml
        keyferry serve --port 8081 --log-format json
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
    let plan = try gateway.plan()
    let clock = try await gateway.servingClock(plan)
    let serving = try await gateway.serving(plan, port: port, clock: clock) { try await storeOfUploads(plan) }
    let operators = try gateway.operators(
      plan, port: operatorsPort, beside: serving, isRunning: false, clock: clock)
    var services: [any Service] = [serving.server]
    if let operators { services.append(operators.service) }
    if let probe = serving.probe { services.append(probe) }
    services.append(
      FaultWatch([serving.readiness], writtenTo: plan.stateFolder, by: .serve, metrics: serving.metrics))
    if let watch = serving.watch { services.append(watch) }
    if let watch = serving.certificateWatch { services.append(watch) }
    if let copying = CopyService(PublicationPlace(plan), for: serving, plan: { plan }) { services.append(copying) }
    services.append(serving.leaving)
    // Services end in this order, backwards: the end is told before anything is waited for.
    if let manager = ServiceManager(environment: ProcessInfo.processInfo.environment) {
      services.append(NotifyService(manager, after: [serving.listening, operators?.listening].compactMap(\.self)))
    }
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "keyferry")))
    try await group.run()
  }

  /// A store that nobody publishes from would swallow what it is given, so it is not made here.
  private func storeOfUploads(_ plan: GatewayPlan) async throws -> Ledger {
    do {
      _ = try await gateway.ledger(plan, as: .reader)
    } catch let fault as StorageFault where fault.code == .notFound {
      if let loss = try await Stores.loss(at: plan.store, beside: PublishedSeries(of: plan), now: gateway.clock()) {
        throw loss.fault
      }
      throw ValidationError(
        "\(gateway.config) has a door for uploads, and there is no store in \(plan.stateFolder); "
          + "use keyferry run, or run keyferry pull once before this")
    }
    return try await gateway.ledger(plan, as: .operator)
  }
}
