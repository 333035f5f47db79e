/// How a batch came to be trusted. There is no third way in.
package enum Provenance: Hashable, Sendable {
  /// A signature was verified; the text names the signer.
  case signed(by: String)
  /// The operator vouches for it.
  case assertedByOperator
}

/// The door through which claims arrived: a peer, a server, a file.
package struct Source: Hashable, Sendable {
  /// What the operator calls it: `efgs`, `DE`, a file's name.
  package var name: String
  /// Whether it passes on others' keys and loses their origin, as another gateway's bundles do. What its keys say about
  /// their origin does not count then.
  package var isRelay: Bool
  /// The origin of its keys that name none.
  package var origin: String?
  package var provenance: Provenance

  package init(
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
package struct SourceID: Hashable, Sendable, BitwiseCopyable {
  package let rawValue: UInt32
  @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// An origin's number in its ``ClaimSet``.
@frozen
package struct OriginID: Hashable, Sendable, BitwiseCopyable {
  package let rawValue: UInt32
  @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The origin is not known: a relay lost it, or nobody ever named it. All such claims count together as one origin.
  @inlinable package static var lost: OriginID { OriginID(rawValue: 0) }
}
