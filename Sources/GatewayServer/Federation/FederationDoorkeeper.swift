package import ExposureKeys
package import HTTPTypes
package import KeyIntake

/// What a request shows of who sends it, before anybody has looked him up.
package struct FederationCaller: Sendable {
  package var fields: HTTPFields
  /// Whether the connection is that of a proxy which the settings name.
  package var isThroughProxy: Bool
  /// The certificate that the client has shown, DER, where this program ends TLS; `nil` where it has shown none.
  package var certificate: [UInt8]?
  /// Of the connection, for the log.
  package var address: String?

  package init(fields: HTTPFields, isThroughProxy: Bool, certificate: [UInt8]? = nil, address: String? = nil) {
    self.fields = fields
    self.isThroughProxy = isThroughProxy
    self.certificate = certificate
    self.address = address
  }
}

/// Says which country a request comes from. It is asked for each request: a certificate may be revoked between two.
package protocol FederationDoorkeeper: Sendable {
  /// - Throws: ``FederationRefusal`` where nobody who may ask sent it.
  func client(_ caller: FederationCaller, at now: Instant) throws(FederationRefusal) -> FederationClient
}

extension HTTPField.Name {
  static let clientDigest = HTTPField.Name("X-SSL-Client-SHA256")!
  static let clientName = HTTPField.Name("X-SSL-Client-DN")!
}
