package import BundleTrust

/// How it becomes known which country asks at the door of a federation gateway.
package struct FederationListenerSettings: Hashable, Sendable {
  /// Who has seen the client's certificate, and its proof that it has the key.
  package enum CertificateSource: String, CaseIterable, Hashable, Sendable {
    /// Keyferry ends TLS, at an address of its own: phones are never asked for a certificate.
    case tls
    /// A proxy of ours ends TLS and writes what it has seen into fields of the request.
    case proxy
  }

  package struct Listen: Hashable, Sendable {
    package var host: String
    package var port: Int

    package init(host: String, port: Int) {
      self.host = host
      self.port = port
    }
  }

  package var certificates: CertificateSource
  /// The federation's own address; needed where the certificates come from TLS.
  package var listen: Listen?
  /// PEM of the certificate there; `nil` is the server's.
  package var certificatePEM: String?
  package var privateKeyPEM: Secret?
  /// The files that both were read from, which are read again when they change; `nil` is not looked at.
  package var certificateFile: String?
  package var privateKeyFile: String?
  package var fields = CertificateFields()
  /// The file of the whitelist, which is read again when it changes; `nil` is not looked at.
  package var trustFile: String?

  package init(_ certificates: CertificateSource, listen: Listen? = nil) {
    self.certificates = certificates
    self.listen = listen
  }
}

/// The fields in which a proxy tells what certificate it has seen: either the certificate as a whole, or its digest and its
/// subject, or all of these. The names are those of the EU Federation Gateway Service, but for the whole certificate, which
/// it does not know.
package struct CertificateFields: Hashable, Sendable {
  /// SHA-256 over the DER: 64 hexadecimal digits, or base64 of the 32 bytes.
  package var digest = "X-SSL-Client-SHA256"
  /// The subject's distinguished name.
  package var subject = "X-SSL-Client-DN"
  /// The certificate as PEM, percent-encoded: what nginx calls `$ssl_client_escaped_cert`.
  package var certificate = "X-SSL-Client-Cert"

  package init() {}

  package var all: [String] { [digest, subject, certificate] }
}
