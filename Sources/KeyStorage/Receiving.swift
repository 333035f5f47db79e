public import ExposureKeys
public import KeyNormalization

/// What the store knows about a source.
public struct SourceRecord: Hashable, Sendable {
  public var name: String
  /// What the peer has to be asked next, in the words of its protocol.
  public var cursor: String?
  public var lastAttempt: Instant?
  public var lastSuccess: Instant?
  /// How many attempts have failed since the last success.
  public var failures: Int
  /// Not to be asked before.
  public var nextAttempt: Instant?
  public var lastFault: DocumentFault?

  public init(
    name: String, cursor: String? = nil, lastAttempt: Instant? = nil, lastSuccess: Instant? = nil, failures: Int = 0,
    nextAttempt: Instant? = nil, lastFault: DocumentFault? = nil
  ) {
    self.name = name
    self.cursor = cursor
    self.lastAttempt = lastAttempt
    self.lastSuccess = lastSuccess
    self.failures = failures
    self.nextAttempt = nextAttempt
    self.lastFault = lastFault
  }
}

/// How an attempt to reach a source ended.
public struct SourceAttempt: Hashable, Sendable {
  public var time: Instant
  /// `nil` is success.
  public var fault: DocumentFault?
  public var nextAttempt: Instant?

  public init(time: Instant, fault: DocumentFault? = nil, nextAttempt: Instant? = nil) {
    self.time = time
    self.fault = fault
    self.nextAttempt = nextAttempt
  }
}

/// A document's number in the store; for claims, the batch that they came in.
public struct DocumentID: Hashable, Comparable, Sendable, Codable {
  public let rawValue: Int64
  public init(rawValue: Int64) { self.rawValue = rawValue }
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Where the import of a document stands.
public enum DocumentState: String, Hashable, Sendable, CaseIterable, Codable {
  case discovered
  case fetching
  /// Its claims are recorded. A document whose signature failed never gets here.
  case recorded
  /// It was read and refused, or could not be fetched; it is tried again.
  case quarantined
  case givenUp = "given-up"
}

/// Why something went wrong: a stable code for programs, and a reason for people. Never key material.
public struct DocumentFault: Hashable, Sendable, Codable {
  public var code: String
  public var reason: String

  public init(code: String, reason: String) {
    self.code = code
    self.reason = reason
  }
}

/// One document of a source: a file of its index, a batch, a page.
public struct DocumentRecord: Hashable, Sendable {
  public var id: DocumentID
  public var source: String
  /// Unique for the source: a path, a batch tag, a day.
  public var name: String
  public var state: DocumentState
  public var fault: DocumentFault?
  /// How often it has been refused.
  public var attempts: Int
  public var nextAttempt: Instant?
  public var discovered: Instant
  /// When it came into this state.
  public var changed: Instant
  /// Once it is recorded.
  public var facts: DocumentFacts?
  /// How many claims are put aside for the operator.
  public var held: Int

  public init(
    id: DocumentID, source: String, name: String, state: DocumentState, fault: DocumentFault? = nil, attempts: Int = 0,
    nextAttempt: Instant? = nil, discovered: Instant, changed: Instant, facts: DocumentFacts? = nil, held: Int = 0
  ) {
    self.id = id
    self.source = source
    self.name = name
    self.state = state
    self.fault = fault
    self.attempts = attempts
    self.nextAttempt = nextAttempt
    self.discovered = discovered
    self.changed = changed
    self.facts = facts
    self.held = held
  }
}

/// What a recorded document was, and what became of its keys: `received = new + known + rejected + held`.
public struct DocumentFacts: Hashable, Sendable, Codable {
  public var byteCount: Int
  /// Lower-case hexadecimal SHA-256 of what must not change under the name: of `export.bin`, or of the whole body.
  public var digest: String
  /// The peer's own validators, to ask whether it changed.
  public var entityTag: String?
  public var lastModified: String?
  public var format: String
  /// Who stands behind it, for people: a signature, the peer's TLS identity, or the operator.
  public var vouchedBy: String
  public var received: Int
  public var new: Int
  public var known: Int
  public var held: Int
  /// Rejected keys by the code of the reason.
  public var rejections: [String: Int]
  /// Allowances used, by code.
  public var allowances: [String: Int]

  public init(
    byteCount: Int, digest: String, entityTag: String? = nil, lastModified: String? = nil, format: String,
    vouchedBy: String, received: Int = 0, new: Int = 0, known: Int = 0, held: Int = 0,
    rejections: [String: Int] = [:], allowances: [String: Int] = [:]
  ) {
    self.byteCount = byteCount
    self.digest = digest
    self.entityTag = entityTag
    self.lastModified = lastModified
    self.format = format
    self.vouchedBy = vouchedBy
    self.received = received
    self.new = new
    self.known = known
    self.held = held
    self.rejections = rejections
    self.allowances = allowances
  }

  public var rejected: Int { rejections.values.reduce(0, +) }
}

/// A source's documents by state, and the sums of the counts of those that are recorded.
public struct SourceSummary: Hashable, Sendable {
  public var documents: [DocumentState: Int]
  public var received = 0
  public var new = 0
  public var known = 0
  public var held = 0
  public var rejections: [String: Int] = [:]

  public init(documents: [DocumentState: Int] = [:]) { self.documents = documents }
}

/// A part of all claims, in the order of key data.
public struct ClaimPage: Sendable {
  public let claims: ClaimSet
  /// Where the next page starts; `nil` after the last one.
  public let next: TemporaryExposureKey?

  public init(claims: ClaimSet, next: TemporaryExposureKey?) {
    self.claims = claims
    self.next = next
  }
}

/// A kill switch that somebody threw. It holds for pulls and for publishing: a paused source is not asked, and keys
/// that only paused sources or origins stand behind are not released. What was released stays.
public struct Pause: Hashable, Sendable {
  public enum Subject: Hashable, Sendable {
    case source(String)
    case origin(String)
  }

  public var subject: Subject
  public var since: Instant
  public var reason: String?

  public init(_ subject: Subject, since: Instant, reason: String? = nil) {
    self.subject = subject
    self.since = since
    self.reason = reason
  }
}

/// Which claims of an origin to withdraw.
public struct RecallRequest: Hashable, Sendable {
  public var origin: String
  /// Those recorded from then on; `nil` is all.
  public var since: Instant?
  /// Those of one document; `nil` is all.
  public var document: DocumentID?

  public init(origin: String, since: Instant? = nil, document: DocumentID? = nil) {
    self.origin = origin
    self.since = since
    self.document = document
  }
}

/// A recall that was carried out.
public struct Recall: Hashable, Sendable {
  public var request: RecallRequest
  public var time: Instant
  public var claims: Int

  public init(request: RecallRequest, time: Instant, claims: Int) {
    self.request = request
    self.time = time
    self.claims = claims
  }
}

/// What a recall withdraws.
public struct RecallPreview: Hashable, Sendable {
  public var claims: Int
  public var documents: Int
  /// Keys that no other claim is about.
  public var keysLeftWithoutClaims: Int
  /// Keys that each series has released and that no other claim is about: they go out as revoked.
  public var released: [String: Int]

  public init(claims: Int, documents: Int, keysLeftWithoutClaims: Int, released: [String: Int]) {
    self.claims = claims
    self.documents = documents
    self.keysLeftWithoutClaims = keysLeftWithoutClaims
    self.released = released
  }
}

public struct ExpiryReceipt: Hashable, Sendable {
  public var claims: Int
  public var released: Int
  /// Documents whose bytes were dropped.
  public var contents: Int

  public init(claims: Int, released: Int, contents: Int) {
    self.claims = claims
    self.released = released
    self.contents = contents
  }
}
