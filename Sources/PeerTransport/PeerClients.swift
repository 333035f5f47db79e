internal import AsyncHTTPClient
internal import BundleTrust
package import KeyPeers
package import NIOCore
internal import NIOSSL
internal import NetworkFaults
internal import Synchronization

/// The connections to all peers: one HTTP client for each distinct way to make a connection, and one budget for all.
///
/// ``shutdown()`` must be called before the last reference goes.
package final class PeerClients: Sendable {
  /// The clients and whether they may still be made.
  private struct State {
    var clients: [ConnectionTraits: HTTPClient] = [:]
    var isShutDown = false
  }

  private let state = Mutex(State())
  private let budget = ConnectionBudget()
  private let eventLoopGroup: any EventLoopGroup
  private let version: String

  /// - Parameters:
  ///   - eventLoopGroup: where the connections live; `nil` is the process's shared group. It is not shut down here.
  ///   - version: the gateway's, for the `User-Agent`.
  package init(eventLoopGroup: (any EventLoopGroup)? = nil, version: String) {
    self.eventLoopGroup = eventLoopGroup ?? HTTPClient.defaultEventLoopGroup
    self.version = version
  }

  /// The way to one source. Nothing is connected yet.
  ///
  /// - Parameter onEvent: is called from any thread, and must not block.
  /// - Throws: ``TransportFault`` `bad-address` for a location that is no `http` or `https` address, or has a query;
  ///   `bad-header` for a header that cannot be sent; `tls` for certificates or a key that cannot be read, or that do
  ///   not belong together.
  package func transport(
    for source: SourceSettings, onEvent: @escaping @Sendable (TransportEvent) -> Void = { _ in }
  ) throws -> HTTPPeerTransport {
    try transport(for: source, limits: TimeLimits(source.transport), clock: .system, onEvent: onEvent)
  }

  package func transport(
    for source: SourceSettings, limits: TimeLimits, clock: TransportClock,
    onEvent: @escaping @Sendable (TransportEvent) -> Void = { _ in }
  ) throws -> HTTPPeerTransport {
    try HTTPPeerTransport(
      location: source.location, settings: source.transport, secrets: source.secrets,
      client: client(for: source.transport), budget: budget, limits: limits, clock: clock, version: version,
      onEvent: onEvent)
  }

  /// Throws what ``transport(for:)`` would; nothing is made.
  package static func check(_ source: SourceSettings) throws {
    _ = try ConnectionTraits(source.transport).configuration()
    _ = try HTTPPeerTransport.address(of: source.location, source.transport)
  }

  /// Starts the threads of the process's shared group, which ends the process if the system refuses one.
  package static func startEventLoops() { _ = HTTPClient.defaultEventLoopGroup }

  /// Closes all connections; requests under way end with `CancellationError` or a ``TransportFault``.
  package func shutdown() async {
    let clients = state.withLock { state in
      defer { state.clients = [:] }
      state.isShutDown = true
      return Array(state.clients.values)
    }
    for client in clients {
      // It fails only where it is shut down already, which no one else can do.
      try? await client.shutdown()
    }
  }

  private func client(for settings: TransportSettings) throws -> HTTPClient {
    let traits = ConnectionTraits(settings)
    let configuration = try traits.configuration()
    return try state.withLock { state in
      guard !state.isShutDown else { throw CancellationError() }
      if let client = state.clients[traits] { return client }
      let client = HTTPClient(eventLoopGroupProvider: .shared(eventLoopGroup), configuration: configuration)
      state.clients[traits] = client
      return client
    }
  }
}

/// What two sources must have in common to share connections.
private struct ConnectionTraits: Hashable {
  let rootsPEM: String?
  let clientCertificatePEM: String?
  let clientKeyPEM: Secret?
  let http2: Bool
  let connectSeconds: Int64
  let connectionsPerHost: Int

  init(_ settings: TransportSettings) {
    rootsPEM = settings.rootsPEM
    clientCertificatePEM = settings.clientCertificatePEM
    clientKeyPEM = settings.clientKeyPEM
    http2 = settings.http2
    connectSeconds = max(1, settings.connectSeconds)
    connectionsPerHost = max(1, settings.connectionsPerHost)
  }

  func configuration() throws -> HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: try tlsConfiguration(), redirectConfiguration: .disallow,
      timeout: .init(connect: .seconds(connectSeconds)), decompression: .disabled)
    configuration.httpVersion = http2 ? .automatic : .http1Only
    // The transport counts and reports retries.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsPerHost
    return configuration
  }

  private func tlsConfiguration() throws -> TLSConfiguration {
    var tls = TLSConfiguration.client
    if let rootsPEM {
      tls.trustRoots = .certificates(try certificates(rootsPEM, "the trusted roots"))
    }
    switch (clientCertificatePEM, clientKeyPEM) {
    case (nil, nil): break
    case (let chain?, let key?):
      tls.certificateChain = try certificates(chain, "the client certificate").map { .certificate($0) }
      do {
        tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(key.disclosed.utf8), format: .pem))
      } catch {
        throw fault("the key of the client certificate is not a PEM private key without a password")
      }
      do {
        _ = try NIOSSLContext(configuration: tls)
      } catch {
        throw fault("the client certificate and its key do not belong together")
      }
    case (_?, nil): throw fault("the client certificate has no key")
    case (nil, _?): throw fault("there is a client key without a certificate")
    }
    return tls
  }

  private func certificates(_ pem: String, _ name: String) throws -> [NIOSSLCertificate] {
    let certificates = try? NIOSSLCertificate.fromPEMBytes(Array(pem.utf8))
    guard let certificates, !certificates.isEmpty else { throw fault("\(name): no PEM certificate can be read") }
    return certificates
  }

  private func fault(_ reason: String) -> TransportFault {
    TransportFault(code: .tls, reason: reason, isTemporary: false)
  }
}
