#if canImport(CLibcrypto)
  package import ExposureKeys

  /// Who signed a batch. Only verifying makes one.
  package struct BatchSigner: Hashable, Sendable {
    /// The row of the whitelist; for an audit entry the row that its text and the operator's signature make.
    package let row: WhitelistedCertificate
    package let country: String
    package let certificate: FederationCertificate

    fileprivate init(row: WhitelistedCertificate, country: String) {
      self.row = row
      self.country = country
      certificate = row.certificate
    }
  }

  extension FederationTrust {
    /// Verifies a batch's signature in eight steps, in the order in which the EU federation gateway did; see
    /// ``VerificationStep``. Where that was lenient, this is not, unless `allowed` says so.
    ///
    /// - Parameter signature: the text of the header `batchSignature`: base64 in one line.
    package func verify(
      _ signature: String, over batch: SignedBatch, allowing allowed: SignatureAllowances = [], at now: Instant
    ) throws(BatchRefusal) -> BatchSigner {
      let opened = try OpenedSignature(signature, over: batch, allowing: allowed)
      try opened.requireValidity(at: now)
      let country = try opened.country()
      let row: WhitelistedCertificate
      do throws(CertificateRefusal) {
        row = try certificate(thumbprint: opened.certificate.thumbprint, country: country, use: .signing, at: now)
      } catch {
        throw BatchRefusal(.whitelist, error.reason, of: batch)
      }
      try opened.requireOrigins(country)
      try opened.requireSignature()
      return BatchSigner(row: row, country: country)
    }

    /// Verifies one entry of an audit answer over the keys that it is for.
    ///
    /// In this order: the amount is that of the keys; the signature's form; the certificate that the entry gives is that
    /// of its thumbprint and of the signature; it was valid when the batch was uploaded; its country is the entry's; the
    /// anchor's signature is over its text, and our own list has not revoked it; each key's origin is that country; the
    /// signature is over the keys.
    ///
    /// - Parameter slice: of the batch those keys that the entry is for.
    @discardableResult
    package func verify(
      _ entry: AuditEntry, over slice: SignedBatch, allowing allowed: SignatureAllowances = []
    ) throws(BatchRefusal) -> BatchSigner {
      guard entry.amount == slice.origins.count else {
        throw BatchRefusal(
          .decode, "the audit entry is for \(entry.amount) keys, and there are \(slice.origins.count)", of: slice)
      }
      guard let uploaded = entry.uploadedAt else {
        throw BatchRefusal(.decode, "uploadedTime \(quoted(entry.uploadedTime)) is no time of ISO 8601", of: slice)
      }
      let opened = try OpenedSignature(entry.batchSignature, over: slice, allowing: allowed)
      let certificate: FederationCertificate
      do throws(FederationFault) {
        certificate = try FederationCertificate(pem: entry.signingCertificate)
      } catch {
        throw BatchRefusal(.embeddedCertificate, "signingCertificate: \(error)", of: slice)
      }
      guard certificate.thumbprint == entry.uploaderSigningThumbprint else {
        throw BatchRefusal(
          .embeddedCertificate,
          "uploaderSigningThumbprint is \(quoted(entry.uploaderSigningThumbprint)), and signingCertificate has "
            + certificate.thumbprint, of: slice)
      }
      guard certificate.der == opened.certificate.der else {
        throw BatchRefusal(
          .embeddedCertificate,
          "the signature holds the certificate \(opened.certificate.thumbprint), the audit entry \(certificate.thumbprint)",
          of: slice)
      }
      try opened.requireValidity(at: uploaded)
      let country = try opened.country()
      guard country == entry.country else {
        throw BatchRefusal(
          .country, "the certificate is of \(quoted(country)), the audit entry of \(quoted(entry.country))", of: slice)
      }
      let signature: [UInt8]
      do throws(HeaderBase64.Fault) {
        signature = try HeaderBase64.decode(entry.signingCertificateOperatorSignature, limit: 4096)
      } catch {
        throw BatchRefusal(.whitelist, "signingCertificateOperatorSignature is not base64: \(error.reason)", of: slice)
      }
      let row = WhitelistedCertificate(
        certificate: certificate, country: country, use: .signing, operatorSignature: signature)
      // Our own list says what a certificate is for; the operator's signature is over its text alone.
      let listed = rows.filter { $0.certificate.thumbprint == certificate.thumbprint }
      let ofCountry = listed.filter { $0.country == country && $0.use == .signing }
      guard listed.isEmpty || !ofCountry.isEmpty else {
        let uses = Set(listed.map { "\($0.use.rawValue) of \($0.country)" }).sorted().joined(separator: ", ")
        throw BatchRefusal(
          .whitelist,
          "certificate \(certificate.thumbprint) is whitelisted for \(uses), and not for SIGNING of \(country)",
          of: slice)
      }
      guard isSigned(row) || ofCountry.contains(where: isSigned) else {
        throw BatchRefusal(
          .whitelist,
          "the operator's signature over signingCertificate does not verify under the anchor \(anchor.thumbprint)",
          of: slice)
      }
      guard !listed.contains(where: \.isRevoked) else {
        throw BatchRefusal(.whitelist, "certificate \(certificate.thumbprint) of \(country) is revoked", of: slice)
      }
      try opened.requireOrigins(country)
      try opened.requireSignature()
      return BatchSigner(row: row, country: country)
    }

    /// The proof that every origin of a document has signed its keys: all slices verify, and each key of the document is
    /// in one of them, which is for the caller to see to.
    package func prove(
      slices: [(entry: AuditEntry, batch: SignedBatch)], allowing allowed: SignatureAllowances = []
    ) throws(BatchRefusal) -> OriginsProof {
      var origins: Set<String> = []
      for slice in slices { origins.insert(try verify(slice.entry, over: slice.batch, allowing: allowed).country) }
      return OriginsProof(origins: origins)
    }
  }

  extension BatchSigner {
    /// The proof for the keys of the batch that was verified.
    package var proof: OriginsProof { OriginsProof(origins: [country]) }
  }

  extension OriginsProof {
    /// The proof for a document made of the verified slices of these signers, and of nothing else.
    package init(_ signers: some Sequence<BatchSigner>) { self.init(origins: Set(signers.map(\.country))) }
  }

  extension BatchSignature {
    /// What a header's text spells; `nil` for what step 1 refuses.
    package static func reading(_ header: String) -> BatchSignature? { try? BatchSignature(header: header) }

    /// Whether this content is what was signed, by whoever's certificate lies inside: for those who look for what a signer
    /// has signed. It says nothing of whom to believe.
    package func covers(_ content: [UInt8]) -> Bool {
      if let signer = signers.first, signer.digest == .sha256, let attributes = signer.attributes {
        guard attributes.messageDigest == FederationDigest.sha256(content) else { return false }
      }
      guard let found = try? Libcrypto.signer(of: bytes, among: certificates) else { return false }
      do throws(Libcrypto.CMSFault) {
        try Libcrypto.verify(bytes, over: content, signer: certificates[found], isOnlySigner: signers.count == 1)
        return true
      } catch {
        return false
      }
    }
  }

  /// A signature whose form is allowed and whose signer's certificate is found: steps 1 to 3. Nothing of it is believed
  /// yet.
  private struct OpenedSignature {
    let signature: BatchSignature
    let signer: BatchSignature.Signer
    let certificate: FederationCertificate
    let batch: SignedBatch
    let allowed: SignatureAllowances

    init(_ text: String, over batch: SignedBatch, allowing allowed: SignatureAllowances) throws(BatchRefusal) {
      self.batch = batch
      self.allowed = allowed
      do throws(BatchSignature.Fault) {
        signature = try BatchSignature(header: text)
        try signature.requireContent(batch.canonical, allowing: allowed)
        signer = try signature.signer(allowing: allowed)
        certificate = try signature.certificate(allowing: allowed)
      } catch {
        throw BatchRefusal(error.step, error.reason, of: batch)
      }
    }

    func requireValidity(at now: Instant) throws(BatchRefusal) {
      guard certificate.isValid(at: now) else {
        throw BatchRefusal(
          .validity,
          "the certificate \(certificate) is valid from \(certificate.notBefore) to \(certificate.notAfter), and the time is "
            + "\(now)", of: batch)
      }
    }

    func country() throws(BatchRefusal) -> String {
      guard let country = certificate.country else {
        throw BatchRefusal(
          .country, "the subject of \(certificate) names \(certificate.countryCount) countries (C), expected one",
          of: batch)
      }
      return country
    }

    func requireOrigins(_ country: String) throws(BatchRefusal) {
      for (index, origin) in batch.origins.enumerated() where origin != country {
        throw BatchRefusal(
          .origin, "origin \(quoted(origin)), and the certificate is of \(quoted(country))", key: index, of: batch)
      }
    }

    func requireSignature() throws(BatchRefusal) {
      if let attributes = signer.attributes {
        if let time = attributes.signingTime, !certificate.isValid(at: time) {
          throw BatchRefusal(
            .signature,
            "signed at \(time), and the certificate is valid from \(certificate.notBefore) to \(certificate.notAfter)",
            of: batch)
        }
        let digest = Hexadecimal.encode(attributes.messageDigest)
        if signer.digest == .sha256, digest != batch.digest {
          throw BatchRefusal(
            .signature, "what was signed has SHA-256 \(digest), which is not that of our canonical bytes", of: batch)
        }
      }
      do throws(Libcrypto.CMSFault) {
        try Libcrypto.verify(
          signature.bytes, over: batch.canonical, signer: certificate.der,
          isOnlySigner: signature.signers.count == 1)
      } catch {
        throw BatchRefusal(.signature, "the signature does not verify: \(error.reason)", of: batch)
      }
    }
  }

  extension BatchSignature {
    /// Part of step 1: the content lies outside, or is allowed inside and is the right one.
    fileprivate func requireContent(_ canonical: [UInt8], allowing allowed: SignatureAllowances) throws(Fault) {
      guard let content else { return }
      guard allowed.contains(.attachedContent) else {
        throw Fault(.decode, "\(content.count) bytes of content are attached, allowed is a detached signature")
      }
      guard content == canonical else {
        throw Fault(
          .decode,
          "the attached content has \(content.count) bytes and SHA-256 \(FederationDigest.hexadecimal(content)), which are "
            + "not our canonical bytes")
      }
    }

    /// Step 2.
    fileprivate func signer(allowing allowed: SignatureAllowances) throws(Fault) -> Signer {
      guard let signer = signers.first else { throw Fault(.signer, "no signer, expected one") }
      guard signers.count == 1 || allowed.contains(.severalSigners) else {
        throw Fault(.signer, "\(signers.count) signers, allowed is one")
      }
      for signer in signers {
        guard !signer.isNamedByKey || allowed.contains(.subjectKeyIdentifier) else {
          throw Fault(.signer, "the signer is named by a key identifier, allowed is issuer and serial number")
        }
        guard signer.attributes != nil || allowed.contains(.noSignedAttributes) else {
          throw Fault(.signer, "no signed attributes, expected contentType and messageDigest")
        }
        try Self.requireAlgorithms(of: signer, allowing: allowed)
      }
      return signer
    }

    private static func requireAlgorithms(
      of signer: Signer, allowing allowed: SignatureAllowances
    ) throws(Fault) {
      let named: DigestAlgorithm?
      switch signer.signatureAlgorithm {
      case .rsa(let digest), .ecdsa(let digest): named = digest
      case .rsaPSS:
        throw Fault(.signer, "signature algorithm RSASSA-PSS, allowed are RSA (PKCS #1 version 1.5) and ECDSA")
      case .other(let name):
        throw Fault(.signer, "signature algorithm \(name), allowed are RSA (PKCS #1 version 1.5) and ECDSA")
      }
      for digest in [signer.digest] + [named].compactMap(\.self) where !digest.isStrong {
        guard digest == .sha1, allowed.contains(.sha1Digest) else {
          throw Fault(.signer, "digest \(digest.rawValue), allowed are SHA-256, SHA-384 and SHA-512")
        }
      }
      if let named, named != signer.digest, named != .sha1, signer.digest != .sha1 {
        throw Fault(
          .signer, "digest \(signer.digest.rawValue), and the signature algorithm names \(named.rawValue)")
      }
      if let attributes = signer.attributes, attributes.messageDigest.count != signer.digest.length {
        throw Fault(
          .signer,
          "a messageDigest of \(attributes.messageDigest.count) bytes, \(signer.digest.rawValue) has "
            + "\(signer.digest.length)")
      }
    }

    /// Step 3.
    fileprivate func certificate(allowing allowed: SignatureAllowances) throws(Fault) -> FederationCertificate {
      guard !certificates.isEmpty else {
        throw Fault(.embeddedCertificate, "no certificate inside, expected that of the signer")
      }
      let found: Int?
      do throws(Libcrypto.CMSFault) {
        found = try Libcrypto.signer(of: bytes, among: certificates)
      } catch {
        throw Fault(.decode, "no CMS signature: \(error.reason)")
      }
      guard let found else {
        throw Fault(.embeddedCertificate, "the signer's certificate is not among the \(certificates.count) inside")
      }
      if !allowed.contains(.chainCertificates), certificates.count > 1 || hasRevocationLists {
        let lists = hasRevocationLists ? " and revocation lists" : ""
        throw Fault(
          .embeddedCertificate, "\(certificates.count) certificates\(lists) inside, allowed is that of the signer alone"
        )
      }
      let certificate: FederationCertificate
      do throws(FederationFault) {
        certificate = try FederationCertificate(der: certificates[found])
      } catch {
        throw Fault(.embeddedCertificate, "the signer's certificate: \(error)")
      }
      guard certificate.hasAllowedKey else {
        throw Fault(
          .embeddedCertificate,
          "the key of \(certificate) is \(certificate.keyText), allowed are RSA of 2048 bits or more, P-256, P-384 and P-521"
        )
      }
      return certificate
    }
  }
#endif
