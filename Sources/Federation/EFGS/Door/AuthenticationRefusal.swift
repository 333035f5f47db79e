internal import BundleTrust
internal import ProgramMetrics

/// Why somebody does not come in. The reason is for the client and for the log: it names what is wrong with the
/// certificate, which its holder may know.
enum AuthenticationRefusal: Error, Hashable {
  /// Nobody has shown a certificate.
  case noCertificate(String)
  /// Fields about a certificate came from an address that may not write them: somebody tries to be another one.
  case forged(String)
  /// What a proxy tells cannot be read, or can be read in two ways.
  case unreadable(String)
  /// The certificate names no country, or several.
  case country(String)
  /// The whitelist does not have it, or not for this.
  case whitelist(CertificateRefusal)

  /// Stable, for programs and for the metrics.
  var code: String {
    switch self {
    case .noCertificate: "client-certificate-missing"
    case .forged: "client-certificate-forged"
    case .unreadable: "client-certificate-unreadable"
    case .country: "client-without-country"
    case .whitelist(let refusal): "client-\(refusal.code.rawValue)"
    }
  }

  var reason: String {
    switch self {
    case .noCertificate(let reason), .forged(let reason), .unreadable(let reason), .country(let reason): reason
    case .whitelist(let refusal): "the client certificate is not taken: \(refusal)"
    }
  }

  /// As the gateways of the EU answer: 400 where a certificate names no country, otherwise 403. What can be read in two ways
  /// is a fault of the request, too.
  var refusal: FederationRefusal {
    switch self {
    case .noCertificate, .forged, .whitelist: FederationRefusal(.notAllowed, code, reason)
    case .unreadable, .country: FederationRefusal(.malformed, code, reason)
    }
  }
}
