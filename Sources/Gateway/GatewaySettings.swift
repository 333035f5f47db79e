/// Everything the operator says: `gateway.yaml`, read and checked as a whole.
public struct GatewayPlan: Sendable {
  /// The folder of the store and of what is being fetched.
  public var stateFolder: String
  public var sources: [SourceSettings]
  public var series: [SeriesSettings]
  /// Where bundles are published; `nil` where the gateway only receives.
  public var publicationFolder: String?
  /// The gateway's own origins: their keys are recognised when they come back.
  public var ownOrigins: Set<String>
  public var retention: Retention
  /// `nil` where the gateway does not serve.
  public var server: ServerSettings?

  public init(
    stateFolder: String, sources: [SourceSettings] = [], series: [SeriesSettings] = [],
    publicationFolder: String? = nil, ownOrigins: Set<String> = [], retention: Retention = Retention(),
    server: ServerSettings? = nil
  ) {
    self.stateFolder = stateFolder
    self.sources = sources
    self.series = series
    self.publicationFolder = publicationFolder
    self.ownOrigins = ownOrigins
    self.retention = retention
    self.server = server
  }
}

/// How long things are kept.
public struct Retention: Hashable, Sendable {
  /// Days after their expiry that keys are kept, 1...60.
  public var keyDays: Int64 = 14
  /// Days that received bytes are kept as evidence, 0...3650.
  public var evidenceDays: Int64 = 14
  /// Days that the bytes of refused documents are kept, 0...3650.
  public var quarantineDays: Int64 = 14

  public init() {}
}

/// How the gateway serves its publications.
public struct ServerSettings: Hashable, Sendable {
  public var host: String
  public var port: Int
  /// What apps see as the beginning of every address: `https://keys.example.org`; `nil` is what a request says.
  public var publicURL: String?
  /// PEM; `nil` is plain HTTP.
  public var certificatePEM: String?
  public var privateKeyPEM: String?
  /// PEM of the P-256 key that signs the answers of the DP-3T layout.
  public var responseKeyPEM: String?
  /// Layouts by name; `nil` is all.
  public var layouts: Set<String>?
  /// The series for an app that asks for none: the first, where `nil`.
  public var defaultSeries: String?
  /// The series of the merged keys for travellers, in the roaming map.
  public var travelSeries: String?
  /// Country codes to the series of each, for the roaming map.
  public var roaming: [String: String]
  /// The JSON of the exposure configuration to serve; `nil` is the default.
  public var exposureConfiguration: String?
  /// Requests a minute from one address; `nil` is without a limit.
  public var requestsPerMinute: Int?
  /// The upload door; `nil` is closed.
  public var uploads: UploadSettings?

  public init(host: String = "127.0.0.1", port: Int = 8080) {
    self.host = host
    self.port = port
    layouts = nil
    roaming = [:]
  }
}

/// The upload door for a region that has no server of its own.
public struct UploadSettings: Hashable, Sendable {
  /// The folder in which uploads are put; a `files` source reads it.
  public var folder: String
  /// The bearer token. Empty where uploads must have a verification certificate.
  public var token: String
  /// Whose verification certificates are accepted; `nil` is nobody's.
  public var certificates: CertificateSettings?

  public init(folder: String, token: String, certificates: CertificateSettings? = nil) {
    self.folder = folder
    self.token = token
    self.certificates = certificates
  }
}

/// The verification server whose certificates vouch for uploads: JWTs, ES256, as Google's key server takes them.
public struct CertificateSettings: Hashable, Sendable {
  /// What the claims `iss` and `aud` must be.
  public var issuer: String
  public var audience: String
  /// The public keys, PEM, by the `kid` of a certificate's header.
  public var keys: [String: String]
  /// What `healthAuthorityID` of a request must be; `nil` is anything.
  public var healthAuthorityID: String?

  public init(issuer: String, audience: String, keys: [String: String], healthAuthorityID: String? = nil) {
    self.issuer = issuer
    self.audience = audience
    self.keys = keys
    self.healthAuthorityID = healthAuthorityID
  }
}
