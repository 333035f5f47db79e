internal import BundleTrust
internal import ExposureKeys
internal import GatewayServer
internal import HTTPTypes
internal import KeyFormats

/// A certificate that a client has shown to whoever ended TLS.
struct PresentedCertificate: Hashable {
  /// SHA-256 over the DER: 64 lower-case hexadecimal digits, with every leading zero.
  let thumbprint: String
  /// The countries of the subject; exactly one is right.
  let countries: [String]

  init(thumbprint: String, countries: [String]) {
    self.thumbprint = thumbprint
    self.countries = countries
  }

  init(_ certificate: FederationCertificate) {
    // With none or several the certificate names no country.
    self.init(thumbprint: certificate.thumbprint, countries: certificate.country.map { [$0] } ?? [])
  }
}

extension CertificateFields {
  /// Whether a request has one of these fields, whoever wrote it.
  func stand(in fields: HTTPFields) -> Bool { all.contains { !values(of: $0, in: fields).isEmpty } }

  /// What a proxy tells of the certificate that it has seen; `nil` where it has seen none.
  ///
  /// - Throws: `AuthenticationRefusal` where it cannot be read, or where two things that it says do not agree.
  func certificate(in fields: HTTPFields) throws(AuthenticationRefusal) -> PresentedCertificate? {
    let whole = try one(certificate, in: fields)
    let digest = try one(self.digest, in: fields)
    let subject = try one(self.subject, in: fields)
    let shown = try digest.map { text throws(AuthenticationRefusal) in
      guard let digest = Self.digest(text) else {
        throw .unreadable("\(self.digest) is no SHA-256: 64 hexadecimal digits, or base64 of 32 bytes")
      }
      return digest
    }
    if let whole {
      guard let pem = PercentEncoding.decode(whole),
        let certificate = try? FederationCertificate(pem: Self.lines(of: pem))
      else { throw .unreadable("\(self.certificate) is no percent-encoded certificate in PEM") }
      guard shown == nil || shown == certificate.thumbprint else {
        throw .unreadable("\(self.digest) is not that of \(self.certificate)")
      }
      if let subject {
        let stated = try countries(of: subject)
        guard stated.count == certificate.countryCount,
          certificate.country == nil || stated.first == certificate.country
        else { throw .unreadable("\(self.subject) has another country than \(self.certificate)") }
      }
      return PresentedCertificate(certificate)
    }
    switch (shown, subject) {
    case (nil, nil): return nil
    case (let shown?, let subject?):
      return PresentedCertificate(thumbprint: shown, countries: try countries(of: subject))
    case (_?, nil): throw .noCertificate("\(self.digest) came without \(self.subject)")
    case (nil, _?): throw .noCertificate("\(self.subject) came without \(self.digest)")
    }
  }

  private func countries(of subject: String) throws(AuthenticationRefusal) -> [String] {
    let name = subject.utf8.contains(UInt8(ascii: "%")) ? PercentEncoding.decode(subject) : subject
    guard let countries = name.flatMap(DistinguishedName.countries) else {
      throw .unreadable("\(self.subject) is no distinguished name: CN=gateway,O=Ministry,C=DE")
    }
    return countries
  }

  /// The one value of a field; `nil` where it is missing, or empty as a proxy leaves it that has seen no certificate.
  private func one(_ name: String, in fields: HTTPFields) throws(AuthenticationRefusal) -> String? {
    let values = values(of: name, in: fields)
    guard values.count <= 1 else { throw .unreadable("\(name) stands \(values.count) times, allowed is once") }
    return values.first.flatMap { $0.isEmpty ? nil : $0 }
  }

  private func values(of name: String, in fields: HTTPFields) -> [String] {
    HTTPField.Name(name).map { fields[values: $0] } ?? []
  }

  /// Lower-case hexadecimal of the digest; `nil` for what is none.
  static func digest(_ stated: String) -> String? {
    guard stated.utf8.count <= 256,
      let text = stated.utf8.contains(UInt8(ascii: "%")) ? PercentEncoding.decode(stated) : stated
    else { return nil }
    let bytes = (text.utf8.count == 64 ? Hexadecimal.decode(text.utf8) : nil) ?? Base64.decode(text.utf8)
    return bytes.flatMap { $0.count == 32 ? Hexadecimal.encode($0) : nil }
  }

  /// With the line ends that a proxy may have made blanks or tabs of.
  private static func lines(of pem: String) -> String {
    guard !pem.utf8.contains(UInt8(ascii: "\n")) else { return pem }
    return pem.replacing("-----BEGIN CERTIFICATE-----", with: "-----BEGIN CERTIFICATE-----\n")
      .replacing("-----END CERTIFICATE-----", with: "\n-----END CERTIFICATE-----\n")
  }
}
