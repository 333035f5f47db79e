package import BundleTrust
package import KeyNormalization

/// What the operator says about a source: one entry under `sources` in `gateway.yaml`.
package struct SourceSettings: Sendable {
  /// What the operator calls it; letters, digits, hyphens and dots.
  package var name: String
  package var peer: PeerProtocol
  /// The address to which the peer's paths are relative, or a folder's path.
  package var location: String
  /// What else the protocol needs: `country`, `index`, `series`, …, as the protocol's file says.
  package var options: [String: String]
  /// The options that are secrets. A machine does not see them: it writes `{name}` into an address or a header of a
  /// ``PeerRequest``, and the transport puts the secret there when it asks.
  package var secrets: [String: Secret]
  /// Who has to stand behind what it sends.
  package var trust: Trust
  package var reading: Policy
  /// The origin of keys that name none.
  package var origin: String?
  /// It passes on others' keys and loses their origin.
  package var isRelay: Bool
  /// The origins whose keys a relay may carry; `nil` is any.
  package var carries: Set<String>?
  /// The origins it may speak for; `nil` is its own alone, or any where it has none.
  package var speaksFor: ReadingPolicy.SpokenOrigins?
  /// The regions that its keys may name; `nil` is any.
  package var regions: Set<String>?
  /// Regions and origins that the operator names anywhere: there are such.
  package var declaredRegions: Set<String> = []
  /// The gateway's own origins, whose uploads an audit answer tells of although the batch leaves their keys out.
  package var ownOrigins: Set<String> = []
  /// Inhabitants of its origin; `nil` if they are not stated.
  package var population: Int?
  /// Whether it is pulled, verified and told as any other, and nothing of it is published.
  package var isRehearsal = false
  /// Whether a mirror shows what its peer lists, so that the list is kept.
  package var isMirrored = false
  package var transport: TransportSettings
  /// Seconds between pulls.
  package var interval: Int64
  /// A document may be this large, in bytes.
  package var documentByteLimit: Int

  package init(
    name: String, peer: PeerProtocol, location: String, options: [String: String] = [:],
    secrets: [String: Secret] = [:], trust: Trust, reading: Policy, origin: String? = nil, isRelay: Bool = false,
    carries: Set<String>? = nil,
    speaksFor: ReadingPolicy.SpokenOrigins? = nil, regions: Set<String>? = nil,
    transport: TransportSettings = TransportSettings(), interval: Int64 = 3600, documentByteLimit: Int = 256 << 20
  ) {
    self.name = name
    self.peer = peer
    self.location = location
    self.options = options
    self.secrets = secrets
    self.trust = trust
    self.reading = reading
    self.origin = origin
    self.isRelay = isRelay
    self.carries = carries
    self.speaksFor = speaksFor
    self.regions = regions
    self.transport = transport
    self.interval = interval
    self.documentByteLimit = documentByteLimit
  }
}

/// How a peer is reached. Secrets are read from files or the environment when the configuration is read.
package struct TransportSettings: Hashable, Sendable {
  /// Sent with every request to the configured host, and to no other: authorization, tokens.
  package var headers: [Header] = []
  /// PEM of the certificates to trust instead of the system's; `nil` is the system's.
  package var rootsPEM: String?
  /// PEM of our certificate chain and key for peers that ask for it.
  package var clientCertificatePEM: String?
  package var clientKeyPEM: Secret?
  /// Hosts besides the location's that a redirect or an absolute link may lead to.
  package var allowedHosts: Set<String> = []
  package var http2 = true
  /// Seconds until a connection must stand, and until a body must make progress.
  package var connectSeconds: Int64 = 10
  package var idleSeconds: Int64 = 30
  /// Seconds for one response as a whole.
  package var totalSeconds: Int64 = 600
  /// How often a failed request is tried again.
  package var retries = 4
  /// Connections to one host at a time.
  package var connectionsPerHost = 4

  package init() {}

  package struct Header: Hashable, Sendable {
    package var name: String
    package var value: Secret

    package init(_ name: String, _ value: Secret) {
      self.name = name
      self.value = value
    }
  }
}

extension SourceSettings {
  /// As admission knows it.
  package var sender: Sender { Sender(name: name, isRelay: isRelay, carries: carries, origin: origin) }

  /// The host whose name TLS proves for what comes from the location; `nil` without TLS.
  package var host: String? {
    guard location.hasPrefix("https://") else { return nil }
    return location.split(separator: "/").dropFirst().first.map(String.init)
  }
}

extension SourceSettings {
  /// Whether it speaks for any origin that its keys name, because nobody has said for which.
  package var speaksForWhoeverIsNamed: Bool {
    speaksFor == nil && reading.reading.speaksFor == nil && origin == nil && !isRelay
  }

  /// The origins that it may speak for, sorted; `nil` is any. Its reading policy may allow fewer.
  package var spokenOrigins: [String]? {
    switch speaksFor {
    case .only(let origins): origins.sorted()
    case .any: nil
    case nil: isRelay ? nil : origin.map { [$0] }
    }
  }
}
