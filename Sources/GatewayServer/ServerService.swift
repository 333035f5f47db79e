internal import Hummingbird
internal import Logging
internal import ServiceLifecycle

/// The running server: a service that listens until it is told to shut down, and then answers what it has begun.
package struct ServerService: Service {
  private let application: GatewayApplication
  private let onBound: @Sendable (Int) async -> Void
  private let onFederationBound: @Sendable (Int) async -> Void

  /// - Parameters:
  ///   - onBound: is told the port when the server listens; with port 0 the system has chosen it.
  ///   - onFederationBound: the same, of the federation's own address.
  package init(
    _ application: GatewayApplication, onBound: @escaping @Sendable (Int) async -> Void = { _ in },
    onFederationBound: @escaping @Sendable (Int) async -> Void = { _ in }
  ) {
    self.application = application
    self.onBound = onBound
    self.onFederationBound = onFederationBound
  }

  /// Serves until the task is cancelled or a graceful shutdown begins.
  ///
  /// - Throws: ``ServerFault``, or what the system says where the address cannot be bound.
  package func run() async throws {
    let most = application.responder.connections.most
    if most < application.limits.connections {
      application.logger.warning(
        "fewer connections than configured fit into the limit of open files",
        metadata: [
          "connections": .stringConvertible(most), "configured": .stringConvertible(application.limits.connections),
        ])
    }
    let server = application.application { [application, onBound] port in
      application.logger.info(
        "listening",
        metadata: [
          "host": .string(application.settings.host), "port": .stringConvertible(port),
          "tls": .stringConvertible(application.settings.certificatePEM != nil),
        ])
      await onBound(port)
    }
    let federation = application.federationApplication { [application, onFederationBound] port in
      application.logger.info(
        "listening for national back ends",
        metadata: [
          "host": .string(application.settings.federationDoor?.listen?.host ?? ""), "port": .stringConvertible(port),
        ])
      await onFederationBound(port)
    }
    try await withGracefulShutdownHandler {
      guard let federation else { return try await server.run() }
      // Both, or none: where one cannot listen, the other ends, too.
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await server.run() }
        group.addTask { try await federation.run() }
        defer { group.cancelAll() }
        for try await _ in group { group.cancelAll() }
      }
    } onGracefulShutdown: { [application] in
      application.readiness.hold("shutdown", because: "the server shuts down")
    }
  }
}

extension ServerService: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  package var description: String { "the server" }
}
