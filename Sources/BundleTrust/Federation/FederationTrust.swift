#if canImport(CLibcrypto)
  package import ExposureKeys

  /// What a federation's certificate is for.
  package enum CertificateUse: String, Codable, Hashable, Sendable, CaseIterable {
    /// The client of a country's national back end shows it to the gateway.
    case authentication = "AUTHENTICATION"
    /// It signs a country's batches.
    case signing = "SIGNING"
    /// A country's server shows it when the gateway calls back.
    case callback = "CALLBACK"
  }

  /// A row of the whitelist: a certificate, for whom and for what it stands, and the operator's signature.
  package struct WhitelistedCertificate: Hashable, Sendable {
    package let certificate: FederationCertificate
    package let country: String
    package let use: CertificateUse
    /// The host of a callback's server.
    package let host: String?
    package var isRevoked: Bool
    /// By the trust anchor's key over the exact PEM text; empty while the operator has not signed.
    package var operatorSignature: [UInt8]

    package init(
      certificate: FederationCertificate, country: String, use: CertificateUse, host: String? = nil,
      isRevoked: Bool = false, operatorSignature: [UInt8] = []
    ) {
      self.certificate = certificate
      self.country = country
      self.use = use
      self.host = host
      self.isRevoked = isRevoked
      self.operatorSignature = operatorSignature
    }
  }

  /// Whom a federation believes: the operator's trust anchor, and the certificates that it has signed.
  ///
  /// There is no chain, no revocation list and no key usage: a certificate counts for what its row says, while the
  /// anchor's signature over its text verifies. Two certificates of one country may be valid at once.
  package struct FederationTrust: Hashable, Sendable {
    package let anchor: FederationCertificate
    package var rows: [WhitelistedCertificate]

    package init(anchor: FederationCertificate, rows: [WhitelistedCertificate] = []) {
      self.anchor = anchor
      self.rows = rows
    }

    /// Whether the operator's signature stands behind this row.
    package func isSigned(_ row: WhitelistedCertificate) -> Bool {
      isSignature(row.operatorSignature, over: row.certificate.pem)
    }

    /// Whether the trust anchor's key made this signature over exactly this text.
    package func isSignature(_ signature: [UInt8], over pem: String) -> Bool {
      guard !signature.isEmpty, signature.count <= 4096, pem.utf8.count <= FederationCertificate.maximumLength else {
        return false
      }
      return Libcrypto.isSignature(signature, over: Array(pem.utf8), by: anchor.der)
    }

    /// The row of a certificate that is whitelisted for this country and use, signed by the operator, not revoked, and
    /// valid now. The operator's signature is verified each time.
    ///
    /// - Parameter thumbprint: SHA-256 of the certificate's DER, 64 lower-case hexadecimal digits. No other spelling is
    ///   taken for it.
    package func certificate(
      thumbprint: String, country: String, use: CertificateUse, at now: Instant
    ) throws(CertificateRefusal) -> WhitelistedCertificate {
      let known = rows.filter { $0.certificate.thumbprint == thumbprint }
      guard !known.isEmpty else { throw unknown(thumbprint) }
      let ofCountry = known.filter { $0.country == country }
      guard !ofCountry.isEmpty else {
        let countries = Set(known.map(\.country)).sorted().joined(separator: ", ")
        throw CertificateRefusal(
          .wrongCountry, "certificate \(thumbprint) is whitelisted for \(countries), and not for \(quoted(country))")
      }
      guard let row = ofCountry.first(where: { $0.use == use }) else {
        let uses = Set(ofCountry.map(\.use.rawValue)).sorted().joined(separator: ", ")
        throw CertificateRefusal(
          .wrongUse, "certificate \(thumbprint) of \(country) is whitelisted for \(uses), and not for \(use.rawValue)")
      }
      guard !ofCountry.contains(where: { $0.use == use && $0.isRevoked }) else {
        throw CertificateRefusal(.revoked, "certificate \(thumbprint) of \(country) is revoked")
      }
      guard isSigned(row) else {
        throw CertificateRefusal(
          .notSigned,
          row.operatorSignature.isEmpty
            ? "the operator has not signed the certificate \(thumbprint) of \(country)"
            : "the operator's signature over the certificate \(thumbprint) of \(country) does not verify under the anchor "
              + anchor.thumbprint)
      }
      guard row.certificate.notBefore <= now else {
        throw CertificateRefusal(
          .notYetValid,
          "certificate \(thumbprint) of \(country) is valid from \(row.certificate.notBefore), and it is \(now)")
      }
      guard now <= row.certificate.notAfter else {
        throw CertificateRefusal(
          .expired,
          "certificate \(thumbprint) of \(country) was valid until \(row.certificate.notAfter), and it is \(now)")
      }
      return row
    }

    /// Says more where the thumbprint is another spelling of one that is known.
    private func unknown(_ thumbprint: String) -> CertificateRefusal {
      let spelled = quoted(thumbprint)
      let bare = String(thumbprint.lowercased().filter { $0 != ":" && $0 != " " }.drop { $0 == "0" })
      let alike = rows.first { $0.certificate.thumbprint.drop { $0 == "0" } == bare }
      guard !bare.isEmpty, let alike else {
        return CertificateRefusal(.unknown, "no certificate of the whitelist has the thumbprint \(spelled)")
      }
      return CertificateRefusal(
        .unknown,
        "no certificate of the whitelist has the thumbprint \(spelled); \(alike.country) has "
          + "\(alike.certificate.thumbprint): a thumbprint is 64 lower-case hexadecimal digits, leading zeros included")
    }
  }
#endif
