internal import BundleTrust
internal import Federation
internal import GatewayServer
internal import PolicyFiles

/// What `federation` says about TLS, proxies and callbacks.
extension GatewayReader {
  /// - Parameter certificates: what `certificates-from` says.
  func federationDoor(
    _ section: Section, _ certificates: FederationDoorSettings.CertificateSource?
  ) -> FederationDoorSettings? {
    let listen = section.take("listen").flatMap(self.listen)
    var (certificate, certificateFile): (String?, String?) = (nil, nil)
    section.read("certificate") { setting in
      certificate = pem(setting, holding: "CERTIFICATE")
      certificateFile = certificate == nil ? nil : resolvedPath(setting)
    }
    var (key, keyFile): (Secret?, String?) = (nil, nil)
    section.read("key") { setting in (key, keyFile) = (privateKey(setting), secretFiles[setting.place.path]) }
    var fields = CertificateFields()
    section.section("proxy-fields") { section in
      set(&fields.digest, section.take("digest").flatMap(fieldName))
      set(&fields.subject, section.take("subject").flatMap(fieldName))
      set(&fields.certificate, section.take("certificate").flatMap(fieldName))
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
    var settings = FederationDoorSettings(
      certificates, listen: listen.map { FederationDoorSettings.Listen(host: $0.host, port: $0.port) })
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
    let certificate = section.need("certificate", "a PEM file").flatMap { pem($0, holding: "CERTIFICATE") }
    let key = section.need("key", Self.secretForm).flatMap(privateKey)
    let networks = section.take("private-networks").flatMap { $0.list() }?.compactMap(addressBlock) ?? []
    let takesAuthentication = section.take("authentication-certificates")?.choice("true", "false") ?? false
    guard let certificate, let key else { return nil }
    var settings = FederationCallbackSettings(certificatePEM: certificate, privateKeyPEM: key)
    settings.privateNetworks = networks
    settings.takesAuthenticationCertificates = takesAuthentication
    return settings
  }
}
