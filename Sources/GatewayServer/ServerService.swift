internal import Glibc
internal import Hummingbird
internal import Logging
internal import NIOCore
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
      let settings = application.settings
      let own = { @Sendable in
        try await Self.listening(at: settings.host, settings.port) { try await server.run() }
      }
      guard let federation else { return try await own() }
      // Both, or none: where one cannot listen, the other ends, too.
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await own() }
        group.addTask {
          let listen = settings.federationDoor?.listen
          try await Self.listening(at: listen?.host ?? "", listen?.port ?? 0, for: "federation") {
            try await federation.run()
          }
        }
        defer { group.cancelAll() }
        for try await _ in group { group.cancelAll() }
      }
    } onGracefulShutdown: {
      leave()
      // Who takes a response slowly would hold up the end for as long as he likes.
      Task { [application] in
        let connections = application.responder.connections
        for _ in 0..<Self.patience {
          try await Task.sleep(for: .seconds(1))
          connections.dropIdle()
        }
        let count = connections.dropAll()
        guard count > 0 else { return }
        application.logger.notice(
          "connections were closed whose clients held up the end", metadata: ["connections": .stringConvertible(count)])
      }
    }
  }

  /// Seconds for responses that have begun when the sockets close.
  private static let patience = 30

  /// The server ends soon: it says so where readiness is asked for, and to each client behind the response that it gives.
  package func leave() {
    application.readiness.hold(.shutdown, because: "the server shuts down")
    application.responder.connections.beginLeaving()
  }
}

extension ServerService {
  /// Names the address where the system does not let it be had.
  static func listening(
    at host: String, _ port: Int, for place: String = "server", _ body: () async throws -> Void
  ) async throws {
    do {
      try await body()
    } catch let error as IOError {
      let address = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
      let reason =
        switch error.errnoCode {
        case EADDRINUSE: "another program listens at \(address); stop it, or set another port"
        case EADDRNOTAVAIL: "this machine has no address \(host), where \(address) is set; set one that it has"
        case EACCES:
          "the system does not permit to listen at \(address); set a port from 1024 on, or grant CAP_NET_BIND_SERVICE"
        case let number:
          "cannot listen at \(address): \(String(cString: strerror(number)).lowercased()); set another address"
        }
      throw ServerFault(place: "\(place).listen", reason: reason)
    }
  }
}

extension ServerService: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  package var description: String { "the server" }
}
