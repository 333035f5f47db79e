/// That somebody stands behind a batch of keys: the receipt that later steps ask for.
///
/// There are two ways to one, and no third: a ``SignatureReport`` that found a trusted signature, or a person who says
/// so with ``assertedByOperator()``.
public struct Verification: Hashable, Sendable {
  public enum Basis: Hashable, Sendable {
    /// A signature verifies under this key, which the ring names and which was valid at the instant of the check.
    case signed(by: VerificationKey.Identity)
    /// No signature was asked for: whoever runs the program vouches for the file.
    case assertedByOperator
  }

  public let basis: Basis
  /// SHA-256 of the `export.bin` whose signature was checked, lower-case hexadecimal; `nil` when asserted.
  public let exportDigest: String?

  init(basis: Basis, exportDigest: String?) {
    self.basis = basis
    self.exportDigest = exportDigest
  }

  /// The explicit way around signatures, for documents that cannot have one (JSON, CSV) and for an operator who knows
  /// where a file comes from.
  public static func assertedByOperator() -> Verification {
    Verification(basis: .assertedByOperator, exportDigest: nil)
  }
}
