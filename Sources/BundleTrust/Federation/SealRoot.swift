#if canImport(CLibcrypto)
  package import ExposureKeys

  /// A root certificate that must stand at the top of a CMS signature.
  package struct SealRoot: Hashable, Sendable {
    private let certificate: FederationCertificate

    /// How many bytes of CMS are read.
    package static let signatureLimit = 256 << 10

    /// - Parameter pem: text with exactly one block `CERTIFICATE`.
    package init(pem: String) throws(FederationFault) { certificate = try FederationCertificate(pem: pem) }

    /// Verifies a detached signature, and the chain of its signer to this root.
    ///
    /// - Parameter signature: CMS in DER, with the certificates between the signer and the root.
    /// - Returns: the signer's certificate.
    /// - Throws: ``FederationFault`` of the code `malformed`.
    @discardableResult
    package func verify(
      _ signature: [UInt8], over content: [UInt8], at now: Instant
    ) throws(FederationFault) -> FederationCertificate {
      guard signature.count <= Self.signatureLimit else {
        throw FederationFault(
          .limitExceeded, "a signature of \(signature.count) bytes, at most \(Self.signatureLimit) are read")
      }
      let signer: [UInt8]
      do throws(Libcrypto.CMSFault) {
        signer = try Libcrypto.verify(signature, over: content, root: certificate.der, at: now)
      } catch {
        throw FederationFault(.malformed, "the signature does not verify under \(certificate): \(error.reason)")
      }
      return try FederationCertificate(der: signer)
    }
  }
#endif
