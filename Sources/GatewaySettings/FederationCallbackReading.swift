internal import BundleTrust
internal import Federation
internal import GatewayServer
internal import PolicyFiles

/// What `federation` says about TLS, proxies and callbacks.
extension GatewayReader {
  /// - Parameter certificates: what `certificates-from` says.
  func federationDoor(
    _ section: Section, _ certificates: FederationListenerSettings.CertificateSource?
  ) -> FederationListenerSettings? {
    let listen = section.optional(
      "listen", "an address and a port: `0.0.0.0:8444`", default: "that of the server",
      "The federation's own address, apart from that of phones. With `certificates-from: tls` it must be stated.",
      self.listen)
    var (certificate, certificateFile): (String?, String?) = (nil, nil)
    if let setting = section.optional(
      "certificate", "a PEM file", default: "that of the server", "The certificate at `federation.listen`.")
    {
      certificate = pem(setting, holding: "CERTIFICATE")
      certificateFile = certificate == nil ? nil : resolvedPath(setting)
    }
    var (key, keyFile): (Secret?, String?) = (nil, nil)
    if let setting = section.secret("key", default: "that of the server", "Its private key.") {
      (key, keyFile) = (privateKey(setting), secretFiles[setting.place.path])
    }
    var fields = CertificateFields()
    section.section(
      "proxy-fields", "The header fields in which a proxy names the certificate that a client has shown."
    ) { section in
      section.value(
        "certificate", &fields.certificate, "a name", "The whole certificate as PEM, percent-encoded.", fieldName)
      section.value(
        "digest", &fields.digest, "a name", "SHA-256 of the certificate's DER, hexadecimal or base64.", fieldName)
      section.value("subject", &fields.subject, "a name", "The certificate's subject: `CN=a,O=b,C=DE`.", fieldName)
      if Set([fields.digest, fields.subject, fields.certificate].map { $0.lowercased() }).count < 3 {
        document.add(section.place(of: "digest"), "two of the three fields have the same name")
      }
    }
    if section.states("certificate") != section.states("key") {
      let missing = section.states("key") ? "certificate" : "key"
      document.add(section.place(of: missing), "missing: a certificate and its key go together")
    }
    guard let certificates else { return nil }
    if certificates == .tls, section.states("proxy-fields") {
      document.add(
        section.place(of: "proxy-fields"), "with certificates-from: tls nobody may write fields about a client")
    }
    var settings = FederationListenerSettings(
      certificates, listen: listen.map { FederationListenerSettings.Listen(host: $0.host, port: $0.port) })
    (settings.certificatePEM, settings.privateKeyPEM, settings.fields) = (certificate, key, fields)
    (settings.certificateFile, settings.privateKeyFile) = (certificateFile, keyFile)
    return settings
  }

  private func fieldName(_ setting: Setting) -> String? {
    guard let text = setting.text() else { return nil }
    let isName = text.unicodeScalars.allSatisfy { $0.isLetterOrDigit || $0 == "-" || $0 == "_" }
    guard (1...64).contains(text.utf8.count), isName else {
      return setting.fault("\(setting.shown), allowed the name of a header field: X-SSL-Client-DN")
    }
    return text
  }

  /// `callbacks`.
  func federationCallbacks(_ section: Section) -> FederationCallbackSettings? {
    let certificate = section.needed("certificate", "a PEM file", "The gateway's certificate for the calls.") {
      pem($0, holding: "CERTIFICATE")
    }
    let key = section.neededSecret("key", "Its private key.", privateKey)
    var settings = FederationCallbackSettings(certificatePEM: certificate ?? "", privateKeyPEM: key ?? Secret(""))
    addressBlocks(
      section, "private-networks", &settings.privateNetworks,
      "Networks that may be called although they are not on the open internet: for countries on a network of their own, and for tests."
    )
    section.flag(
      "authentication-certificates", &settings.takesAuthenticationCertificates,
      "Whether a country's certificate for `AUTHENTICATION` also counts for the server that is called, as at the European gateway."
    )
    return certificate == nil || key == nil ? nil : settings
  }
}
