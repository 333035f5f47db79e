internal import ExposureKeys

/// What is wrong with a certificate, a key or a list of certificates of a federation. Never holds key material.
package struct FederationFault: Error, Hashable, Sendable {
  package enum Code: String, Hashable, Sendable, CaseIterable {
    /// Not one PEM block of the kind that belongs there.
    case notPEM = "not-pem"
    /// The DER inside is no certificate, or no key.
    case malformed
    /// Longer than is read.
    case limitExceeded = "limit-exceeded"
    /// The private key is encrypted with a pass phrase.
    case encrypted
    /// A key of another kind than RSA of 2048 bits or more, P-256, P-384 and P-521; to sign: RSA and P-256 alone.
    case unsupportedKey = "unsupported-key"
    /// A private key that does not belong to its certificate.
    case keyMismatch = "key-mismatch"
    /// The trust file is not JSON, or a member is missing, unknown or of another type.
    case notTrustFile = "not-trust-file"
    /// A thumbprint that is not that of the certificate beside it.
    case wrongThumbprint = "wrong-thumbprint"
    /// A country that is not the certificate's, or no country.
    case wrongCountry = "wrong-country"
    /// The same certificate for the same country and use twice.
    case repeated
    /// Signing did not work.
    case cannotSign = "cannot-sign"
  }

  package var code: Code
  /// Where: `certificates[3].thumbprint`. Empty when there is nothing to tell apart.
  package var place: String
  /// What was found and what is allowed.
  package var reason: String

  package init(_ code: Code, place: String = "", _ reason: String) {
    self.code = code
    self.place = place
    self.reason = reason
  }

  /// The same fault with this place in front of its own.
  package func within(_ outer: String) -> FederationFault {
    var fault = self
    fault.place = [outer, place].filter { !$0.isEmpty }.joined(separator: ".")
    return fault
  }
}

extension FederationFault: CustomStringConvertible {
  package var description: String { place.isEmpty ? reason : "\(place): \(reason)" }
}

/// Why the whitelist does not know a certificate for what it is shown for.
package struct CertificateRefusal: Error, Hashable, Sendable {
  package enum Code: String, Hashable, Sendable, CaseIterable {
    /// No row has the thumbprint.
    case unknown
    /// The rows with the thumbprint are for another country.
    case wrongCountry = "wrong-country"
    /// The rows with the thumbprint are for another use.
    case wrongUse = "wrong-use"
    /// The operator's signature over the row's PEM text does not verify under the trust anchor, or there is none.
    case notSigned = "not-signed"
    case revoked
    case notYetValid = "not-yet-valid"
    case expired
  }

  package let code: Code
  package let reason: String

  package init(_ code: Code, _ reason: String) {
    self.code = code
    self.reason = reason
  }
}

extension CertificateRefusal: CustomStringConvertible {
  package var description: String { reason }
}

/// The steps in which a batch's signature is verified, in their order.
///
/// Source: the EU federation gateway's `BatchSignatureVerifier`, as observed.
package enum VerificationStep: Int, Codable, Hashable, Sendable, CaseIterable {
  /// The header is base64, and what it spells is a CMS of the kind that signs batches.
  case decode = 1
  /// It has one signer, spelled as is allowed.
  case signer
  /// The signer's certificate is embedded.
  case embeddedCertificate
  /// That certificate is valid now.
  case validity
  /// Its subject names exactly one country.
  case country
  /// The whitelist has it for that country, for signing; the operator's signature stands behind it.
  case whitelist
  /// Each key's origin is that country.
  case origin
  /// The signature is over the canonical bytes of the batch.
  case signature

  /// The stable name for programs.
  package var name: String {
    switch self {
    case .decode: "decode"
    case .signer: "signer"
    case .embeddedCertificate: "embedded-certificate"
    case .validity: "validity"
    case .country: "country"
    case .whitelist: "whitelist"
    case .origin: "origin"
    case .signature: "signature"
    }
  }
}

/// Why a batch's signature is not believed: which step failed, and what we would have signed.
package struct BatchRefusal: Error, Hashable, Sendable {
  package let step: VerificationStep
  /// What was found and what is allowed.
  package let detail: String
  /// The first key concerned, counted from 0 in the order of the upload.
  package let key: Int?
  /// SHA-256 of our canonical bytes, 64 lower-case hexadecimal digits.
  package let canonicalDigest: String
  /// How many canonical bytes there are.
  package let canonicalLength: Int
  /// SHA-256 of the first three rows in the order of signing, lower-case hexadecimal.
  package let firstRows: [String]

  package init(_ step: VerificationStep, _ detail: String, key: Int? = nil, of batch: SignedBatch) {
    self.step = step
    self.detail = detail
    self.key = key
    canonicalDigest = batch.digest
    canonicalLength = batch.canonical.count
    firstRows = batch.firstRows
  }
}

extension BatchRefusal: CustomStringConvertible {
  /// `step 7 of 8, origin: key 3: …; canonical bytes: 160, SHA-256 390d…; first rows: f5a3…, 771e…`.
  package var description: String {
    let place = key.map { "key \($0): " } ?? ""
    let rows = firstRows.isEmpty ? "" : "; SHA-256 of the first rows: \(firstRows.joined(separator: ", "))"
    return "step \(step.rawValue) of 8, \(step.name): \(place)\(detail); our canonical bytes: \(canonicalLength), "
      + "SHA-256 \(canonicalDigest)\(rows)"
  }
}

extension FederationFault: ProgramFault {}
