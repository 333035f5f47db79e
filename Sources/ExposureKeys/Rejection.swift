/// A key that a document holds but that cannot be taken in: data, not an error. The others go on.
public struct Rejection: Hashable, Sendable {
  /// Where the key stands.
  public var position: KeyPosition
  public var reason: RejectionReason
  /// The value that broke the rule and what is allowed, for people; never key material.
  public var detail: String

  public init(position: KeyPosition, reason: RejectionReason, detail: String) {
    self.position = position
    self.reason = reason
    self.detail = detail
  }
}

/// Where in its document a key stands.
@frozen
public struct KeyPosition: Hashable, Sendable {
  /// Counted from 0 over all keys of the document in reading order, rejected ones included.
  public var index: Int
  /// Offset of the key's first byte in the (uncompressed) document.
  public var byteOffset: Int

  @inlinable
  public init(index: Int, byteOffset: Int) {
    self.index = index
    self.byteOffset = byteOffset
  }
}

/// Why a key was not taken in. The raw value is the stable code for programs.
public enum RejectionReason: String, Sendable, Hashable, CaseIterable {
  /// There is no key data at all.
  case keyDataAbsent = "key-data-absent"
  /// The key data is not sixteen bytes.
  case keyDataLength = "key-data-length"
  /// The key data's text is neither base64, hexadecimal nor a UUID.
  case keyDataSpelling = "key-data-spelling"
  /// A number that its field cannot hold, or text where a number is expected.
  case fieldNotANumber = "field-not-a-number"
  /// A report type name that no schema defines.
  case reportTypeUnknown = "report-type-unknown"
  /// Marked as padding by its sender (`fake` in DP-3T uploads).
  case markedFake = "marked-fake"
  /// The entry is not an object, a row has too few cells, and the like.
  case malformedEntry = "malformed-entry"
  /// Its origin, or all keys without one, name more distinct sets of regions than a document has room for.
  case tooManyRegionSets = "too-many-region-sets"
  /// The target format requires a field that the key does not state.
  case fieldRequired = "field-required"
  /// The target format, or the devices that read it, refuse the field's value.
  case valueNotAllowed = "value-not-allowed"
}
