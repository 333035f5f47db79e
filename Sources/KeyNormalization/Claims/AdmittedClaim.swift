package import ExposureKeys

/// What one origin said about one key, through one source, as the source's reading policy reads it.
///
/// Trivially copyable, 40 bytes. The numbers of regions, origin and source belong to the ``ClaimSet`` (or the
/// ``AdmittedBatch``) that holds the claim. It says what a ``Statement`` can say and nothing else, so whoever records it
/// has nothing to check.
@frozen
package struct AdmittedClaim: Hashable, Sendable, BitwiseCopyable {
  /// What the claim is about: key data and rolling start.
  package let subject: KeySubject
  package let statement: Statement
  package internal(set) var regions: RegionClaim.ID
  package internal(set) var origin: OriginID
  package internal(set) var source: SourceID

  /// For admission, and for stores that read back what was admitted.
  package init(
    subject: KeySubject, statement: Statement, regions: RegionClaim.ID, origin: OriginID, source: SourceID
  ) {
    self.subject = subject
    self.statement = statement
    self.regions = regions
    self.origin = origin
    self.source = source
  }

  /// What is said, without the key data.
  @inline(__always)
  package var said: StatedFields { statement.fields(rollingStart: subject.rollingStart, regions: regions) }

  /// The claim as a key: rolling start and rolling period are stated always; the days since onset are the federation's
  /// integer (see ``SymptomStatus``), defined where stated.
  package var key: ClaimedKey { said.claim(about: subject.key) }
}

/// What claims are about. The same key data under another rolling start is another key; two keys with one rolling
/// start are two keys. Nobody removes duplicates by day.
@frozen
package struct KeySubject: Hashable, Comparable, Sendable, BitwiseCopyable {
  package let key: TemporaryExposureKey
  /// Ten-minute intervals since 1970.
  package let rollingStart: Int32

  @inlinable
  package init(key: TemporaryExposureKey, rollingStart: Int32) {
    self.key = key
    self.rollingStart = rollingStart
  }

  /// When all claims about it expire: a day after its start, whatever rolling periods they state. So no claim outlives the one that
  /// revokes it.
  package var expiry: Instant { IntervalNumber(Int64(rollingStart) + IntervalNumber.intervalsPerDay).start }

  @inlinable
  package static func < (left: Self, right: Self) -> Bool {
    left.key != right.key ? left.key < right.key : left.rollingStart < right.rollingStart
  }
}
