package import ExposureKeys
package import KeyNormalization

/// What the store knows about a source.
package struct SourceRecord: Hashable, Sendable {
  package var name: String
  /// What the peer has to be asked next, in the words of its protocol.
  package var cursor: String?
  package var lastAttempt: Instant?
  package var lastSuccess: Instant?
  /// How many attempts have failed since the last success.
  package var failures: Int
  /// Not to be asked before.
  package var nextAttempt: Instant?
  package var lastFault: DocumentFault?

  package init(
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
package struct SourceAttempt: Hashable, Sendable {
  package var time: Instant
  /// `nil` is success.
  package var fault: DocumentFault?
  package var nextAttempt: Instant?

  package init(time: Instant, fault: DocumentFault? = nil, nextAttempt: Instant? = nil) {
    self.time = time
    self.fault = fault
    self.nextAttempt = nextAttempt
  }
}

/// A document's number in the store; for claims, the batch that they came in.
package struct DocumentID: Hashable, Comparable, Sendable, Codable {
  package let rawValue: Int64
  package init(rawValue: Int64) { self.rawValue = rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Where the import of a document stands.
package enum DocumentState: String, Hashable, Sendable, CaseIterable, Codable {
  case discovered
  case fetching
  /// Its claims are recorded. A document whose signature failed never gets here.
  case recorded
  /// It was read and refused, or could not be fetched; it is tried again.
  case quarantined
  case givenUp = "given-up"
}

/// One document of a source: a file of its index, a batch, a page.
package struct DocumentRecord: Hashable, Sendable {
  package var id: DocumentID
  package var source: String
  /// Unique for the source: a path, a batch tag, a day.
  package var name: String
  package var state: DocumentState
  package var fault: DocumentFault?
  /// How often it has been refused.
  package var attempts: Int
  package var nextAttempt: Instant?
  package var discovered: Instant
  /// When it came into this state.
  package var changed: Instant
  /// Once it is recorded.
  package var facts: DocumentFacts?

  package init(
    id: DocumentID, source: String, name: String, state: DocumentState, fault: DocumentFault? = nil, attempts: Int = 0,
    nextAttempt: Instant? = nil, discovered: Instant, changed: Instant, facts: DocumentFacts? = nil
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
  }
}

/// What a recorded document was, and what became of its keys.
@dynamicMemberLookup
package struct DocumentFacts: Hashable, Sendable {
  package var byteCount: Int
  /// Lower-case hexadecimal SHA-256 of what must not change under the name: of `export.bin`, or of the whole body.
  package var digest: String
  /// The peer's own validators, to ask whether it changed.
  package var entityTag: String?
  package var lastModified: String?
  package var format: String
  /// Who stands behind it, for people: a signature, the peer's TLS identity, or the operator.
  package var vouchedBy: String
  /// `nil` for uploads, which are read by their door.
  package var reading: ReadingMark?
  /// Of its keys. Its members can be asked of the document.
  package var counts: KeyCounts

  package init(
    byteCount: Int, digest: String, entityTag: String? = nil, lastModified: String? = nil, format: String,
    vouchedBy: String, reading: ReadingMark? = nil, counts: KeyCounts = KeyCounts()
  ) {
    self.byteCount = byteCount
    self.digest = digest
    self.entityTag = entityTag
    self.lastModified = lastModified
    self.format = format
    self.vouchedBy = vouchedBy
    self.reading = reading
    self.counts = counts
  }

  package subscript<Value>(dynamicMember member: WritableKeyPath<KeyCounts, Value>) -> Value {
    get { counts[keyPath: member] }
    set { counts[keyPath: member] = newValue }
  }

  package var rejected: Int { counts.rejected }
}

/// A source's documents by state, and the sums of the counts of those that are recorded.
package struct SourceSummary: Hashable, Sendable {
  package var documents: [DocumentState: Int]
  /// Allowances are not summed.
  package var counts = KeyCounts()

  package init(documents: [DocumentState: Int] = [:]) { self.documents = documents }
}

/// How many new claims of an origin a source brought on a UTC day.
package struct ArrivedClaims: Hashable, Sendable {
  package var day: Day
  package var origin: String
  package var source: String
  package var claims: Int

  package init(day: Day, origin: String, source: String, claims: Int) {
    self.day = day
    self.origin = origin
    self.source = source
    self.claims = claims
  }

  package static func precedes(_ left: Self, _ right: Self) -> Bool {
    (left.day.daysSince1970, left.origin, left.source) < (right.day.daysSince1970, right.origin, right.source)
  }
}

/// What a source lists, after it was looked for in the store.
package struct DiscoveredDocuments: Hashable, Sendable {
  /// All of them as they stand, in the order asked for.
  package var all: [DocumentRecord]
  /// Those that the store did not have.
  package var new: [DocumentID]

  package init(all: [DocumentRecord], new: [DocumentID]) {
    self.all = all
    self.new = new
  }
}

/// What is kept of an upload: that it came, and not what was in it. Its claims are among all others.
package struct UploadRecord: Hashable, Sendable {
  /// The first event of its day: not the one in which it was recorded, by which its keys would be found.
  package var event: EventID
  /// The source that its claims have.
  package var door: String
  /// The regions that it was for.
  package var regions: [String]
  /// Lower-case hexadecimal SHA-256 of the certificate that let it in; `nil` where the door asks for none.
  package var certificate: String?

  package init(event: EventID, door: String, regions: [String], certificate: String?) {
    self.event = event
    self.door = door
    self.regions = regions
    self.certificate = certificate
  }
}

/// A part of all claims, in the order of key data.
package struct ClaimPage: Sendable {
  package let claims: ClaimSet
  /// What withdrawn and held claims say about how long keys of this part are valid.
  package let embargo: Embargo
  /// Where the next page starts; `nil` after the last one.
  package let next: TemporaryExposureKey?

  package init(claims: ClaimSet, embargo: Embargo = Embargo(), next: TemporaryExposureKey?) {
    self.claims = claims
    self.embargo = embargo
    self.next = next
  }
}

/// A kill switch that somebody threw. It holds for pulls and for publishing: a paused source is not asked, and keys
/// that only paused sources or origins stand behind are not released. What was released stays.
package struct Pause: Hashable, Sendable {
  package enum Subject: Hashable, Sendable {
    case source(String)
    case origin(String)
  }

  package var subject: Subject
  package var since: Instant
  package var reason: String?
  /// Who threw it, if it was an operator.
  package var by: String?

  package init(_ subject: Subject, since: Instant, reason: String? = nil, by: String? = nil) {
    self.subject = subject
    self.since = since
    self.reason = reason
    self.by = by
  }
}

/// Which claims of an origin to withdraw.
package struct RecallRequest: Hashable, Sendable {
  package var origin: String
  /// Those recorded from then on; `nil` is all.
  package var since: Instant?
  /// Those of one document; `nil` is all.
  package var document: DocumentID?
  /// Those that came in by one source or door, by its name; `nil` is all.
  package var source: String?

  package init(origin: String, since: Instant? = nil, document: DocumentID? = nil, source: String? = nil) {
    self.origin = origin
    self.since = since
    self.document = document
    self.source = source
  }
}

/// A recall that was carried out.
package struct Recall: Hashable, Sendable {
  package var request: RecallRequest
  /// From this event on, its claims are withdrawn.
  package var event: EventID
  package var time: Instant
  package var claims: Int
  /// Who did it and why, if it was an operator.
  package var word: Attribution?

  package init(request: RecallRequest, event: EventID, time: Instant, claims: Int, word: Attribution?) {
    self.request = request
    self.event = event
    self.time = time
    self.claims = claims
    self.word = word
  }
}

/// What a recall withdraws.
package struct RecallPreview: Hashable, Sendable {
  package var claims = 0
  /// Those that brought the claims.
  package var documents: Set<DocumentID> = []
  /// Keys that no other claim is about.
  package var keysLeftWithoutClaims = 0
  /// How many of these keys series have released: they go out as revoked, and stay in the bundles that have them.
  package var releases: [KeyRelease: Int] = [:]

  /// What keys have in common that a series has released with the same bundles.
  package struct KeyRelease: Hashable, Sendable {
    package var series: String
    /// Those that have released the key, first, last, and as revised. Roll-ups and copies of these have it, too.
    package var bundles: Set<BundleID>
    /// On which it began to be used.
    package var day: Day

    package init(of subject: KeySubject, by series: String, with bundles: Set<BundleID>) {
      (self.series, self.bundles) = (series, bundles)
      day = IntervalNumber(Int64(subject.rollingStart)).day
    }
  }

  package init() {}

  /// The same by series.
  package var released: [String: Int] {
    Dictionary(releases.map { ($0.key.series, $0.value) }, uniquingKeysWith: +)
  }
}

package struct ExpiryReceipt: Hashable, Sendable {
  package var claims: Int
  package var released: Int
  /// Documents whose bytes were dropped, because their time was over.
  package var contents: Int
  /// Those whose bytes were dropped because all took too much room.
  package var crowdedOut: Int
  /// Whether a store has more claims whose time is over: it removes some million at a time.
  package var isUnfinished = false

  package init(claims: Int, released: Int, contents: Int, crowdedOut: Int = 0) {
    self.claims = claims
    self.released = released
    self.contents = contents
    self.crowdedOut = crowdedOut
  }

  /// What was removed next.
  package mutating func add(_ next: ExpiryReceipt) {
    claims += next.claims
    released += next.released
    contents += next.contents
    crowdedOut += next.crowdedOut
    isUnfinished = next.isUnfinished
  }
}
