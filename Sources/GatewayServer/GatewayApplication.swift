internal import BundleTrust
package import Hummingbird
internal import HummingbirdCore
package import Logging
internal import NIOHTTP2
internal import NIOSSL

/// The server as a value: what it serves and how, without a socket. ``ServerService`` runs it; tests ask it directly.
package struct GatewayApplication: Sendable {
  package let settings: ServerSettings
  package let limits: ServerLimits
  package let readiness: Readiness
  package let responder: GatewayResponder
  let logger: Logger

  /// - Parameters:
  ///   - store: what is published.
  ///   - layouts: those that apps are served.
  ///   - uploads: where uploads go; needed where the settings have a door for them.
  ///   - metricsPath: the address of the metrics without its slash; `nil` is none.
  /// - Throws: ``ServerFault`` where the settings cannot be put to use.
  package init(
    settings: ServerSettings, store: PublicationStore, layouts: LayoutCatalog,
    uploads recorder: (any UploadRecorder)? = nil, metrics: GatewayMetrics = GatewayMetrics(),
    metricsPath: String? = "metrics", readiness: Readiness = Readiness(),
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
      guard let recorder else {
        throw ServerFault(place: "uploads", reason: "there is a door, and nobody who records what comes in")
      }
      return try UploadDoors(door, recorder: recorder, limits: limits, metrics: metrics, logger: logger)
    }
    let retrievals = RetrievalResponder(
      settings: settings, store: store, catalog: layouts, metrics: metrics, metricsPath: metricsPath,
      readiness: readiness, logger: logger, cache: BundleCache(byteLimit: limits.cacheBytes, metrics: metrics),
      signer: signer)
    responder = GatewayResponder(
      settings: settings, reader: RequestReader(limits: limits, readsHost: settings.publicURL == nil),
      retrievals: retrievals, metrics: metrics, clock: clock, logger: logger,
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

  /// The framework makes no response of its own: what it has for that is not used.
  private func server() throws -> HTTPServerBuilder {
    let (responder, context) = (responder, try tlsContext())
    return HTTPServerBuilder { _ in GatewayChannel(responder, tls: context) }
  }

  /// It is made once, so that a key that is not the certificate's is found before a socket opens.
  private func tlsContext() throws -> NIOSSLContext? {
    guard let certificates = settings.certificatePEM else { return nil }
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
    tls.applicationProtocols = NIOHTTP2SupportedALPNProtocols
    return try ServerFault.at("TLS") { try NIOSSLContext(configuration: tls) }
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
