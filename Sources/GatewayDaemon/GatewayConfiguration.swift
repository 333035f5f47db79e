package import ExposureKeys
internal import GatewayServer
package import GatewaySettings
internal import KeyPeers

/// The configuration with everything that it is checked against.
package enum GatewayConfiguration {
  /// - Throws: `FileFault` or `GatewayFaults`.
  package static func read(
    _ path: String, environment: [String: String], now: Instant
  ) throws -> (plan: GatewayPlan, warnings: [GatewayFault]) {
    try GatewayFile.read(
      path: path, environment: environment, now: now,
      layouts: Set(LayoutCatalog.all.map(\.name)),
      checkingOptions: { source in
        PeerCatalog.faults(of: source).map { $0.hasPrefix("options.") ? String($0.dropFirst("options.".count)) : $0 }
      })
  }
}
