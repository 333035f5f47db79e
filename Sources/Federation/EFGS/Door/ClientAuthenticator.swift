package import ExposureKeys
package import GatewayServer
internal import HTTPTypes

/// Says which country a request comes from. It is asked for each request: a certificate may be revoked between two.
package protocol ClientAuthenticator: Sendable {
  /// - Throws: ``FederationRefusal`` if the sender may not ask.
  func client(_ caller: PartnerCaller, at now: Instant) throws(FederationRefusal) -> FederationClient
}

extension HTTPField.Name {
  static let clientDigest = HTTPField.Name("X-SSL-Client-SHA256")!
  static let clientName = HTTPField.Name("X-SSL-Client-DN")!
}
