public import ExposureKeys

/// A public key with the name it was registered under, and the time during which it may sign.
public struct VerificationKey: Hashable, Sendable {
  /// By convention the mobile country code: `310`. `nil` when the ring does not say: then every id matches.
  public var id: String?
  /// `v1`. `nil` when the ring does not say: then every version matches. The empty text matches signatures that
  /// state no version.
  public var version: String?
  public var publicKey: P256PublicKey
  /// The first instant at which the key is trusted; `nil` for ever since.
  public var from: Instant?
  /// The first instant at which the key is no longer trusted; `nil` for no end.
  public var until: Instant?
  /// Free text for people: whose key it is, or the file it came from.
  public var label: String?

  public init(
    id: String? = nil, version: String? = nil, publicKey: P256PublicKey, from: Instant? = nil, until: Instant? = nil,
    label: String? = nil
  ) {
    self.id = id
    self.version = version
    self.publicKey = publicKey
    self.from = from
    self.until = until
    self.label = label
  }

  /// Who the key is, without the key itself.
  public var identity: KeyIdentity { KeyIdentity(id: id, version: version, fingerprint: publicKey.fingerprint) }

  /// Whether a signature that states this id and version names this key. Absent and empty are the same statement.
  public func isNamed(id: String?, version: String?) -> Bool {
    (self.id.map { $0 == id ?? "" } ?? true) && (self.version.map { $0 == version ?? "" } ?? true)
  }

  public func isValid(at instant: Instant) -> Bool {
    (from.map { $0 <= instant } ?? true) && (until.map { instant < $0 } ?? true)
  }
}
