package import ExposureKeys
package import KeyFormats
package import KeyIntake

/// Where uploads go that a door has let in. Whoever records them knows policies and stores; the server knows neither.
package protocol UploadRecorder: Sendable {
  /// Records an upload. When this returns, its keys are durable.
  ///
  /// - Throws: ``UploadFault`` where it is refused as a whole.
  func record(_ upload: ReceivedUpload) async throws -> RecordedUpload

  /// Takes as long as an upload would, and records nothing: for requests that only look like one.
  ///
  /// - Parameter token: what let in somebody without keys; it is used from then on.
  func pass(redeeming token: OneTimeToken?) async throws
}

/// What lets in once, such as the token of a diagnosis. Whoever records an upload remembers that it was used, in the same moment as
/// its keys are kept, whichever replica is asked the next time.
package struct OneTimeToken: Hashable, Sendable {
  /// Among those of its door.
  package let name: String
  /// From when on nobody takes it anyway.
  package let end: Instant
}

/// The keys of one upload, as a door has read them.
package struct ReceivedUpload: Sendable {
  /// With the keys that were no keys.
  package var keys: DecodedDocument
  package var audience: UploadAudience
  /// What its sender shows to say something new about known keys; `nil` where nothing is asked for.
  package var proof: RevisionProof?
  /// Lower-case hexadecimal SHA-256 of the certificate that let it in; `nil` where a token did.
  package var certificate: String?
  /// `nil` where what let it in may do so again.
  package var token: OneTimeToken?
  package var byteCount: Int
}

/// Whom the keys of an upload are for, as its sender says.
package enum UploadAudience: Hashable, Sendable {
  /// Nothing is said, or that its person has travelled: the regions of the door.
  case regionsOfDoor
  /// Its person has not travelled: the door's own region alone.
  case homeRegion
  /// These, and the door's own.
  case regions([String])
}

/// What became of an upload that was taken.
package struct RecordedUpload: Hashable, Sendable {
  /// A repeated key counts once.
  package var accepted: Int
  /// Those of the accepted ones that were not known.
  package var inserted: Int
  /// In the order of their positions.
  package var dropped: [DroppedKey]
  /// The keys that were recorded, where their sender may say something new about them later.
  package var revisable: [RevisableKey]

  /// - Parameter inserted: all that were accepted, where `nil`.
  package init(
    accepted: Int, inserted: Int? = nil, dropped: [DroppedKey] = [], revisable: [RevisableKey] = []
  ) {
    self.accepted = accepted
    self.inserted = inserted ?? accepted
    self.dropped = dropped
    self.revisable = revisable
  }
}

/// A key that was not taken.
package struct DroppedKey: Hashable, Sendable, CustomStringConvertible {
  /// Among all keys of the upload, counted from 0.
  package var position: Int
  package var reason: String

  package init(position: Int, reason: String) {
    self.position = position
    self.reason = reason
  }

  package var description: String { "key \(position): \(reason)" }
}

/// What an upload is refused for as a whole.
package struct UploadFault: Error, Hashable, Sendable {
  package enum Cause: Hashable, Sendable {
    /// What was sent.
    case content
    /// None of its keys can be taken.
    case noKeys
    /// It says something about known keys, and may not.
    case revision(RevisionFault)
    /// What let it in was used before.
    case usedToken
    /// The moment's, and not the upload's.
    case moment
    /// Nothing can be kept now, as while a database is away. The reason is for the operator, and for nobody else.
    case away
  }

  package var cause: Cause
  package var reason: String

  package init(_ cause: Cause = .content, reason: String) {
    self.cause = cause
    self.reason = reason
  }
}
