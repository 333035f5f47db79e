/// Everything the operator says: `gateway.yaml`, read and checked as a whole.
package struct GatewayPlan: Sendable {
  /// The folder of the store and of what is being fetched.
  package var stateFolder: String
  package var sources: [SourceSettings]
  package var series: [SeriesSettings]
  /// Where bundles are published; `nil` where the gateway only receives.
  package var publicationFolder: String?
  /// The gateway's own origins: their keys are recognised when they come back.
  package var ownOrigins: Set<String>
  package var retention: Retention
  /// `nil` where the gateway does not serve.
  package var server: ServerSettings?

  package init(
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
package struct Retention: Hashable, Sendable {
  /// Days after their expiry that keys are kept, 1...60.
  package var keyDays: Int64 = 14
  /// Days that received bytes are kept as evidence, 0...3650.
  package var evidenceDays: Int64 = 14
  /// Days that the bytes of refused documents are kept, 0...3650.
  package var quarantineDays: Int64 = 14

  package init() {}
}

/// How the gateway serves its publications.
package struct ServerSettings: Hashable, Sendable {
  package var host: String
  package var port: Int
  /// What apps see as the beginning of every address: `https://keys.example.org`; `nil` is what a request says.
  package var publicURL: String?
  /// PEM; `nil` is plain HTTP.
  package var certificatePEM: String?
  package var privateKeyPEM: String?
  /// PEM of the P-256 key that signs the answers of the DP-3T layout.
  package var responseKeyPEM: String?
  /// Layouts by name; `nil` is all.
  package var layouts: Set<String>?
  /// The series for an app that asks for none: the first, where `nil`.
  package var defaultSeries: String?
  /// The series of the merged keys for travellers, in the roaming map.
  package var travelSeries: String?
  /// Country codes to the series of each, for the roaming map.
  package var roaming: [String: String]
  /// The JSON of the exposure configuration to serve; `nil` is the default.
  package var exposureConfiguration: String?
  /// Requests a minute from one address; `nil` is without a limit.
  package var requestsPerMinute: Int?
  /// The upload door; `nil` is closed.
  package var uploads: UploadSettings?

  package init(host: String = "127.0.0.1", port: Int = 8080) {
    self.host = host
    self.port = port
    layouts = nil
    roaming = [:]
  }
}

/// The upload door for a region that has no server of its own.
package struct UploadSettings: Hashable, Sendable {
  /// The folder in which uploads are put; a `files` source reads it.
  package var folder: String
  /// The bearer token. Empty where uploads must have a verification certificate.
  package var token: String
  /// Whose verification certificates are accepted; `nil` is nobody's.
  package var certificates: CertificateSettings?

  package init(folder: String, token: String, certificates: CertificateSettings? = nil) {
    self.folder = folder
    self.token = token
    self.certificates = certificates
  }
}

/// The verification server whose certificates vouch for uploads: JWTs, ES256, as Google's key server takes them.
package struct CertificateSettings: Hashable, Sendable {
  /// What the claims `iss` and `aud` must be.
  package var issuer: String
  package var audience: String
  /// The public keys, PEM, by the `kid` of a certificate's header.
  package var keys: [String: String]
  /// What `healthAuthorityID` of a request must be; `nil` is anything.
  package var healthAuthorityID: String?

  package init(issuer: String, audience: String, keys: [String: String], healthAuthorityID: String? = nil) {
    self.issuer = issuer
    self.audience = audience
    self.keys = keys
    self.healthAuthorityID = healthAuthorityID
  }
}
