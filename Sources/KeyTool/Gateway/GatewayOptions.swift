internal import ArgumentParser
internal import ExposureKeys
internal import FoundationEssentials
internal import GatewayServer
internal import GatewaySettings
internal import KeyPeers
internal import KeyReceiving
internal import KeyStorage

/// Which gateway a command is about.
struct GatewayOptions: ParsableArguments {
  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "The configuration of the gateway; keyferry check explains what is wrong with it.", valueName: "file")
  )
  var config = "gateway.yaml"

  @Option(help: ArgumentHelp("The clock, instead of the system's; for tests and for looking back.", valueName: "time"))
  var now: Instant?

  /// The clock of the command.
  var clock: @Sendable () -> Instant {
    guard let now else { return { Clock.now } }
    return { now }
  }

  /// Reads and checks the configuration.
  ///
  /// - Throws: `FileFault` or `GatewayFaults`.
  func read() throws -> (plan: GatewayPlan, warnings: [GatewayFault]) {
    try GatewayConfiguration.read(config, now: clock())
  }

  /// The same, with the warnings on standard error.
  func plan() throws -> GatewayPlan {
    let (plan, warnings) = try read()
    for warning in warnings { Console.note("\(warning)") }
    return plan
  }

  /// Opens the store of the gateway; another process that has it is named.
  func ledger(_ plan: GatewayPlan, as role: StoreRole) throws -> Ledger {
    try Stores.ledger(in: plan.stateFolder, as: role, now: clock())
  }
}

/// The configuration with everything that it is checked against.
enum GatewayConfiguration {
  static func read(_ path: String, now: Instant) throws -> (plan: GatewayPlan, warnings: [GatewayFault]) {
    try GatewayFile.read(
      path: path, environment: ProcessInfo.processInfo.environment, now: now,
      layouts: Set(LayoutCatalog.all.map(\.name)),
      checkingOptions: { source in
        PeerCatalog.faults(of: source).map { $0.hasPrefix("options.") ? String($0.dropFirst("options.".count)) : $0 }
      })
  }
}
