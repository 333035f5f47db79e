package import BundleTrust
package import GatewayServer

/// How national back ends are called when there is a new download batch.
package struct FederationCallbackSettings: Hashable, Sendable {
  /// PEM of what the gateway shows to subscribers.
  package var certificatePEM: String
  package var privateKeyPEM: Secret
  /// Networks that a subscriber may be in although they are not the open internet's.
  package var privateNetworks: [AddressBlock] = []
  /// Whether a country's certificate for authentication counts for its callback server, too, as the EU's gateway had it.
  package var takesAuthenticationCertificates = false

  package init(certificatePEM: String, privateKeyPEM: Secret) {
    self.certificatePEM = certificatePEM
    self.privateKeyPEM = privateKeyPEM
  }
}
