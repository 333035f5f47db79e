internal import Crypto
internal import ExposureKeys

/// What a batch's signature covers. Who knows the format makes it of keys.
package struct SignedBatch: Hashable, Sendable {
  /// The rows of all keys in the order of signing.
  package let canonical: [UInt8]
  /// The origin of each key in the order of the upload; empty where a key names none.
  package let origins: [String]
  /// SHA-256 of the first three rows in the order of signing, lower-case hexadecimal.
  package let firstRows: [String]

  package init(canonical: [UInt8], origins: [String], firstRows: [String]) {
    self.canonical = canonical
    self.origins = origins
    self.firstRows = firstRows
  }

  /// SHA-256 of the canonical bytes, lower-case hexadecimal.
  package var digest: String { FederationDigest.hexadecimal(canonical) }
}

/// SHA-256 as a federation spells it.
package enum FederationDigest {
  /// 64 lower-case hexadecimal digits; leading zeros stay.
  package static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    Hexadecimal.encode(sha256(bytes))
  }

  /// 32 bytes.
  package static func sha256(_ bytes: some Sequence<UInt8>) -> [UInt8] { Array(SHA256.hash(data: Array(bytes))) }
}

/// What a configuration may let through that we refuse otherwise. The EU federation gateway let all of it through.
package struct SignatureAllowances: OptionSet, Hashable, Sendable {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  /// SHA-1 as the digest, or in the name of the signature's algorithm.
  package static let sha1Digest = SignatureAllowances(rawValue: 1)
  /// The signature is over the content itself, without contentType and messageDigest.
  package static let noSignedAttributes = SignatureAllowances(rawValue: 2)
  /// The content lies inside; it must be the canonical bytes.
  package static let attachedContent = SignatureAllowances(rawValue: 4)
  /// More than one signer. The first one counts; the signatures of all must verify.
  package static let severalSigners = SignatureAllowances(rawValue: 8)
  /// The signer is named by its certificate's key identifier and not by issuer and serial number.
  package static let subjectKeyIdentifier = SignatureAllowances(rawValue: 16)
  /// Certificates beside that of the signer, and revocation lists. They count for nothing.
  package static let chainCertificates = SignatureAllowances(rawValue: 32)

  private static let spellings: [(name: String, value: SignatureAllowances)] = [
    ("sha1", .sha1Digest), ("no-signed-attributes", .noSignedAttributes), ("attached-content", .attachedContent),
    ("several-signers", .severalSigners), ("subject-key-identifier", .subjectKeyIdentifier),
    ("chain-certificates", .chainCertificates),
  ]

  /// How a configuration spells them.
  package static let names = spellings.map(\.name)

  package static func named(_ name: String) -> SignatureAllowances? {
    spellings.first { $0.name == name }?.value
  }

  /// The names of those in the set.
  package var names: [String] { Self.spellings.filter { contains($0.value) }.map(\.name) }
}
