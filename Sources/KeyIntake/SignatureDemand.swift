package import BundleTrust
package import ExposureKeys

/// That a document must bear a signature of one of these keys, valid at this instant.
package struct SignatureDemand: Sendable {
  package let ring: TrustRing
  package let instant: Instant

  package init(ring: TrustRing, instant: Instant) {
    self.ring = ring
    self.instant = instant
  }
}
