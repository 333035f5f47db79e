package import ExposureKeys

/// What one origin said about one key, through one source, as the source's reading policy reads it.
///
/// Trivially copyable, 56 bytes. The numbers of regions, origin and source belong to the ``ClaimSet`` (or the
/// ``AdmittedBatch``) that holds the claim. The rolling start and the rolling period are stated always; the days since
/// onset are the federation's integer (see ``SymptomStatus``), defined where stated.
@frozen
package struct AdmittedClaim: Hashable, Sendable, BitwiseCopyable {
  package internal(set) var key: ClaimedKey
  package internal(set) var origin: OriginID
  package internal(set) var source: SourceID

  /// For admission, and for stores that read back what was admitted.
  package init(key: ClaimedKey, origin: OriginID, source: SourceID) {
    self.key = key
    self.origin = origin
    self.source = source
  }

  /// What the claim is about: key data and rolling start.
  package var subject: KeySubject { KeySubject(key: key.key, rollingStart: key.rollingStartWord) }
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

  @inlinable
  package static func < (left: Self, right: Self) -> Bool {
    left.key != right.key ? left.key < right.key : left.rollingStart < right.rollingStart
  }
}

extension ClaimedKey {
  /// The stated days since onset as a federation code; `nil` where absent.
  var symptomStatus: SymptomStatus? { daysSinceOnset.map(SymptomStatus.init(federationCode:)) }
}
