package import NIOSSL

extension TLSConfiguration {
  /// TLS 1.3, and of TLS 1.2 the suites with an ephemeral key that authenticate what they encrypt (AEAD; RFC 9325, 4.2). CBC is not
  /// among them.
  package mutating func requireAuthenticatedEncryption() {
    minimumTLSVersion = .tlsv12
    cipherSuiteValues = [
      .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
      .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
      .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]
  }

  /// What we call others with.
  package static var client: TLSConfiguration {
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.requireAuthenticatedEncryption()
    return tls
  }
}
