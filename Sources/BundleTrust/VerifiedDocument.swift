/// A document that somebody stands behind: what admission asks for.
///
/// There are four ways to one, and no fifth: a ``SignatureReport`` that found a trusted signature, a host that TLS has
/// proved, the signatures of those whose keys the document holds, or a person who says so with
/// ``assertedByOperator()``.
public struct VerifiedDocument: Hashable, Sendable {
  /// Who stands behind a document.
  public enum Basis: Hashable, Sendable {
    /// A signature verifies under this key, which the ring names and which was valid at the instant of the check.
    case signed(by: KeyIdentity)
    /// TLS proved that this host sent it.
    case host(String)
    /// Each origin has signed its own keys.
    case origins
    /// No proof was asked for: whoever runs the program vouches for the file.
    case assertedByOperator
  }

  public let basis: Basis
  /// SHA-256 of the `export.bin` whose signature was checked, lower-case hexadecimal; `nil` for all other bases.
  public let exportDigest: String?

  init(basis: Basis, exportDigest: String? = nil) {
    self.basis = basis
    self.exportDigest = exportDigest
  }

  /// The host that a document came from stands behind it.
  package static func host(_ host: ProvenHost) -> VerifiedDocument { VerifiedDocument(basis: .host(host.name)) }

  /// The origins of the keys stand behind them.
  package static func origins(_ proof: OriginsProof) -> VerifiedDocument { VerifiedDocument(basis: .origins) }

  /// The explicit way around proofs, for documents that cannot have one (JSON, CSV) and for an operator who knows
  /// where a file comes from.
  public static func assertedByOperator() -> VerifiedDocument { VerifiedDocument(basis: .assertedByOperator) }
}

/// TLS proved this host's name for the connection that a document's bytes came over. It says nothing else: whether that
/// host is to be believed is the operator's to say.
package struct ProvenHost: Hashable, Sendable {
  package let name: String

  /// For transports, and for whoever knows which transport the bytes came over.
  package init(provenByTLS host: String) { name = host }
}

/// Every origin whose keys a document holds has signed them, and its signature verifies. Only verifying makes one.
package struct OriginsProof: Hashable, Sendable {
  /// The countries that have signed.
  package let origins: Set<String>

  init(origins: Set<String> = []) { self.origins = origins }
}
