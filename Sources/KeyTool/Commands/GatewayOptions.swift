internal import ArgumentParser
internal import ExposureKeys
internal import FoundationEssentials
internal import Gateway
internal import GatewaySettings

/// The gateway's configuration: shared by the commands of the gateway.
struct GatewayOptions: ParsableArguments {
  @Option(help: ArgumentHelp("What the gateway is to do.", valueName: "gateway.yaml"))
  var config: String

  /// The layouts that a configuration may name.
  static let layouts: Set<String> = ["apple", "corona-warn-app", "dp3t", "google", "immuni"]

  /// - Throws: `FileFault` or `GatewayFaults`.
  func read(at now: Instant = Clock.now) throws -> (plan: GatewayPlan, warnings: [GatewayFault]) {
    try GatewayFile.read(
      path: config, environment: ProcessInfo.processInfo.environment, now: now, layouts: Self.layouts)
  }
}
