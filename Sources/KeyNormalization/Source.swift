/// How a batch came to be trusted. There is no third way in.
public enum Provenance: Hashable, Sendable {
  /// A signature was verified; the text names the signer.
  case signed(by: String)
  /// The operator vouches for it.
  case assertedByOperator
}

/// The door through which claims arrived: a peer, a server, a file.
public struct Source: Hashable, Sendable {
  /// What the operator calls it: `efgs`, `DE`, a file's name.
  public var name: String
  /// Whether it passes on others' keys and loses their origin, as another gateway's bundles do. What its keys say about
  /// their origin does not count then.
  public var isRelay: Bool
  /// The origin of its keys that name none.
  public var origin: String?
  public var provenance: Provenance

  public init(
    name: String, isRelay: Bool = false, origin: String? = nil, provenance: Provenance = .assertedByOperator
  ) {
    self.name = name
    self.isRelay = isRelay
    self.origin = origin
    self.provenance = provenance
  }
}

/// A source's number in its ``ClaimSet``.
@frozen
public struct SourceID: Hashable, Sendable, BitwiseCopyable {
  public let rawValue: UInt32
  @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// An origin's number in its ``ClaimSet``.
@frozen
public struct OriginID: Hashable, Sendable, BitwiseCopyable {
  public let rawValue: UInt32
  @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The origin is not known: a relay lost it, or nobody ever named it. All such claims count together as one origin.
  @inlinable public static var lost: OriginID { OriginID(rawValue: 0) }
}
