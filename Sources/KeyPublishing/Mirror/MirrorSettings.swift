package import BundleTrust

/// What the operator says about a mirror: a series of archives as their origin has signed them, for apps that trust the
/// origin's key alone.
package struct MirrorSettings: Sendable {
  /// Its folder, and its name in addresses.
  package var name: String
  package var title: String
  /// The source whose archives they are.
  package var source: String
  /// Whose signature an archive must have.
  package var ring: TrustRing
  /// The period of its windows, for layouts; seconds, what divides a day.
  package var period: Int64 = 7200
  /// Seconds that a file stays once its origin lists it no more.
  package var graceSeconds: Int64 = 86_400

  package init(name: String, title: String? = nil, source: String, ring: TrustRing) {
    self.name = name
    self.title = title ?? name
    self.source = source
    self.ring = ring
  }
}
