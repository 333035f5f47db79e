#if canImport(CLibcrypto)
  package import ExposureKeys

  /// One X.509 certificate of a federation. Its PEM text is kept exactly as it was given, because the operator's
  /// signature is over that text.
  package struct FederationCertificate: Hashable, Sendable {
    /// The exact text.
    package let pem: String
    package let der: [UInt8]
    /// SHA-256 of the DER in 64 lower-case hexadecimal digits, leading zeros included: the certificate's name.
    package let thumbprint: String
    /// The one C in the subject; `nil` where there is none, or more than one.
    package let country: String?
    /// How many times C stands in the subject.
    package let countryCount: Int
    /// As RFC 2253 spells it, for messages; cut at 512 bytes.
    package let subject: String
    package let notBefore: Instant
    package let notAfter: Instant
    let keyKind: Libcrypto.KeyKind

    /// How many bytes of text, or of DER, are read.
    package static let maximumLength = 64 << 10

    /// - Parameter pem: text with exactly one block `CERTIFICATE`. What stands around it is kept.
    package init(pem: String) throws(FederationFault) {
      guard pem.utf8.count <= Self.maximumLength else {
        throw FederationFault(.limitExceeded, "\(pem.utf8.count) bytes of PEM, at most \(Self.maximumLength) are read")
      }
      let blocks: [PEMBlock]
      do throws(KeyFault) {
        blocks = try PEMBlock.blocks(in: pem)
      } catch {
        throw FederationFault(.notPEM, "\(error)")
      }
      guard blocks.count == 1, let block = blocks.first else {
        throw FederationFault(.notPEM, "\(blocks.count) PEM blocks, expected one CERTIFICATE")
      }
      guard block.label == "CERTIFICATE" else {
        throw FederationFault(.notPEM, "a PEM block \(quoted(block.label)), expected CERTIFICATE")
      }
      try self.init(der: block.content, pem: pem)
    }

    /// The text is rendered as OpenSSL does: lines of 64 digits, LF, and LF at the end.
    package init(der: [UInt8]) throws(FederationFault) {
      try self.init(der: der, pem: PEMBlock.text("CERTIFICATE", der))
    }

    private init(der: [UInt8], pem: String) throws(FederationFault) {
      guard der.count <= Self.maximumLength else {
        throw FederationFault(
          .limitExceeded, "a certificate of \(der.count) bytes, at most \(Self.maximumLength) are read")
      }
      guard let facts = Libcrypto.facts(ofCertificate: der) else {
        throw FederationFault(.malformed, "\(der.count) bytes that are no X.509 certificate in DER")
      }
      self.pem = pem
      self.der = der
      thumbprint = FederationDigest.hexadecimal(der)
      country = facts.countries.count == 1 ? facts.countries.first : nil
      countryCount = facts.countries.count
      subject = facts.subject
      notBefore = facts.notBefore
      notAfter = facts.notAfter
      keyKind = facts.keyKind
    }

    /// Both ends are inside (RFC 5280, 4.1.2.5).
    package func isValid(at now: Instant) -> Bool { notBefore <= now && now <= notAfter }

    /// `RSA of 3072 bits`.
    package var keyText: String { keyKind.text }

    /// Whether signatures by its key are verified: RSA of 2048 bits or more, P-256, P-384 or P-521.
    package var hasAllowedKey: Bool { keyKind.isAllowed }
  }

  extension FederationCertificate: CustomStringConvertible {
    /// `CN=test signing,C=DE (thumbprint 0b16…)`.
    package var description: String { "\(subject) (thumbprint \(thumbprint))" }
  }

  /// A private key and its certificate: a country's, which signs batches, or the operator's, which signs certificates.
  package struct FederationIdentity: Sendable {
    package let certificate: FederationCertificate
    let key: Libcrypto.PrivateKey

    /// - Parameter key: PEM with one private key in PKCS #8, SEC1 or PKCS #1, not encrypted.
    package init(certificate: FederationCertificate, key: Secret) throws(FederationFault) {
      let blocks: [PEMBlock]
      do throws(KeyFault) {
        blocks = try PEMBlock.blocks(in: key.disclosed).filter { $0.label != "EC PARAMETERS" }
      } catch {
        throw FederationFault(.notPEM, "\(error)")
      }
      guard blocks.count == 1, let block = blocks.first, block.label.hasSuffix("PRIVATE KEY") else {
        throw FederationFault(
          .notPEM, "\(blocks.count) PEM blocks, expected one PRIVATE KEY, RSA PRIVATE KEY or EC PRIVATE KEY")
      }
      guard !block.isEncrypted, block.label != "ENCRYPTED PRIVATE KEY" else {
        throw FederationFault(.encrypted, "the key is encrypted: decrypt it with openssl pkey")
      }
      guard block.content.count <= 64 << 10, let parsed = Libcrypto.PrivateKey(der: block.content) else {
        throw FederationFault(.malformed, "the block holds no private key")
      }
      guard parsed.kind.isAllowed else {
        throw FederationFault(
          .unsupportedKey, "the key is \(parsed.kind.text), allowed are RSA of 2048 bits or more and P-256")
      }
      guard parsed.belongs(to: certificate.der) else {
        throw FederationFault(.keyMismatch, "the key does not belong to the certificate \(certificate)")
      }
      self.certificate = certificate
      self.key = parsed
    }

    /// A plain signature over the exact text of a certificate, as the operator makes it for a row of the whitelist.
    ///
    /// PKCS #1 version 1.5 or ECDSA in DER, with the digest of the identity's own certificate.
    package func sign(pem: String) throws(FederationFault) -> [UInt8] {
      guard let signature = Libcrypto.sign(Array(pem.utf8), with: key, of: certificate.der) else {
        throw FederationFault(
          .cannotSign, "the key of \(certificate) could not sign; the certificate must be signed with SHA-256 or better"
        )
      }
      return signature
    }
  }

  /// The certificate and key by which a country signs its batches.
  package struct BatchSigningIdentity: Sendable {
    private let identity: FederationIdentity

    package var certificate: FederationCertificate { identity.certificate }

    /// - Parameter key: PEM with one private key in PKCS #8, SEC1 or PKCS #1, RSA or P-256, not encrypted.
    /// - Throws: also when the key does not belong to the certificate, or the certificate does not name one country.
    package init(certificate: FederationCertificate, key: Secret) throws(FederationFault) {
      identity = try FederationIdentity(certificate: certificate, key: key)
      guard certificate.country != nil else {
        throw FederationFault(
          .wrongCountry, "the subject of \(certificate) names \(certificate.countryCount) countries (C), expected one")
      }
      switch identity.key.kind {
      case .rsa, .ellipticCurve("prime256v1"): break
      case let kind:
        throw FederationFault(.unsupportedKey, "the key is \(kind.text), batches are signed by RSA or P-256")
      }
    }

    /// Signs a batch.
    ///
    /// - Parameter canonical: the batch's canonical bytes.
    /// - Returns: CMS in DER, detached, SHA-256, this one certificate, and the signed attributes contentType,
    ///   messageDigest and signingTime. The header has it in base64; see ``HeaderBase64``.
    /// - Throws: when the certificate is not valid at that time, since no receiver would take the batch.
    package func sign(_ canonical: [UInt8], at now: Instant) throws(FederationFault) -> [UInt8] {
      guard certificate.isValid(at: now) else {
        throw FederationFault(
          .cannotSign,
          "the certificate \(certificate) is valid from \(certificate.notBefore) to \(certificate.notAfter), and it is \(now)"
        )
      }
      do throws(Libcrypto.CMSFault) {
        return try Libcrypto.sign(canonical, with: identity.key, of: certificate.der, at: now)
      } catch {
        throw FederationFault(.cannotSign, "could not sign: \(error.reason)")
      }
    }
  }
#endif
