internal import ExposureKeys

/// Why the store could not do what it was asked to.
package struct StorageFault: ProgramFault, Hashable, Sendable {
  package enum Code: String, Hashable, Sendable, CaseIterable {
    /// Another process has the store.
    case held
    /// What was asked for is not there.
    case notFound = "not-found"
    /// The store's file was removed, moved or replaced while this process had it open.
    case gone
    /// An earlier version wrote the store.
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
  /// - Parameter place: the store's file or address.
  package static func ofEarlierVersion(_ place: String) -> Self {
    Self(
      .earlier,
      "\(place): an earlier version of Keyferry has written this store; move it away, begin anew with keyferry store begin, and pull again"
    )
  }

  package static func noDocument(_ id: DocumentID) -> Self {
    Self(.notFound, "there is no document \(id.rawValue) in the store")
  }

  package static func noBundle(_ id: BundleID) -> Self {
    Self(.notFound, "there is no bundle \(id.rawValue) in the store")
  }

  /// What an operator does about a damaged file.
  package static let fileAdvice =
    "stop the gateway and run keyferry store restore COPY; without a copy, move the damaged file away, run keyferry store begin and "
    + "pull again (manual: Operating, A damaged store)"
  /// What an operator does about a damaged database.
  package static let databaseAdvice =
    "stop the gateway and restore a pg_dump copy of the database (manual: PostgreSQL, Copies)"

  /// The same fault with the advice of the store that is damaged. Other faults stay as they are.
  package func advising(_ advice: String) -> StorageFault {
    guard code == .corrupt, !reason.hasSuffix(advice) else { return self }
    return StorageFault(code, "\(reason); \(advice)")
  }

  /// The reason for a caller that gives the advice itself.
  package var bareReason: String {
    reason.replacing("; \(Self.fileAdvice)", with: "").replacing("; \(Self.databaseAdvice)", with: "")
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
