package import ExposureKeys

/// What lets in once, such as the token of a diagnosis, and has been used. All who share a store know of it.
package struct UsedToken: Hashable, Sendable {
  /// SHA-256 of what names it: 32 bytes.
  package let digest: [UInt8]
  /// From when on nobody would take it anyway.
  package let end: Instant

  package init(digest: [UInt8], end: Instant) {
    self.digest = digest
    self.end = end
  }
}
