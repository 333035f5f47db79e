package import KeyFormats

/// Where uploads go that a door has let in. Whoever records them knows policies and stores; the server knows neither.
package protocol UploadRecorder: Sendable {
  /// Records an upload. When this returns, its keys are durable.
  ///
  /// - Throws: ``UploadFault`` where it is refused as a whole.
  func record(_ upload: ReceivedUpload) async throws -> RecordedUpload

  /// Takes as long as an upload would, and records nothing: for requests that only look like one.
  func pass() async throws
}

/// The keys of one upload, as a door has read them.
package struct ReceivedUpload: Sendable {
  /// With the keys that were no keys.
  package var keys: DecodedDocument
  /// Lower-case hexadecimal SHA-256 of the certificate that let it in; `nil` where a token did.
  package var certificate: String?
  package var byteCount: Int
}

/// What became of an upload that was taken.
package struct RecordedUpload: Hashable, Sendable {
  /// A repeated key counts once.
  package var accepted: Int
  /// In the order of their positions.
  package var dropped: [DroppedKey]

  package init(accepted: Int, dropped: [DroppedKey] = []) {
    self.accepted = accepted
    self.dropped = dropped
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
  package var reason: String
  /// Whether it is the moment's fault, and not the upload's.
  package var isTemporary: Bool

  package init(reason: String, isTemporary: Bool = false) {
    self.reason = reason
    self.isTemporary = isTemporary
  }
}
