internal import BundleTrust
package import Hummingbird
internal import HummingbirdCore
internal import HummingbirdTLS
package import Logging
internal import NIOSSL

/// The server as a value: what it serves and how, without a socket. ``GatewayServer`` runs it; tests ask it directly.
package struct GatewayApplication: Sendable {
  package let settings: ServerSettings
  package let limits: ServerLimits
  package let readiness: Readiness
  package let responder: GatewayResponder
  let logger: Logger

  /// - Parameters:
  ///   - store: what is published.
  ///   - layouts: those that apps are served.
  ///   - metricsPath: the address of the metrics without its slash; `nil` is none.
  /// - Throws: ``ServerFault`` where the settings cannot be put to use.
  package init(
    settings: ServerSettings, store: PublicationStore, layouts: LayoutCatalog,
    metrics: GatewayMetrics = GatewayMetrics(), metricsPath: String? = "metrics", readiness: Readiness = Readiness(),
    limits: ServerLimits = ServerLimits(), clock: ServerClock = .system,
    logger: Logger = Logger(label: "keyferry.server")
  ) throws {
    self.settings = settings
    self.limits = limits
    self.readiness = readiness
    self.logger = logger
    let signer = try settings.responseKeyPEM.map { pem in
      try ServerFault.at("response key") { try ResponseSigner(pem: pem.disclosed) }
    }
    let uploads = try settings.uploads.map { door in
      try UploadDoor(door, limits: limits, metrics: metrics, logger: logger)
    }
    responder = GatewayResponder(
      settings: settings, store: store, catalog: layouts, metrics: metrics, metricsPath: metricsPath,
      readiness: readiness, limits: limits, clock: clock, logger: logger,
      cache: BundleCache(byteLimit: limits.cacheBytes, metrics: metrics), signer: signer,
      limiter: settings.requestsPerMinute.map { RateLimiter(requestsPerMinute: $0) }, uploads: uploads)
  }

  /// What Hummingbird runs.
  ///
  /// - Parameter onBound: is told the port when the server listens; with port 0 the system has chosen it.
  /// - Throws: ``ServerFault`` where certificate or key cannot be used.
  package func application(
    onBound: @escaping @Sendable (Int) async -> Void = { _ in }
  ) throws -> Application<GatewayResponder> {
    Application(
      responder: responder, server: try server(),
      configuration: ApplicationConfiguration(
        address: .hostname(settings.host, port: settings.port), serverName: nil, backlog: 1024,
        availableConnectionsDelegate: .maximum(limits.connections, logger: logger)),
      onServerRunning: { channel in await onBound(channel.localAddress?.port ?? settings.port) }, logger: logger)
  }

  private func server() throws -> HTTPServerBuilder {
    let responder = responder
    let plain = HTTPServerBuilder { GatewayChannel(responder, answer: $0) }
    guard let certificates = settings.certificatePEM else { return plain }
    guard let key = settings.privateKeyPEM else {
      throw ServerFault(place: "TLS", reason: "a certificate is given, and no private key")
    }
    let chain = try ServerFault.at("TLS certificate") {
      try NIOSSLCertificate.fromPEMBytes(Array(certificates.utf8)).map { NIOSSLCertificateSource.certificate($0) }
    }
    let privateKey = try ServerFault.at("TLS private key") {
      try NIOSSLPrivateKey(bytes: Array(key.disclosed.utf8), format: .pem)
    }
    var tls = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(privateKey))
    tls.minimumTLSVersion = .tlsv12
    tls.applicationProtocols = ["http/1.1"]
    return try ServerFault.at("TLS") {
      // The context is made once here, so that a key that is not the certificate's is found before a socket opens.
      _ = try NIOSSLContext(configuration: tls)
      return try HTTPServerBuilder.tls(plain, tlsConfiguration: tls)
    }
  }
}

/// Why the server cannot begin.
package struct ServerFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// Which setting: `TLS certificate`, `response key`.
  package var place: String
  package var reason: String

  package init(place: String, reason: String) {
    self.place = place
    self.reason = reason
  }

  package var description: String { "\(place): \(reason)" }

  static func at<Value>(_ place: String, _ body: () throws -> Value) throws(ServerFault) -> Value {
    do { return try body() } catch { throw ServerFault(place: place, reason: "\(error)") }
  }
}
