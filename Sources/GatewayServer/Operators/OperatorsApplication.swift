package import Hummingbird
internal import HummingbirdCore
package import Logging
package import ProgramMetrics
internal import ServiceLifecycle

/// What listens at the operators' address. It has connections of its own: however many phones come, it can be asked.
package struct OperatorsApplication: Sendable {
  package let settings: OperatorsSettings
  private let responder: GatewayResponder
  private let logger: Logger

  private static let connections = 64

  /// - Parameters:
  ///   - store: what is published; `nil` where nothing is.
  ///   - readiness: for requests of phones.
  ///   - publishing: for pulling and publishing; `nil` where this process does neither.
  ///   - isServing: whether this process answers phones.
  ///   - desk: who knows how the gateway stands.
  package init(
    _ settings: OperatorsSettings, store: PublicationStore?, metrics: GatewayMetrics, readiness: Readiness,
    publishing: Readiness?, isServing: Bool, desk: StatusProvider, clock: ServerClock = .system,
    logger: Logger = Logger(label: "keyferry.operators")
  ) {
    self.settings = settings
    self.logger = logger
    var limits = ServerLimits()
    (limits.connections, limits.clientConnections) = (Self.connections, Self.connections)
    let watch = WatchAnswers(
      metrics: metrics, metricsPath: "metrics", readiness: readiness, publishing: publishing, isServing: isServing)
    responder = GatewayResponder(
      operators: OperatorsResponder(
        clients: settings.clients, watch: watch, store: store, desk: desk, logger: logger),
      limits: limits, metrics: metrics, clock: clock, logger: logger)
  }

  /// What Hummingbird runs.
  ///
  /// - Parameter onBound: is told the port when it listens; with port 0 the system has chosen it.
  package func application(
    onBound: @escaping @Sendable (Int) async -> Void = { _ in }
  ) -> Application<GatewayResponder> {
    Application(
      responder: responder, server: HTTPServerBuilder { [responder] _ in GatewayChannel(responder, tls: nil) },
      configuration: ApplicationConfiguration(
        address: .hostname(settings.host, port: settings.port), serverName: nil, backlog: 64,
        availableConnectionsDelegate: .maximum(Self.connections * 2, logger: logger)),
      onServerRunning: { [settings] channel in await onBound(channel.localAddress?.port ?? settings.port) },
      logger: logger.withoutRoutine)
  }
}

/// The operators' address while it listens.
package struct OperatorsService: Service {
  private let application: OperatorsApplication
  private let onBound: @Sendable (Int) async -> Void
  private let logger = Logger(label: "keyferry.operators")

  /// - Parameter onBound: is told the port when it listens.
  package init(_ application: OperatorsApplication, onBound: @escaping @Sendable (Int) async -> Void = { _ in }) {
    self.application = application
    self.onBound = onBound
  }

  /// - Throws: ``ServerFault`` where the address cannot be bound.
  package func run() async throws {
    let settings = application.settings
    try await ServerService.listening(at: settings.host, settings.port, for: "operators") {
      try await application.application { [onBound, logger] port in
        logger.info(
          "listening for operators", metadata: ["host": .string(settings.host), "port": .stringConvertible(port)])
        await onBound(port)
      }.run()
    }
  }
}

extension OperatorsService: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  package var description: String { "the address of operators" }
}
