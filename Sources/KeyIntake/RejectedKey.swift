package import ExposureKeys
internal import KeyNormalization

/// A key that did not get through: where it stands and why. Never key material.
package struct RejectedKey: Hashable, Sendable, Encodable {
  /// The step that refused it.
  package enum Step: String, Hashable, Sendable, Encodable {
    case decode, admit
    /// The target format cannot express the published key.
    case write
  }

  /// The document that holds the key, or that was to hold it.
  package let document: String
  package let step: Step
  /// Counted from 0 over all keys of the document.
  package private(set) var position: Int
  /// Of the key's first byte in the (uncompressed) document; `nil` where it is not known.
  package let byteOffset: Int?
  /// The stable code.
  package let reason: String
  /// The value that broke the rule and what is allowed.
  package let detail: String

  /// How many of them a receipt shows.
  package static let shownCount = 20

  package init(_ rejection: Rejection, of document: String, at step: Step) {
    self.document = document
    self.step = step
    position = rejection.position.index
    byteOffset = rejection.position.byteOffset >= 0 ? rejection.position.byteOffset : nil
    reason = rejection.reason.rawValue
    detail = rejection.detail
  }

  /// The same key of a document that has more keys.
  package func placed(at position: Int) -> RejectedKey {
    var key = self
    key.position = position
    return key
  }

  init(_ rejection: AdmissionRejection, of document: String) {
    self.document = document
    step = .admit
    position = rejection.index
    byteOffset = nil
    reason = rejection.reason.rawValue
    detail = rejection.reason.detail(rejection.value)
  }
}
