internal import ArgumentParser
internal import ExposureKeys
internal import Gateway
internal import GatewayServer
internal import GatewaySettings
internal import Glibc
internal import KeyStorage
internal import SQLiteStorage

/// Which gateway a command is about.
struct GatewayOptions: ParsableArguments {
  @Option(
    name: [.short, .long],
    help: ArgumentHelp("The configuration of the gateway; keyferry check explains what is wrong with it.", valueName: "file")
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
  func plan() throws -> GatewayPlan {
    let (plan, warnings) = try GatewayConfiguration.read(config, now: clock())
    for warning in warnings { Console.note("\(config):\(warning)") }
    return plan
  }

  /// Opens the store to write; another process that has it is named.
  func storage(_ plan: GatewayPlan) throws -> SQLiteStorage {
    try SQLiteStorage(folder: plan.stateFolder, now: clock())
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
      path: path, environment: environment, now: now, layouts: LayoutCatalog.names,
      checkingOptions: PeerCatalog.faults(of:))
  }

  private static var environment: [String: String] {
    var variables: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
      let pair = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if pair.count == 2 { variables[String(pair[0])] = String(pair[1]) }
      entry += 1
    }
    return variables
  }
}
