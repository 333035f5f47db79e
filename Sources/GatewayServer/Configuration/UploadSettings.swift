package import BundleTrust

/// The doors for uploads, for a region that has no server of its own.
package struct UploadSettings: Hashable, Sendable {
  /// What claims, metrics and operators call them.
  package var name = UploadSettings.usualName
  /// What stands before the address of each: `/va`, or nothing.
  package var path = ""
  /// Those of ``UploadEndpoints/names`` that are opened; `nil` is all for which something is stated that lets in.
  package var protocols: Set<String>?
  /// A bearer token for everybody. Empty where there is none.
  package var token: Secret
  /// Bearer tokens of single clients, by what the operator calls them.
  package var clients: [String: Secret] = [:]
  /// Whose verification certificates are accepted.
  package var certificates: [CertificateSettings]
  /// Who says whether a code is good; `nil` is nobody.
  package var codes: CodeServiceSettings?
  /// Whose tokens DP-3T's apps bring; `nil` closes their doors.
  package var dp3t: DP3TUploadSettings?
  /// What revision tokens are sealed with; `nil` issues none.
  package var revisionKey: Secret?
  /// Members of a publish request that are passed over.
  package var ignoredMembers: Set<String> = []
  /// Seconds after which a request is answered, whatever was in it.
  package var answerSeconds: Double
  /// Uploads a minute from one client; `nil` is without a limit.
  package var requestsPerMinute: Int?

  /// The name where there is one entrance alone.
  package static let usualName = "uploads"

  package init(
    token: Secret, certificates: CertificateSettings? = nil, requestsPerMinute: Int? = 30, answerSeconds: Double = 1
  ) {
    self.token = token
    self.certificates = certificates.map { [$0] } ?? []
    self.requestsPerMinute = requestsPerMinute
    self.answerSeconds = answerSeconds
  }
}

/// A verification server whose certificates vouch for uploads: JWTs, ES256, as Google's key server takes them.
package struct CertificateSettings: Hashable, Sendable {
  /// What the claims `iss` and `aud` must be.
  package var issuer: String
  package var audience: String
  /// The public keys, PEM, by the `kid` of a certificate's header.
  package var keys: [String: String]
  /// The same as a JWK set (RFC 7517); they come on top.
  package var keySet: String?
  /// Where such a set is fetched.
  package var keySetAddress: String?
  /// The certificates by which TLS is trusted there, PEM; `nil` is the system's.
  package var rootsPEM: String?
  /// Seconds after which a set is fetched again.
  package var refreshSeconds: Int64 = 300
  /// What `healthAuthorityID` of a request must be, or its `appPackageName`; `nil` is anything.
  package var healthAuthorityID: String?

  package init(issuer: String, audience: String, keys: [String: String] = [:], healthAuthorityID: String? = nil) {
    self.issuer = issuer
    self.audience = audience
    self.keys = keys
    self.healthAuthorityID = healthAuthorityID
  }
}

/// A service that says whether a code is good: COVIDWISE's apps send a PIN, and no certificate.
package struct CodeServiceSettings: Hashable, Sendable {
  package var address: String
  /// What opens the service; `nil` is nothing.
  package var token: Secret?
  /// The certificates by which its TLS is trusted, PEM; `nil` is the system's.
  package var rootsPEM: String?
  /// The member of a publish request that holds the code.
  package var member = "pinToken"
  /// Seconds to wait for an answer.
  package var timeoutSeconds: Int64 = 1
  /// Calls a minute, all clients together.
  package var callsPerMinute = 600

  package init(address: String) { self.address = address }
}

/// What lets DP-3T's apps upload.
package struct DP3TUploadSettings: Hashable, Sendable {
  /// The public keys, PEM, of whom signs their tokens.
  package var keys: [String]
  /// The key, PEM, that signs the token for the next day's key.
  package var nextDayKey: Secret
  /// Seconds for which a token may be valid at most.
  package var validitySeconds: Int64 = 3600

  package init(keys: [String], nextDayKey: Secret) {
    self.keys = keys
    self.nextDayKey = nextDayKey
  }
}

/// For which regions, and at which series' addresses, the doors take keys.
package struct UploadScope: Hashable, Sendable {
  /// In any case.
  package var series: Set<String>
  /// The doors' own region.
  package var home: String
  /// The regions that its keys may be for.
  package var regions: Set<String>

  package init(series: [String], home: String, regions: [String]) {
    self.series = Set(series.map { $0.lowercased() })
    self.home = home.uppercased()
    self.regions = Set(regions.map { $0.uppercased() })
  }

  func takes(series name: String) -> Bool { series.contains(name.lowercased()) }
}

/// What stands behind the doors of one ``UploadSettings``.
package struct UploadEntrance: Sendable {
  package var recorder: any UploadRecorder
  package var scope: UploadScope

  package init(_ recorder: any UploadRecorder, for scope: UploadScope) {
    (self.recorder, self.scope) = (recorder, scope)
  }
}
