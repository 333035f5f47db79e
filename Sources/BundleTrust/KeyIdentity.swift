/// Who a key is, without the key itself.
public struct KeyIdentity: Hashable, Sendable {
  /// `nil` when the ring does not say: then every id matches.
  public let id: String?
  /// `nil` when the ring does not say: then every version matches.
  public let version: String?
  /// SHA-256 of the SubjectPublicKeyInfo, lower-case hexadecimal, 64 digits.
  public let fingerprint: String

  /// Whether the ring gave neither id nor version, so that what the signature states could not be compared.
  public var matchesAnyName: Bool { id == nil && version == nil }

  /// For where there is room for one word or two: `310 v1`, or the fingerprint of a key without a name.
  package var shortName: String {
    let name = [id, version].compactMap(\.self).joined(separator: " ")
    return name.isEmpty ? fingerprint : name
  }
}

extension KeyIdentity: CustomStringConvertible {
  /// `id "310", version "v1" (key 3f2a9c0d11e4)`.
  public var description: String {
    let name =
      matchesAnyName
      ? "a key without a name"
      : "\(id.map { "id \(quoted($0))" } ?? "any id"), \(version.map { "version \(quoted($0))" } ?? "any version")"
    return "\(name) (key \(fingerprint.prefix(12)))"
  }
}
