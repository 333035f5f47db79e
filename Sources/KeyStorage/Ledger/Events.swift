package import ExposureKeys

/// An event's number in its store.
@frozen
package struct EventID: Hashable, Comparable, Sendable, Codable, BitwiseCopyable {
  package let rawValue: Int64
  package init(rawValue: Int64) { self.rawValue = rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What kind of thing happened. The raw value is the stable code, in stores and for programs.
package enum EventKind: String, Hashable, Sendable, CaseIterable, Codable {
  // Receiving
  case discovered
  case fetching
  case interrupted
  case recorded
  /// Some keys of a large document came in; it is recorded with its last ones.
  case recordedPiece = "recorded-piece"
  case unchanged
  case changedUnderItsName = "changed-under-its-name"
  case quarantined
  case givenUp = "given-up"
  case postponed
  case attempted
  case cursorMoved = "cursor-moved"
  case uploaded
  /// A national back end uploaded.
  case federated
  // Publishing
  case paddingPlanned = "padding-planned"
  case staged
  case published
  case unlisted
  case removed
  case indexRestored = "index-restored"
  case mirrored
  /// A download batch of the federation was closed.
  case batched
  // Callbacks
  case callbackSet = "callback-set"
  case callbackRemoved = "callback-removed"
  case callbackAttempted = "callback-attempted"
  case callbackSuspended = "callback-suspended"
  case callbackResumed = "callback-resumed"
  // Pushing
  case pushStaged = "push-staged"
  case pushSettled = "push-settled"
  case pushAttempted = "push-attempted"
  case pushRetryAsked = "push-retry-asked"
  case pushRepeatAsked = "push-repeat-asked"
  // Operating
  case heldReleased = "held-released"
  case heldDiscarded = "held-discarded"
  case discarded
  case retryAsked = "retry-asked"
  /// More keys of a source are taken today.
  case limitRaised = "limit-raised"
  case paused
  case resumed
  case recalled
  case clockAccepted = "clock-accepted"
  /// A new store begins beside what was published before.
  case begun
  /// A replica gives its work away, and is to have it again.
  case replicaDrained = "replica-drained"
  case replicaReturned = "replica-returned"
  case reread
  case erased
  // Housekeeping
  case clockSeen = "clock-seen"
  /// The hours of upload doors were closed, for the log.
  case uploadsCounted = "uploads-counted"
  case expired
  case logged

  /// What is to be known of a kind beside its code.
  private struct Traits: OptionSet {
    let rawValue: UInt8

    /// See ``EventKind/durability``.
    static let promised = Traits(rawValue: 1)
    static let ofOperator = Traits(rawValue: 2)
    static let besideOwner = Traits(rawValue: 4)
    static let routine = Traits(rawValue: 8)
  }

  private var traits: Traits {
    switch self {
    // An operator does not repeat a command that succeeded.
    case .heldReleased, .heldDiscarded, .discarded, .retryAsked, .limitRaised, .paused, .resumed, .recalled, .reread,
      .erased, .clockAccepted, .begun, .replicaDrained, .replicaReturned, .pushRetryAsked, .pushRepeatAsked,
      .callbackResumed:
      [.promised, .ofOperator, .besideOwner]
    // Phones and national back ends do not repeat what a server answered with 200. The server may run beside the owner.
    case .uploaded, .federated, .callbackSet, .callbackRemoved: [.promised, .besideOwner]
    // Peers drop what the gateway has taken, and apps remember what it has published.
    case .recorded, .quarantined, .givenUp, .staged, .published, .mirrored, .batched, .pushStaged, .pushSettled:
      .promised
    // The log has numbered its entries, and to count an hour again would add another entry.
    case .logged, .uploadsCounted: [.promised, .routine]
    // When the document is recorded, that event makes its pieces durable. A subscriber can be notified of a batch twice.
    case .recordedPiece, .changedUnderItsName, .unlisted, .removed, .indexRestored, .callbackSuspended: []
    case .discovered, .fetching, .interrupted, .unchanged, .postponed, .attempted, .cursorMoved, .paddingPlanned,
      .clockSeen, .expired, .pushAttempted, .callbackAttempted:
      .routine
    }
  }

  /// Whether a power failure may undo the event. It must not if someone outside the gateway knows of the event. The gateway repeats
  /// a lost local event, because its effects are lost with it.
  package var durability: Durability { traits.contains(.promised) ? .promised : .local }

  /// Whether it may happen beside the owner: what an operator does, and uploads.
  package var mayHappenBesideOwner: Bool { traits.contains(.besideOwner) }

  /// Whether an operator does it. Such an event carries who did it and why.
  package var isOfOperator: Bool { traits.contains(.ofOperator) }

  /// Whether it can be removed once its time is over: no claim, bundle or decision refers to it.
  package var isRoutine: Bool { traits.contains(.routine) }
}

/// Who of the operators did something, and why.
package struct Attribution: Hashable, Sendable, Codable {
  package var by: String
  package var reason: String?

  package init(by: String, reason: String? = nil) {
    self.by = by
    self.reason = reason
  }
}

/// An event that is to be written down.
package struct NewEvent: Hashable, Sendable {
  package var kind: EventKind
  package var time: Instant
  /// What it is about, for people: a source, a document, a series. Never key material.
  package var subject: String
  package var word: Attribution?

  package init(_ kind: EventKind, about subject: String, by word: Attribution? = nil, at time: Instant) {
    self.kind = kind
    self.time = time
    self.subject = subject
    self.word = word
  }
}

/// The number that an event got, and its time.
package struct EventStamp: Hashable, Sendable {
  package let id: EventID
  package let time: Instant

  package init(id: EventID, time: Instant) {
    self.id = id
    self.time = time
  }
}

/// In which event claims of a document came, and of which time they are.
package struct ArrivalStamp: Hashable, Sendable {
  package let id: EventID
  /// Of the event; where another reading of the document brought the claims, when the document came.
  package let time: Instant
  package let isRereading: Bool

  package init(id: EventID, time: Instant, isRereading: Bool) {
    self.id = id
    self.time = time
    self.isRereading = isRereading
  }

  /// - Parameter kind: of the event; `nil` is of one that is not written down yet, or not any more: then it may have been a rereading.
  package init(id: EventID, time: Instant, kind: String?) {
    self.init(id: id, time: time, isRereading: kind.map { $0 == EventKind.reread.rawValue } ?? true)
  }
}

/// An event in the store.
package struct EventRecord: Hashable, Sendable {
  package var id: EventID
  package var event: NewEvent

  package init(id: EventID, event: NewEvent) {
    self.id = id
    self.event = event
  }
}

/// What listeners hear of an event beside its kind. An event that the public log does not speak of has none. Never key data.
package enum PublicFacts: Hashable, Sendable {
  case received(DocumentFacts, ReceivedMark)
  case staged([BundleRecord], series: String, StagingCause)
  case recalled(RecallRequest, RecallPreview, Attribution)
  case heldDiscarded(count: Int, Attribution)
  case discarded(Attribution)
  case reread(source: String, Attribution)
  case clockAccepted(Attribution)
  case erased(Attribution)
  case uploadsCounted([UploadHour])
}

/// What a log needs to know of a document that came in.
package struct ReceivedMark: Hashable, Sendable {
  package let source: String
  /// 32 random bytes, kept for as long as the evidence is; `nil` where nobody listens.
  package let salt: [UInt8]?

  /// Drawn before a transaction, which may run again.
  static func newSalt() -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }
}

/// The publishing policy by which bundles were made.
package struct PolicyMark: Hashable, Sendable {
  /// SHA-256 of its file, lower-case hexadecimal.
  package let digest: String
  /// Whether the series had another one before, or none.
  package let isNew: Bool
}

/// Why bundles were staged. The policy is `nil` where it was read from no file.
package enum StagingCause: Hashable, Sendable {
  /// There is something new to be published.
  case new(policy: PolicyMark?)
  /// They take the place of these, which were lost, or were signed by a key that signs no more.
  case replacing([BundleRecord], policy: PolicyMark?)
  /// The folder had them, and the store did not know them.
  case adopted
}

/// Where a source's cursor moves in the transaction that records what lies before it.
package struct CursorMove: Hashable, Sendable {
  package var source: String
  package var cursor: String

  package init(of source: String, to cursor: String) {
    self.source = source
    self.cursor = cursor
  }

  /// The source is asked as if it never was.
  package static func toTheStart(of source: String) -> CursorMove { CursorMove(of: source, to: "") }
}
