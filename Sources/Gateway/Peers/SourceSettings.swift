public import BundleTrust
public import KeyNormalization

/// What the operator says about a source: one entry under `sources` in `gateway.yaml`.
public struct SourceSettings: Sendable {
  /// What the operator calls it; letters, digits, hyphens and dots.
  public var name: String
  public var peer: PeerProtocol
  /// The address to which the peer's paths are relative, or a folder's path.
  public var location: String
  /// What else the protocol needs: `country`, `index`, `series`, …, as the protocol's file says.
  public var options: [String: String]
  /// Who may sign its bundles; `nil` where the operator or the peer's TLS identity vouches for what it sends.
  public var trust: TrustRing?
  public var reading: Policy
  /// The origin of keys that name none.
  public var origin: String?
  /// It passes on others' keys and loses their origin.
  public var isRelay: Bool
  /// The origins it may speak for; `nil` is any.
  public var allowedOrigins: Set<String>?
  public var transport: TransportSettings
  /// Seconds between pulls.
  public var interval: Int64
  /// A document may be this large, in bytes.
  public var documentByteLimit: Int

  public init(
    name: String, peer: PeerProtocol, location: String, options: [String: String] = [:], trust: TrustRing? = nil,
    reading: Policy, origin: String? = nil, isRelay: Bool = false, allowedOrigins: Set<String>? = nil,
    transport: TransportSettings = TransportSettings(), interval: Int64 = 3600, documentByteLimit: Int = 256 << 20
  ) {
    self.name = name
    self.peer = peer
    self.location = location
    self.options = options
    self.trust = trust
    self.reading = reading
    self.origin = origin
    self.isRelay = isRelay
    self.allowedOrigins = allowedOrigins
    self.transport = transport
    self.interval = interval
    self.documentByteLimit = documentByteLimit
  }
}

/// The protocols that sources speak; ``PeerCatalog`` makes their machines.
public enum PeerProtocol: String, Hashable, Sendable, CaseIterable {
  case index
  case coronaWarnApp = "corona-warn-app"
  case dp3t
  case immuni
  case efgs
  case sampleApp = "sample-app"
  case files
}

/// How a peer is reached. Secrets are read from files or the environment when the configuration is read.
public struct TransportSettings: Hashable, Sendable {
  /// Sent with every request to the configured host, and to no other: authorization, tokens.
  public var headers: [PeerRequest.Header] = []
  /// PEM of the certificates to trust instead of the system's; `nil` is the system's.
  public var rootsPEM: String?
  /// PEM of our certificate chain and key for peers that ask for it.
  public var clientCertificatePEM: String?
  public var clientKeyPEM: String?
  /// Hosts besides the location's that a redirect or an absolute link may lead to.
  public var allowedHosts: Set<String> = []
  public var http2 = true
  /// Seconds until a connection must stand, and until a body must make progress.
  public var connectSeconds: Int64 = 10
  public var idleSeconds: Int64 = 30
  /// Seconds for one response as a whole.
  public var totalSeconds: Int64 = 600
  /// How often a failed request is tried again.
  public var retries = 4
  /// Connections to one host at a time.
  public var connectionsPerHost = 4

  public init() {}
}

extension SourceSettings {
  /// The host that vouches for what it sends by its TLS identity, where no signature is checked.
  var vouchingHost: String? {
    guard peer == .efgs, trust == nil else { return nil }
    return location.split(separator: "/").dropFirst().first.map(String.init)
  }
}
