/// Why the store could not do what it was asked to.
package struct StorageFault: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: String, Hashable, Sendable, CaseIterable {
    /// Another process has the store.
    case held
    /// What was asked for is not there.
    case notFound = "not-found"
    /// The store's file was removed, moved or replaced while this process had it open.
    case gone
    /// An earlier version wrote the store, and its owner has not brought it up to date.
    case earlier
    /// A later version wrote the store.
    case later
    /// It is none of ours.
    case incompatible
    case corrupt
    /// This program has no store for such an address.
    case unsupported
    /// It contradicts what is there: a bundle's place is taken already.
    case conflict
    case full
    /// The store is new, and what is published beside it is not.
    case beginsAnew = "begins-anew"
    /// The store has published nothing, and whether something is published beside it cannot be read.
    case publicationUnread = "publication-unread"
    /// Another replica has taken over what this one was doing.
    case fenced = "lease-lost"
    case inputOutput = "input-output"
  }

  package var code: Code
  package var reason: String

  package init(_ code: Code, _ reason: String) {
    self.code = code
    self.reason = reason
  }

  package var description: String { reason }

  /// Whether the same may be possible later, or at another replica: the database is away or busy, a disk is full, or its
  /// tables are gone until the operator restores a copy.
  package var mayPass: Bool {
    switch code {
    case .held, .gone, .full, .fenced, .inputOutput, .publicationUnread, .earlier, .later, .incompatible: true
    case .notFound, .corrupt, .unsupported, .conflict, .beginsAnew: false
    }
  }
}

extension StorageFault {
  package static func noDocument(_ id: DocumentID) -> Self {
    Self(.notFound, "there is no document \(id.rawValue) in the store")
  }

  package static func noBundle(_ id: BundleID) -> Self {
    Self(.notFound, "there is no bundle \(id.rawValue) in the store")
  }

  /// What to do about a piece of the claims that is not what was written.
  package static let repairAdvice =
    "stop the gateway, and keyferry store repair takes it out and reads kept documents again for what was in it"

  /// What to do about a store whose file is damaged.
  package static let damageAdvice =
    "keyferry store check says what else is, and whether keyferry store repair helps; otherwise keyferry store restore puts a copy in its place"
  /// The same where all was looked at, and no repair helps.
  package static let restoreAdvice = "stop the gateway, then keyferry store restore puts a copy in its place"

  /// The same for whoever is looking already, and finds that only a copy helps.
  package var pointingToCopy: StorageFault {
    StorageFault(
      code,
      reason.replacing(Self.damageAdvice, with: Self.restoreAdvice)
        .replacing(Self.repairAdvice, with: Self.restoreAdvice))
  }

  package static func noPush(_ id: PushID) -> Self {
    Self(.notFound, "there is no pushed batch \(id.rawValue) in the store")
  }

  package static func tagTaken(_ push: NewPush) -> Self {
    Self(.conflict, "a batch with the tag \(push.tag) was staged for \(push.destination) already")
  }

  package static func placeTaken(_ bundle: NewBundle) -> Self {
    Self(
      .conflict,
      "series \(bundle.series) has a bundle of kind \(bundle.kind.rawValue) with number \(bundle.ordinal) already")
  }
}
