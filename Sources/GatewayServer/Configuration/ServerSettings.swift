package import BundleTrust

/// How the gateway serves its publications.
package struct ServerSettings: Hashable, Sendable {
  package var host: String
  package var port: Int
  /// What apps see as the beginning of every address: `https://keys.example.org`; `nil` is what a request says.
  package var publicURL: String?
  /// PEM; `nil` is plain HTTP.
  package var certificatePEM: String?
  package var privateKeyPEM: Secret?
  /// PEM of the P-256 key that signs the answers of the DP-3T layout.
  package var responseKeyPEM: Secret?
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
  /// The bearer token. Empty where uploads must have a verification certificate.
  package var token: Secret
  /// Whose verification certificates are accepted; `nil` is nobody's.
  package var certificates: CertificateSettings?
  /// Uploads a minute from one address; `nil` is without a limit.
  package var requestsPerMinute: Int?

  package init(token: Secret, certificates: CertificateSettings? = nil, requestsPerMinute: Int? = 30) {
    self.token = token
    self.certificates = certificates
    self.requestsPerMinute = requestsPerMinute
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
