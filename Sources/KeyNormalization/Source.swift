package import BundleTrust

/// Who hands documents over: a peer, a server, a file.
package struct Sender: Hashable, Sendable {
  /// What the operator calls it: `efgs`, `DE`, a file's name.
  package var name: String
  /// Whether it passes on others' keys and loses their origin, as another gateway's bundles do. What its keys say about
  /// their origin does not count then.
  package var isRelay: Bool
  /// The origins whose keys a relay may carry; `nil` is any.
  package var carries: Set<String>?
  /// The origin of its keys that name none.
  package var origin: String?

  package init(name: String, isRelay: Bool = false, carries: Set<String>? = nil, origin: String? = nil) {
    self.name = name
    self.isRelay = isRelay
    self.carries = carries
    self.origin = origin
  }
}

/// The door through which claims arrived: who handed them over, and who vouched for them.
package struct Source: Hashable, Sendable {
  package let sender: Sender
  package let provenance: Provenance
  /// What its uploads showed; `nil` for claims that no upload brought, and for uploads of a key that nobody had proven.
  package var upload: UploadStanding?

  /// The source of a document's claims.
  package init(_ sender: Sender, vouchedForBy document: VerifiedDocument) {
    self.sender = sender
    provenance = Provenance(document)
  }

  /// A source as a store has kept it.
  package init(
    name: String, isRelay: Bool = false, carries: Set<String>? = nil, origin: String? = nil, provenance: Provenance,
    upload: UploadStanding? = nil
  ) {
    sender = Sender(name: name, isRelay: isRelay, carries: carries, origin: origin)
    self.provenance = provenance
    self.upload = upload
  }

  package var name: String { sender.name }
  package var isRelay: Bool { sender.isRelay }
  package var carries: Set<String>? { sender.carries }
  package var origin: String? { sender.origin }
}

/// What an upload showed about a key when it was recorded. Published keys are public, so anyone can upload them again at
/// another endpoint.
package enum UploadStanding: String, Hashable, Sendable, CaseIterable {
  /// A verification certificate was verified, and the sender got a revision token: it can show later that the key is its
  /// own.
  case proven
  /// Another upload had proven the key before, or a source had brought it.
  case copy
}

/// How a claim came to be trusted: the basis of its ``VerifiedDocument``, as far as it is kept.
package enum Provenance: Hashable, Sendable {
  /// A signature was verified; the text names the signer.
  case signed(by: String)
  /// TLS proved that this host sent it.
  case host(String)
  /// The signatures of the origins were verified.
  case origins
  /// The operator vouches for it.
  case assertedByOperator

  package init(_ document: VerifiedDocument) {
    switch document.basis {
    case .signed(by: let key): self = .signed(by: key.shortName)
    case .host(let name): self = .host(name)
    case .origins: self = .origins
    case .assertedByOperator: self = .assertedByOperator
    }
  }
}

extension Provenance: CustomStringConvertible {
  /// Who stands behind it, for people: `signature of 310 v1`.
  package var description: String {
    switch self {
    case .signed(by: let signer): "signature of \(signer)"
    case .host(let name): "TLS identity of \(name)"
    case .origins: "signatures of the origins"
    case .assertedByOperator: "operator"
    }
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
