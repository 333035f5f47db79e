internal import ArgumentParser
internal import ExposureKeys
internal import FoundationEssentials
internal import GatewayServer
internal import GatewaySettings
internal import KeyPeers
internal import KeyReceiving
internal import KeyStorage
internal import SQLiteStorage

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

  /// Opens the store to write; another process that has it is named.
  func storage(_ plan: GatewayPlan) throws -> SQLiteStorage {
    try makeFolders(plan.stateFolder)
    return try SQLiteStorage(folder: plan.stateFolder, now: clock())
  }

  /// Opens the store for a word of the operator, also beside a gateway that runs, which heeds it at its next step.
  func amendableStorage(_ plan: GatewayPlan) throws -> SQLiteStorage {
    try makeFolders(plan.stateFolder)
    return try SQLiteStorage(folder: plan.stateFolder, now: clock(), amends: true)
  }

  /// Opens the store to read, also beside a process that writes.
  func reader(_ plan: GatewayPlan) throws -> SQLiteStorage {
    try SQLiteStorage(folder: plan.stateFolder, now: clock(), isReadOnly: true)
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
