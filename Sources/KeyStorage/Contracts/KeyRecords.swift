package import ExposureKeys
package import KeyNormalization

/// A claim as the store keeps it: what it came in, and whether it was withdrawn.
package struct KeptClaim: Hashable, Sendable {
  package var claim: StatedClaim
  package var document: DocumentID
  /// The event that brought it, and its time.
  package var event: EventID
  package var arrived: Instant
  /// The event of the recall that withdrew it.
  package var recall: EventID?

  package init(claim: StatedClaim, document: DocumentID, event: EventID, arrived: Instant, recall: EventID?) {
    self.claim = claim
    self.document = document
    self.event = event
    self.arrived = arrived
    self.recall = recall
  }
}

/// A claim that was put aside for the operator.
package struct HeldClaim: Hashable, Sendable {
  package var claim: StatedClaim
  package var document: DocumentID
  /// Why.
  package var reason: AdmissionReason

  package init(claim: StatedClaim, document: DocumentID, reason: AdmissionReason) {
    self.claim = claim
    self.document = document
    self.reason = reason
  }
}

/// That a series has released a key.
package struct SeriesRelease: Hashable, Sendable {
  package var series: String
  package var key: ReleasedKey

  package init(series: String, key: ReleasedKey) {
    self.series = series
    self.key = key
  }
}

/// Everything that the tables of a store have about one key data. What the bytes of documents have is not in it.
package struct KeyRecord: Hashable, Sendable {
  /// In the order of their arrival, withdrawn ones included.
  package var claims: [KeptClaim]
  package var held: [HeldClaim]
  /// By series and rolling start.
  package var released: [SeriesRelease]

  package init(claims: [KeptClaim] = [], held: [HeldClaim] = [], released: [SeriesRelease] = []) {
    self.claims = claims
    self.held = held
    self.released = released
  }

  package var isEmpty: Bool { claims.isEmpty && held.isEmpty && released.isEmpty }
}

/// What an erasure removed.
package struct ErasureReceipt: Hashable, Sendable {
  package var claims: Int
  package var held: Int
  package var released: Int
  /// The documents whose kept bytes were dropped, because the key was among them.
  package var contents: [DocumentID]

  package init(claims: Int = 0, held: Int = 0, released: Int = 0, contents: [DocumentID] = []) {
    self.claims = claims
    self.held = held
    self.released = released
    self.contents = contents
  }

  package var isEmpty: Bool { claims == 0 && held == 0 && released == 0 && contents.isEmpty }
}

/// By which policy a document was read, and when: so that it can be told when the configured one is another.
package struct ReadingMark: Hashable, Sendable {
  /// The name of the policy, for people.
  package var policy: String
  /// Lower-case hexadecimal SHA-256 of everything that decides how the document is read.
  package var digest: String
  /// What "in the future" and "too old" referred to.
  package var time: Instant

  package init(policy: String, digest: String, time: Instant) {
    self.policy = policy
    self.digest = digest
    self.time = time
  }
}

/// What another reading of a document changes: claims that it brought and that are not read any more, those that are
/// read now, and the same of what is put aside for the operator.
package struct ReadingChange: Hashable, Sendable {
  package var removed: [StatedClaim] = []
  package var added: [StatedClaim] = []
  package var heldRemoved: [StatedClaim] = []
  /// Each with its reason.
  package var heldAdded: [StatedClaim: AdmissionReason] = [:]

  package init() {}

  package var isEmpty: Bool { removed.isEmpty && added.isEmpty && heldRemoved.isEmpty && heldAdded.isEmpty }
}

extension KeptClaim {
  /// Order of arrival, then of what is said, whichever store it is.
  package static func precedes(_ left: KeptClaim, _ right: KeptClaim) -> Bool {
    if left.event != right.event { return left.event < right.event }
    if left.document != right.document { return left.document < right.document }
    return StatedClaim.precedes(left.claim, right.claim)
  }
}

extension HeldClaim {
  package static func precedes(_ left: HeldClaim, _ right: HeldClaim) -> Bool {
    left.document != right.document
      ? left.document < right.document : StatedClaim.precedes(left.claim, right.claim)
  }
}

extension StatedClaim {
  /// By source, origin, start, regions and statement. Of two claims one is always in front of the other, so that what is cut from
  /// a list is the same in all stores.
  package static func precedes(_ left: StatedClaim, _ right: StatedClaim) -> Bool {
    if left.source.name != right.source.name { return left.source.name < right.source.name }
    if left.origin != right.origin {
      guard let mine = left.origin, let others = right.origin else { return left.origin == nil }
      return mine < others
    }
    if left.subject != right.subject { return left.subject < right.subject }
    if left.visited != right.visited {
      // None named is not the same as an empty list.
      guard let mine = left.visited, let others = right.visited else { return left.visited == nil }
      return mine.lexicographicallyPrecedes(others)
    }
    if left.statement != right.statement { return left.statement.bits < right.statement.bits }
    return left.source.precedes(right.source)
  }
}

extension Source {
  /// Of sources of one name.
  fileprivate func precedes(_ other: Source) -> Bool {
    if provenance != other.provenance { return "\(provenance)" < "\(other.provenance)" }
    if upload != other.upload { return (upload?.rawValue ?? "") < (other.upload?.rawValue ?? "") }
    if isRelay != other.isRelay { return !isRelay }
    if origin != other.origin {
      guard let mine = origin, let others = other.origin else { return origin == nil }
      return mine < others
    }
    guard let mine = carries, let others = other.carries else { return carries == nil && other.carries != nil }
    return mine.sorted().lexicographicallyPrecedes(others.sorted())
  }
}

extension UploadStanding {
  /// As a store has it in a column.
  package static func stored(_ text: String?) throws -> UploadStanding? {
    guard let text else { return nil }
    guard let standing = UploadStanding(rawValue: text) else {
      throw StorageFault(.corrupt, "a source of claims has the upload \(text), allowed proven, copy")
    }
    return standing
  }
}
