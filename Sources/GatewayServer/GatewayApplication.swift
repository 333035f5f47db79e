internal import BundleTrust
internal import ExposureKeys
internal import Glibc
package import Hummingbird
internal import HummingbirdCore
package import Logging
package import ProgramMetrics

/// The server as a value: what it serves and how, without a socket. ``ServerService`` runs it; tests ask it directly.
package struct GatewayApplication: Sendable {
  package let settings: ServerSettings
  package let limits: ServerLimits
  /// For requests.
  package let readiness: Readiness
  package let responder: GatewayResponder
  let logger: Logger
  /// What is shown at each address, and can be replaced.
  package let certificates: ServedCertificates
  /// Of the federation's own address; `nil` where it has none.
  private let federation: GatewayResponder?

  /// - Parameters:
  ///   - store: what is published.
  ///   - layouts: those that apps are served.
  ///   - uploads: where uploads go, one for each of the settings' `uploads`, in their order.
  ///   - partners: the protocols that other gateways speak here.
  ///   - readiness: for requests.
  ///   - publishing: for pulling and publishing; `nil` where this process does neither.
  ///   - caller: the way to other servers; needed where the doors ask one.
  ///   - limits: `nil` is those of the settings.
  ///   - metricsPath: the address of the metrics without its slash; `nil` is none.
  ///   - answersOperators: whether who watches over the gateway is answered here; not where there is an address for that.
  /// - Throws: ``ServerFault`` where the settings cannot be put to use.
  package init(
    settings: ServerSettings, store: PublicationStore, layouts: LayoutCatalog,
    uploads entrances: [UploadEntrance] = [], partners: [any PartnerEndpoint] = [],
    caller: (any WebCaller)? = nil,
    metrics: GatewayMetrics = GatewayMetrics(),
    metricsPath: String? = "metrics", answersOperators: Bool = true, readiness: Readiness = Readiness(),
    publishing: Readiness? = nil,
    limits stated: ServerLimits? = nil, clock: ServerClock = .system,
    logger: Logger = Logger(label: "keyferry.server")
  ) throws {
    self.settings = settings
    let limits = stated ?? settings.limits
    self.limits = limits
    self.readiness = readiness
    self.logger = logger
    let signer = try Self.signer(settings)
    let tls = try Self.tls(settings)
    guard settings.uploads.isEmpty || settings.uploads.count == entrances.count else {
      throw ServerFault(place: "uploads", reason: "there is a door, and nobody who records what comes in")
    }
    let uploads = UploadEndpoints(
      try zip(settings.uploads, entrances).map { settings, entrance in
        let trust = try UploadTrust(settings, scope: entrance.scope, caller: caller, logger: logger)
        return UploadEndpoints.Entrance(
          trust, recorder: entrance.recorder, limits: limits, metrics: metrics, logger: logger)
      })
    let retrievals = RetrievalResponder(
      settings: settings, store: store, catalog: layouts,
      watch: answersOperators
        ? WatchAnswers(
          metrics: metrics, metricsPath: metricsPath, readiness: readiness, publishing: publishing, isServing: true)
        : nil,
      logger: logger,
      cache: BundleCache(byteLimit: limits.cacheBytes, metrics: metrics),
      signer: signer)
    var responder = GatewayResponder(
      settings: settings,
      reader: RequestReader(limits: limits, readsHost: settings.publicURL == nil, proxies: settings.proxies),
      retrievals: retrievals, metrics: metrics, clock: clock, logger: logger,
      limiter: settings.requestsPerMinute.map { RateLimiter(requestsPerMinute: $0) }, uploads: uploads,
      partners: partners,
      connections: OpenConnections(
        most: min(limits.connections, Self.affordableConnections), mostOfClient: limits.clientConnections,
        metrics: metrics),
      proxied: ProxiedRequests(mostOfClient: limits.clientConnections))
    var (federation, federationTLS): (GatewayResponder?, HeldTLS?) = (nil, nil)
    if let door = settings.federationDoor {
      if door.listen != nil {
        var own = responder
        (own.role, responder.role) = (.federation, .apps)
        (federation, federationTLS) = (own, try Self.federationTLS(door, settings))
      }
    }
    self.responder = responder
    self.federation = federation
    certificates = ServedCertificates(server: tls, federation: federationTLS)
  }

  /// What Hummingbird runs.
  ///
  /// - Parameter onBound: is told the port when the server listens; with port 0 the system has chosen it.
  package func application(
    onBound: @escaping @Sendable (Int) async -> Void = { _ in }
  ) -> Application<GatewayResponder> {
    Application(
      responder: responder, server: server,
      configuration: ApplicationConfiguration(
        address: .hostname(settings.host, port: settings.port), serverName: nil, backlog: 1024,
        // Those that were told to go may be here for a moment.
        availableConnectionsDelegate: .maximum(
          responder.connections.most + Self.spareDescriptors / 2, logger: logger)),
      onServerRunning: { channel in await onBound(channel.localAddress?.port ?? settings.port) },
      logger: logger.withoutRoutine)
  }

  /// What Hummingbird runs at the federation's own address; `nil` where it has none.
  ///
  /// - Parameter onBound: is told the port when the server listens.
  package func federationApplication(
    onBound: @escaping @Sendable (Int) async -> Void = { _ in }
  ) -> Application<GatewayResponder>? {
    guard let federation, let door = settings.federationDoor, let listen = door.listen else { return nil }
    let asks = door.certificates == .tls
    return Application(
      responder: federation,
      server: HTTPServerBuilder { [certificates] _ in
        GatewayChannel(federation, tls: certificates.federation, asksForCertificate: asks)
      },
      configuration: ApplicationConfiguration(
        address: .hostname(listen.host, port: listen.port), serverName: nil, backlog: 256,
        availableConnectionsDelegate: .maximum(
          responder.connections.most + Self.spareDescriptors / 2, logger: logger)),
      onServerRunning: { channel in await onBound(channel.localAddress?.port ?? listen.port) },
      logger: logger.withoutRoutine)
  }

  /// Files that the process opens beside its connections.
  private static let spareDescriptors = 256

  /// How many connections the limit of open files leaves room for.
  package static var affordableConnections: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
    return max(16, Int(clamping: limit.rlim_cur) - spareDescriptors)
  }

  /// The framework makes no response of its own: what it has for that is not used.
  private var server: HTTPServerBuilder {
    HTTPServerBuilder { [responder, certificates] _ in GatewayChannel(responder, tls: certificates.server) }
  }

  // MARK: What is made of settings

  /// Everything for which ``init(settings:store:layouts:uploads:metrics:metricsPath:readiness:limits:clock:logger:)`` would
  /// throw. It makes the same as that does, and keeps nothing.
  package static func faults(of settings: ServerSettings) -> [ServerFault] {
    [
      fault { _ = try signer(settings) }, fault { _ = try tls(settings) }, federationFault(of: settings),
    ].compactMap(\.self)
      + settings.uploads.compactMap { uploads in fault { _ = try UploadTrust(trying: uploads) } }
  }

  /// The same of the federation's door alone.
  package static func federationFault(of settings: ServerSettings) -> ServerFault? {
    settings.federationDoor.flatMap { door in fault { _ = try federationTLS(door, settings) } }
  }

  private static func fault(of make: () throws -> Void) -> ServerFault? {
    do {
      try make()
      return nil
    } catch {
      return error as? ServerFault ?? ServerFault(place: "server", reason: "\(error)")
    }
  }

  private static func signer(_ settings: ServerSettings) throws -> ResponseSigner? {
    guard let pem = settings.responseKeyPEM else { return nil }
    return try ServerFault.at("response key") { try ResponseSigner(pem: pem.disclosed) }
  }

  /// It is made once, so that a key that is not the certificate's is found before a socket opens.
  private static func tls(_ settings: ServerSettings) throws -> HeldTLS? {
    guard let certificates = settings.certificatePEM else { return nil }
    return try HeldTLS(certificates, settings.privateKeyPEM, asksForCertificate: false)
  }

  /// Where TLS says who asks there has to be TLS. Behind a proxy it may be left out.
  private static func federationTLS(_ door: FederationListenerSettings, _ settings: ServerSettings) throws -> HeldTLS? {
    guard door.listen != nil else {
      guard door.certificates == .proxy else {
        throw ServerFault(
          place: "federation.listen",
          reason: "where TLS says who asks, national back ends need an address apart from that of phones")
      }
      return nil
    }
    let isOwn = door.certificatePEM != nil
    guard let certificates = isOwn ? door.certificatePEM : settings.certificatePEM else {
      guard door.certificates == .proxy else {
        throw ServerFault(
          place: "federation.certificate", reason: "where TLS says who asks there has to be a certificate and its key")
      }
      return nil
    }
    return try HeldTLS(
      certificates, isOwn ? door.privateKeyPEM : settings.privateKeyPEM, asksForCertificate: door.certificates == .tls,
      places: isOwn ? ("federation.certificate", "federation.key") : HeldTLS.serverPlaces)
  }
}

/// Why the server cannot begin.
package struct ServerFault: ProgramFault, Hashable, Sendable {
  /// Which setting: `TLS certificate`, `response key`.
  package var place: String
  package var reason: String

  package init(place: String, reason: String) {
    self.place = place
    self.reason = reason
  }

  package var description: String { "\(place): \(reason)" }

  /// Below `server` in the configuration.
  package var setting: String {
    switch place {
    case let place where place.hasPrefix("federation"): place
    case "response key": "response-key"
    case "TLS private key": "key"
    case "TLS", "TLS certificate": "certificate"
    default: place
    }
  }

  static func at<Value>(_ place: String, _ body: () throws -> Value) throws(ServerFault) -> Value {
    do { return try body() } catch { throw ServerFault(place: place, reason: "\(error)") }
  }
}
